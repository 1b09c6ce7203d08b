//! Replicas that other clusters run at once in place of clusters that cannot scale
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::{SignedDuration, Timestamp};

use super::distribute::{Receiver, Receivers};
use super::row::{Row, assigned, assigned_mut, sum, take};
use super::{Assist, Cluster, Policy, Request};
use crate::split::Replicas;

/// An assist that is not reached is kept for at least this time.
const LEAST_HELD: SignedDuration = SignedDuration::from_secs(60);

/// Assigns assists to clusters. Replicas requested for a cluster are remembered with it, so that they are requested
/// once.
pub(super) fn assist(request: &Request<'_>, rows: &mut [Row<'_>]) {
    if !request.may_scale_up() {
        for Row { memory, .. } in assigned_mut(rows) {
            memory.assist = None;
        }
        return;
    }
    let total = sum(rows.iter().map(|row| row.shortfall(request)));
    let given = share_out(request, rows, total);
    let helps = |row: &mut Row<'_>, helped: Replicas| {
        row.memory.covered_replicas = row.memory.covered_replicas.saturating_add(helped);
    };
    take(given, rows, |row| row.shortfall(request), helps);
}

/// Distributes `total` further replicas by policy to the clusters that can run them. Returns how many were distributed.
fn share_out(request: &Request<'_>, rows: &mut [Row<'_>], total: Replicas) -> Replicas {
    if total == 0 {
        return 0;
    }
    let mut receivers = Receivers::of(rows, |row| receiver(request, row));
    receivers.distribute(request.policy.of_help(), total);
    receivers.hand_out(rows, |row, share| {
        if share > 0 {
            row.memory.assist =
                Some(Assist { replicas: row.reported_or_ordered().saturating_add(share), since: request.now });
            request.remember(&mut row.memory, share);
        }
    });
    receivers.given()
}

/// Drops assists that were reached or have expired: the HPA has decided since then, and a second writer would conflict.
/// Where the min of the HPA asks for the replicas, it stays until the HPA wants as many by itself, at most for the
/// window of scaling down. What is still requested is cut to what the policies of the user allow now.
pub(super) fn forget(request: &Request<'_>, rows: &mut [Row<'_>]) {
    for Row { cluster, memory, bounds, .. } in assigned_mut(rows) {
        let max = cluster.written().unwrap_or_default().max;
        let Cluster { current, load, reach, .. } = **cluster;
        let running = cluster.running();
        let mut requested = false;
        memory.assist = memory.assist.filter(|assist| {
            let reached = current.is_none_or(|current| current >= assist.replicas.min(max));
            // Keep it while the raise of its max is pending.
            let waits = max < assist.replicas && max < bounds.max;
            requested = !reached || waits;
            let holds = reached && !reach.scale && load.is_none_or(|load| load.wanted(running) < assist.replicas);
            request.within(Some(assist.since), held(request)) && (requested || holds)
        });
        request.expire(memory, requested && memory.assist.is_some());
        let asked = memory.replacement_replicas();
        // A min is not bound by them, as for its HPA.
        let least = cluster.written().filter(|_| reach.scale).map_or(0, |written| written.min);
        if let Some(assist) = memory.assist.as_mut().filter(|_| requested) {
            // Its HPA may have removed replicas since, also those that were added.
            let has = current.unwrap_or_default().max(asked).max(least);
            let most = request.most(has, &memory.scale_ups.observed());
            assist.replicas = assist.replicas.min(most.max(bounds.min));
            let more = assist.replicas.saturating_sub(has).saturating_sub(memory.scale_ups.requested());
            request.remember(memory, more);
        }
    }
}

/// How long an assist that is not reached is kept, and the min of an HPA holds replicas that it does not want by itself.
pub(super) fn held(request: &Request<'_>) -> SignedDuration {
    request.window.max(LEAST_HELD)
}

/// When the next assist ends, or the policies of the user allow more of what is missing.
pub(super) fn end(request: &Request<'_>, rows: &[Row<'_>]) -> Option<Timestamp> {
    let rules = request.scale_up.iter().filter(|_| rows.iter().any(|row| row.shortfall(request) > 0));
    let more = rules.flat_map(|rules| assigned(rows).flat_map(|row| row.memory.scale_ups.ends(rules)));
    let sinces = assigned(rows).filter_map(|row| Some(row.memory.assist?.since));
    let ends = sinces.filter_map(|since| since.checked_add(held(request)).ok());
    ends.chain(more).filter(|end| *end > request.now).min()
}

/// A cluster that can run further replicas, within its max and its free capacity.
fn receiver<'a>(request: &Request<'_>, row: &Row<'a>) -> Option<Receiver<'a>> {
    let cluster = row.cluster;
    // Whether a cluster at zero is woken is not decided here: asked for replicas it would not start any.
    let asleep = row.memory.scaled_to_zero;
    let current = cluster.current?;
    // An HPA does not scale a workload at zero replicas, whatever its min.
    let asks = cluster.reach.scale || current > 0;
    let able = row.answers() && !row.is_blocked() && !asleep && asks;
    let runs = row.reported_or_ordered();
    let ordered = runs.saturating_sub(current);
    let room = cluster.available.unwrap_or_default().saturating_sub(ordered);
    let most = row.bounds.max.min(request.most(runs, &row.memory.scale_ups));
    let spare = room.min(most.saturating_sub(runs));
    if !able || spare == 0 {
        return None;
    }
    let weight = if request.policy == Policy::StaticWeighted { row.weight } else { room.into() };
    Some(Receiver { weight, capacity: spare, ..Receiver::of(row, 0, spare) })
}
