//! Replicas that others run at once in the place of clusters that cannot scale
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::SignedDuration;

use super::adjust::{Assignee, sum, take, within};
use super::distribute::{Range, distribute};
use super::participant::Participant;
use super::signal::counts;
use super::{Assist, Cause, Policy, Reach, Request};
use crate::decision::split::Replicas;

/// After this time what was not reached will not be.
const GIVEN_UP: SignedDuration = SignedDuration::from_secs(60);

/// Says who is to run how many at once. What was asked for a cluster is remembered with it, so that it is asked once.
pub(super) fn assist(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    forget(request, assignees);
    let short: Vec<(&str, Replicas)> =
        assignees.iter().map(|assignee| (assignee.participant.cluster.name, shortfall(request, assignee))).collect();
    let total = sum(short.iter().map(|(_, short)| *short));
    let given = share_out(request, assignees, total);
    for (assignee, helped) in assignees.iter_mut().zip(take(given, &short)) {
        let memory = &mut assignee.target.memory;
        memory.helped = memory.helped.saturating_add(helped);
    }
}

/// Has the clusters that can run so many more, by policy. Returns how many they will.
fn share_out(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], total: Replicas) -> Replicas {
    let able = assignees.iter().enumerate();
    let receivers: Vec<(usize, Participant<'_>, Range)> =
        able.filter_map(|(at, assignee)| Some((at, receiver(request, assignee)?))).map(with_range).collect();
    if total == 0 || receivers.is_empty() {
        return 0;
    }
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) =
        receivers.iter().map(|(_, participant, range)| (*participant, *range)).unzip();
    // Each of a Duplicated workload has all of it: the one with most room helps.
    let policy = if request.policy.divides() { request.policy } else { Policy::Aggregated };
    let shares = distribute(policy, total, &participants, &ranges);
    let given = sum(shares.iter().copied());
    for ((at, ..), share) in receivers.iter().zip(shares).filter(|(_, share)| *share > 0) {
        if let Some(assignee) = assignees.get_mut(*at) {
            let replicas = runs(assignee).saturating_add(share);
            assignee.target.memory.assist = Some(Assist { replicas, since: request.now });
        }
    }
    given
}

/// What was reached is forgotten, and what was not within a while: its HPA has decided since, and two would fight.
pub(super) fn forget(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    for assignee in assignees {
        let max = assignee.participant.cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default().max;
        let current = assignee.participant.cluster.current;
        let memory = &mut assignee.target.memory;
        memory.assist = memory.assist.filter(|assist| {
            let reached = current.is_none_or(|current| current >= assist.replicas.min(max));
            // Not while its raise is still to come.
            let waits = max < assist.replicas && max < assignee.target.bounds.max;
            within(Some(assist.since), GIVEN_UP, request.now) && (!reached || waits)
        });
    }
}

/// `ceil(ready * metric / target) - ready`, without what others were asked for; of one at its max only what that max will
/// not allow. Without a metric: the pods that cannot be scheduled. (`ready`, not `current`: the metric is measured
/// over the pods that run, so that pods that do not would count twice.)
fn shortfall(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> Replicas {
    let Some(stuck) = assignee.target.memory.stuck.filter(|_| counts(request, assignee)) else { return 0 };
    let cluster = assignee.participant.cluster;
    let running = cluster.running();
    let wanted = cluster.load.map_or(cluster.current.unwrap_or_default(), |load| load.wanted(running));
    let has = match stuck.cause {
        Cause::Pending => running,
        Cause::AtMax => running.max(assignee.target.bounds.max),
    };
    wanted.saturating_sub(has).saturating_sub(assignee.target.memory.helped)
}

/// What it runs or is to run.
fn runs(assignee: &Assignee<'_, '_>) -> Replicas {
    let assist = assignee.target.memory.assist.map_or(0, |assist| assist.replicas).max(assignee.target.memory.floor());
    assignee.participant.cluster.current.unwrap_or_default().max(assist)
}

/// What a cluster can run more, within its max and its room.
fn receiver<'a>(request: &Request<'_>, assignee: &Assignee<'_, 'a>) -> Option<(Participant<'a>, Replicas)> {
    let cluster = assignee.participant.cluster;
    let able = assignee.answers() && !assignee.is_stuck() && cluster.reach == Reach::Scale;
    let runs = runs(assignee);
    let ordered = runs.saturating_sub(cluster.current?);
    let room = cluster.available.unwrap_or_default().saturating_sub(ordered);
    let spare = room.min(assignee.target.bounds.max.saturating_sub(runs));
    if !able || spare == 0 {
        return None;
    }
    let weight = if request.policy == Policy::StaticWeighted { assignee.participant.weight } else { room.into() };
    Some((Participant { weight, capacity: spare, ..*assignee.participant }, spare))
}

fn with_range((at, (participant, spare)): (usize, (Participant<'_>, Replicas))) -> (usize, Participant<'_>, Range) {
    (at, participant, Range { low: 0, high: spare })
}
