//! Which clusters run further replicas for others, and how many each (docs/design.md#clusters-that-leave). Pure.

use super::assignee::Assignee;
use super::distribute::{Range, distribute};
use super::floors;
use super::participant::Participant;
use super::{Assist, Cause, Floor, Policy, Request};
use crate::decision::split::Replicas;

/// Whether its first replica will start soon: its bounds are assigned, and it has an entry.
pub(super) fn starts(assignee: &Assignee<'_, '_>) -> bool {
    let cluster = assignee.participant.cluster;
    let bound = assignee.target.bounds.is_some() && cluster.entry.is_some() && assignee.answers();
    bound && cluster.ready == 0 && cluster.pending == 0 && !assignee.target.memory.zero
}

/// Distributes `total` further replicas by policy; `all` includes clusters at zero, those without a ready replica, which
/// may never have one, and those whose replicas are unknown: these may have stopped to answer. Returns how many were
/// distributed.
pub(super) fn share_out(
    request: &Request<'_>,
    assignees: &mut [Assignee<'_, '_>],
    total: Replicas,
    all: bool,
) -> Replicas {
    if total == 0 {
        return 0;
    }
    let able = assignees.iter().enumerate().filter_map(|(at, assignee)| {
        let spare = spare(assignee, all).filter(|spare| *spare > 0)?;
        let room = assignee.participant.cluster.available.unwrap_or(spare).into();
        let weight = if request.policy == Policy::StaticWeighted { assignee.participant.weight } else { room };
        Some((at, Participant { weight, capacity: spare, ..*assignee.participant }, Range { low: 0, high: spare }))
    });
    let receivers: Vec<(usize, Participant<'_>, Range)> = able.collect();
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) =
        receivers.iter().map(|(_, participant, range)| (*participant, *range)).unzip();
    let mut given: Replicas = 0;
    for ((at, ..), share) in receivers.iter().zip(distribute(request.policy, total, &participants, &ranges)) {
        let Some(assignee) = assignees.get_mut(*at).filter(|_| share > 0) else { continue };
        let replicas = runs(assignee).saturating_add(share);
        let memory = &mut assignee.target.memory;
        memory.zero = false;
        memory.floor = Some(Floor { replicas, since: request.now });
        memory.assist = Some(Assist { replicas, since: request.now });
        given = given.saturating_add(share);
    }
    given
}

/// Replicas that it runs or should run.
fn runs(assignee: &Assignee<'_, '_>) -> Replicas {
    let memory = &assignee.target.memory;
    let asked = memory.assist.map_or(0, |assist| assist.replicas).max(memory.floor());
    let cluster = assignee.participant.cluster;
    cluster.current.unwrap_or_default().max(cluster.may_run()).max(floors::may_want(assignee)).max(asked)
}

/// Further replicas that it can run, within its max and its free capacity; `None` where it cannot be asked. While the
/// free capacity is unknown it is asked: replicas that do not become ready replace nothing.
pub(super) fn spare(assignee: &Assignee<'_, '_>, all: bool) -> Option<Replicas> {
    let cluster = assignee.participant.cluster;
    let pends = cluster.pending > 0 || assignee.target.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::Pending);
    // An HPA does not scale a workload at zero replicas.
    let stopped = !cluster.reach.scale && cluster.entry.is_some() && cluster.current == Some(0);
    let unready = cluster.entry.is_some() && cluster.ready == 0;
    let unsure = assignee.target.memory.zero || cluster.is_unknown() || unready;
    if !assignee.answers() || pends || stopped || unsure && !all || cluster.evicting || cluster.returned {
        return None;
    }
    let runs = runs(assignee);
    let ordered = runs.saturating_sub(cluster.current.unwrap_or_else(|| cluster.may_run()));
    let room = cluster.available.map_or(Replicas::MAX, |room| room.saturating_sub(ordered));
    Some(room.min(assignee.target.bounds.max.saturating_sub(runs)))
}
