//! Prioritized: the lowest priority shrinks first, and its unused headroom returns to the highest
//! (docs/design.md#scaling-down-under-prioritized). Pure.

use super::cannot_scale::hand_over;
use super::row::{Row, assigned, assigned_mut};
use super::{ClusterState, Policy, Reason, Request};
use crate::decision::split::Replicas;

/// Holds the scale-down of every tier above the one that shrinks: the lowest tier above its min. A member enforces this
/// by itself, also while the control plane is down.
pub(super) fn disable_scale_down(request: &Request<'_>, rows: &mut [Row<'_>]) {
    let above = |row: &&Row<'_>| row.answers() && row.cluster.current.is_some_and(|current| current > row.bounds.min);
    let shrinks = assigned(rows).filter(above).map(|row| row.cluster.priority).min();
    let shrinks = shrinks.filter(|_| request.policy == Policy::Prioritized);
    for row in assigned_mut(rows) {
        row.scale_down_disabled = match row.cluster.state {
            // A write would not reach it.
            ClusterState::Silent => row.cluster.hpa.is_some_and(|hpa| hpa.scale_down_disabled),
            _ => shrinks.is_some_and(|tier| row.cluster.priority > tier),
        };
    }
}

/// A tier that is at its min and has little load donates its headroom to higher tiers. Returns whether any was moved.
pub(super) fn donate_lowest_tier(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    if request.policy != Policy::Prioritized {
        return false;
    }
    let drained = |row: &Row<'_>| {
        let small = |replicas: Option<Replicas>| replicas.is_some_and(|replicas| replicas <= row.bounds.min);
        row.answers()
            && !row.is_blocked()
            && small(row.cluster.current)
            && small(row.cluster.hpa_desired_confirmed)
            && row.cluster.load.is_some_and(|load| request.is_below(load))
            && row.may_give(request)
            && row.has_reacted(request)
    };
    let gives = assigned(rows).filter(|row| row.bounds.max > row.lowest_max());
    let Some(lowest) = gives.map(|row| row.cluster.priority).min() else { return false };
    if !assigned(rows).filter(|row| row.cluster.priority == lowest).all(drained) {
        return false;
    }
    let spare = |row: &Row<'_>| {
        if row.cluster.priority == lowest { row.bounds.max.saturating_sub(row.lowest_max()) } else { 0 }
    };
    // Up to the free capacity, where it is known: more would return at once.
    let fits = |row: &Row<'_>| {
        let higher = row.cluster.priority > lowest;
        let gets = row.answers() && !row.is_blocked() && row.may_get(request) && higher;
        let room = row.cluster.available.map_or(Replicas::MAX, |_| row.capacity);
        if gets { row.high.min(room) } else { 0 }
    };
    hand_over(request, rows, spare, fits, Reason::PriorityDrained)
}
