//! Prioritized: the lowest priority shrinks first, and its unused headroom returns to the highest
//! (docs/design.md#scaling-down-under-prioritized). Pure.

use super::cannot_scale::hand_over;
use super::row::{Row, assigned, assigned_mut};
use super::{ClusterState, Policy, Reason, Request};
use crate::split::Replicas;

/// Holds the scale-down of every tier above one that is above its min and shrinks. A member enforces this by itself, also
/// while the control plane is down.
///
/// A tier that rounding keeps above its min holds nobody: a higher one shrinks when its load is low, and is held again
/// when its load is at the target. In between, and until its HPA measures with what was written last, it stays as it is.
pub(super) fn disable_scale_down(request: &Request<'_>, rows: &mut [Row<'_>]) {
    let above = |row: &&Row<'_>| {
        row.answers() && row.cluster.current.is_some_and(|current| current > row.bounds.min.max(row.held))
    };
    let lowest = |shrinks: bool| {
        let tiers = assigned(rows).filter(above).filter(|row| !shrinks || row.cluster.wants_fewer());
        tiers.map(|row| row.cluster.priority).min().filter(|_| request.policy == Policy::Prioritized)
    };
    let (runs, shrinks) = (lowest(false), lowest(true));
    for row in assigned_mut(rows) {
        let above = |tier: Option<Option<i32>>| tier.is_some_and(|tier| row.cluster.priority > tier);
        let written = row.cluster.hpa.is_some_and(|hpa| hpa.scale_down_disabled);
        row.scale_down_disabled = match row.cluster.load {
            // A write would not reach it.
            _ if row.cluster.state == ClusterState::Silent => written,
            _ if !above(runs) || above(shrinks) => above(shrinks),
            Some(load) if request.would_scale_down(load) && row.cluster.wants_fewer() => false,
            Some(load) if load.is_below() => written,
            None if row.cluster.hpa.is_some() => written,
            _ => true,
        };
    }
}

/// A tier that is at its min and has little load donates its headroom to higher tiers. Returns whether any was moved.
///
/// The tiers above get it by policy, down to the lowest that runs more than its min; where none does, the highest gets it.
/// What none of them may have stays unassigned until it is needed.
pub(super) fn donate_lowest_tier(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    if request.policy != Policy::Prioritized {
        return false;
    }
    let drained = |row: &Row<'_>| {
        let small = |replicas: Option<Replicas>| replicas.is_some_and(|replicas| replicas <= row.bounds.min);
        row.answers()
            && !row.is_blocked()
            && small(row.cluster.current)
            && small(row.cluster.hpa_desired_confirmed())
            && row.cluster.load.is_some_and(|load| request.is_below(load))
            && row.may_give(request)
            && row.has_reacted(request)
    };
    let gives = assigned(rows).filter(|row| row.bounds.max > row.lowest_max());
    let Some(drains) = gives.map(|row| row.cluster.priority).min() else { return false };
    let spare = |row: &Row<'_>| {
        if row.cluster.priority == drains { row.bounds.max.saturating_sub(row.lowest_max()) } else { 0 }
    };
    let higher = || assigned(rows).filter(|row| row.cluster.priority > drains);
    let Some(highest) = higher().map(|row| row.tier(request)).max() else { return false };
    if !assigned(rows).filter(|row| row.cluster.priority == drains).all(drained) {
        return false;
    }
    let open = higher().filter(|row| row.cluster.current.is_some_and(|current| current > row.bounds.min));
    let open = open.map(|row| row.tier(request)).min().unwrap_or(highest);
    let most = |row: &Row<'_>| {
        let gets = row.answers() && !row.is_blocked() && row.may_get(request) && row.cluster.priority > drains;
        if gets { row.highest_in(request, Some(open), row.bounds.max) } else { 0 }
    };
    let moved = hand_over(request, rows, (0, Replicas::MAX), spare, most, |_| Reason::PriorityDrained);
    let full = |row: &Row<'_>| row.answers() && row.bounds.max >= row.high;
    let needed = |row: &Row<'_>| row.cluster.priority > drains && row.lacks(request) > 0;
    let closes = assigned(rows).all(|row| !needed(row) && (row.cluster.priority <= drains || full(row)));
    for row in assigned_mut(rows).filter(|row| closes && row.cluster.priority == drains) {
        row.set_max(row.lowest_max(), request.now, Reason::PriorityDrained);
    }
    moved || closes
}
