//! Targets kept while nothing but the clusters changes: what a failed one had goes to the others by policy, a returned one
//! gets its min at once (docs/design.md#failover). Pure.

use super::adjust::{take, within};
use super::assignment::{Target, Targets, assign, bounds};
use super::pour::{self, Range};
use super::seat::Seat;
use super::{Bounds, Cluster, Memory, Policy, Reason, Request};
use crate::decision::split::{Part, Replicas, by_weight};

/// Keeps the targets of the seats, gives away what is free, and takes in who came back.
///
/// * StaticWeighted and Duplicated divide by what the user said, so a change of the seats is a new division: a returned
///   cluster gets its whole share, which the others give up as their replicas shrink.
/// * Otherwise capacity decided, which is measured and changes all the time: targets stay as they are. What nobody has -
///   of a failed cluster, or above a cap that fell - is poured over them by policy. A returned cluster gets its min, taken
///   from headroom of the others by the size of that headroom; its own headroom comes at the next rebalance.
pub(super) fn keep(request: &Request<'_>, clusters: &[&Cluster<'_>], seats: &[Seat<'_>]) -> Targets {
    if request.policy == Policy::Duplicated {
        return assign(request, clusters, seats);
    }
    let previous: Vec<Option<Bounds>> = seats.iter().map(|seat| seat.cluster.target).collect();
    let mut kept: Vec<Bounds> = seats
        .iter()
        .map(|seat| {
            let target = seat.cluster.target.unwrap_or_default();
            let max = target.max.min(seat.high);
            // One whose HPA went to zero by itself begins from its least again; who is at zero is said anew each time.
            Bounds { min: target.min.max(1).min(max), max }
        })
        .collect();
    let returned = previous.iter().any(Option::is_none);
    if request.policy == Policy::StaticWeighted {
        return if returned || filled(request, seats, &kept) != kept || regains(request, seats) {
            assign(request, clusters, seats)
        } else {
            targets(clusters, seats, &previous, &kept)
        };
    }
    let here = if returned { admit(request, seats, &previous, &mut kept) } else { vec![true; seats.len()] };
    // Who could not be taken in yet does not share in what is poured.
    let (present, mut of_present): (Vec<Seat<'_>>, Vec<Bounds>) =
        seats.iter().zip(&kept).zip(&here).filter(|(_, here)| **here).map(|((seat, kept), _)| (*seat, *kept)).unzip();
    of_present = filled(request, &present, &of_present);
    targets(clusters, &present, &present.iter().map(|seat| seat.cluster.target).collect::<Vec<_>>(), &of_present)
}

/// Whether the user's split can stand again: a cluster that gave headroom away is not stuck any more and has room or does
/// not need any, and nobody moved any within the window.
fn regains(request: &Request<'_>, seats: &[Seat<'_>]) -> bool {
    let calm = |seat: &Seat<'_>| {
        let Memory { stuck, gave, got, .. } = seat.cluster.memory;
        stuck.is_none() && ![gave, got].iter().any(|moved| within(*moved, request.window, request.now))
    };
    let regains = |(seat, fair): (&Seat<'_>, Bounds)| {
        let Cluster { target, memory, available, desired, .. } = *seat.cluster;
        let max = target.unwrap_or_default().max;
        let fits = available.is_some_and(|room| room > 0) || desired.is_some_and(|desired| desired < max);
        memory.gave.is_some() && max < fair.max && fits
    };
    request.scale_assist && seats.iter().all(calm) && seats.iter().zip(bounds(request, seats)).any(regains)
}

fn targets(clusters: &[&Cluster<'_>], seats: &[Seat<'_>], previous: &[Option<Bounds>], kept: &[Bounds]) -> Targets {
    let mut targets = vec![None; clusters.len()];
    for ((seat, previous), bounds) in seats.iter().zip(previous).zip(kept) {
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
        if let Some(target) = targets.get_mut(seat.at) {
            *target = Some(Target { bounds: *bounds, reason, memory: seat.cluster.memory, held: false });
        }
    }
    targets
}

