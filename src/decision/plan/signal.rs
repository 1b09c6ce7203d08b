//! Which clusters cannot scale, and since when (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::Timestamp;

use super::assignee::Assignee;
use super::{Cause, Cluster, ClusterState, Memory, Request, Stuck};

/// Updates the stored state of each cluster. Returns when the next of them counts as stuck.
///
/// A silent cluster keeps its state, and one at its max while a write of its HPA is not confirmed. Replicas requested
/// from others for a cluster are forgotten when it needs no more, not when the symptom is gone for a moment: releasing
/// headroom alone removes pending pods.
pub(super) fn look(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> Option<Timestamp> {
    let known = |assignee: &&mut Assignee<'_, '_>| {
        assignee.answers() && !is_unknown(assignee.participant.cluster, &assignee.target.memory)
    };
    for assignee in assignees.iter_mut().filter(known) {
        let memory = &mut assignee.target.memory;
        let since = memory.stuck.map_or(request.now, |stuck| stuck.since);
        memory.stuck = cause(request, assignee.participant.cluster).map(|cause| Stuck { cause, since });
        if memory.stuck.is_none() && !assignee.participant.cluster.load.is_some_and(|load| request.is_above(load)) {
            memory.helped = 0;
        }
    }
    let ends =
        assignees.iter().filter_map(|assignee| assignee.target.memory.stuck?.since.checked_add(request.delay).ok());
    ends.filter(|end| *end > request.now).min()
}

/// Whether it has been unable to scale for long enough that other clusters help.
pub(super) fn counts(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> bool {
    let Some(stuck) = assignee.target.memory.stuck.filter(|_| assignee.answers()) else { return false };
    stuck.since.checked_add(request.delay).is_ok_and(|end| end <= request.now)
}

/// Whether it cannot scale, by what is seen of it now.
pub(super) fn is_stuck(request: &Request<'_>, cluster: &Cluster<'_>) -> bool {
    if cluster.state != ClusterState::Serving || is_unknown(cluster, &cluster.memory) {
        return cluster.memory.stuck.is_some();
    }
    cause(request, cluster).is_some()
}

/// Whether it was at its max, and its HPA has not confirmed the bounds that were written since. What it says next
/// counts: otherwise help would be asked for again with every write.
fn is_unknown(cluster: &Cluster<'_>, memory: &Memory) -> bool {
    let unconfirmed = cluster.hpa.is_some_and(|hpa| !hpa.confirmed);
    let at_max = memory.stuck.is_some_and(|stuck| stuck.cause == Cause::AtMax);
    unconfirmed && at_max && cluster.pending == 0 && !cluster.overdue
}

fn cause(request: &Request<'_>, cluster: &Cluster<'_>) -> Option<Cause> {
    if cluster.pending > 0 {
        return Some(Cause::Pending);
    }
    let max = cluster.hpa.filter(|hpa| hpa.confirmed)?.written?.max;
    let full = cluster.current == Some(max) && cluster.desired == Some(max);
    (full && request.is_above(cluster.load?)).then_some(Cause::AtMax)
}
