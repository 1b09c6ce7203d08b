//! What a cluster that leaves or has failed owes: its replicas, which others run. Pure.

use jiff::Timestamp;

use super::row::{Row, assigned, assigned_mut, sum};
use super::transition::leaves;
use super::{Cluster, ClusterState, Floor, Lost, Request};
use crate::decision::split::Replicas;

/// Whether its replicas can still be observed.
pub(super) fn still_runs(cluster: &Cluster<'_>) -> bool {
    cluster.state != ClusterState::Away && cluster.entry.is_some()
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
    let divides = request.policy.divides();
    let away = cluster.state == ClusterState::Away;
    if let Some(lost) = cluster.memory.lost {
        // Its max allows them first, so that none of them goes unseen when the controller dies in between.
        let allowed = cluster.written().is_none_or(|written| written.max >= cluster.may_run());
        let more = if away || !allowed { 0 } else { cluster.may_run().saturating_sub(lost.ran) };
        let ran = lost.ran.saturating_add(more);
        // Floors end under Duplicated: under the next policy all that it runs is asked for again.
        let due = if divides || away { lost.due.saturating_add(more) } else { ran };
        return Some(Lost { ran, due, ..lost });
    }
    let asked = cluster.memory.floor();
    if asked == 0 && (!holds(cluster) || !away && !leaves(cluster, assigned)) {
        return None;
    }
    let ran = cluster.last_ran(away).max(asked);
    let more = cluster.memory.others.filter(|_| away).map_or(0, |before| others.saturating_sub(before));
    (ran > 0).then_some(Lost { ran, due: ran.saturating_sub(more), since: request.now })
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
    let all = sum(assigned(rows).map(Row::asked)).saturating_add(due);
    for row in assigned_mut(rows) {
        let others = all.saturating_sub(row.asked());
        let silent = row.cluster.state == ClusterState::Silent;
        row.memory.others = if silent { row.memory.others.or(Some(others)) } else { None };
    }
}

/// The floor of a leaving cluster: what it was asked to run, as far as nobody else was asked since.
pub(super) fn unserved(cluster: &Cluster<'_>, lost: Lost) -> Option<Floor> {
    let floor = cluster.memory.floor?;
    let replicas = floor.replicas.min(lost.due);
    (replicas > 0).then_some(Floor { replicas, ..floor })
}
