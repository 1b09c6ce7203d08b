//! Keeps targets while only the clusters change: the bounds of a failed one go to the others by policy, a returned one
//! gets its min at once (docs/design.md#failover). Pure.

use super::assignee::take;
use super::assignment::{Target, Targets, assign, bounds};
use super::cannot_scale::pends;
use super::distribute;
use super::distribute::Range;
use super::participant::Participant;
use super::{Bounds, Cluster, Memory, Policy, Reason, Request};
use crate::decision::split::{Part, Replicas, by_weight};

/// Keeps the targets of the participants, distributes free bounds, and takes returned clusters back.
///
/// * StaticWeighted and Duplicated divide by the user's settings, so a change of the participants is a new division: a
///   returned cluster gets its whole share, which the others release as their replicas shrink.
/// * Otherwise capacity decided, which varies all the time: targets stay unchanged. Free bounds - of a failed cluster,
///   or above a cap that fell - are distributed by policy. A returned cluster gets its min, taken from the headroom of
///   the others in proportion; its own headroom follows at the next rebalance.
pub(super) fn keep(request: &Request<'_>, clusters: &[&Cluster<'_>], participants: &[Participant<'_>]) -> Targets {
    if request.policy == Policy::Duplicated {
        return assign(request, clusters, participants);
    }
    let previous: Vec<Option<Bounds>> = participants.iter().map(|participant| participant.cluster.target).collect();
    let mut kept: Vec<Bounds> = participants
        .iter()
        .map(|participant| {
            let target = participant.cluster.target.unwrap_or_default();
            let max = target.max.min(participant.high);
            // A cluster whose HPA scaled to zero by itself begins from its least again; the zero stage decides anew
            // each time.
            Bounds { min: target.min.max(1).min(max), max }
        })
        .collect();
    let returned = previous.iter().any(Option::is_none);
    if request.policy == Policy::StaticWeighted {
        let steady = steady(participants);
        let divides = returned || filled(request, participants, &kept) != kept || regains(request, participants);
        return if divides || has_drifted(request, &steady, &kept) {
            assign(request, clusters, &steady)
        } else {
            targets(clusters, participants, &previous, &kept)
        };
    }
    let here =
        if returned { admit(request, participants, &previous, &mut kept) } else { vec![true; participants.len()] };
    // Clusters that could not be taken back yet do not share in the distribution.
    let (present, mut of_present): (Vec<Participant<'_>>, Vec<Bounds>) = participants
        .iter()
        .zip(&kept)
        .zip(&here)
        .filter(|(_, here)| **here)
        .map(|((participant, kept), _)| (*participant, *kept))
        .unzip();
    of_present = filled(request, &present, &of_present);
    targets(
        clusters,
        &present,
        &present.iter().map(|participant| participant.cluster.target).collect::<Vec<_>>(),
        &of_present,
    )
}

/// The participants, each of which keeps what rounding gave it.
fn steady<'a>(participants: &[Participant<'a>]) -> Vec<Participant<'a>> {
    let max = |participant: &Participant<'_>| participant.cluster.target.map(|target| target.max);
    participants.iter().map(|participant| Participant { kept: max(participant), ..*participant }).collect()
}

/// Whether the user's split differs from what is kept although nobody gave headroom: what limited it is gone, such as a
/// cluster that did not answer while max was raised.
fn has_drifted(request: &Request<'_>, steady: &[Participant<'_>], kept: &[Bounds]) -> bool {
    let gave = steady.iter().any(|participant| participant.cluster.memory.gave.is_some());
    !gave && bounds(request, steady).iter().zip(kept).any(|(fair, kept)| fair.max != kept.max)
}

/// Whether the user's split can apply again: a cluster that donated headroom has capacity or does not need any, no cluster
/// has unschedulable pods, and no headroom was moved within the window.
fn regains(request: &Request<'_>, participants: &[Participant<'_>]) -> bool {
    let calm = |participant: &Participant<'_>| {
        let Memory { gave, got, .. } = participant.cluster.memory;
        !pends(request, participant.cluster) && ![gave, got].iter().any(|moved| request.within(*moved, request.window))
    };
    let regains = |(participant, fair): (&Participant<'_>, Bounds)| {
        let Cluster { target, memory, available, desired, .. } = *participant.cluster;
        let max = target.unwrap_or_default().max;
        let fits = available.is_some_and(|room| room > 0) || desired.is_some_and(|desired| desired < max);
        memory.gave.is_some() && max < fair.max && fits
    };
    let gave = |participant: &Participant<'_>| participant.cluster.memory.gave.is_some();
    request.scale_assist
        && participants.iter().any(gave)
        && participants.iter().all(calm)
        && participants.iter().zip(bounds(request, participants)).any(regains)
}

