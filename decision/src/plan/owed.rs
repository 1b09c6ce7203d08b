//! What a cluster that leaves or has failed owes: its replicas, which others run. Pure.

use jiff::Timestamp;

use super::row::{Row, assigned, assigned_mut, sum};
use super::transition::leaves;
use super::{Cluster, ClusterState, Lost, ReplacementMin, Request};
use crate::split::Replicas;

/// Whether its replicas can still be observed.
pub(super) fn still_runs(cluster: &Cluster<'_>) -> bool {
    cluster.state != ClusterState::Lost && cluster.entry.is_some()
}

/// Whether it has an HPA or an entry that can be removed.
pub(super) fn holds(cluster: &Cluster<'_>) -> bool {
    cluster.entry.is_some() || cluster.written().is_some()
}

/// Replicas owed for a cluster that does not stay; `assigned`: the rules assigned it nothing, as with a weight of 0.
///
/// A failed cluster stopped a while ago: further replicas of the others since then already replace it. A leaving cluster
/// whose HPA scales up before its max is in effect owes what it added, too.
pub(super) fn owed(request: &Request<'_>, cluster: &Cluster<'_>, assigned: bool, others: Replicas) -> Option<Lost> {
    let away = cluster.state == ClusterState::Lost;
    if let Some(lost) = cluster.memory.lost {
        // Its max allows them first, so that none of them goes unseen when the controller dies in between.
        let allowed = cluster.written().is_none_or(|written| written.max >= cluster.may_run());
        let more = if away || !allowed { 0 } else { cluster.may_run().saturating_sub(lost.replicas) };
        let replicas = lost.replicas.saturating_add(more);
        return Some(Lost { replicas, uncovered: lost.uncovered.saturating_add(more), ..lost });
    }
    let asked = cluster.memory.replacement_total();
    if asked == 0 && (!holds(cluster) || !away && !leaves(cluster, assigned)) {
        return None;
    }
    let replicas = cluster.last_ran(away).max(asked);
    let more = cluster.memory.other_replicas.filter(|_| away).map_or(0, |before| others.saturating_sub(before));
    (replicas > 0).then_some(Lost { replicas, uncovered: replicas.saturating_sub(more), since: request.now })
}

/// What is owed, with the wait for the replacement begun anew where nobody was `asked`: no other cluster answers, the
/// object is suspended, or no plan was possible. Thus no cluster leaves unreplaced once somebody can be asked.
pub(super) fn waits(request: &Request<'_>, lost: Option<Lost>, asked: bool) -> Option<Lost> {
    let over = |lost| renewal(request, lost).is_some_and(|renewal| renewal <= request.now);
    lost.map(|lost| if !asked && over(lost) { Lost { since: request.now, ..lost } } else { lost })
}

/// When the wait begins anew: with half of it over, because each new begin is stored.
pub(super) fn renewal(request: &Request<'_>, lost: Lost) -> Option<Timestamp> {
    lost.since.checked_add(request.replacement? / 2).ok()
}

/// Stores, for a cluster that stopped answering, the replicas that the others run, were asked to run in place of yet
/// others, or are about to be, which are `due`: these will replace none of its own.
pub(super) fn remember_others(due: Replicas, rows: &mut [Row<'_>]) {
    let owes = |row: &Row<'_>| row.or_due(row.cluster.may_run());
    let all = sum(assigned(rows).map(owes)).saturating_add(due);
    for row in assigned_mut(rows) {
        let others = all.saturating_sub(owes(row));
        let silent = row.cluster.state == ClusterState::Silent;
        row.memory.other_replicas = if silent { row.memory.other_replicas.or(Some(others)) } else { None };
    }
}

/// The replacement min of a leaving cluster: what it was asked to run, as far as nobody else was asked since.
pub(super) fn unserved(cluster: &Cluster<'_>, lost: Lost) -> Option<ReplacementMin> {
    let min = cluster.memory.replacement_min?;
    let replicas = cluster.memory.replacement_total().min(lost.uncovered);
    (replicas > 0).then_some(ReplacementMin { replicas, uncovered: 0, ..min })
}
