//! Rebalances headroom by current measurements (docs/design.md#rebalancing). Pure.

use jiff::Timestamp;

use super::assignee::{Assignee, sum, take};
use super::distribute::{Range, top_up};
use super::participant::Participant;
use super::{Memory, Reason, Request};
use crate::decision::split::Replicas;

/// What the rebalancing tells besides the targets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebalanced {
    /// When headroom was last rebalanced.
    pub(super) divided: Option<Timestamp>,
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
}

/// Rebalances headroom, once per period; `moved` is whether some was moved just now.
///
/// Clusters that are stuck or silent keep theirs. No cluster is raised above its bounds and its free capacity, so that
/// nothing returns at once as unschedulable pods. While the free capacity is unknown, nothing moves. Clusters that
/// donated within the window receive nothing yet, and clusters that received donate nothing. A move back must be worth
/// it ([`is_worth`]), and clusters of about one size keep their order: measurements vary all the time, and bounds
/// should not vary with them.
pub(super) fn optimize(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], moved: bool) -> Rebalanced {
    let divided = if moved { Some(request.now) } else { request.divided };
    let Some(period) = request.period.filter(|_| request.policy.depends_on_capacity()) else {
        return Rebalanced { divided, next: None };
    };
    let after = |time: Timestamp| time.checked_add(period).ok();
    if request.within(divided, period) {
        return Rebalanced { divided, next: divided.and_then(after) };
    }
    spare_mins(request, assignees);
    let divided = if divide(request, assignees) { Some(request.now) } else { divided };
    Rebalanced { divided, next: after(request.now) }
}

/// Moves the min of clusters without replicas to clusters that have some.
fn spare_mins(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    for assignee in assignees.iter_mut().filter(|assignee| is_empty(assignee)) {
        let bounds = &mut assignee.target.bounds;
        bounds.min = bounds.min.min(assignee.participant.cluster.limits.least.max(1));
    }
    let rest = request.total.min.saturating_sub(sum(assignees.iter().map(|assignee| assignee.target.bounds.min)));
    let receivers: Vec<usize> = assignees
        .iter()
        .enumerate()
        .filter(|(_, assignee)| assignee.answers() && !is_empty(assignee))
        .map(|(at, _)| at)
        .collect();
    if rest == 0 {
        return;
    }
    let of = |at: &usize| {
        let assignee = assignees.get(*at)?;
        Some((*assignee.participant, Range { low: assignee.target.bounds.min, high: assignee.target.bounds.max }))
    };
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) = receivers.iter().filter_map(of).unzip();
    for (at, min) in receivers.iter().zip(top_up(request.policy, rest, &participants, &ranges)) {
        if let Some(assignee) = assignees.get_mut(*at) {
            assignee.target.bounds.min = min;
        }
    }
}

fn is_empty(assignee: &Assignee<'_, '_>) -> bool {
    assignee.target.memory.zero && assignee.participant.cluster.current == Some(0)
}

/// Moves the bounds towards the ideal division, as far as each may change now. Returns whether any was moved.
fn divide(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> bool {
    let Some(ideal) = ideal(request, assignees) else { return false };
    let wishes = assignees.iter().zip(&ideal).map(|(assignee, ideal)| {
        let has = assignee.target.bounds.max;
        let ideal = ideal.unwrap_or(has);
        let Memory { gave, got, .. } = assignee.target.memory;
        let worth = |back: bool, change: Replicas| if is_worth(back, change, has) { change } else { 0 };
        let up = if assignee.may_get(request) { worth(gave > got, ideal.saturating_sub(has)) } else { 0 };
        let down = if assignee.may_give(request) { worth(got > gave, has.saturating_sub(ideal)) } else { 0 };
        let name = assignee.participant.cluster.name;
        ((name, up), (name, down))
    });
    let (ups, downs): (Vec<_>, Vec<_>) = wishes.unzip();
    let total = |of: &[(&str, Replicas)]| sum(of.iter().map(|(_, wish)| *wish));
    let total = total(&ups).min(total(&downs));
    let changes = assignees.iter().zip(take(total, &ups)).zip(take(total, &downs));
    let maxes =
        changes.map(|((assignee, up), down)| assignee.target.bounds.max.saturating_add(up).saturating_sub(down));
    let maxes: Vec<Replicas> = maxes.collect();
    if !assignees.iter().zip(&maxes).any(|(assignee, max)| matters(assignee.target.bounds.max, *max)) {
        return false;
    }
    for (assignee, max) in assignees.iter_mut().zip(maxes) {
        assignee.set_max(max, request.now, Reason::HeadroomRebalanced);
    }
    true
}

/// The ideal division; `None` for clusters that do not take part in it.
fn ideal(request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Option<Vec<Option<Replicas>>> {
    let known = |assignee: &&Assignee<'_, '_>| {
        assignee.target.bounds.is_some() || assignee.participant.cluster.available.is_some()
    };
    let takes_part = |assignee: &&Assignee<'_, '_>| assignee.answers() && !assignee.is_stuck() && known(assignee);
    let parts = || assignees.iter().filter(takes_part);
    if parts().any(|assignee| assignee.participant.cluster.available.is_none()) {
        return None;
    }
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) =
        parts().map(|assignee| (steady(assignee), range(assignee))).unzip();
    let lowest = sum(ranges.iter().map(|range| range.low));
    let rest = sum(parts().map(|assignee| assignee.target.bounds.max)).saturating_sub(lowest);
    let mut divided = top_up(request.policy, rest, &participants, &ranges).into_iter();
    Some(assignees.iter().map(|assignee| if takes_part(&assignee) { divided.next() } else { None }).collect())
}

/// The participant with its current bounds, so that clusters of about one size keep their order.
fn steady<'a>(assignee: &Assignee<'_, 'a>) -> Participant<'a> {
    Participant { kept: Some(assignee.target.bounds.max), ..*assignee.participant }
}

/// From its current replicas to its capacity.
fn range(assignee: &Assignee<'_, '_>) -> Range {
    let has = assignee.target.bounds.max;
    let cluster = assignee.participant.cluster;
    let low = assignee.floor().max(cluster.current.unwrap_or_else(|| cluster.may_run())).min(has);
    Range { low, high: cluster.capacity().max(has).min(assignee.participant.high).max(low) }
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
