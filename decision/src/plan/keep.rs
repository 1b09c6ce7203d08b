//! Keeps targets while only the clusters change: the bounds of a failed one go to the others by policy, a returned one
//! gets its min at once (docs/design.md#failover). Pure.

use super::assignment::{assign, divide};
use super::cannot_scale::pends;
use super::distribute::{Receiver, Receivers};
use super::row::{Role, Row, parts, take};
use super::tiers::lowest_of_division;
use super::{Bounds, Memory, Moved, Policy, Reason, Request};
use crate::split::Replicas;

/// Keeps the targets of the clusters that take part, distributes free bounds, and takes returned clusters back.
///
/// * StaticWeighted and Duplicated divide by the user's settings, so a change of the clusters is a new division: a
///   returned cluster gets its whole share, which the others release as their replicas shrink.
/// * Otherwise capacity decided, which varies all the time: targets stay unchanged. Free bounds - of a failed cluster,
///   or above a cap that fell - are distributed by policy. A returned cluster gets its min, taken from the headroom of
///   the others in proportion; its own headroom follows at the next rebalance.
pub(super) fn keep(request: &Request<'_>, rows: &mut [Row<'_>]) {
    if request.policy == Policy::Duplicated {
        return assign(request, rows, false);
    }
    for row in rows.iter_mut().filter(|row| row.takes_part()) {
        let target = row.cluster.target.unwrap_or_default();
        let max = target.max.min(row.high);
        // A cluster whose HPA scaled to zero by itself begins from its least again; the zero stage decides anew each
        // time.
        row.assign(Bounds { min: target.min.max(1).min(max), max }, Reason::Unchanged);
    }
    let returned = parts(rows).any(|row| row.cluster.target.is_none());
    if request.policy == Policy::StaticWeighted {
        if returned || fill(request, rows) || regains(request, rows) || has_drifted(request, rows) {
            return assign(request, rows, true);
        }
    } else {
        if returned {
            admit(request, rows);
        }
        fill(request, rows);
    }
    for row in rows.iter_mut().filter(|row| row.is_assigned()) {
        row.reason = reason(request, row);
    }
}

fn reason(request: &Request<'_>, row: &Row<'_>) -> Reason {
    let max = row.bounds.max;
    match row.cluster.target.map(|target| target.max) {
        None if max == 0 && request.policy == Policy::Aggregated => Reason::Filled { capacity: row.capacity },
        None => Reason::ClusterRecovered,
        Some(before) if before < max => Reason::ReplicasTakenOver { more: max.abs_diff(before) },
        Some(before) if before > max => Reason::HeadroomReleased { less: max.abs_diff(before) },
        Some(_) => Reason::Unchanged,
    }
}

/// Whether the user's split differs from what is kept although nobody donated headroom: what limited it is gone, such as
/// a cluster that did not answer while max was raised.
fn has_drifted(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    if parts(rows).any(|row| row.cluster.memory.donated().is_some()) {
        return false;
    }
    divide(request, rows, true);
    parts(rows).any(|row| row.proposed.max != row.bounds.max)
}

/// Whether the user's split can apply again after some donated headroom: a cluster that has less than its share has
/// capacity or does not need any, no cluster has unschedulable pods, and no headroom was moved within the window.
fn regains(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    let donated = |row: &Row<'_>| row.cluster.memory.donated().is_some();
    let calm = |row: &Row<'_>| {
        let moved = row.cluster.memory.moved.map(Moved::at);
        !pends(request, row.cluster) && !request.within(moved, request.window)
    };
    if !request.scale_assist || !parts(rows).any(donated) || !parts(rows).all(calm) {
        return false;
    }
    divide(request, rows, false);
    parts(rows).any(|row| {
        let cluster = row.cluster;
        let max = cluster.target.unwrap_or_default().max;
        let wants_fewer = || cluster.hpa_desired_confirmed().is_some_and(|desired| desired < max);
        let fits = cluster.available.is_some_and(|room| room > 0) || wants_fewer();
        max < row.proposed.max && fits
    })
}

