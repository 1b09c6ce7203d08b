//! Prioritized: the lowest priority shrinks first, and its unused headroom returns to the highest
//! (docs/design.md#scaling-down-under-prioritized). Pure.

use super::assignee::Assignee;
use super::cannot_scale::hand_over;
use super::{ClusterState, Policy, Reason, Request};
use crate::decision::split::Replicas;

/// Holds the scale-down of every tier above the one that shrinks: the lowest tier above its min. A member enforces this
/// by itself, also while the control plane is down.
pub(super) fn hold(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    let above = |assignee: &&Assignee<'_, '_>| {
        assignee.answers()
            && assignee.participant.cluster.current.is_some_and(|current| current > assignee.target.bounds.min)
    };
    let tiers = assignees.iter().filter(above).map(|assignee| assignee.participant.cluster.priority);
    let shrinks = tiers.min().filter(|_| request.policy == Policy::Prioritized);
    for assignee in assignees {
        let cluster = assignee.participant.cluster;
        assignee.target.held = match cluster.state {
            // A write would not reach it.
            ClusterState::Silent => cluster.hpa.is_some_and(|hpa| hpa.held),
            _ => shrinks.is_some_and(|tier| cluster.priority > tier),
        };
    }
}

/// A tier that is at its min and has little load donates its headroom to higher tiers. Returns whether any was moved.
pub(super) fn drain(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    if request.policy != Policy::Prioritized {
        return false;
    }
    let drained = |assignee: &Assignee<'_, '_>| {
        let cluster = assignee.participant.cluster;
        let min = assignee.target.bounds.min;
        let small = |replicas: Option<Replicas>| replicas.is_some_and(|replicas| replicas <= min);
        assignee.answers()
            && !assignee.is_stuck()
            && small(cluster.current)
            && small(cluster.desired)
            && cluster.load.is_some_and(|load| request.is_below(load))
            && assignee.may_give(request)
            && assignee.has_reacted(request)
    };
    let Some(lowest) = assignees
        .iter()
        .filter(|assignee| assignee.target.bounds.max > assignee.floor())
        .map(|assignee| assignee.participant.cluster.priority)
        .min()
    else {
        return false;
    };
    let of_tier = |assignee: &&Assignee<'_, '_>| assignee.participant.cluster.priority == lowest;
    if !assignees.iter().filter(of_tier).all(drained) {
        return false;
    }
    let gives = |assignee: &Assignee<'_, '_>| {
        if of_tier(&assignee) { assignee.target.bounds.max.saturating_sub(assignee.floor()) } else { 0 }
    };
    let spare: Vec<Replicas> = assignees.iter().map(gives).collect();
    let gets = |assignee: &Assignee<'_, '_>| {
        assignee.answers()
            && !assignee.is_stuck()
            && assignee.may_get(request)
            && assignee.participant.cluster.priority > lowest
    };
    // Up to the free capacity, where it is known: more would return at once.
    let fits = |assignee: &Assignee<'_, '_>| {
        let room = assignee.participant.cluster.available.map(|_| assignee.participant.cluster.capacity());
        if gets(assignee) { assignee.participant.high.min(room.unwrap_or(assignee.participant.high)) } else { 0 }
    };
    hand_over(request, assignees, &spare, fits, Reason::PriorityDrained)
}
