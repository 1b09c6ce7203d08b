//! Rebalances headroom by current measurements (docs/design.md#rebalancing). Pure.

use jiff::Timestamp;

use super::distribute::{Receiver, Receivers};
use super::row::{Row, assigned, assigned_mut, exchange, sum};
use super::{Reason, Request};
use crate::split::Replicas;

/// What the rebalancing tells besides the targets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebalanced {
    /// When headroom was last rebalanced.
    pub(super) last_rebalanced: Option<Timestamp>,
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
}

/// Rebalances headroom, once per period; `moved` is whether some was moved just now.
///
/// Clusters that cannot scale or are silent keep theirs. No cluster is raised above its bounds and its free capacity, so that
/// nothing returns at once as unschedulable pods. While the free capacity is unknown, nothing moves. Clusters that
/// donated within the window receive nothing yet, and clusters that received donate nothing. A move back must be worth
/// it ([`is_worth`]), and clusters of about one size keep their order: measurements vary all the time, and bounds
/// should not vary with them.
pub(super) fn optimize(request: &Request<'_>, rows: &mut [Row<'_>], moved: bool) -> Rebalanced {
    let last_rebalanced = if moved { Some(request.now) } else { request.last_rebalanced };
    let Some(period) = request.period.filter(|_| request.policy.depends_on_capacity()) else {
        return Rebalanced { last_rebalanced, next: None };
    };
    let after = |time: Timestamp| time.checked_add(period).ok();
    if request.within(last_rebalanced, period) {
        return Rebalanced { last_rebalanced, next: last_rebalanced.and_then(after) };
    }
    spare_mins(request, rows);
    let last_rebalanced = if divide(request, rows) { Some(request.now) } else { last_rebalanced };
    Rebalanced { last_rebalanced, next: after(request.now) }
}

/// Moves the min of clusters without replicas to clusters that have some.
fn spare_mins(request: &Request<'_>, rows: &mut [Row<'_>]) {
    let mins = |rows: &[Row<'_>]| sum(assigned(rows).map(|row| row.bounds.min));
    let before = mins(rows);
    for row in assigned_mut(rows).filter(|row| is_empty(row)) {
        row.bounds.min = row.bounds.min.min(row.cluster.limits.least.max(1));
    }
    let rest = request.total.min.min(before).saturating_sub(mins(rows));
    if rest == 0 {
        return;
    }
    let mut receivers = Receivers::of(rows, |row| {
        let receives = row.is_assigned() && row.answers() && !is_empty(row);
        receives.then(|| Receiver::of(row, row.bounds.min, row.bounds.max))
    });
    receivers.top_up(request.policy, rest);
    receivers.hand_out(rows, |row, min| row.bounds.min = min);
}

fn is_empty(row: &Row<'_>) -> bool {
    row.memory.scaled_to_zero && row.cluster.current == Some(0)
}

/// Moves the bounds towards the ideal division, as far as each may change now. Returns whether any was moved.
fn divide(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    if !propose(request, rows) {
        return false;
    }
    let worth = |row: &Row<'_>, back: bool, change| if is_worth(back, change, row.bounds.max) { change } else { 0 };
    let up = |row: &Row<'_>| {
        let more = row.proposed.max.saturating_sub(row.bounds.max);
        if row.may_get(request) { worth(row, row.memory.donated().is_some(), more) } else { 0 }
    };
    let down = |row: &Row<'_>| {
        let less = row.bounds.max.saturating_sub(row.proposed.max);
        if row.may_give(request) { worth(row, row.memory.received().is_some(), less) } else { 0 }
    };
    let moves = exchange(rows, up, down);
    if !moves || !assigned(rows).any(|row| matters(row.bounds.max, row.proposed.max)) {
        return false;
    }
    for row in assigned_mut(rows) {
        row.set_max(row.proposed.max, request.now, Reason::HeadroomRebalanced);
    }
    true
}

/// Proposes the ideal division to the clusters that take part in it, and to the others what they have; `false` where it
/// is not known.
fn propose(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    // One without bounds gets none: its first replica would start although nothing asks for it.
    let takes_part = |row: &Row<'_>| row.bounds.is_some() && row.answers() && !row.is_blocked();
    if rows.iter().any(|row| takes_part(row) && row.cluster.available.is_none()) {
        return false;
    }
    // Lower tiers get no headroom that nothing asks for.
    let first = rows.iter().filter(|row| takes_part(row)).map(|row| row.tier(request)).max();
    let mut receivers =
        Receivers::of(rows, |row| takes_part(row).then(|| receiver(row, Some(row.tier(request)) == first)));
    let has = sum(rows.iter().filter(|row| takes_part(row)).map(|row| row.bounds.max));
    receivers.top_up(request.policy, has.saturating_sub(receivers.lowest()));
    for row in rows.iter_mut() {
        row.proposed = row.bounds;
    }
    receivers.hand_out(rows, |row, max| row.proposed.max = max);
    true
}

/// From its current replicas to its capacity where it may be `raised`; clusters of about one size keep their order.
fn receiver<'a>(row: &Row<'a>, raised: bool) -> Receiver<'a> {
    let (cluster, has) = (row.cluster, row.bounds.max);
    let low = row.lowest_max().max(cluster.current.unwrap_or_else(|| cluster.may_run())).min(has);
    let high = if raised { cluster.capacity().max(has) } else { has }.min(row.high).max(low);
    Receiver { kept: Some(has), ..Receiver::of(row, low, high) }
}

/// Whether the change is at least a tenth of the bounds.
fn matters(before: Replicas, after: Replicas) -> bool {
    u64::from(before.abs_diff(after)).saturating_mul(10) >= before.into() && before != after
}

/// Whether a change counts. A change that reverts the last move of the cluster must be a fifth of its bounds, and at
/// least two replicas: twice the threshold of a move, so that smaller variations do not move headroom to and fro.
fn is_worth(back: bool, change: Replicas, has: Replicas) -> bool {
    !back || change >= 2 && u64::from(change).saturating_mul(5) >= has.into()
}

#[cfg(test)]
mod tests {
    use super::{is_worth, matters};

    #[test]
    fn a_way_back_has_to_be_worth_twice_as_much() {
        let changes = [(1, 5), (2, 10), (2, 11), (20, 100), (19, 100)];
        assert_eq!(changes.map(|(change, has)| is_worth(true, change, has)), [false, true, false, true, false]);
        assert!(changes.iter().all(|(change, has)| is_worth(false, *change, *has)));
    }

    #[test]
    fn a_change_of_less_than_a_tenth_waits() {
        let changes = [(7, 8), (10, 11), (10, 9), (11, 10), (100, 109), (100, 90), (5, 5), (0, 1)];
        assert_eq!(changes.map(|(a, b)| matters(a, b)), [true, true, true, false, false, true, false, true]);
    }
}
