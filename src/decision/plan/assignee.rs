//! A participant with its target, as the rules of the adjustment change it. Pure.

use jiff::Timestamp;

use super::assignment::Target;
use super::observed::REACTION;
use super::participant::Participant;
use super::{Bounds, ClusterState, Memory, Reason, Request};
use crate::decision::split::{Part, Replicas, by_weight};

/// A participant with its target.
pub(super) struct Assignee<'s, 'a> {
    pub(super) participant: &'s Participant<'a>,
    pub(super) target: &'s mut Target,
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

    /// Its running replicas, or those that it was asked to run in place of others.
    pub(super) fn asked(&self) -> Replicas {
        self.participant.cluster.may_run().max(self.target.memory.floor())
    }

    /// Lower limit of its max and of its min: its running replicas, its replacement replicas, and its lower threshold.
    pub(super) fn least(&self) -> Replicas {
        self.asked().max(self.participant.cluster.limits.least)
    }

    /// Lower limit of its max while its min stays.
    pub(super) fn floor(&self) -> Replicas {
        self.least().max(self.target.bounds.min)
    }

    /// Whether it may receive headroom: it donated none within the window.
    pub(super) fn may_get(&self, request: &Request<'_>) -> bool {
        !request.within(self.target.memory.gave, request.window)
    }

    /// Whether it may donate headroom: it received none within the window.
    pub(super) fn may_give(&self, request: &Request<'_>) -> bool {
        !request.within(self.target.memory.got, request.window)
    }

    /// Whether the effect of its last move is visible.
    pub(super) fn has_reacted(&self, request: &Request<'_>) -> bool {
        let Memory { gave, got, .. } = self.target.memory;
        !request.within(gave, REACTION) && !request.within(got, REACTION)
    }

    /// When it may receive or donate headroom again, after it did.
    pub(super) fn may_move_at(&self, request: &Request<'_>) -> impl Iterator<Item = Timestamp> + use<> {
        let Memory { gave, got, .. } = self.target.memory;
        let spans = [REACTION, request.window];
        let moves = [gave, got].into_iter().flatten();
        moves.flat_map(move |moved| spans.into_iter().filter_map(move |span| moved.checked_add(span).ok()))
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

/// Takes `total` from `spare`, in proportion to each amount; in the order of `spare`.
pub(super) fn take(total: Replicas, spare: &[(&str, Replicas)]) -> Vec<Replicas> {
    if total == 0 {
        return vec![0; spare.len()];
    }
    let part = |&(name, spare)| Part { name, current: 0, weight: u64::from(spare), kept: 0, low: 0, high: spare };
    let parts = spare.iter().map(part);
    by_weight(total, &parts.collect::<Vec<_>>())
}

/// The sum, saturated to a number of replicas.
pub(super) fn sum(numbers: impl Iterator<Item = Replicas>) -> Replicas {
    numbers.fold(0, Replicas::saturating_add)
}
