//! A cluster with all that a plan knows and decides about it. The stages of a plan pass on one list of rows. Pure.

use jiff::Timestamp;

use super::observed::REACTION;
use super::{Bounds, Cluster, ClusterState, Hold, Memory, Moved, Policy, Reason, Request};
use crate::split::{Part, Replicas, by_weight};

/// A cluster with what is decided about it.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) cluster: &'a Cluster<'a>,
    pub(super) role: Role,
    /// Its weight under the policy.
    pub(super) weight: u64,
    pub(super) capacity: Replicas,
    /// Its upper limit.
    pub(super) high: Replicas,
    /// Bounds that a stage computes before it decides whether they apply.
    pub(super) proposed: Bounds,
    /// Its final bounds; [`Bounds::NONE`] where it has no target.
    pub(super) bounds: Bounds,
    /// Why it has these bounds.
    pub(super) reason: Reason,
    /// What the next plan needs. Without a target: only what it owes.
    pub(super) memory: Memory,
    /// Its HPA may not scale down.
    pub(super) scale_down_disabled: bool,
    /// Owed replicas of a cluster that has returned, and those that no longer fit below its max: they are requested once
    /// more.
    pub(super) again: Replicas,
    /// Fewest replicas that it runs because other clusters cannot run their min; 0: it need not.
    pub(super) held: Replicas,
    pub(super) verdict: Verdict,
    pub(super) transition: Transition,
    /// Whether it leaves now.
    pub(super) goes: bool,
    /// The max of its first HPA, where that is written now.
    pub(super) first_max: Option<Replicas>,
}

/// The part of a cluster in the division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It takes no part.
    Outside,
    /// It takes part and has no target.
    Waits,
    /// It has a target.
    Assigned,
}

/// Whether a leaving cluster may be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not yet.
    #[default]
    Stays,
    /// Its replicas are ready elsewhere.
    Goes,
    /// The longest wait has passed.
    TimesOut,
}

/// The change of a cluster for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// Have these bounds.
    Have {
        /// The bounds; [`Bounds::NONE`] while the budget has no room for it.
        bounds: Bounds,
        /// Why they differ from the target.
        hold: Option<Hold>,
        /// Its HPA may not scale down.
        scale_down_disabled: bool,
    },
    /// Leave: run no more than these until the others are ready. [`Bounds::NONE`]: at once.
    Leave(Bounds),
    /// Its HPA and its entry are removed at once.
    Drop,
    /// No change.
    Rest,
}

/// The rows of all clusters, by name.
pub(super) fn rows<'a>(request: &'a Request<'_>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = request.clusters.iter().map(|cluster| Row::of(request, cluster)).collect();
    rows.sort_unstable_by_key(|row| row.cluster.name);
    weigh(request.policy, &mut rows);
    rows
}

/// Without any static weight all weigh the same, as in Karmada.
fn weigh(policy: Policy, rows: &mut [Row<'_>]) {
    let unweighted = rows.iter().all(|row| !row.takes_part() || row.cluster.weight == 0);
    for row in rows {
        row.weight = match policy {
            Policy::StaticWeighted if unweighted => 1,
            Policy::StaticWeighted => row.cluster.weight,
            Policy::DynamicWeighted => row.cluster.free().into(),
            Policy::Duplicated | Policy::Aggregated | Policy::Prioritized => row.capacity.into(),
        };
    }
}

impl<'a> Row<'a> {
    fn of(request: &Request<'_>, cluster: &'a Cluster<'a>) -> Self {
        Self {
            cluster,
            role: Role::of(cluster),
            weight: 0,
            capacity: cluster.capacity(),
            high: cluster.highest_max(request),
            proposed: Bounds::NONE,
            bounds: Bounds::NONE,
            reason: Reason::Unchanged,
            memory: Memory::default(),
            scale_down_disabled: false,
            again: 0,
            held: 0,
            verdict: Verdict::Stays,
            transition: Transition::Rest,
            goes: false,
            first_max: None,
        }
    }

    /// Gives it a target.
    pub(super) fn assign(&mut self, bounds: Bounds, reason: Reason) {
        (self.role, self.bounds, self.reason, self.memory) = (Role::Assigned, bounds, reason, self.cluster.memory);
    }

    /// Whether it takes part in the division.
    pub(super) fn takes_part(&self) -> bool {
        self.role != Role::Outside
    }

    /// Whether it has a target.
    pub(super) fn is_assigned(&self) -> bool {
        self.role == Role::Assigned
    }

    /// Whether the cluster answers.
    pub(super) fn answers(&self) -> bool {
        self.cluster.state == ClusterState::Serving
    }

    /// Whether the cluster cannot scale, regardless of for how long.
    pub(super) fn is_blocked(&self) -> bool {
        self.memory.scale_up_blocked.is_some()
    }

    /// Whether its pods cannot be scheduled, regardless of for how long.
    pub(super) fn is_pending(&self) -> bool {
        self.memory.scale_up_blocked.is_some_and(|blocked| blocked.cause.is_pending())
    }

    /// Whether it has been unable to scale for long enough that other clusters help.
    pub(super) fn counts(&self, request: &Request<'_>) -> bool {
        let Some(blocked) = self.memory.scale_up_blocked.filter(|_| self.answers()) else { return false };
        blocked.counts_from(request.delay).is_some_and(|begin| begin <= request.now)
    }

    /// Whether it may receive headroom: it did not donate some within the window.
    pub(super) fn may_get(&self, request: &Request<'_>) -> bool {
        !request.within(self.memory.donated(), request.window)
    }

    /// Whether it may donate headroom: it did not receive some within the window.
    pub(super) fn may_give(&self, request: &Request<'_>) -> bool {
        !request.within(self.memory.received(), request.window)
    }

    /// Whether the effect of its last move is visible.
    pub(super) fn has_reacted(&self, request: &Request<'_>) -> bool {
        !request.within(self.memory.moved.map(Moved::at), REACTION)
    }

    /// When it may receive or donate headroom again, after it did.
    pub(super) fn may_move_at(&self, request: &Request<'_>) -> impl Iterator<Item = Timestamp> + use<> {
        let (moved, spans) = (self.memory.moved, [REACTION, request.window]);
        spans.into_iter().filter_map(move |span| moved?.at().checked_add(span).ok())
    }

    /// Sets its max, and remembers the move.
    pub(super) fn set_max(&mut self, max: Replicas, now: Timestamp, reason: Reason) {
        let before = self.bounds.max;
        if max == before {
            return;
        }
        // A cluster without bounds begins with one replica, as everywhere.
        let least = if before == 0 { self.cluster.limits.least.max(1) } else { self.bounds.min };
        self.bounds = Bounds { min: least.min(max), max };
        self.reason = reason;
        self.memory.moved = Some(if max > before { Moved::Received(now) } else { Moved::Donated(now) });
    }
}

impl Role {
    /// Those that serve or are silent take part, except a silent one without an HPA, a returning one with an eviction in
    /// progress, and one whose workload is not Karmada's.
    fn of(cluster: &Cluster<'_>) -> Self {
        let takes_part = match cluster.state {
            ClusterState::Serving if cluster.not_karmadas => false,
            ClusterState::Serving => cluster.target.is_some() || !cluster.evicting,
            ClusterState::Silent => cluster.hpa.is_some(),
            ClusterState::Leaving { .. } | ClusterState::Lost => false,
        };
        if takes_part { Self::Waits } else { Self::Outside }
    }
}

/// The rows that take part in the division.
pub(super) fn parts<'r, 'a>(rows: &'r [Row<'a>]) -> impl Iterator<Item = &'r Row<'a>> {
    rows.iter().filter(|row| row.takes_part())
}

