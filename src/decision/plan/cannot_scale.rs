//! Clusters that cannot scale: which, since when, and the headroom that moves to them
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::Timestamp;

use super::assignee::{Assignee, sum, take};
use super::distribute::{Range, top_up};
use super::participant::Participant;
use super::{Cause, Cluster, ClusterState, Memory, Policy, Reason, Request, Stuck};
use crate::decision::load::Load;
use crate::decision::split::Replicas;

/// Updates the stored state of each cluster. Returns when the next of them counts as stuck.
///
/// A silent cluster keeps its state, and one at its max while a write of its HPA is not confirmed. Replicas requested
/// from others for a cluster are forgotten when it needs no more, not when the symptom is gone for a moment: releasing
/// headroom alone removes pending pods, and help may bring a metric just within the tolerance until the HPA of the
/// helper removes it again.
pub(super) fn look(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> Option<Timestamp> {
    let known = |assignee: &&mut Assignee<'_, '_>| {
        assignee.answers() && !is_unknown(assignee.participant.cluster, &assignee.target.memory)
    };
    for assignee in assignees.iter_mut().filter(known) {
        let memory = &mut assignee.target.memory;
        let since = memory.stuck.map_or(request.now, |stuck| stuck.since);
        memory.stuck = cause(request, assignee.participant.cluster).map(|cause| Stuck { cause, since });
        if memory.stuck.is_none() && !assignee.participant.cluster.load.is_some_and(|load| load.is_above_by(0)) {
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

/// Whether it has unschedulable pods, by what is seen of it now.
pub(super) fn pends(request: &Request<'_>, cluster: &Cluster<'_>) -> bool {
    let seen = cluster.state == ClusterState::Serving && !is_unknown(cluster, &cluster.memory);
    let known = || cluster.memory.stuck.map(|stuck| stuck.cause);
    let cause = if seen { cause(request, cluster) } else { known() };
    cause == Some(Cause::Pending)
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

/// Moves headroom. Returns whether any was moved.
pub(super) fn raise(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    give_up(request, assignees) | donate(request, assignees)
}

/// Clusters with unschedulable pods keep their running replicas; the rest, and with it their min, goes to other clusters
/// by policy.
fn give_up(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    let gives = |assignee: &Assignee<'_, '_>| {
        let pending = assignee.target.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::Pending);
        let gives = pending && counts(request, assignee) && assignee.may_give(request) && assignee.has_reacted(request);
        // A min that it has no room for would run nowhere. Under StaticWeighted it is the user's split.
        let keeps = if request.policy.depends_on_capacity() { assignee.least().max(1) } else { assignee.floor() };
        if gives { assignee.target.bounds.max.saturating_sub(keeps) } else { 0 }
    };
    let spare: Vec<Replicas> = assignees.iter().map(gives).collect();
    let donors =
        || assignees.iter().zip(&spare).filter(|(_, spare)| **spare > 0).map(|(assignee, _)| rank(request, assignee));
    let lowest = donors().min().flatten();
    let most = |assignee: &Assignee<'_, '_>| {
        let (high, room) = (assignee.participant.high, assignee.participant.cluster.available.is_some());
        let Memory { stuck, gave, got, .. } = assignee.target.memory;
        match stuck.map(|stuck| stuck.cause) {
            _ if !assignee.answers() || !assignee.may_get(request) => 0,
            // It gave headroom up itself: what is above its capacity would return.
            None if gave > got && room && rank(request, assignee) >= lowest => high.min(assignee.participant.capacity),
            None => high,
            // It is next in order, and its pending pods may trigger new nodes.
            Some(Cause::AtMax) if rank(request, assignee) < lowest => high,
            // Headroom above its capacity would return, because its pods would be pending too.
            Some(Cause::AtMax) if room => high.min(assignee.participant.capacity),
            Some(Cause::AtMax | Cause::Pending) => 0,
        }
    };
    hand_over(request, assignees, &spare, most, Reason::ScaleUpBlocked)
}

/// Takes the amounts of `spare` and distributes them by policy to the other clusters, each up to `most`; only as much
/// as they can take.
pub(super) fn hand_over(
    request: &Request<'_>,
    assignees: &mut [Assignee<'_, '_>],
    spare: &[Replicas],
    most: impl Fn(&Assignee<'_, '_>) -> Replicas,
    why: Reason,
) -> bool {
    let free = sum(spare.iter().copied());
    if free == 0 {
        return false;
    }
    let receivers: Vec<(usize, Participant<'_>, Range)> = assignees
        .iter()
        .enumerate()
        .filter(|(at, _)| spare.get(*at) == Some(&0))
        .map(|(at, assignee)| {
            (at, *assignee.participant, Range { low: assignee.target.bounds.max, high: most(assignee) })
        })
        .filter(|(.., range)| range.high > range.low)
        .collect();
    if receivers.is_empty() {
        return false;
    }
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) =
        receivers.iter().map(|(_, participant, range)| (*participant, *range)).unzip();
    let maxes = top_up(request.policy, free, &participants, &ranges);
    let got = sum(maxes.iter().zip(&ranges).map(|(max, range)| max.saturating_sub(range.low)));
    let named: Vec<(&str, Replicas)> =
        assignees.iter().zip(spare).map(|(assignee, spare)| (assignee.participant.cluster.name, *spare)).collect();
    for (assignee, less) in assignees.iter_mut().zip(take(got, &named)) {
        assignee.set_max(assignee.target.bounds.max.saturating_sub(less), request.now, why);
    }
    for ((at, ..), max) in receivers.iter().zip(maxes) {
        if let Some(assignee) = assignees.get_mut(*at) {
            assignee.set_max(max, request.now, Reason::HeadroomReceived);
        }
    }
    got > 0
}

/// Clusters at their max that want more receive headroom that others do not want.
///
/// Each receives what it needs, up to its capacity. Not under StaticWeighted, whose split is the user's decision. Under
/// Prioritized the higher priority is first, and no cluster takes from a higher one: that one serves the load by
/// itself.
fn donate(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    if request.policy == Policy::StaticWeighted {
        return false;
    }
    // Only clusters that are not stuck donate, so that no donation changes the need of others.
    let at_max = assignees.iter().filter(|assignee| need(request, assignee) > 0);
    let mut ranks: Vec<Option<i32>> = at_max.map(|assignee| rank(request, assignee)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut moved = false;
    for own in ranks.into_iter().rev() {
        let needs: Vec<(&str, Replicas)> =
            by_name(assignees, |assignee| if rank(request, assignee) == own { need(request, assignee) } else { 0 });
        let slacks: Vec<(&str, Replicas)> =
            by_name(assignees, |assignee| if rank(request, assignee) <= own { slack(request, assignee) } else { 0 });
        let total = |of: &[(&str, Replicas)]| sum(of.iter().map(|(_, number)| *number));
        let total = total(&needs).min(total(&slacks));
        if total == 0 {
            // Lower ranks have no more to take from.
            break;
        }
        moved = true;
        let (gets, gives) = (take(total, &needs), take(total, &slacks));
        for ((assignee, more), less) in assignees.iter_mut().zip(gets).zip(gives) {
            let max = assignee.target.bounds.max.saturating_sub(less).saturating_add(more);
            assignee.set_max(max, request.now, if more > 0 { Reason::RaisedAtMax } else { Reason::HeadroomDonated });
        }
    }
    moved
}

/// Order among clusters: by priority under Prioritized, otherwise all are equal.
fn rank(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> Option<i32> {
    if request.policy == Policy::Prioritized { assignee.participant.cluster.priority } else { None }
}

fn by_name<'a>(assignees: &[Assignee<'_, 'a>], of: impl Fn(&Assignee<'_, 'a>) -> Replicas) -> Vec<(&'a str, Replicas)> {
    assignees.iter().map(|assignee| (assignee.participant.cluster.name, of(assignee))).collect()
}

/// Headroom that a cluster at its max lacks.
fn need(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> Replicas {
    let full = assignee.target.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::AtMax);
    if !full
        || !request.may_scale_up()
        || !counts(request, assignee)
        || !assignee.may_get(request)
        || !assignee.has_reacted(request)
    {
        return 0;
    }
    let cluster = assignee.participant.cluster;
    let max = assignee.target.bounds.max;
    let wanted = cluster.load.map_or(0, |load: Load| load.wanted(cluster.running()));
    let room = cluster.available.unwrap_or(Replicas::MAX);
    wanted.min(assignee.participant.high).saturating_sub(max).min(room)
}

/// Headroom that a cluster does not want.
fn slack(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> Replicas {
    let Some(desired) = assignee.participant.cluster.desired.filter(|_| assignee.answers() && !assignee.is_stuck())
    else {
        return 0;
    };
    if assignee.may_give(request) {
        assignee.target.bounds.max.saturating_sub(assignee.floor().max(desired))
    } else {
        0
    }
}
