//! Clusters that cannot scale: which, since when, and the headroom that moves to them
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::distribute::{Receiver, Receivers};
use super::row::{Row, assigned, assigned_mut, bound, exchange, sum, take};
use super::tiers::{Tier, lowest};
use super::{Cause, Cluster, ClusterState, Memory, Policy, Reason, Request, ScaleUpBlock};
use crate::split::Replicas;

/// Updates the stored state of each cluster. Returns when the next of them counts as blocked.
///
/// A silent cluster keeps its state, and one at its max while a write of its HPA is not confirmed. Replicas requested
/// from others for a cluster are forgotten when it needs no more, not when the symptom is gone for a moment: releasing
/// headroom alone removes pending pods, and help may bring a metric just within the tolerance until the HPA of the
/// helper removes it again.
pub(super) fn update_blocked(request: &Request<'_>, rows: &mut [Row<'_>]) -> Option<Timestamp> {
    let known = |row: &&mut Row<'_>| row.answers() && !is_unknown(row.cluster, &row.memory);
    for Row { cluster, memory, .. } in assigned_mut(rows).filter(known) {
        let since = memory.scale_up_blocked.map_or(request.now, |blocked| blocked.since);
        memory.scale_up_blocked = cause(request, cluster).map(|cause| ScaleUpBlock { cause, since });
        if memory.scale_up_blocked.is_none() && !cluster.load.is_some_and(|load| load.is_above_by(0)) {
            memory.covered_replicas = 0;
        }
    }
    let ends = assigned(rows).filter_map(|row| row.memory.scale_up_blocked?.counts_from(request.delay));
    ends.filter(|end| *end > request.now).min()
}

/// Whether it has unschedulable pods, by what is seen of it now.
pub(super) fn pends(request: &Request<'_>, cluster: &Cluster<'_>) -> bool {
    let seen = cluster.state == ClusterState::Serving && !is_unknown(cluster, &cluster.memory);
    let known = || cluster.memory.scale_up_blocked.map(|blocked| blocked.cause);
    let cause = if seen { cause(request, cluster) } else { known() };
    cause.is_some_and(Cause::is_pending)
}

/// Whether it was at its max, and its HPA has not confirmed the bounds that were written since. What it says next
/// counts: otherwise help would be asked for again with every write.
fn is_unknown(cluster: &Cluster<'_>, memory: &Memory) -> bool {
    let unconfirmed = cluster.is_unconfirmed();
    let at_max = memory.scale_up_blocked.is_some_and(|blocked| blocked.cause == Cause::AtMax);
    unconfirmed && at_max && cluster.pending == 0 && !cluster.unresponsive
}

fn cause(request: &Request<'_>, cluster: &Cluster<'_>) -> Option<Cause> {
    if cluster.pending > 0 {
        return Some(if cluster.no_nodes { Cause::NoNodes } else { Cause::Pending });
    }
    let max = cluster.hpa.filter(|hpa| hpa.confirmed)?.written?.max;
    let full = cluster.current == Some(max) && cluster.hpa_desired_confirmed() == Some(max);
    (full && request.is_above(cluster.load?)).then_some(Cause::AtMax)
}

/// Moves headroom. Returns whether any was moved.
pub(super) fn raise(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    give_up(request, rows) | donate(request, rows)
}