/// The rows that have a target.
pub(super) fn assigned<'r, 'a>(rows: &'r [Row<'a>]) -> impl Iterator<Item = &'r Row<'a>> {
    rows.iter().filter(|row| row.is_assigned())
}

/// As [`assigned`], to change them.
pub(super) fn assigned_mut<'r, 'a>(rows: &'r mut [Row<'a>]) -> impl Iterator<Item = &'r mut Row<'a>> {
    rows.iter_mut().filter(|row| row.is_assigned())
}

/// The rows that have a share.
pub(super) fn bound<'r, 'a>(rows: &'r [Row<'a>]) -> impl Iterator<Item = &'r Row<'a>> {
    rows.iter().filter(|row| row.bounds.is_some())
}

/// Replicas that all clusters may run together: `maxReplicas`, under Duplicated the max of each that stays; while none of
/// these answers nobody knows that there is no room.
pub(super) fn budget(request: &Request<'_>, rows: &[Row<'_>]) -> Replicas {
    match request.policy {
        Policy::Duplicated if !bound(rows).any(Row::answers) => Replicas::MAX,
        Policy::Duplicated => sum(bound(rows).map(|row| row.bounds.max)),
        _ => request.total.max,
    }
}

/// Takes `total` from the rows, in proportion to what each can `spare`; `lower` takes its part from each of these.
pub(super) fn take<'a>(
    total: Replicas,
    rows: &mut [Row<'a>],
    spare: impl Fn(&Row<'a>) -> Replicas,
    mut lower: impl FnMut(&mut Row<'a>, Replicas),
) {
    let taken = taken(total, rows, spare);
    for (row, less) in rows.iter_mut().zip(taken).filter(|(_, less)| *less > 0) {
        lower(row, less);
    }
}

/// Proposes a max for each row: as much is taken from what some can `spare` as others `need`, both in proportion. Returns
/// whether that is anything.
pub(super) fn exchange<'a>(
    rows: &mut [Row<'a>],
    need: impl Fn(&Row<'a>) -> Replicas,
    spare: impl Fn(&Row<'a>) -> Replicas,
) -> bool {
    let total = sum(rows.iter().map(&need)).min(sum(rows.iter().map(&spare)));
    let changes = taken(total, rows, need).into_iter().zip(taken(total, rows, spare));
    for (row, (more, less)) in rows.iter_mut().zip(changes) {
        row.proposed.max = row.bounds.max.saturating_sub(less).saturating_add(more);
    }
    total > 0
}

fn taken<'a>(total: Replicas, rows: &[Row<'a>], spare: impl Fn(&Row<'a>) -> Replicas) -> Vec<Replicas> {
    if total == 0 {
        return Vec::new();
    }
    let part = |row: &Row<'a>| {
        let spare = spare(row);
        Part { name: row.cluster.name, current: 0, weight: spare.into(), kept: 0, low: 0, high: spare }
    };
    by_weight(total, &rows.iter().map(part).collect::<Vec<_>>())
}

/// The sum, saturated to a number of replicas.
pub(super) fn sum(numbers: impl Iterator<Item = Replicas>) -> Replicas {
    numbers.fold(0, Replicas::saturating_add)
}