/// Pours what of the user's bounds nobody has over what they have.
fn filled(request: &Request<'_>, seats: &[Seat<'_>], kept: &[Bounds]) -> Vec<Bounds> {
    let maxes = top_up(request, request.total.max, seats, kept, |bounds| bounds.max, |seat, _| seat.high);
    let kept: Vec<Bounds> = kept.iter().zip(maxes).map(|(bounds, max)| Bounds { max, ..*bounds }).collect();
    let mins = top_up(request, request.total.min, seats, &kept, |bounds| bounds.min, |_, bounds| bounds.max);
    kept.iter().zip(mins).map(|(bounds, min)| Bounds { min: min.max(1).min(bounds.max), ..*bounds }).collect()
}

fn top_up(
    request: &Request<'_>,
    total: Replicas,
    seats: &[Seat<'_>],
    kept: &[Bounds],
    has: impl Fn(&Bounds) -> Replicas,
    high: impl Fn(&Seat<'_>, &Bounds) -> Replicas,
) -> Vec<Replicas> {
    let given: u64 = kept.iter().map(|bounds| u64::from(has(bounds))).sum();
    let rest = u64::from(total).saturating_sub(given);
    let Some(rest) = Replicas::try_from(rest).ok().filter(|rest| *rest > 0) else {
        return kept.iter().map(has).collect();
    };
    let ranges = seats.iter().zip(kept).map(|(seat, bounds)| Range { low: has(bounds), high: high(seat, bounds) });
    pour::top_up(request.policy, rest, seats, &ranges.collect::<Vec<_>>())
}

/// Gives the returned seats their min out of what is free and of the others' headroom. Returns who is in; a returned one
/// for whom there was nothing stays out until there is.
fn admit(request: &Request<'_>, seats: &[Seat<'_>], previous: &[Option<Bounds>], kept: &mut [Bounds]) -> Vec<bool> {
    let fresh = bounds(request, seats);
    let wanted: Vec<Replicas> =
        previous.iter().zip(&fresh).map(|(previous, fresh)| if previous.is_none() { fresh.min } else { 0 }).collect();
    let held: u64 = kept.iter().map(|bounds| u64::from(bounds.max)).sum();
    let free = u64::from(request.total.max).saturating_sub(held);
    let need: u64 = wanted.iter().map(|wanted| u64::from(*wanted)).sum();
    let busy = |seat: &Seat<'_>| seat.cluster.running().max(seat.cluster.memory.floor());
    let slack = |seat: &Seat<'_>, bounds: &Bounds| bounds.max.saturating_sub(bounds.min.max(busy(seat)));
    let spare = |of: &dyn Fn(&Seat<'_>, &Bounds) -> Replicas, kept: &[Bounds]| {
        seats.iter().zip(kept).map(|(seat, bounds)| (seat.cluster.name, of(seat, bounds))).collect::<Vec<_>>()
    };
    let most = |total: u64| Replicas::try_from(total).unwrap_or(Replicas::MAX);
    let taken = take(most(need.saturating_sub(free)), &spare(&slack, kept));
    let got: u64 = taken.iter().map(|taken| u64::from(*taken)).sum();
    for (bounds, taken) in kept.iter_mut().zip(&taken) {
        bounds.max = bounds.max.saturating_sub(*taken);
    }
    let can = most(free.saturating_add(got).min(need));
    let parts = seats.iter().zip(&wanted).map(|(seat, wanted)| Part {
        name: seat.cluster.name,
        current: 0,
        weight: (*wanted).into(),
        low: 0,
        high: *wanted,
    });
    let shares = by_weight(can, &parts.collect::<Vec<_>>());
    // Their min was in the mins of the others while they were away.
    let surplus = kept.iter().map(|bounds| u64::from(bounds.min)).sum::<u64>().saturating_add(can.into());
    let surplus = surplus.saturating_sub(request.total.min.into()).min(can.into());
    let over = |seat: &Seat<'_>, bounds: &Bounds| bounds.min.saturating_sub(seat.cluster.limits.least.max(1));
    let lowered = take(most(surplus), &spare(&over, kept));
    let mut here = Vec::with_capacity(seats.len());
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
