//! What an object asks of clusters and waits for, for those that share them
//! (docs/design.md#law-13-promise-capacity-once). Pure.

use super::row::{Row, assigned, bound, budget, sum};
use super::{Cluster, ClusterState, Request};
use crate::ledger::{Ask, Rank};
use crate::split::Replicas;

impl Request<'_> {
    /// What it needs free capacity for, by what is observed.
    #[must_use]
    pub fn rank(&self) -> Rank {
        let goes = |state| matches!(state, ClusterState::Lost | ClusterState::Leaving { .. });
        let replaces = self.clusters.iter().any(|cluster| {
            let due = cluster.memory.lost.is_some() || cluster.memory.replacement_uncovered() > 0;
            due || goes(cluster.state) && (cluster.entry.is_some() || cluster.hpa.is_some())
        });
        let serving = || self.clusters.iter().filter(|cluster| cluster.state == ClusterState::Serving);
        let least = if self.policy.divides() { self.total.min } else { 0 };
        let loaded = |load| self.is_above(load);
        if replaces {
            Rank::Replace
        } else if sum(serving().map(Cluster::running)) < least {
            Rank::Min
        } else if serving().any(|cluster| cluster.memory.scale_up_blocked.is_some() || cluster.load.is_some_and(loaded))
        {
            Rank::Load
        } else {
            Rank::Headroom
        }
    }
}

/// What it asks of each cluster, by name. What it waits for it would run in any cluster that takes part.
pub(super) fn asks<'a>(request: &Request<'_>, rows: &[Row<'a>]) -> Vec<(&'a str, Ask)> {
    let waiting = waiting(request, rows);
    let ask = |row: &Row<'a>| {
        let cluster = row.cluster;
        let current = cluster.current.unwrap_or_else(|| cluster.may_run());
        let asleep = row.memory.scaled_to_zero || !row.bounds.is_some();
        let asked = if asleep { current } else { row.comes_to().max(row.bounds.min).max(row.held) };
        let takes = row.answers() && row.bounds.is_some() && cluster.pending == 0;
        let waiting = if takes { waiting.min(row.high.saturating_sub(asked)) } else { 0 };
        (cluster.name, Ask { asked, current, waiting })
    };
    rows.iter().filter(|row| row.cluster.state != ClusterState::Lost).map(ask).collect()
}

/// Replicas that it needs and that no cluster was asked for, or that have no node where they were.
fn waiting(request: &Request<'_>, rows: &[Row<'_>]) -> Replicas {
    // Beyond `maxReplicas` it could use none.
    let left = budget(request, rows).saturating_sub(sum(bound(rows).map(Row::comes_to)));
    let due = sum(assigned(rows).map(|row| row.memory.replacement_uncovered()));
    let unasked = sum(rows.iter().map(Row::uncovered));
    if !request.scale_assist {
        return unasked.saturating_add(due.min(left));
    }
    let runs = sum(assigned(rows).map(|row| row.cluster.running()));
    let pending = sum(bound(rows).map(|row| row.cluster.pending));
    let below = if request.policy.divides() { request.total.min.saturating_sub(runs).min(pending) } else { 0 };
    let load = sum(rows.iter().map(|row| row.shortfall(request)));
    let load = if request.may_scale_up() { load } else { 0 };
    unasked.saturating_add(below.max(due.saturating_add(load).min(left)))
}
