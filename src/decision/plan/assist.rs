//! Replicas that other clusters run at once in place of clusters that cannot scale
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::{SignedDuration, Timestamp};

use super::assignee::{Assignee, sum, take};
use super::cannot_scale::counts;
use super::distribute::{Range, distribute};
use super::participant::Participant;
use super::{Assist, Cause, Cluster, Policy, Request};
use crate::decision::split::Replicas;

/// An assist that is not reached is kept for at least this time.
const LEAST_HELD: SignedDuration = SignedDuration::from_secs(60);

/// Assigns assists to clusters. Replicas requested for a cluster are remembered with it, so that they are requested
/// once.
pub(super) fn assist(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    if !request.may_scale_up() {
        for assignee in assignees {
            let memory = &mut assignee.target.memory;
            memory.assist = memory.assist.filter(|_| memory.floor.is_some());
        }
        return;
    }
    let short: Vec<(&str, Replicas)> =
        assignees.iter().map(|assignee| (assignee.participant.cluster.name, shortfall(request, assignee))).collect();
    let total = sum(short.iter().map(|(_, short)| *short));
    let given = share_out(request, assignees, total);
    for (assignee, helped) in assignees.iter_mut().zip(take(given, &short)) {
        let memory = &mut assignee.target.memory;
        memory.helped = memory.helped.saturating_add(helped);
    }
}

/// Distributes `total` further replicas by policy to the clusters that can run them. Returns how many were distributed.
fn share_out(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], total: Replicas) -> Replicas {
    if total == 0 {
        return 0;
    }
    let able = assignees.iter().enumerate();
    let receivers: Vec<(usize, Participant<'_>, Range)> =
        able.filter_map(|(at, assignee)| Some((at, receiver(request, assignee)?))).map(with_range).collect();
    if receivers.is_empty() {
        return 0;
    }
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) =
        receivers.iter().map(|(_, participant, range)| (*participant, *range)).unzip();
    // Each cluster of a Duplicated workload has all of it: the one with the most free capacity helps.
    let policy = if request.policy.divides() { request.policy } else { Policy::Aggregated };
    let shares = distribute(policy, total, &participants, &ranges);
    let given = sum(shares.iter().copied());
    for ((at, ..), share) in receivers.iter().zip(shares).filter(|(_, share)| *share > 0) {
        if let Some(assignee) = assignees.get_mut(*at) {
            let replicas = runs(assignee).saturating_add(share);
            assignee.target.memory.assist = Some(Assist { replicas, since: request.now });
            request.remember(&mut assignee.target.memory, share);
        }
    }
    given
}

/// Drops assists that were reached or have expired: the HPA has decided since then, and a second writer would conflict.
/// Where the min of the HPA asks for the replicas, it stays until the HPA wants as many by itself, at most for the
/// window of scaling down. What is still requested is cut to what the policies of the user allow now.
pub(super) fn forget(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    for assignee in assignees {
        let max = assignee.participant.cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default().max;
        let Cluster { current, load, reach, .. } = *assignee.participant.cluster;
        let running = assignee.participant.cluster.running();
        let memory = &mut assignee.target.memory;
        let mut requested = false;
        memory.assist = memory.assist.filter(|assist| {
            let reached = current.is_none_or(|current| current >= assist.replicas.min(max));
            // Keep it while the raise of its max is pending.
            let waits = max < assist.replicas && max < assignee.target.bounds.max;
            requested = !reached || waits;
            let holds = reached && !reach.scale && load.is_none_or(|load| load.wanted(running) < assist.replicas);
            request.within(Some(assist.since), held(request)) && (requested || holds)
        });
        request.age(memory, requested && memory.assist.is_some());
        if let Some(assist) = memory.assist.as_mut().filter(|_| requested) {
            // Its HPA may have removed replicas since, also those that were added.
            let floor = memory.floor.map_or(0, |floor| floor.replicas);
            let has = current.unwrap_or_default().max(floor);
            let most = request.most(has, &memory.scale_ups.observed());
            assist.replicas = assist.replicas.min(most.max(assignee.target.bounds.min));
            let more = assist.replicas.saturating_sub(has).saturating_sub(memory.scale_ups.requested());
            request.remember(memory, more);
        }
    }
}

/// How long an assist that is not reached is kept, and the min of an HPA holds replicas that it does not want by itself.
fn held(request: &Request<'_>) -> SignedDuration {
    request.window.max(LEAST_HELD)
}

/// When the next assist ends, or the policies of the user allow more of what is missing.
pub(super) fn end(request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Option<Timestamp> {
    let rules = request.scale_up.iter().filter(|_| assignees.iter().any(|one| shortfall(request, one) > 0));
    let more = rules.flat_map(|rules| assignees.iter().flat_map(|one| one.target.memory.scale_ups.ends(rules)));
    let sinces = assignees.iter().filter_map(|assignee| Some(assignee.target.memory.assist?.since));
    let ends = sinces.filter_map(|since| since.checked_add(held(request)).ok());
    ends.chain(more).filter(|end| *end > request.now).min()
}

/// `ceil(ready * metric / target) - ready`, minus the replicas already requested from other clusters; for a cluster at
/// its max only the part above that max. Without a metric: the unschedulable pods. (`ready`, not `current`: the metric
/// is measured over running pods, so pending pods would count twice.)
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

/// Replicas that it runs, or should run at once.
fn runs(assignee: &Assignee<'_, '_>) -> Replicas {
    let assist = assignee.target.memory.assist.map_or(0, |assist| assist.replicas).max(assignee.target.memory.floor());
    assignee.participant.cluster.current.unwrap_or_default().max(assist)
}

/// Further replicas that a cluster can run, within its max and its free capacity.
fn receiver<'a>(request: &Request<'_>, assignee: &Assignee<'_, 'a>) -> Option<(Participant<'a>, Replicas)> {
    let cluster = assignee.participant.cluster;
    // Whether a cluster at zero is woken is not decided here: asked for replicas it would not start any.
    let asleep = assignee.target.memory.zero;
    let current = cluster.current?;
    // An HPA does not scale a workload at zero replicas, whatever its min.
    let asks = cluster.reach.scale || current > 0;
    let able = assignee.answers() && !assignee.is_stuck() && !asleep && asks;
    let runs = runs(assignee);
    let ordered = runs.saturating_sub(current);
    let room = cluster.available.unwrap_or_default().saturating_sub(ordered);
    let most = assignee.target.bounds.max.min(request.most(runs, &assignee.target.memory.scale_ups));
    let spare = room.min(most.saturating_sub(runs));
    if !able || spare == 0 {
        return None;
    }
    let weight = if request.policy == Policy::StaticWeighted { assignee.participant.weight } else { room.into() };
    Some((Participant { weight, capacity: spare, ..*assignee.participant }, spare))
}

fn with_range((at, (participant, spare)): (usize, (Participant<'_>, Replicas))) -> (usize, Participant<'_>, Range) {
    (at, participant, Range { low: 0, high: spare })
}
