//! Adjusts targets to the health of the clusters: helps clusters that cannot scale, moves headroom to free capacity,
//! and scales idle clusters to zero (docs/design.md#clusters-that-cannot-scale, docs/design.md#to-and-from-zero). Pure.

use jiff::{SignedDuration, Timestamp};

use super::assignment::{Target, Targets};
use super::participant::Participant;
use super::replacement::{self, Replacement};
use super::{
    Bounds, Cluster, ClusterState, Memory, Reason, Request, assist, optimization, priority_tiers, raise_at_max, signal,
    zero,
};
use crate::decision::split::{Part, Replicas, by_weight};

/// The effect of a move is not visible sooner: HPAs run every 15 seconds.
pub(super) const REACTION: SignedDuration = SignedDuration::from_secs(15);

/// A participant with its target.
pub(super) struct Assignee<'s, 'a> {
    pub(super) participant: &'s Participant<'a>,
    pub(super) target: Target,
}

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
    let target = |participant: &Participant<'_>| targets.get(participant.at).copied().flatten();
    let mut assignees: Vec<Assignee<'_, '_>> = participants
        .iter()
        .filter_map(|participant| Some(Assignee { participant, target: target(participant)? }))
        .collect();
    let divided = if kept { request.divided } else { Some(request.now) };
    let mut adjusted = Adjusted { divided, ..Adjusted::default() };
    // Clusters need a moment to react to new bounds.
    let settled = kept && !within(divided, REACTION, request.now);
    if request.scale_assist {
        let mut next = vec![divided.and_then(|divided| divided.checked_add(REACTION).ok())];
        next.push(signal::look(request, &mut assignees));
        if settled && request.policy.divides() {
            let moved = priority_tiers::drain(request, &mut assignees) | raise_at_max::raise(request, &mut assignees);
            let optimized = optimization::optimize(request, &mut assignees, moved);
            adjusted.divided = optimized.divided;
            next.push(optimized.next);
        }
        if settled {
            assist::assist(request, &mut assignees);
        }
        next.push(assist::end(request, &assignees));
        adjusted.replacement = replacement::replace(request, clusters, &mut assignees);
        assignees.sort_by_key(|assignee| !assignee.target.bounds.is_some());
        let bound = assignees.partition_point(|assignee| assignee.target.bounds.is_some());
        let bound = assignees.split_at_mut_checked(bound).map(|(bound, _)| bound).unwrap_or_default();
        let zero = zero::zero(request, bound, settled);
        adjusted.idle = zero.idle;
        next.push(zero.next);
        adjusted.next = next.into_iter().flatten().filter(|next| *next > request.now).min();
    } else {
        assist::forget(request, &mut assignees);
        for assignee in &mut assignees {
            let Memory { floor, others, failed, assist, .. } = assignee.target.memory;
            let assist = assist.filter(|_| floor.is_some());
            assignee.target.memory = Memory { assist, floor, others, failed, ..Memory::default() };
        }
        adjusted.replacement = replacement::replace(request, clusters, &mut assignees);
    }
    adjusted.next = [adjusted.next, adjusted.replacement.next].into_iter().flatten().min();
    priority_tiers::hold(request, &mut assignees);
    for assignee in assignees {
        if let Some(target) = targets.get_mut(assignee.participant.at) {
            *target = Some(assignee.target);
        }
    }
    adjusted
}

impl Assignee<'_, '_> {
    /// Whether the cluster answers.
    pub(super) fn answers(&self) -> bool {
        self.participant.cluster.state == ClusterState::Serving
    }

    /// Whether the cluster cannot scale, regardless of for how long.
    pub(super) fn is_stuck(&self) -> bool {
        self.target.memory.stuck.is_some()
    }

    /// Lower limit of its max: its running replicas, its replacement replicas, and its min.
    pub(super) fn floor(&self) -> Replicas {
        let busy = self.participant.cluster.running().max(self.target.memory.floor());
        busy.max(self.target.bounds.min).max(self.participant.cluster.limits.least)
    }

    /// Whether it may receive headroom: it donated none within the window.
    pub(super) fn may_get(&self, request: &Request<'_>) -> bool {
        !within(self.target.memory.gave, request.window, request.now)
    }

    /// Whether it may donate headroom: it received none within the window.
    pub(super) fn may_give(&self, request: &Request<'_>) -> bool {
        !within(self.target.memory.got, request.window, request.now)
    }

    /// Whether the effect of its last move is visible.
    pub(super) fn has_reacted(&self, request: &Request<'_>) -> bool {
        let Memory { gave, got, .. } = self.target.memory;
        !within(gave, REACTION, request.now) && !within(got, REACTION, request.now)
    }

    /// Sets its max, and remembers donors and receivers.
    pub(super) fn set_max(&mut self, max: Replicas, now: Timestamp, reason: Reason) {
        let before = self.target.bounds.max;
        if max == before {
            return;
        }
        let bounds = &mut self.target.bounds;
        // A cluster without bounds begins with one replica, as everywhere.
        let least = if before == 0 { self.participant.cluster.limits.least.max(1) } else { bounds.min };
        *bounds = Bounds { min: least.min(max), max };
        self.target.reason = reason;
        let memory = &mut self.target.memory;
        if max > before { memory.got = Some(now) } else { memory.gave = Some(now) }
    }
}

/// Whether less than `span` has passed since `since`.
pub(super) fn within(since: Option<Timestamp>, span: SignedDuration, now: Timestamp) -> bool {
    since.and_then(|since| since.checked_add(span).ok()).is_some_and(|end| now < end)
}

/// Takes `total` from `spare`, in proportion to each amount; in the order of `spare`.
pub(super) fn take(total: Replicas, spare: &[(&str, Replicas)]) -> Vec<Replicas> {
    let parts =
        spare.iter().map(|(name, spare)| Part { name, current: 0, weight: u64::from(*spare), low: 0, high: *spare });
    by_weight(total, &parts.collect::<Vec<_>>())
}

/// The sum, saturated to a number of replicas.
pub(super) fn sum(numbers: impl Iterator<Item = Replicas>) -> Replicas {
    numbers.fold(0, Replicas::saturating_add)
}
