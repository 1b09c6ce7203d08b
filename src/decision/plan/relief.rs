//! Headroom of clusters that cannot use it goes to those that can (docs/design.md#clusters-that-cannot-scale). Pure.

use super::adjust::{Participant, sum, take};
use super::pour::{Range, top_up};
use super::seat::Seat;
use super::signal::counts;
use super::{Cause, Load, Policy, Reason, Request};
use crate::decision::split::Replicas;

/// Moves headroom. Returns whether any was moved.
pub(super) fn relieve(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    give_up(request, places) | lend(request, places)
}

/// Clusters whose pods cannot be scheduled keep what runs; the rest goes to the others by policy.
fn give_up(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    let gives = |place: &Participant<'_, '_>| {
        let pending = place.target.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::Pending);
        let gives = pending && counts(request, place) && place.may_give(request) && place.has_reacted(request);
        if gives { place.target.bounds.max.saturating_sub(place.floor()) } else { 0 }
    };
    let spare: Vec<Replicas> = places.iter().map(gives).collect();
    let donors = || places.iter().zip(&spare).filter(|(_, spare)| **spare > 0).map(|(place, _)| rank(request, place));
    let lowest = donors().min().flatten();
    let most = |place: &Participant<'_, '_>| {
        let (high, room) = (place.seat.high, place.seat.cluster.available.is_some());
        match place.target.memory.stuck.map(|stuck| stuck.cause) {
            _ if !place.answers() || !place.may_get(request) => 0,
            None => high,
            // It is next in line, and its pods that wait may bring nodes.
            Some(Cause::AtMax) if rank(request, place) < lowest => high,
            // What does not fit would come back, as its pods would wait too.
            Some(Cause::AtMax) if room => high.min(place.seat.capacity),
            Some(Cause::AtMax | Cause::Pending) => 0,
        }
    };
    hand_over(request, places, &spare, most, Reason::ScaleUpBlocked)
}

/// Takes what is to spare and gives it by policy to the others, each up to what `most` says; only as much as they can take.
pub(super) fn hand_over(
    request: &Request<'_>,
    places: &mut [Participant<'_, '_>],
    spare: &[Replicas],
    most: impl Fn(&Participant<'_, '_>) -> Replicas,
    why: Reason,
) -> bool {
    let free = sum(spare.iter().copied());
    let receivers: Vec<(usize, Seat<'_>, Range)> = places
        .iter()
        .enumerate()
        .filter(|(at, _)| spare.get(*at) == Some(&0))
        .map(|(at, place)| (at, *place.seat, Range { low: place.target.bounds.max, high: most(place) }))
        .filter(|(.., range)| range.high > range.low)
        .collect();
    if free == 0 || receivers.is_empty() {
        return false;
    }
    let (seats, ranges): (Vec<Seat<'_>>, Vec<Range>) = receivers.iter().map(|(_, seat, range)| (*seat, *range)).unzip();
    let maxes = top_up(request.policy, free, &seats, &ranges);
    let got = sum(maxes.iter().zip(&ranges).map(|(max, range)| max.saturating_sub(range.low)));
    let named: Vec<(&str, Replicas)> =
        places.iter().zip(spare).map(|(place, spare)| (place.seat.cluster.name, *spare)).collect();
    for (place, less) in places.iter_mut().zip(take(got, &named)) {
        place.set_max(place.target.bounds.max.saturating_sub(less), request.now, why);
    }
    for ((at, ..), max) in receivers.iter().zip(maxes) {
        if let Some(place) = places.get_mut(*at) {
            place.set_max(max, request.now, Reason::HeadroomReceived);
        }
    }
    got > 0
}

/// Clusters at their max that want more get what others do not want.
///
/// Each gets what it needs and has room for. Not under StaticWeighted, whose split is the user's word. Under Prioritized
/// the higher priority is first, and nobody takes from a higher one: that one takes up the load by itself.
fn lend(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    if request.policy == Policy::StaticWeighted {
        return false;
    }
    let mut ranks: Vec<Option<i32>> = places.iter().map(|place| rank(request, place)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut moved = false;
    for own in ranks.into_iter().rev() {
        let needs: Vec<(&str, Replicas)> =
            by_name(places, |place| if rank(request, place) == own { need(request, place) } else { 0 });
        let slacks: Vec<(&str, Replicas)> =
            by_name(places, |place| if rank(request, place) <= own { slack(request, place) } else { 0 });
        let total = |of: &[(&str, Replicas)]| sum(of.iter().map(|(_, number)| *number));
        let total = total(&needs).min(total(&slacks));
        moved |= total > 0;
        let (gets, gives) = (take(total, &needs), take(total, &slacks));
        for ((place, more), less) in places.iter_mut().zip(gets).zip(gives) {
            let max = place.target.bounds.max.saturating_sub(less).saturating_add(more);
            place.set_max(max, request.now, if more > 0 { Reason::RaisedAtMax } else { Reason::HeadroomDonated });
        }
    }
    moved
}

/// Who is before whom: by priority under Prioritized, all alike else.
fn rank(request: &Request<'_>, place: &Participant<'_, '_>) -> Option<i32> {
    if request.policy == Policy::Prioritized { place.seat.cluster.priority } else { None }
}

fn by_name<'a>(
    places: &[Participant<'_, 'a>],
    of: impl Fn(&Participant<'_, 'a>) -> Replicas,
) -> Vec<(&'a str, Replicas)> {
    places.iter().map(|place| (place.seat.cluster.name, of(place))).collect()
}

/// What a cluster at its max lacks.
fn need(request: &Request<'_>, place: &Participant<'_, '_>) -> Replicas {
    let full = place.target.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::AtMax);
    if !full || !counts(request, place) || !place.may_get(request) || !place.has_reacted(request) {
        return 0;
    }
    let cluster = place.seat.cluster;
    let max = place.target.bounds.max;
    let wanted = cluster.load.map_or(0, |load: Load| load.wanted(cluster.running()));
    let room = cluster.available.unwrap_or(Replicas::MAX);
    wanted.min(place.seat.high).saturating_sub(max).min(room)
}

/// What a cluster that wants less than its max can spare.
fn slack(request: &Request<'_>, place: &Participant<'_, '_>) -> Replicas {
    let Some(desired) = place.seat.cluster.desired.filter(|_| place.answers() && !place.is_stuck()) else { return 0 };
    if place.may_give(request) { place.target.bounds.max.saturating_sub(place.floor().max(desired)) } else { 0 }
}
