//! Which clusters should have no replicas (docs/design.md#to-and-from-zero). Pure.

use std::cmp::Reverse;

use jiff::Timestamp;

use super::assignee::{Assignee, sum};
use super::assignment::Targets;
use super::cannot_scale::counts;
use super::distribute::{Range, distribute};
use super::participant::Participant;
use super::{Assist, Bounds, Cluster, ClusterState, Note, Policy, Reach, Request};
use crate::decision::load::Load;
use crate::decision::split::Replicas;

/// What the scaling to zero tells besides the targets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idle {
    /// Since when a cluster could go to zero.
    pub(super) since: Option<Timestamp>,
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
}

/// Scales clusters from zero, or one to zero, all of which have bounds; `settled` is whether they have reacted to them,
/// `replaces` whether clusters leave or failed whose load is not theirs yet.
pub(super) fn zero(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], settled: bool, replaces: bool) -> Idle {
    if !request.may_be_zero() {
        for assignee in assignees {
            assignee.target.memory.zero = false;
        }
        return Idle::default();
    }
    for assignee in assignees.iter_mut() {
        let cluster = assignee.participant.cluster;
        // A new cluster begins at zero.
        let new = cluster.target.is_none() && cluster.may_run() == 0 && !cluster.is_unknown();
        let runs = is_back(request, cluster) || is_loaded(request, assignee);
        let memory = &mut assignee.target.memory;
        let may = can_be_zero(cluster.reach) && !runs && memory.floor.is_none();
        memory.zero = (memory.zero || new) && may;
    }
    let woken = cover(request, assignees) | (settled && wake(request, assignees));
    let replaces = replaces || assignees.iter().any(|assignee| assignee.target.memory.floor.is_some());
    let idle = match settled {
        _ if woken || replaces => Idle::default(),
        true => sleep(request, assignees),
        // Headroom that moved is no load: the window goes on, and nobody goes to sleep now.
        false => Idle { since: request.idle.filter(|_| victim(request, assignees).is_some()), next: None },
    };
    // Its HPA scales to zero by itself.
    for assignee in assignees.iter_mut().filter(|assignee| assignee.target.memory.zero) {
        if assignee.participant.cluster.reach.own_zero {
            assignee.target.bounds.min = 0;
        }
    }
    idle
}

/// Adds notes on clusters whose replicas cannot be written.
pub(super) fn remark(
    request: &Request<'_>,
    participants: &[Participant<'_>],
    targets: &Targets,
    notes: &mut Vec<Note>,
) {
    if request.scaling_to_zero && request.scale_assist && !request.policy.divides() {
        notes.push(Note::ScaleToZeroDuplicated);
    }
    let bound = |participant: &&Participant<'_>| {
        let target = targets.get(participant.at).copied().flatten().map(|target| target.bounds).unwrap_or_default();
        target.is_some() && participant.cluster.state == ClusterState::Serving
    };
    let unwritable = |participant: &&Participant<'_>| participant.cluster.reach == Reach::BOUNDS && bound(participant);
    let clusters = participants.iter().filter(unwritable).count();
    if request.may_be_zero() && clusters > 0 {
        notes.push(Note::ScaleToZeroUnsupported { clusters });
    }
    let asleep =
        |participant: &&Participant<'_>| participant.cluster.current == Some(0) && participant.cluster.entry.is_some();
    let clusters = participants.iter().filter(unwritable).filter(asleep).count();
    if clusters > 0 {
        notes.push(Note::ScaleFromZeroUnsupported { clusters });
    }
}

const fn can_be_zero(reach: Reach) -> bool {
    reach.scale || reach.own_zero
}

/// Whether its HPA has started it again by itself.
fn is_back(request: &Request<'_>, cluster: &Cluster<'_>) -> bool {
    let runs = cluster.reach.own_zero && cluster.current.is_some_and(|current| current > 0);
    runs && cluster.load.is_some_and(|load| load.value > 0 && !request.is_below(load))
}

