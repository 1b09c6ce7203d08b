//! New targets: on creation, or when the spec, the placement or the candidates change
//! (docs/design.md#initial-assignment). Pure.

use super::distribute::{Receiver, Receivers};
use super::row::{Row, bound, parts};
use super::{Bounds, Note, Policy, Reason, Request};

/// Assigns every cluster that takes part its bounds by policy; `steady`: each keeps what rounding gave it.
pub(super) fn assign(request: &Request<'_>, rows: &mut [Row<'_>], steady: bool) {
    divide(request, rows, steady);
    let weights: u64 = parts(rows).fold(0, |sum, row| sum.saturating_add(row.weight));
    for row in rows.iter_mut().filter(|row| row.takes_part()) {
        let Row { weight, capacity, .. } = *row;
        let reason = match request.policy {
            Policy::Duplicated => Reason::Duplicated,
            Policy::StaticWeighted => Reason::Weighted { weight, weights },
            Policy::DynamicWeighted => Reason::Available { available: weight, availables: weights },
            Policy::Aggregated => Reason::Filled { capacity },
            Policy::Prioritized => Reason::Priority { priority: row.cluster.priority, capacity },
        };
        row.assign(row.proposed, reason);
        // A new division forgets earlier donations.
        (row.memory.gave, row.memory.got) = (None, None);
    }
}

/// Proposes bounds for the clusters that take part. max is divided between the lower and upper limit of each, min within
/// max; a min of 0 with a max becomes 1.
pub(super) fn divide(request: &Request<'_>, rows: &mut [Row<'_>], steady: bool) {
    let policy = request.policy;
    let kept = |row: &Row<'_>| row.cluster.target.filter(|_| steady).map(|target| target.max);
    let mut maxes = Receivers::of(rows, |row| {
        let receiver = || Receiver { kept: kept(row), ..Receiver::of(row, row.lowest_when_assigned(policy), row.high) };
        row.takes_part().then(receiver)
    });
    maxes.distribute(policy, request.total.max);
    maxes.hand_out(rows, |row, max| row.proposed = Bounds { min: 0, max });
    let mut mins = Receivers::of(rows, |row| {
        let max = row.proposed.max;
        let least = row.cluster.limits.least.min(max);
        row.takes_part().then(|| Receiver { kept: kept(row), ..Receiver::of(row, least, max) })
    });
    mins.distribute(policy, request.total.min);
    mins.hand_out(rows, |row, min| row.proposed.min = min.max(1).min(row.proposed.max));
}

/// Adds notes where thresholds and bounds of the user contradict each other.
pub(super) fn remark(request: &Request<'_>, rows: &[Row<'_>], notes: &mut Vec<Note>) {
    if !request.policy.divides() {
        return;
    }
    let least: u64 = parts(rows).map(|row| u64::from(row.cluster.limits.least)).sum();
    if least > request.total.max.into() {
        notes.push(Note::ThresholdsAboveBudget { least, budget: request.total.max });
    }
    let given: u64 = bound(rows).map(|row| u64::from(row.bounds.max)).sum();
    let left = u64::from(request.total.max).saturating_sub(given);
    if left > 0 {
        notes.push(Note::Unassigned { left });
    }
}
