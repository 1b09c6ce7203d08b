//! Prioritized: the lowest priority shrinks first, and what it does not need returns to the highest
//! (docs/design.md#scaling-down-under-prioritized). Pure.

use super::adjust::Participant;
use super::relief::hand_over;
use super::{Load, Policy, Reason, Request, Standing};
use crate::decision::split::Replicas;

/// Holds the scale-down of every tier above the one that shrinks: the lowest that is above its min. A member holds it by
/// itself, also while the control plane is away.
pub(super) fn hold(request: &Request<'_>, places: &mut [Participant<'_, '_>]) {
    let above = |place: &&Participant<'_, '_>| {
        place.answers() && place.seat.cluster.current.is_some_and(|current| current > place.target.bounds.min)
    };
    let tiers = places.iter().filter(above).map(|place| place.seat.cluster.priority);
    let shrinks = tiers.min().filter(|_| request.policy == Policy::Prioritized);
    for place in places {
        let cluster = place.seat.cluster;
        place.target.held = match cluster.standing {
            // It would not hear of a change.
            Standing::Silent => cluster.hpa.is_some_and(|hpa| hpa.held),
            _ => shrinks.is_some_and(|tier| cluster.priority > tier),
        };
    }
}

/// A tier that is at its min and has little to do gives its headroom to higher ones. Returns whether any was moved.
pub(super) fn drain(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> bool {
    if request.policy != Policy::Prioritized {
        return false;
    }
    let drained = |place: &Participant<'_, '_>| {
        let cluster = place.seat.cluster;
        let min = place.target.bounds.min;
        let small = |replicas: Option<Replicas>| replicas.is_some_and(|replicas| replicas <= min);
        place.answers()
            && !place.is_stuck()
            && small(cluster.current)
            && small(cluster.desired)
            && cluster.load.is_some_and(Load::is_below)
            && place.may_give(request)
            && place.has_reacted(request)
    };
    let Some(lowest) = places
        .iter()
        .filter(|place| place.target.bounds.max > place.floor())
        .map(|place| place.seat.cluster.priority)
        .min()
    else {
        return false;
    };
    let of_tier = |place: &&Participant<'_, '_>| place.seat.cluster.priority == lowest;
    if !places.iter().filter(of_tier).all(drained) {
        return false;
    }
    let gives = |place: &Participant<'_, '_>| {
        if of_tier(&place) { place.target.bounds.max.saturating_sub(place.floor()) } else { 0 }
    };
    let spare: Vec<Replicas> = places.iter().map(gives).collect();
    let gets = |place: &Participant<'_, '_>| {
        place.answers() && !place.is_stuck() && place.may_get(request) && place.seat.cluster.priority > lowest
    };
    // Up to the room there is, where somebody says it: more would come back at once.
    let fits = |place: &Participant<'_, '_>| {
        let room = place.seat.cluster.available.map(|_| place.seat.cluster.capacity());
        if gets(place) { place.seat.high.min(room.unwrap_or(place.seat.high)) } else { 0 }
    };
    hand_over(request, places, &spare, fits, Reason::PriorityDrained)
}
