//! Which clusters are to have no replicas (docs/design.md#to-and-from-zero). Pure.

use std::cmp::Reverse;

use super::adjust::{Adjusted, Participant, sum, within};
use super::assignment::Targets;
use super::seat::Seat;
use super::signal::counts;
use super::{Load, Note, Policy, Reach, Request, Standing};
use crate::decision::split::Replicas;

/// Wakes clusters, or sends one to zero, all of which have bounds; `settled`: what runs has answered to them.
pub(super) fn zero(request: &Request<'_>, places: &mut [Participant<'_, '_>], settled: bool) -> Adjusted {
    if !request.may_be_zero() {
        for place in places {
            place.target.memory.zero = false;
        }
        return Adjusted::default();
    }
    for place in places.iter_mut() {
        // A new cluster begins at zero.
        let new = place.seat.cluster.target.is_none() && place.seat.cluster.current.unwrap_or_default() == 0;
        let memory = &mut place.target.memory;
        memory.zero = (memory.zero || new) && can_be_zero(place.seat.cluster.reach);
    }
    let woken = cover(request, places) | (settled && wake(request, places));
    let adjusted = if woken || !settled { Adjusted::default() } else { sleep(request, places) };
    // Its HPA does it by itself.
    for place in places.iter_mut().filter(|place| place.target.memory.zero) {
        if matches!(place.seat.cluster.reach, Reach::Bounds { .. }) {
            place.target.bounds.min = 0;
        }
    }
    adjusted
}

/// Says what cannot be done where replicas cannot be written.
pub(super) fn remark(request: &Request<'_>, seats: &[Seat<'_>], targets: &Targets, notes: &mut Vec<Note>) {
    let bound = |seat: &&Seat<'_>| {
        let target = targets.get(seat.at).copied().flatten().map(|target| target.bounds).unwrap_or_default();
        target.is_some() && seat.cluster.standing == Standing::Serving
    };
    let unwritable = |seat: &&Seat<'_>| seat.cluster.reach == Reach::Bounds { zero: false } && bound(seat);
    let clusters = seats.iter().filter(unwritable).count();
    if request.may_be_zero() && clusters > 0 {
        notes.push(Note::ScaleToZeroUnsupported { clusters });
    }
    let asleep = |seat: &&Seat<'_>| seat.cluster.current == Some(0) && seat.cluster.entry.is_some();
    let clusters = seats.iter().filter(unwritable).filter(asleep).count();
    if clusters > 0 {
        notes.push(Note::ScaleFromZeroUnsupported { clusters });
    }
}

const fn can_be_zero(reach: Reach) -> bool {
    matches!(reach, Reach::Scale | Reach::Bounds { zero: true })
}

/// Who goes to zero first: fewest replicas, smallest weight or lowest priority, by policy.
fn order(request: &Request<'_>, place: &Participant<'_, '_>) -> (Option<i32>, u64) {
    let cluster = place.seat.cluster;
    match request.policy {
        Policy::Prioritized => (cluster.priority, 0),
        Policy::Aggregated => (None, cluster.current.unwrap_or_default().into()),
        Policy::StaticWeighted | Policy::DynamicWeighted | Policy::Duplicated => (None, place.seat.weight),
    }
}

/// Wakes as many as are needed for the user's min.
fn cover(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    let awake = places.iter().filter(|place| !place.target.memory.zero).map(|place| place.target.bounds.min);
    let mut covered = sum(awake);
    let mut asleep: Vec<&mut Participant<'_, '_>> =
        places.iter_mut().filter(|place| place.target.memory.zero && place.answers()).collect();
    asleep.sort_unstable_by_key(|place| {
        (Reverse(order(request, place)), Reverse(place.seat.capacity), place.seat.cluster.name)
    });
    let mut woken = false;
    for place in asleep {
        if covered >= request.total.min {
            break;
        }
        place.target.memory.zero = false;
        covered = covered.saturating_add(place.target.bounds.min.max(1));
        woken = true;
    }
    woken
}

/// Wakes those at zero when a running cluster has more to do than it can.
fn wake(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    let awake = || places.iter().filter(|place| !place.target.memory.zero && place.answers());
    let strained = |place: &Participant<'_, '_>| {
        let cluster = place.seat.cluster;
        let bounds = place.target.bounds;
        let full = cluster.current == Some(bounds.max) && bounds.max > bounds.min;
        cluster.load.is_some_and(Load::is_above) || counts(request, place) || full
    };
    // One that was woken just now helps in a moment.
    let starts = |place: &Participant<'_, '_>| place.seat.cluster.ready == 0 && !place.is_stuck();
    if awake().any(starts) || !awake().any(strained) {
        return false;
    }
    let asleep = |place: &Participant<'_, '_>| place.target.memory.zero && place.answers();
    let first = places.iter().filter(|place| asleep(place)).map(|place| place.seat.cluster.priority).max();
    let Some(first) = first else { return false };
    for place in places.iter_mut().filter(|place| asleep(place)) {
        place.target.memory.zero = request.policy == Policy::Prioritized && place.seat.cluster.priority != first;
    }
    true
}

/// Sends one to zero after all had little to do for the whole window.
fn sleep(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> Adjusted {
    let Some(victim) = victim(request, places) else { return Adjusted::default() };
    let since = request.idle.unwrap_or(request.now);
    if within(Some(since), request.window, request.now) {
        return Adjusted { next: since.checked_add(request.window).ok(), idle: Some(since), ..<_>::default() };
    }
    if let Some(place) = places.get_mut(victim) {
        place.target.memory.zero = true;
    }
    Adjusted { next: request.now.checked_add(request.window).ok(), idle: Some(request.now), ..<_>::default() }
}

/// The cluster that can go, when all are idle and the others can carry everything.
fn victim(request: &Request<'_>, places: &[Participant<'_, '_>]) -> Option<usize> {
    let awake: Vec<(usize, &Participant<'_, '_>, Replicas, Load)> = places
        .iter()
        .enumerate()
        .filter(|(_, place)| !place.target.memory.zero)
        .map(|(at, place)| Some((at, place, place.seat.cluster.current?, place.seat.cluster.load?)))
        .collect::<Option<_>>()?;
    let idle = |(_, place, current, load): &(usize, &Participant<'_, '_>, Replicas, Load)| {
        let at_min = *current <= place.target.bounds.min && place.seat.cluster.ready >= *current;
        place.answers() && !place.is_stuck() && at_min && load.is_below()
    };
    let all = sum(awake.iter().map(|(_, _, current, _)| *current));
    if !awake.iter().all(idle) || all <= request.total.min {
        return None;
    }
    // In thousandths: each cluster rounded up alone would ask for more than all together.
    let wanted =
        sum(awake.iter().map(|(_, _, current, load)| load.wanted(current.saturating_mul(1000)))).div_ceil(1000);
    let (at, _, current, _) = awake
        .iter()
        .filter(|(_, place, ..)| can_be_zero(place.seat.cluster.reach))
        .min_by_key(|(_, place, ..)| (order(request, place), Reverse(place.seat.cluster.name)))?;
    let rest = all.saturating_sub(*current);
    (*current > 0 && rest >= request.total.min && rest >= wanted).then_some(*at)
}