/// Whether it was to be scaled to zero, still runs, and has load by now: the write may come long after the decision.
fn is_loaded(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> bool {
    let cluster = assignee.participant.cluster;
    let runs = cluster.current.filter(|current| *current > 0 && !cluster.reach.own_zero);
    let busy = cluster.load.is_some_and(|load| !request.is_below(load));
    runs.is_some_and(|current| current > assignee.target.bounds.min.max(1) || busy)
}

/// Order of scaling to zero: fewest replicas, smallest weight or lowest priority, by policy.
fn order(request: &Request<'_>, assignee: &Assignee<'_, '_>) -> (Option<i32>, u64) {
    let cluster = assignee.participant.cluster;
    match request.policy {
        Policy::Prioritized => (cluster.priority, 0),
        Policy::Aggregated => (None, cluster.current.unwrap_or_default().into()),
        Policy::StaticWeighted | Policy::DynamicWeighted | Policy::Duplicated => (None, assignee.participant.weight),
    }
}

/// Scales as many clusters from zero as the user's min needs, and one where nothing else would ever start any.
fn cover(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    let awake =
        assignees.iter().filter(|assignee| !assignee.target.memory.zero).map(|assignee| assignee.target.bounds.min);
    let mut covered = sum(awake);
    // Where all are at zero and no HPA comes back by itself, nothing would ever start one.
    let comes_back = |assignee: &Assignee<'_, '_>| assignee.answers() && assignee.participant.cluster.reach.own_zero;
    let mut starts = assignees.iter().any(|assignee| !assignee.target.memory.zero || comes_back(assignee));
    let mut asleep: Vec<&mut Assignee<'_, '_>> =
        assignees.iter_mut().filter(|assignee| assignee.target.memory.zero && assignee.answers()).collect();
    asleep.sort_unstable_by_key(|assignee| {
        (Reverse(order(request, assignee)), Reverse(assignee.participant.capacity), assignee.participant.cluster.name)
    });
    let mut woken = false;
    for assignee in asleep {
        if covered >= request.total.min && starts {
            break;
        }
        starts = true;
        assignee.target.memory.zero = false;
        covered = covered.saturating_add(assignee.target.bounds.min.max(1));
        woken = true;
    }
    woken
}

/// Scales clusters from zero when a running cluster has more load than it can serve.
fn wake(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    let awake = || assignees.iter().filter(|assignee| !assignee.target.memory.zero && assignee.answers());
    let strained = |assignee: &Assignee<'_, '_>| {
        let cluster = assignee.participant.cluster;
        let bounds = assignee.target.bounds;
        let full = cluster.current == Some(bounds.max) && bounds.max > bounds.min;
        cluster.load.is_some_and(|load| request.is_above(load)) || counts(request, assignee) || full
    };
    // A cluster that was just scaled from zero will help soon.
    let starts = |assignee: &Assignee<'_, '_>| {
        let cluster = assignee.participant.cluster;
        cluster.ready == 0 && !cluster.overdue && !assignee.is_stuck()
    };
    if !request.may_scale_up() || awake().any(starts) || !awake().any(strained) {
        return false;
    }
    let asleep = |assignee: &Assignee<'_, '_>| assignee.target.memory.zero && assignee.answers();
    let first = assignees
        .iter()
        .filter(|assignee| asleep(assignee))
        .map(|assignee| assignee.participant.cluster.priority)
        .max();
    let Some(first) = first else { return false };
    let mut woken: Vec<&mut Assignee<'_, '_>> = Vec::new();
    let missing = missing(request, assignees);
    for assignee in assignees.iter_mut().filter(|assignee| asleep(assignee)) {
        if request.policy == Policy::Prioritized && assignee.participant.cluster.priority != first {
            continue;
        }
        assignee.target.memory.zero = false;
        woken.push(assignee);
    }
    start(request, woken, missing);
    true
}

/// Replicas that the load of running clusters asks for beyond what these can run.
fn missing(request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Replicas {
    sum(assignees.iter().filter(|assignee| !assignee.target.memory.zero && assignee.answers()).map(|assignee| {
        let cluster = assignee.participant.cluster;
        let running = cluster.running();
        let load = cluster.load.filter(|load| request.is_above(*load));
        let most = running.saturating_add(cluster.available.unwrap_or_default()).min(assignee.target.bounds.max);
        load.map_or(0, |load| load.wanted(running)).saturating_sub(most.max(running))
    }))
}

/// Asks clusters that start for more than their min, where the load is that high: within max, free capacity and the
/// policies of `behavior.scaleUp`.
fn start(request: &Request<'_>, woken: Vec<&mut Assignee<'_, '_>>, missing: Replicas) {
    let most = |assignee: &Assignee<'_, '_>| {
        let Bounds { min, max } = assignee.target.bounds;
        let room = assignee.participant.cluster.available.unwrap_or_default();
        max.min(room).min(request.most(0, &assignee.target.memory.scale_ups)).max(min)
    };
    let ranges: Vec<Range> = woken.iter().map(|one| Range { low: one.target.bounds.min, high: most(one) }).collect();
    let participants: Vec<Participant<'_>> = woken
        .iter()
        .zip(&ranges)
        .map(|(one, range)| Participant { capacity: range.high, ..*one.participant })
        .collect();
    let total = missing.max(sum(ranges.iter().map(|range| range.low)));
    for (assignee, replicas) in woken.into_iter().zip(distribute(request.policy, total, &participants, &ranges)) {
        let more = replicas > assignee.target.bounds.min && assignee.participant.cluster.reach.scale;
        let memory = &mut assignee.target.memory;
        memory.assist = more.then_some(Assist { replicas, since: request.now });
        request.remember(memory, replicas);
    }
}

/// Scales one cluster to zero after all had little load for the whole window.
fn sleep(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> Idle {
    let Some(victim) = victim(request, assignees) else { return Idle::default() };
    let since = request.idle.unwrap_or(request.now);
    if request.within(Some(since), request.window) {
        return Idle { since: Some(since), next: since.checked_add(request.window).ok() };
    }
    if let Some(assignee) = assignees.get_mut(victim) {
        assignee.target.memory.zero = true;
    }
    Idle { since: Some(request.now), next: request.now.checked_add(request.window).ok() }
}

/// The cluster to scale to zero, when all are idle and the others can serve the whole load.
fn victim(request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Option<usize> {
    let awake: Vec<(usize, &Assignee<'_, '_>, Replicas, Load)> = assignees
        .iter()
        .enumerate()
        .filter(|(_, assignee)| !assignee.target.memory.zero)
        .map(|(at, assignee)| {
            Some((at, assignee, assignee.participant.cluster.current?, assignee.participant.cluster.load?))
        })
        .collect::<Option<_>>()?;
    let idle = |(_, assignee, current, load): &(usize, &Assignee<'_, '_>, Replicas, Load)| {
        let at_min = *current <= assignee.target.bounds.min && assignee.participant.cluster.ready >= *current;
        assignee.answers() && !assignee.is_stuck() && at_min && request.is_below(*load)
    };
    let all = sum(awake.iter().map(|(_, _, current, _)| *current));
    if !awake.iter().all(idle) || all <= request.total.min {
        return None;
    }
    // In thousandths: rounding up each cluster alone would ask for more than all together.
    let wanted =
        sum(awake.iter().map(|(_, _, current, load)| load.wanted(current.saturating_mul(1000)))).div_ceil(1000);
    let (at, victim, current, _) = awake
        .iter()
        .filter(|(_, assignee, ..)| can_be_zero(assignee.participant.cluster.reach))
        .min_by_key(|(_, assignee, ..)| (order(request, assignee), Reverse(assignee.participant.cluster.name)))?;
    let rest = all.saturating_sub(*current);
    // The last one is started by nobody else.
    let comes_back = rest > 0 || victim.participant.cluster.reach.own_zero;
    (*current > 0 && rest >= request.total.min && rest >= wanted && comes_back).then_some(*at)
}
