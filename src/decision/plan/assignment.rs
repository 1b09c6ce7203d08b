//! New targets: on creation, or when the spec, the placement or the candidates change
//! (docs/design.md#initial-assignment). Pure.

use super::distribute::{Range, distribute};
use super::participant::Participant;
use super::{Bounds, Cluster, Memory, Note, Policy, Reason, Request};
use crate::decision::split::Replicas;

/// Final bounds of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) bounds: Bounds,
    pub(super) reason: Reason,
    pub(super) memory: Memory,
    /// Its HPA may not scale down.
    pub(super) held: bool,
}

/// One target per cluster, in their order; `None` for a cluster that does not take part.
pub(super) type Targets = Vec<Option<Target>>;

/// Assigns every participant its bounds by policy.
pub(super) fn assign(request: &Request<'_>, clusters: &[&Cluster<'_>], participants: &[Participant<'_>]) -> Targets {
    let mut targets = vec![None; clusters.len()];
    let weights: u64 = participants.iter().fold(0, |sum, participant| sum.saturating_add(participant.weight));
    for (participant, bounds) in participants.iter().zip(bounds(request, participants)) {
        let reason = match request.policy {
            Policy::Duplicated => Reason::Duplicated,
            Policy::StaticWeighted => Reason::Weighted { weight: participant.weight, weights },
            Policy::DynamicWeighted => Reason::Available { available: participant.weight, availables: weights },
            Policy::Aggregated => Reason::Filled { capacity: participant.capacity },
            Policy::Prioritized => {
                Reason::Priority { priority: participant.cluster.priority, capacity: participant.capacity }
            }
        };
        if let Some(target) = targets.get_mut(participant.at) {
            // A new division forgets earlier donations.
            let memory = Memory { gave: None, got: None, ..participant.cluster.memory };
            *target = Some(Target { bounds, reason, memory, held: false });
        }
    }
    targets
}

/// The bounds of the participants, in their order. max is divided between the lower and upper limit of each, min within
/// max; a min of 0 with a max becomes 1.
pub(super) fn bounds(request: &Request<'_>, participants: &[Participant<'_>]) -> Vec<Bounds> {
    let policy = request.policy;
    let ranges: Vec<Range> =
        participants.iter().map(|participant| Range { low: participant.low(policy), high: participant.high }).collect();
    let maxes = distribute(policy, request.total.max, participants, &ranges);
    let mins = mins(request, participants, &maxes);
    maxes.into_iter().zip(mins).map(|(max, min)| Bounds { min, max }).collect()
}

fn mins(request: &Request<'_>, participants: &[Participant<'_>], maxes: &[Replicas]) -> Vec<Replicas> {
    let range = |(participant, max): (&Participant<'_>, &Replicas)| Range {
        low: participant.cluster.limits.least.min(*max),
        high: *max,
    };
    let ranges: Vec<Range> = participants.iter().zip(maxes).map(range).collect();
    let mins = distribute(request.policy, request.total.min, participants, &ranges);
    mins.into_iter().zip(maxes).map(|(min, max)| min.max(1).min(*max)).collect()
}

/// Adds notes where thresholds and bounds of the user contradict each other.
pub(super) fn remark(
    request: &Request<'_>,
    participants: &[Participant<'_>],
    targets: &Targets,
    notes: &mut Vec<Note>,
) {
    if !request.policy.divides() {
        return;
    }
    let least: u64 = participants.iter().map(|participant| u64::from(participant.cluster.limits.least)).sum();
    if least > request.total.max.into() {
        notes.push(Note::ThresholdsAboveBudget { least, budget: request.total.max });
    }
    let given: u64 = targets.iter().flatten().map(|target| u64::from(target.bounds.max)).sum();
    let left = u64::from(request.total.max).saturating_sub(given);
    if left > 0 {
        notes.push(Note::Unassigned { left });
    }
}
