//! Targets made afresh: creation, a change of the spec, of the placement or of the candidates
//! (docs/design.md#initial-assignment). Pure.

use super::pour::{Range, pour};
use super::seat::Seat;
use super::{Bounds, Cluster, Memory, Note, Policy, Reason, Request};
use crate::decision::split::Replicas;

/// What a cluster is to have in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) bounds: Bounds,
    pub(super) reason: Reason,
    pub(super) memory: Memory,
    /// Its HPA may not scale down.
    pub(super) held: bool,
}

/// One per cluster, in their order; nothing for a cluster that takes no part.
pub(super) type Targets = Vec<Option<Target>>;

/// Assigns every seat its bounds by policy.
pub(super) fn assign(request: &Request<'_>, clusters: &[&Cluster<'_>], seats: &[Seat<'_>]) -> Targets {
    let mut targets = vec![None; clusters.len()];
    let weights: u64 = seats.iter().fold(0, |sum, seat| sum.saturating_add(seat.weight));
    for (seat, bounds) in seats.iter().zip(bounds(request, seats)) {
        let reason = match request.policy {
            Policy::Duplicated => Reason::Duplicated,
            Policy::StaticWeighted => Reason::Weighted { weight: seat.weight, weights },
            Policy::DynamicWeighted => Reason::Available { available: seat.weight, availables: weights },
            Policy::Aggregated => Reason::Filled { capacity: seat.capacity },
            Policy::Prioritized => Reason::Priority { priority: seat.cluster.priority, capacity: seat.capacity },
        };
        if let Some(target) = targets.get_mut(seat.at) {
            // Who gave to whom is of no account in a new division.
            let memory = Memory { gave: None, got: None, ..seat.cluster.memory };
            *target = Some(Target { bounds, reason, memory, held: false });
        }
    }
    targets
}

/// The bounds of the seats, in their order. max is divided between what each must and may have, min within max; where min
/// comes to 0 and there is a max, it is 1.
pub(super) fn bounds(request: &Request<'_>, seats: &[Seat<'_>]) -> Vec<Bounds> {
    let policy = request.policy;
    let ranges: Vec<Range> = seats.iter().map(|seat| Range { low: seat.low(policy), high: seat.high }).collect();
    let maxes = pour(policy, request.total.max, seats, &ranges);
    let mins = mins(request, seats, &maxes);
    maxes.into_iter().zip(mins).map(|(max, min)| Bounds { min, max }).collect()
}

fn mins(request: &Request<'_>, seats: &[Seat<'_>], maxes: &[Replicas]) -> Vec<Replicas> {
    let range = |(seat, max): (&Seat<'_>, &Replicas)| Range { low: seat.cluster.limits.least.min(*max), high: *max };
    let ranges: Vec<Range> = seats.iter().zip(maxes).map(range).collect();
    let mins = pour(request.policy, request.total.min, seats, &ranges);
    mins.into_iter().zip(maxes).map(|(min, max)| min.max(1).min(*max)).collect()
}

/// Says where thresholds and bounds of the user do not go together.
pub(super) fn remark(request: &Request<'_>, seats: &[Seat<'_>], targets: &Targets, notes: &mut Vec<Note>) {
    if !request.policy.divides() {
        return;
    }
    let least: u64 = seats.iter().map(|seat| u64::from(seat.cluster.limits.least)).sum();
    if least > request.total.max.into() {
        notes.push(Note::ThresholdsAboveBudget { least, budget: request.total.max });
    }
    let given: u64 = targets.iter().flatten().map(|target| u64::from(target.bounds.max)).sum();
    let left = u64::from(request.total.max).saturating_sub(given);
    if left > 0 {
        notes.push(Note::Unassigned { left });
    }
}
