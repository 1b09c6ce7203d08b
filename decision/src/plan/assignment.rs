//! New targets: on creation, or when the spec, the placement or the candidates change
//! (docs/design.md#initial-assignment). Pure.

use super::distribute::{Receiver, Receivers};
use super::hash::Digest;
use super::row::{Row, parts};
use super::tiers::lowest_of_division;
use super::{AssignmentHash, Bounds, Note, Policy, Reason, Request};

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
        // A new division forgets earlier moves.
        row.memory.moved = None;
    }
}

/// Proposes bounds for the clusters that take part. max is divided between the lower and upper limit of each, min within
/// max; a min of 0 with a max becomes 1.
pub(super) fn divide(request: &Request<'_>, rows: &mut [Row<'_>], steady: bool) {
    let policy = request.policy;
    let kept = |row: &Row<'_>| row.cluster.target.filter(|_| steady).map(|target| target.max);
    let low = |row: &Row<'_>| row.takes_part().then(|| row.lowest_when_assigned(policy));
    // Under Aggregated capacity alone says which clusters are opened.
    let tier = if policy == Policy::Prioritized { lowest_of_division(request, rows, low) } else { None };
    let base = |row: &Row<'_>| if policy == Policy::DynamicWeighted { row.cluster.after_pending_lower() } else { 0 };
    let mut maxes = Receivers::of(rows, |row| {
        let low = low(row)?;
        let high = row.highest_in(request, tier, low);
        Some(Receiver { kept: kept(row), base: base(row).min(low), ..Receiver::of(row, low, high) })
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
pub(super) fn notes(request: &Request<'_>, rows: &[Row<'_>], notes: &mut Vec<Note>) {
    if !request.policy.divides() {
        return;
    }
    let least: u64 = parts(rows).map(|row| u64::from(row.cluster.limits.least)).sum();
    if least > request.total.max.into() {
        notes.push(Note::ThresholdsAboveBudget { least, budget: request.total.max });
    }
    // What no open tier can have waits until it is needed.
    let given = |row: &Row<'_>| u64::from(if request.has_tiers() { row.high } else { row.bounds.max });
    let given: u64 = parts(rows).map(given).sum();
    let left = u64::from(request.total.max).saturating_sub(given);
    if left > 0 {
        notes.push(Note::Unassigned { left });
    }
}

/// The hash of the inputs of an assignment: while it is unchanged, targets are kept.
pub(super) fn hash(request: &Request<'_>, rows: &[Row<'_>]) -> AssignmentHash {
    let mut digest = Digest::default();
    digest.text(request.policy.name());
    digest.number(request.total.min.into());
    digest.number(request.total.max.into());
    for cluster in rows.iter().map(|row| row.cluster).filter(|cluster| cluster.is_candidate) {
        digest.text(cluster.name);
        digest.number(cluster.limits.least.into());
        digest.number(cluster.limits.most.into());
        match request.policy {
            Policy::StaticWeighted => digest.number(cluster.weight),
            Policy::Prioritized => {
                digest.number(u64::from(cluster.priority.is_some()));
                digest.number(cluster.priority.unwrap_or_default().cast_unsigned().into());
            }
            Policy::Duplicated | Policy::DynamicWeighted | Policy::Aggregated => {}
        }
    }
    // Only where there is one: without it the hash is that of earlier versions.
    if let Some(rescheduled) = request.rescheduled {
        digest.text("rescheduled");
        digest.number(rescheduled.as_second().cast_unsigned());
    }
    digest.hash()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::row::rows;
    use crate::plan::{Cluster, ClusterState};

    fn hash(request: &Request<'_>) -> AssignmentHash {
        super::hash(request, &rows(request))
    }

    fn request() -> Request<'static> {
        let clusters = ["a", "b"].map(|name| Cluster { name, is_candidate: true, weight: 1, ..Cluster::default() });
        let total = Bounds { min: 1, max: 10 };
        Request { total, policy: Policy::StaticWeighted, clusters: clusters.to_vec(), ..Request::default() }
    }

    #[test]
    fn what_the_user_says_is_in_the_hash_and_what_is_measured_is_not() {
        let before = hash(&request());
        let change = |edit: fn(&mut Request<'_>)| {
            let mut request = request();
            edit(&mut request);
            hash(&request) != before
        };
        assert!(change(|request| request.total.max = 11));
        assert!(change(|request| request.policy = Policy::Duplicated));
        assert!(change(|request| request.clusters[0].weight = 2));
        assert!(change(|request| request.clusters[0].limits.most = 2));
        assert!(change(|request| request.clusters[0].is_candidate = false));
        assert!(!change(|request| request.clusters[0].priority = Some(2)));
        assert!(!change(|request| request.clusters[0].available = Some(2)));
        assert!(!change(|request| request.clusters[0].state = ClusterState::Lost));
    }

    #[test]
    fn the_hash_survives_being_written_down() {
        let before = hash(&request());
        assert_eq!(before.to_string().parse(), Ok(before));
        // Stored in objects: a different hash would cause a new assignment.
        assert_eq!(before.to_string(), "9fc041e816850073");
    }
}
