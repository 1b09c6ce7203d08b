//! Which tiers get headroom: a lower one only what those above cannot run (docs/design.md#initial-assignment). Pure.

use std::cmp::Reverse;

use super::owed::holds;
use super::row::Row;
use super::{ClusterState, Policy, Request};
use crate::split::Replicas;

/// The place of a cluster in the order in which headroom goes: greater first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tier<'a> {
    /// Its priority under Prioritized.
    priority: Option<i32>,
    /// Whether it has bounds, under Aggregated; of those without any, the largest is first.
    open: bool,
    capacity: Replicas,
    name: Reverse<&'a str>,
}

impl Request<'_> {
    /// Whether lower tiers wait for headroom until others need their help, which `scaleAssist` gives.
    pub(super) fn has_tiers(&self) -> bool {
        matches!(self.policy, Policy::Prioritized | Policy::Aggregated) && self.scale_assist
    }
}

impl<'a> Row<'a> {
    /// Its tier. Without tiers all clusters are of one.
    pub(super) fn tier(&self, request: &Request<'_>) -> Tier<'a> {
        match request.policy {
            Policy::Prioritized if request.scale_assist => Tier { priority: self.cluster.priority, ..Tier::default() },
            Policy::Aggregated if request.scale_assist && self.bounds.is_some() => {
                Tier { open: true, ..Tier::default() }
            }
            Policy::Aggregated if request.scale_assist => {
                Tier { capacity: self.capacity, name: Reverse(self.cluster.name), ..Tier::default() }
            }
            _ => Tier::default(),
        }
    }

    /// The upper limit of its max, at least `low`, where headroom goes down to the tier `lowest`.
    pub(super) fn highest_in(&self, request: &Request<'_>, lowest: Option<Tier<'_>>, low: Replicas) -> Replicas {
        if Some(self.tier(request)) < lowest { low } else { self.high.max(low) }
    }

    /// Replicas that it can run; while its free capacity is unknown, all that it may have.
    fn fits(&self) -> Replicas {
        let unknown = self.answers() && self.cluster.available.is_none();
        if unknown { self.high } else { self.capacity.max(self.cluster.may_run()).min(self.high) }
    }
}

/// The lowest tier that gets headroom when `need` replicas are asked for beyond those that run: the first one with which
/// the `room` for further replicas suffices. Clusters without an answer get none.
pub(super) fn lowest<'a>(
    request: &Request<'_>,
    rows: &[Row<'a>],
    need: u64,
    room: impl Fn(&Row<'a>) -> Option<Replicas>,
) -> Option<Tier<'a>> {
    if !request.has_tiers() {
        return None;
    }
    let tiers = rows.iter().filter_map(|row| Some((row.tier(request), u64::from(room(row)?))));
    let mut tiers: Vec<(Tier<'a>, u64)> = tiers.collect();
    tiers.sort_unstable_by_key(|(tier, _)| Reverse(*tier));
    let mut covered = 0_u64;
    let suffices = |(_, room): &&(Tier<'a>, u64)| {
        covered = covered.saturating_add(*room);
        covered >= need
    };
    tiers.iter().find(suffices).or(tiers.last()).map(|(tier, _)| *tier)
}

/// The lowest tier that gets headroom in a division, where each cluster that takes part in it has at least its `low`.
///
/// Asked for are the user's min and what runs, also in clusters that fail or leave. What a cluster that takes part runs,
/// and its min, it is to run further on: measurements of free capacity alone open no tier.
pub(super) fn lowest_of_division<'a>(
    request: &Request<'_>,
    rows: &[Row<'a>],
    low: impl Fn(&Row<'a>) -> Option<Replicas>,
) -> Option<Tier<'a>> {
    let runs = |row: &Row<'a>| match low(row) {
        Some(low) => row.asked().min(low),
        None if row.cluster.state != ClusterState::Lost => row.asked(),
        None if holds(row.cluster) => row.cluster.last_ran(true),
        None => 0,
    };
    let keeps = |row: &Row<'a>| Some(row.asked().max(row.bounds.min).min(low(row)?));
    let asked: u64 = rows.iter().map(|row| u64::from(runs(row))).sum();
    let kept: u64 = rows.iter().filter_map(keeps).map(u64::from).sum();
    let need = asked.max(request.total.min.into()).saturating_sub(kept);
    lowest(request, rows, need, |row| Some(row.fits().saturating_sub(keeps(row)?)))
}
