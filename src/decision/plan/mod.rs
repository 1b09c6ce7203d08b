//! One pure function that decides what every member cluster gets and in which order (docs/design.md#distributed-mode).
//! Pure.
//!
//! [`plan`] has these stages: *assignment* gives every cluster its target by policy, *reassignment* keeps existing
//! targets and moves them when clusters fail or return, *transition* limits the targets to what running pods and
//! leaving clusters allow now, *steps* order the writes so that the budget is never exceeded. Between reassignment and
//! transition *adjust* changes targets by the health of clusters: it finds clusters that cannot scale (*signal*), moves
//! headroom to those that can (*raise_at_max*, *priority_tiers*, *optimization*), lets other clusters run missing
//! replicas (*assist*) and those of leaving clusters (*replacement*), and scales idle clusters to zero (*zero*).

mod adjust;
mod assignee;
mod assignment;
mod assist;
mod basis;
mod binding;
mod distribute;
mod floors;
mod inputs;
mod memory;
mod note;
mod observed;
mod optimization;
mod outcome;
mod owed;
mod participant;
mod policy;
mod priority_tiers;
mod raise_at_max;
mod reason;
mod reassignment;
mod replacement;
mod scale_up;
mod scale_ups;
mod signal;
mod steps;
mod transition;
mod zero;

pub use basis::Basis;
pub use memory::{Assist, Cause, Failed, Floor, Lost, Memory, Stuck};
pub use note::Note;
pub use observed::{
    Bounds, Cluster, ClusterState, Hpa, HpaVersion, Limits, Purge, REPLACEMENT, Reach, Request, UNCONFIRMED, UNREADY,
};
pub use outcome::{Action, Entry, Eviction, Plan, Share, Step, Wait};
pub use policy::Policy;
pub use reason::{Hold, Obstacle, Reason, Why};
pub use scale_ups::{ScaleUp, ScaleUps};

use adjust::Adjusted;
use assignment::Targets;

/// Decides. Deterministic; the order of the clusters does not matter.
///
/// Store [`Plan::basis`] and the targets of [`Plan::shares`] first: the next plan starts from them, and without them it
/// assigns anew, from the measurements of that time. Then apply the steps of [`Plan::now`] in their order and stop at
/// the first that fails; observe and plan again. When steps fail, are lost or arrive late, the sum of `maxReplicas`
/// over the members stays within `spec.maxReplicas`: a raise is included only when it fits beside all bounds that may
/// be in effect elsewhere. A settled fleet has no steps.
///
/// The names of the clusters must be unique.
#[must_use]
pub fn plan<'a>(request: &'a Request<'_>) -> Plan<'a> {
    let mut clusters: Vec<&Cluster<'_>> = request.clusters.iter().collect();
    clusters.sort_unstable_by_key(|cluster| cluster.name);
    let basis = inputs::basis(request, &clusters);
    if request.suspended {
        return unchanged(request, &clusters, basis, Note::Suspended);
    }
    let participants = participant::participants(request, &clusters);
    if participants.is_empty() {
        let chosen = clusters.iter().filter(|cluster| cluster.chosen).count();
        let note = if chosen == 0 { Note::NoCandidates } else { Note::AllAway { candidates: chosen } };
        return unchanged(request, &clusters, basis, note);
    }
    let mut notes = Vec::new();
    let kept = request.basis == Some(basis);
    let mut targets: Targets = if kept {
        reassignment::keep(request, &clusters, &participants)
    } else {
        assignment::assign(request, &clusters, &participants)
    };
    let Adjusted { next, idle, divided, replacement } =
        adjust::adjust(request, &clusters, &participants, &mut targets, kept);
    assignment::remark(request, &participants, &targets, &mut notes);
    zero::remark(request, &participants, &targets, &mut notes);
    notes.extend(replacement.note);
    let transitions = transition::transitions(request, &clusters, &targets);
    let shares = outcome::shares(&clusters, &targets, &transitions, &replacement.lost, request.now);
    let (steps, binding) = steps::steps(request, &clusters, &targets, &transitions, &replacement.verdicts, &mut notes);
    Plan { basis, shares, binding, steps, notes, next, idle, divided }
}

/// Everything stays as it is: the user suspends the object, or no cluster serves (docs/design.md#failover: a control
/// plane that reaches no cluster must not take bounds from clusters that may still run).
fn unchanged<'a>(request: &Request<'_>, clusters: &[&'a Cluster<'a>], basis: Basis, note: Note) -> Plan<'a> {
    let kept = |cluster: &&'a Cluster<'a>| {
        let memory = cluster.memory;
        let Some(target) = cluster.target else { return outcome::replaced(cluster, memory.lost, request.now) };
        let now = if request.suspended { written(cluster) } else { target };
        Some(Share { cluster: cluster.name, target, now, reason: Reason::Unchanged, hold: None, memory })
    };
    let entry = |cluster: &&'a Cluster<'a>| Some(Entry { cluster: cluster.name, replicas: cluster.entry? });
    Plan {
        basis: request.basis.unwrap_or(basis),
        shares: clusters.iter().filter_map(kept).collect(),
        binding: clusters.iter().filter_map(entry).collect(),
        steps: Vec::new(),
        notes: vec![note],
        next: None,
        idle: request.idle,
        divided: request.divided,
    }
}

/// The bounds that were last written for the cluster.
fn written(cluster: &Cluster<'_>) -> Bounds {
    cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default()
}