/// Distributes unassigned bounds of the user on top of the current ones. Returns whether any changes.
fn fill(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    for row in rows.iter_mut() {
        row.proposed = row.bounds;
    }
    let low = |row: &Row<'_>| row.is_assigned().then_some(row.bounds.max);
    let tier = lowest_of_division(request, rows, low);
    let maxes = Receivers::of(rows, |row| {
        let low = low(row)?;
        Some(Receiver::of(row, low, row.highest_in(request, tier, low)))
    });
    top_up(request, rows, maxes, request.total.max, |row, max| row.proposed.max = max);
    let mins =
        Receivers::of(rows, |row| row.is_assigned().then(|| Receiver::of(row, row.bounds.min, row.proposed.max)));
    top_up(request, rows, mins, request.total.min, |row, min| row.proposed.min = min);
    let mut changes = false;
    for row in rows {
        let Bounds { min, max } = row.proposed;
        let bounds = Bounds { min: min.max(1).min(max), max };
        changes |= row.bounds != bounds;
        row.bounds = bounds;
    }
    changes
}

/// Distributes what `total` leaves above the lower limits, where that is anything.
fn top_up<'a>(
    request: &Request<'_>,
    rows: &mut [Row<'a>],
    mut receivers: Receivers<'a>,
    total: Replicas,
    raise: impl FnMut(&mut Row<'a>, Replicas),
) {
    let rest = u64::from(total).saturating_sub(receivers.lows());
    if let Some(rest) = Replicas::try_from(rest).ok().filter(|rest| *rest > 0) {
        receivers.top_up(request.policy, rest);
        receivers.hand_out(rows, raise);
    }
}

/// Gives returned clusters their min, from free bounds and the headroom of the others. A returned one without a min
/// stays out until there is one.
fn admit(request: &Request<'_>, rows: &mut [Row<'_>]) {
    divide(request, rows, false);
    let returned = |row: &Row<'_>| row.is_assigned() && row.cluster.target.is_none();
    // Under Aggregated one that runs nothing is opened only where the others cannot run what is asked for.
    let low = |row: &Row<'_>| row.is_assigned().then_some(row.bounds.max);
    let lowest = if request.policy == Policy::Aggregated { lowest_of_division(request, rows, low) } else { None };
    let closed = |row: &Row<'_>| Some(row.tier(request)) < lowest && row.asked() == 0;
    let wanted = |row: &Row<'_>| if returned(row) && !closed(row) { row.proposed.min } else { 0 };
    let most = |total: u64| Replicas::try_from(total).unwrap_or(Replicas::MAX);
    let held = total(rows, |row| row.bounds.max);
    let free = u64::from(request.total.max).saturating_sub(held);
    let need = total(rows, wanted);
    let slack = |row: &Row<'_>| row.bounds.max.saturating_sub(row.bounds.min.max(row.asked()));
    take(most(need.saturating_sub(free)), rows, slack, |row, less| {
        row.bounds.max = row.bounds.max.saturating_sub(less);
    });
    let left = total(rows, |row| row.bounds.max);
    let can = most(free.saturating_add(held.saturating_sub(left)).min(need));
    // Their min was part of the mins of the others while they were away.
    let surplus = total(rows, |row| row.bounds.min).saturating_add(can.into());
    let surplus = surplus.saturating_sub(request.total.min.into()).min(can.into());
    let over = |row: &Row<'_>| row.bounds.min.saturating_sub(row.cluster.limits.least.max(1));
    take(most(surplus), rows, over, |row, less| row.bounds.min = row.bounds.min.saturating_sub(less));
    take(can, rows, wanted, |row, share| row.bounds = Bounds { min: share, max: share });
    for row in rows.iter_mut().filter(|row| returned(row)) {
        if !row.bounds.is_some() && wanted(row) > 0 {
            (row.role, row.memory) = (Role::Waits, Memory::default());
        }
    }
}

fn total<'a>(rows: &[Row<'a>], of: impl Fn(&Row<'a>) -> Replicas) -> u64 {
    rows.iter().map(|row| u64::from(of(row))).sum()
}
