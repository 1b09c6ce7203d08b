//! Headroom divided again by what is measured now (docs/design.md#rebalancing). Pure.

use jiff::Timestamp;

use super::adjust::{Adjusted, Participant, sum, take, within};
use super::pour::{Range, top_up};
use super::seat::Seat;
use super::{Memory, Reason, Request};
use crate::decision::split::Replicas;

/// Divides headroom again, once per period; `moved`: some was moved just now.
///
/// Clusters that are stuck or silent keep theirs. Nobody is raised above what it has and what would fit, so that nothing
/// comes back at once as pods that cannot be scheduled. While nobody says how much would fit, nothing moves. Who gave
/// within the window gets nothing yet, and who got gives nothing. Afterwards a way back has to be worth it
/// ([`is_worth`]), and clusters of about one size keep their order: what is measured wanders all the time, and bounds do not
/// wander with it.
pub(super) fn optimize(request: &Request<'_>, places: &mut [Participant<'_, '_>], moved: bool) -> Adjusted {
    let divided = if moved { Some(request.now) } else { request.divided };
    let Some(period) = request.period.filter(|_| request.policy.goes_by_room()) else {
        return Adjusted { divided, ..<_>::default() };
    };
    let after = |time: Timestamp| time.checked_add(period).ok();
    if within(divided, period, request.now) {
        return Adjusted { divided, next: divided.and_then(after), ..<_>::default() };
    }
    spare_mins(request, places);
    let divided = if divide(request, places) { Some(request.now) } else { divided };
    Adjusted { divided, next: after(request.now), ..<_>::default() }
}

/// The min of a cluster without replicas goes to those that have some.
fn spare_mins(request: &Request<'_>, places: &mut [Participant<'_, '_>]) {
    for place in places.iter_mut().filter(|place| is_empty(place)) {
        let bounds = &mut place.target.bounds;
        bounds.min = bounds.min.min(place.seat.cluster.limits.least.max(1));
    }
    let rest = request.total.min.saturating_sub(sum(places.iter().map(|place| place.target.bounds.min)));
    let receivers: Vec<usize> =
        places.iter().enumerate().filter(|(_, place)| place.answers() && !is_empty(place)).map(|(at, _)| at).collect();
    if rest == 0 {
        return;
    }
    let of = |at: &usize| {
        let place = places.get(*at)?;
        Some((*place.seat, Range { low: place.target.bounds.min, high: place.target.bounds.max }))
    };
    let (seats, ranges): (Vec<Seat<'_>>, Vec<Range>) = receivers.iter().filter_map(of).unzip();
    for (at, min) in receivers.iter().zip(top_up(request.policy, rest, &seats, &ranges)) {
        if let Some(place) = places.get_mut(*at) {
            place.target.bounds.min = min;
        }
    }
}

fn is_empty(place: &Participant<'_, '_>) -> bool {
    place.target.memory.zero && place.seat.cluster.current == Some(0)
}

/// Moves everybody towards what the division comes to, as far as they may move now.
/// Returns whether any was moved.
fn divide(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    let Some(ideal) = ideal(request, places) else { return false };
    let wishes = places.iter().zip(&ideal).map(|(place, ideal)| {
        let has = place.target.bounds.max;
        let ideal = ideal.unwrap_or(has);
        let Memory { gave, got, .. } = place.target.memory;
        let worth = |back: bool, change: Replicas| if is_worth(back, change, has) { change } else { 0 };
        let up = if place.may_get(request) { worth(gave > got, ideal.saturating_sub(has)) } else { 0 };
        let down = if place.may_give(request) { worth(got > gave, has.saturating_sub(ideal)) } else { 0 };
        let name = place.seat.cluster.name;
        ((name, up), (name, down))
    });
    let (ups, downs): (Vec<_>, Vec<_>) = wishes.unzip();
    let total = |of: &[(&str, Replicas)]| sum(of.iter().map(|(_, wish)| *wish));
    let total = total(&ups).min(total(&downs));
    let changes = places.iter().zip(take(total, &ups)).zip(take(total, &downs));
    let maxes = changes.map(|((place, up), down)| place.target.bounds.max.saturating_add(up).saturating_sub(down));
    let maxes: Vec<Replicas> = maxes.collect();
    if !places.iter().zip(&maxes).any(|(place, max)| matters(place.target.bounds.max, *max)) {
        return false;
    }
    for (place, max) in places.iter_mut().zip(maxes) {
        place.set_max(max, request.now, Reason::HeadroomRebalanced);
    }
    true
}

/// What the division comes to; nothing for those that take no part in it.
fn ideal(request: &Request<'_>, places: &[Participant<'_, '_>]) -> Option<Vec<Option<Replicas>>> {
    let known = |place: &&Participant<'_, '_>| place.target.bounds.is_some() || place.seat.cluster.available.is_some();
    let takes_part = |place: &&Participant<'_, '_>| place.answers() && !place.is_stuck() && known(place);
    let parts = || places.iter().filter(takes_part);
    if parts().any(|place| place.seat.cluster.available.is_none()) {
        return None;
    }
    let (seats, ranges): (Vec<Seat<'_>>, Vec<Range>) = parts().map(|place| (steady(place), range(place))).unzip();
    let lowest = sum(ranges.iter().map(|range| range.low));
    let rest = sum(parts().map(|place| place.target.bounds.max)).saturating_sub(lowest);
    let mut divided = top_up(request.policy, rest, &seats, &ranges).into_iter();
    Some(places.iter().map(|place| if takes_part(&place) { divided.next() } else { None }).collect())
}

/// The seat, with its place among those of about its size.
fn steady<'a>(place: &Participant<'_, 'a>) -> Seat<'a> {
    Seat { kept: Some(place.target.bounds.max), ..*place.seat }
}

/// From what it has to what would fit.
fn range(place: &Participant<'_, '_>) -> Range {
    let has = place.target.bounds.max;
    let current = place.seat.cluster.current.unwrap_or_default();
    let low = place.floor().max(current).min(has);
    Range { low, high: place.seat.cluster.capacity().max(has).min(place.seat.high).max(low) }
}

/// Whether the change is a tenth of what it was, or more.
fn matters(before: Replicas, after: Replicas) -> bool {
    u64::from(before.abs_diff(after)).saturating_mul(10) >= before.into() && before != after
}

/// Whether a wish counts. One that takes the last move of the cluster back has to be a fifth of what it has, and two replicas
/// at least: twice of what makes a move, so that what wanders by less moves nothing to and fro.
fn is_worth(back: bool, change: Replicas, has: Replicas) -> bool {
    !back || change >= 2 && u64::from(change).saturating_mul(5) >= has.into()
}

#[cfg(test)]
mod tests {
    use super::{is_worth, matters};

    #[test]
    fn a_way_back_has_to_be_worth_twice_as_much() {
        let changes = [(1, 5), (2, 10), (2, 11), (20, 100), (19, 100)];
        assert_eq!(changes.map(|(change, has)| is_worth(true, change, has)), [false, true, false, true, false]);
        assert!(changes.iter().all(|(change, has)| is_worth(false, *change, *has)));
    }

    #[test]
    fn a_change_of_less_than_a_tenth_waits() {
        let changes = [(7, 8), (10, 11), (10, 9), (11, 10), (100, 109), (100, 90), (5, 5), (0, 1)];
        assert_eq!(changes.map(|(a, b)| matters(a, b)), [true, true, true, false, false, true, false, true]);
    }
}
