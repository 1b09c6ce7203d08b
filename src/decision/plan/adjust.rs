//! Adjusts targets to the health of the clusters: helps clusters that cannot scale, moves headroom to free capacity,
//! and scales idle clusters to zero (docs/design.md#clusters-that-cannot-scale, docs/design.md#to-and-from-zero). Pure.

use jiff::Timestamp;

use super::assignee::Assignee;
use super::assignment::Targets;
use super::observed::REACTION;
use super::participant::Participant;
use super::replacement::{self, Replacement};
use super::{Cluster, Memory, Request, assist, optimization, priority_tiers, raise_at_max, signal, zero};

/// Further results of the adjustment.
#[derive(Clone, Debug, Default)]
pub(super) struct Adjusted {
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
    /// Since when a cluster could go to zero.
    pub(super) idle: Option<Timestamp>,
    /// When headroom was last rebalanced.
    pub(super) divided: Option<Timestamp>,
    /// Which clusters may leave, and their replacement.
    pub(super) replacement: Replacement,
}

/// Adjusts the targets; `kept` is whether they are those of the previous plan.
pub(super) fn adjust(
    request: &Request<'_>,
    clusters: &[&Cluster<'_>],
    participants: &[Participant<'_>],
    targets: &mut Targets,
    kept: bool,
) -> Adjusted {
    let mut assignees = Vec::with_capacity(participants.len());
    let mut rest = participants.iter().peekable();
    for (at, target) in targets.iter_mut().enumerate() {
        if let (Some(participant), Some(target)) = (rest.next_if(|participant| participant.at == at), target) {
            assignees.push(Assignee { participant, target });
        }
    }
    let divided = if kept { request.divided } else { Some(request.now) };
    let mut adjusted = Adjusted { divided, ..Adjusted::default() };
    // Clusters need a moment to react to new bounds.
    let settled = kept && !request.within(divided, REACTION);
    if request.scale_assist {
        let mut next = vec![divided.and_then(|divided| divided.checked_add(REACTION).ok())];
        next.push(signal::look(request, &mut assignees));
        if settled && request.policy.divides() {
            let moved = priority_tiers::drain(request, &mut assignees) | raise_at_max::raise(request, &mut assignees);
            let optimized = optimization::optimize(request, &mut assignees, moved);
            adjusted.divided = optimized.divided;
            next.push(optimized.next);
        }
        next.extend(assignees.iter().flat_map(|assignee| assignee.may_move_at(request)).map(Some));
        assist::forget(request, &mut assignees);
        if settled {
            assist::assist(request, &mut assignees);
        }
        next.push(assist::end(request, &assignees));
        adjusted.replacement = replacement::replace(request, clusters, &mut assignees);
        assignees.sort_by_key(|assignee| !assignee.target.bounds.is_some());
        let bound = assignees.partition_point(|assignee| assignee.target.bounds.is_some());
        let bound = assignees.split_at_mut_checked(bound).map(|(bound, _)| bound).unwrap_or_default();
        let idle = zero::zero(request, bound, settled);
        adjusted.idle = idle.since;
        next.push(idle.next);
        adjusted.next = next.into_iter().flatten().filter(|next| *next > request.now).min();
    } else {
        assist::forget(request, &mut assignees);
        for assignee in &mut assignees {
            let Memory { floor, others, failed, assist, scale_ups, .. } = assignee.target.memory;
            let assist = assist.filter(|_| floor.is_some());
            assignee.target.memory = Memory { assist, scale_ups, floor, others, failed, ..Memory::default() };
        }
        adjusted.replacement = replacement::replace(request, clusters, &mut assignees);
    }
    adjusted.next = [adjusted.next, adjusted.replacement.next].into_iter().flatten().min();
    priority_tiers::hold(request, &mut assignees);
    adjusted
}