/// Clusters with unschedulable pods keep their running replicas; the rest, and with it their min, goes to other clusters
/// by policy. Where the tiers above have no room for what clusters cannot run, the next tier gets it, and what no cluster
/// has: at once, whatever moved before.
fn give_up(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    let lacks = |row: &Row<'_>| u64::from(row.lacks(request));
    let need: u64 = rows.iter().map(lacks).sum();
    let assigned = sum(bound(rows).map(|row| row.bounds.max));
    let unassigned = if need > 0 { request.total.max.saturating_sub(assigned) } else { 0 };
    let unusable = |row: &Row<'_>| {
        let gives = row.is_pending() && row.counts(request) && row.has_reacted(request);
        // A min that it has no room for would run nowhere. Under StaticWeighted it is the user's split.
        let keeps = if request.policy.depends_on_capacity() { row.least().max(1) } else { row.lowest_max() };
        if gives { row.bounds.max.saturating_sub(keeps) } else { 0 }
    };
    let gives = |row: &&Row<'_>| unusable(row) > 0 || unassigned > 0 && lacks(row) > 0;
    let own = rows.iter().filter(gives).map(|row| row.tier(request)).max();
    let able = |row: &Row<'_>| {
        let may = row.may_get(request) || Some(row.tier(request)) < own;
        row.is_assigned() && row.answers() && !row.is_pending() && may
    };
    let fits = |row: &Row<'_>| match row.cluster.available {
        // Headroom above its capacity would return, because its pods would be pending too.
        Some(_) => row.high.min(row.capacity),
        None if row.is_blocked() => 0,
        None => row.high,
    };
    let room = |row: &Row<'_>| able(row).then(|| fits(row).saturating_sub(row.cluster.may_run()));
    let lowest = lowest(request, rows, need, room).unwrap_or_default();
    let spare = |row: &Row<'_>| {
        let may = row.may_give(request) || lowest < row.tier(request);
        if may { unusable(row) } else { 0 }
    };
    let most = |row: &Row<'_>| {
        let tier = row.tier(request);
        let gave = row.memory.donated().is_some();
        match tier.cmp(&lowest) {
            Ordering::Less => 0,
            _ if !able(row) => 0,
            // It is next in order, and its pending pods may trigger new nodes.
            Ordering::Equal if Some(tier) < own || !row.is_blocked() && !gave => row.high,
            Ordering::Equal | Ordering::Greater => fits(row),
        }
    };
    hand_over(request, rows, (unassigned, Replicas::MAX), spare, most, |_| Reason::ScaleUpBlocked)
}

/// Takes what clusters can `spare` and distributes it, and what is `unassigned`, by policy to the other clusters, each up
/// to `most`; only as much as they can take, and no more than is needed. `why`: of a cluster that has so many fewer.
pub(super) fn hand_over<'a>(
    request: &Request<'_>,
    rows: &mut [Row<'a>],
    (unassigned, needed): (Replicas, Replicas),
    spare: impl Fn(&Row<'a>) -> Replicas,
    most: impl Fn(&Row<'a>) -> Replicas,
    why: impl Fn(Replicas) -> Reason,
) -> bool {
    let spared = sum(rows.iter().map(&spare));
    let free = spared.saturating_add(unassigned).min(needed);
    if free == 0 {
        return false;
    }
    let mut receivers = Receivers::of(rows, |row| {
        let (low, high) = (row.bounds.max, most(row));
        (row.is_assigned() && high > low && spare(row) == 0).then(|| Receiver::of(row, low, high))
    });
    if receivers.is_empty() {
        return false;
    }
    receivers.top_up(request.policy, free);
    let got = receivers.given();
    take(got.min(spared), rows, spare, |row, less| {
        row.set_max(row.bounds.max.saturating_sub(less), request.now, why(less));
    });
    receivers.hand_out(rows, |row, max| row.set_max(max, request.now, Reason::HeadroomReceived));
    got > 0
}

/// Clusters at their max that want more receive headroom that others do not want.
///
/// Each receives what it needs, up to its capacity. Not under StaticWeighted, whose split is the user's decision. Under
/// Prioritized the higher priority is first, and no cluster takes from a higher one: that one serves the load by
/// itself.
fn donate(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    if request.policy == Policy::StaticWeighted {
        return false;
    }
    // Only clusters that can scale donate, so that no donation changes the need of others.
    let at_max = rows.iter().filter(|row| row.headroom_lacked(request) > 0);
    let mut tiers: Vec<Tier<'_>> = at_max.map(|row| row.tier(request)).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let mut moved = false;
    for own in tiers.into_iter().rev() {
        let need = |row: &Row<'_>| if row.tier(request) == own { row.headroom_lacked(request) } else { 0 };
        let slack = |row: &Row<'_>| if row.tier(request) <= own { row.headroom_unwanted(request) } else { 0 };
        if !exchange(rows, need, slack) {
            // Lower tiers have no more to take from.
            break;
        }
        moved = true;
        for row in assigned_mut(rows) {
            let raised = row.proposed.max > row.bounds.max;
            let reason = if raised { Reason::RaisedAtMax } else { Reason::HeadroomDonated };
            row.set_max(row.proposed.max, request.now, reason);
        }
    }
    moved
}
