//! Fewest replicas of clusters that run those of others (docs/design.md#failover): how long they hold, and what of them
//! fits. Pure.

use jiff::{SignedDuration, Timestamp};

use super::Request;
use super::row::{Row, assigned, assigned_mut, bound, budget, sum, take};
use crate::split::Replicas;

/// HPA measurements are up to a minute old: earlier ones do not include the load of others.
const SEEN: SignedDuration = SignedDuration::from_secs(60);
/// While Karmada evicts, replacement mins are renewed in steps of this size.
const STEP: SignedDuration = SignedDuration::from_secs(30);

/// The replacement mins of clusters that leave, or come back after they left, are among the owed replicas.
pub(super) fn forget(rows: &mut [Row<'_>]) {
    for row in assigned_mut(rows) {
        if row.memory.lost.is_some() || row.cluster.memory.lost.is_some() {
            row.memory.replacement_min = None;
        }
    }
}

impl Row<'_> {
    /// Whether what it was asked to run is in effect as its min, or has been waited for long enough, and its HPA has acted
    /// on that where it has metrics. Before, replicas that its HPA adds by itself look like those that were asked for.
    pub(super) fn is_min_in_effect(&self) -> bool {
        let cluster = self.cluster;
        let least = self.memory.replacement_replicas().min(self.bounds.max);
        let written = || cluster.hpa.filter(|hpa| hpa.confirmed)?.written;
        // Without metrics it wants what it wanted, whatever its min.
        let acts = || cluster.load.is_none() || cluster.hpa_desired_confirmed().is_none_or(|desired| desired >= least);
        least == 0 || cluster.unresponsive || written().is_some_and(|written| written.min >= least) && acts()
    }
}

/// Requested replicas that are not run, of all.
pub(super) fn deficit(rows: &[Row<'_>]) -> Replicas {
    sum(rows.iter().map(Row::short_of))
}

/// Ends the replacement mins of clusters whose HPAs want more by what they measure: the load of clusters that leave,
/// which run `leaving` replicas that others were asked for, comes on top of that. These must be asked for once more.
pub(super) fn outgrown(leaving: Replicas, rows: &mut [Row<'_>]) {
    let mut rest = leaving;
    for row in assigned_mut(rows) {
        let wanted = row.wants();
        let total = row.memory.replacement_total();
        let min = row.memory.replacement_min.take_if(|_| rest > 0 && wanted > total);
        let again = min.map_or(0, |_| total.min(rest));
        rest = rest.saturating_sub(again);
        row.again = row.again.saturating_add(again);
    }
}

/// Whether load still has to move to the receivers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moves {
    /// Clusters are being replaced.
    pub(super) replacing: bool,
    /// Clusters were being replaced at the previous plan.
    pub(super) replaced: bool,
    /// Replicas under Karmada's graceful eviction still run, at most for Karmada's own time limit.
    pub(super) evicting: bool,
}

/// Replacement mins end when the HPAs have had time to observe the moved load. How long a replacement lasts is not known,
/// and it may last for ever where Karmada rejects the division: they are not stored again until it is over ([`renew`]).
/// What no longer fits below a max runs nowhere, and must be asked for once more.
pub(super) fn keep(request: &Request<'_>, rows: &mut [Row<'_>], moves: Moves) {
    let going = moves.replacing || moves.replaced || moves.evicting;
    let hold = request.window.max(SEEN);
    for row in assigned_mut(rows) {
        let most = row.bounds.max.max(row.cluster.may_run());
        let comes_to = row.cluster.known_without_surge().max(row.may_want());
        let memory = &mut row.memory;
        memory.replacement_min = memory.replacement_min.filter(|min| going || request.within(Some(min.since), hold));
        if let Some(min) = &mut memory.replacement_min {
            // What it has come to run by itself is due no more.
            let own = min.uncovered.min(comes_to.saturating_sub(min.replicas));
            let (due, replicas) = (min.uncovered.saturating_sub(own), min.replicas.saturating_add(own));
            row.again = row.again.saturating_add(due).saturating_add(replicas.saturating_sub(most));
            (min.replicas, min.uncovered) = (replicas.min(most), 0);
            if moves.evicting && !request.within(Some(min.since), STEP) {
                min.since = request.now;
            }
        }
    }
    // The user has lowered the total, or a cluster is back with what it ran.
    let stays = |row: &Row<'_>| row.or_asked(row.cluster.staying(row.cluster.may_run_without_surge()));
    let over = sum(bound(rows).map(stays)).saturating_sub(budget(request, rows));
    let spare = |row: &Row<'_>| {
        if row.bounds.is_some() { row.asked().saturating_sub(row.cluster.may_run()) } else { 0 }
    };
    take(over, rows, spare, |row, less| {
        if let Some(min) = &mut row.memory.replacement_min {
            min.replicas = min.replicas.saturating_sub(less);
        }
    });
}

/// All clusters are replaced: from now on the HPAs have time to observe the moved load.
pub(super) fn renew(request: &Request<'_>, rows: &mut [Row<'_>]) {
    for min in assigned_mut(rows).filter_map(|row| row.memory.replacement_min.as_mut()) {
        min.since = request.now;
    }
}

pub(super) fn end(request: &Request<'_>, rows: &[Row<'_>]) -> Option<Timestamp> {
    let hold = request.window.max(SEEN);
    let ends = assigned(rows).filter_map(|row| row.memory.replacement_min?.since.checked_add(hold).ok());
    ends.filter(|end| *end > request.now).min()
}