fn targets(
    clusters: &[&Cluster<'_>],
    participants: &[Participant<'_>],
    previous: &[Option<Bounds>],
    kept: &[Bounds],
) -> Targets {
    let mut targets = vec![None; clusters.len()];
    for ((participant, previous), bounds) in participants.iter().zip(previous).zip(kept) {
        let reason = match previous {
            None => Reason::ClusterRecovered,
            Some(previous) if previous.max < bounds.max => {
                Reason::ReplicasTakenOver { more: bounds.max.abs_diff(previous.max) }
            }
            Some(previous) if previous.max > bounds.max => {
                Reason::HeadroomReleased { less: bounds.max.abs_diff(previous.max) }
            }
            Some(_) => Reason::Unchanged,
        };
        if let Some(target) = targets.get_mut(participant.at) {
            *target = Some(Target { bounds: *bounds, reason, memory: participant.cluster.memory, held: false });
        }
    }
    targets
}

/// Distributes unassigned bounds of the user on top of the current ones.
fn filled(request: &Request<'_>, participants: &[Participant<'_>], kept: &[Bounds]) -> Vec<Bounds> {
    let maxes =
        top_up(request, request.total.max, participants, kept, |bounds| bounds.max, |participant, _| participant.high);
    let kept: Vec<Bounds> = kept.iter().zip(maxes).map(|(bounds, max)| Bounds { max, ..*bounds }).collect();
    let mins = top_up(request, request.total.min, participants, &kept, |bounds| bounds.min, |_, bounds| bounds.max);
    kept.iter().zip(mins).map(|(bounds, min)| Bounds { min: min.max(1).min(bounds.max), ..*bounds }).collect()
}

fn top_up(
    request: &Request<'_>,
    total: Replicas,
    participants: &[Participant<'_>],
    kept: &[Bounds],
    has: impl Fn(&Bounds) -> Replicas,
    high: impl Fn(&Participant<'_>, &Bounds) -> Replicas,
) -> Vec<Replicas> {
    let given: u64 = kept.iter().map(|bounds| u64::from(has(bounds))).sum();
    let rest = u64::from(total).saturating_sub(given);
    let Some(rest) = Replicas::try_from(rest).ok().filter(|rest| *rest > 0) else {
        return kept.iter().map(has).collect();
    };
    let ranges = participants
        .iter()
        .zip(kept)
        .map(|(participant, bounds)| Range { low: has(bounds), high: high(participant, bounds) });
    distribute::top_up(request.policy, rest, participants, &ranges.collect::<Vec<_>>())
}

/// Gives returned participants their min, from free bounds and the headroom of the others. Returns which are taken
/// back; a returned one without a min stays out until there is one.
fn admit(
    request: &Request<'_>,
    participants: &[Participant<'_>],
    previous: &[Option<Bounds>],
    kept: &mut [Bounds],
) -> Vec<bool> {
    let fresh = bounds(request, participants);
    let wanted: Vec<Replicas> =
        previous.iter().zip(&fresh).map(|(previous, fresh)| if previous.is_none() { fresh.min } else { 0 }).collect();
    let held: u64 = kept.iter().map(|bounds| u64::from(bounds.max)).sum();
    let free = u64::from(request.total.max).saturating_sub(held);
    let need: u64 = wanted.iter().map(|wanted| u64::from(*wanted)).sum();
    let busy = |participant: &Participant<'_>| participant.cluster.may_run().max(participant.cluster.memory.floor());
    let slack =
        |participant: &Participant<'_>, bounds: &Bounds| bounds.max.saturating_sub(bounds.min.max(busy(participant)));
    let spare = |of: &dyn Fn(&Participant<'_>, &Bounds) -> Replicas, kept: &[Bounds]| {
        participants
            .iter()
            .zip(kept)
            .map(|(participant, bounds)| (participant.cluster.name, of(participant, bounds)))
            .collect::<Vec<_>>()
    };
    let most = |total: u64| Replicas::try_from(total).unwrap_or(Replicas::MAX);
    let taken = take(most(need.saturating_sub(free)), &spare(&slack, kept));
    let got: u64 = taken.iter().map(|taken| u64::from(*taken)).sum();
    for (bounds, taken) in kept.iter_mut().zip(&taken) {
        bounds.max = bounds.max.saturating_sub(*taken);
    }
    let can = most(free.saturating_add(got).min(need));
    let parts = participants.iter().zip(&wanted).map(|(participant, wanted)| Part {
        name: participant.cluster.name,
        current: 0,
        weight: (*wanted).into(),
        kept: 0,
        low: 0,
        high: *wanted,
    });
    let shares = by_weight(can, &parts.collect::<Vec<_>>());
    // Their min was part of the mins of the others while they were away.
    let surplus = kept.iter().map(|bounds| u64::from(bounds.min)).sum::<u64>().saturating_add(can.into());
    let surplus = surplus.saturating_sub(request.total.min.into()).min(can.into());
    let over = |participant: &Participant<'_>, bounds: &Bounds| {
        bounds.min.saturating_sub(participant.cluster.limits.least.max(1))
    };
    let lowered = take(most(surplus), &spare(&over, kept));
    let mut here = Vec::with_capacity(participants.len());
    for (((bounds, previous), (share, wanted)), lowered) in
        kept.iter_mut().zip(previous).zip(shares.iter().zip(&wanted)).zip(lowered)
    {
        bounds.min = bounds.min.saturating_sub(lowered);
        if previous.is_none() {
            *bounds = Bounds { min: *share, max: *share };
        }
        here.push(previous.is_some() || *share > 0 || *wanted == 0);
    }
    here
}
