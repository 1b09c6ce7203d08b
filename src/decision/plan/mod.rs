//! One pure function that decides what every member cluster gets and in which order (docs/design.md#distributed-mode).
//! Pure.
//!
//! [`plan`] has these stages: *assignment* gives every cluster its target by policy, *reassignment* keeps existing
//! targets and moves them when clusters fail or return, *transition* limits the targets to what running pods and
//! leaving clusters allow now, *steps* order the writes so that the budget is never exceeded, and the *gate* looks at
//! all writes of now together once more. Between reassignment and transition `adjust` changes targets by the health of
//! clusters: it finds clusters that cannot scale and moves headroom (*cannot_scale*, *priority_tiers*, *optimization*),
//! lets other clusters run missing replicas (*assist*) and those of leaving clusters (*replacement*), and scales idle
//! clusters to zero (*zero*).

mod asking;
mod assignee;
mod assignment;
mod assist;
mod basis;
mod binding;
mod cannot_scale;
mod distribute;
mod floors;
mod gate;
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
mod reason;
mod reassignment;
mod refusal;
mod replacement;
mod scale_up;
mod scale_ups;
mod steps;
mod transition;
mod zero;

pub use basis::Basis;
pub use memory::{Assist, CLOCK_SKEW, Cause, Failed, Floor, Lost, Memory, Stuck, is_ahead};
pub use note::Note;
pub use observed::{
    Bounds, Cluster, ClusterState, Hpa, HpaVersion, Limits, Purge, REPLACEMENT, Reach, Request, UNCONFIRMED, UNREADY,
};
pub use outcome::{Action, Entry, Eviction, Plan, Share, Step, Wait};
pub use policy::Policy;
pub use reason::{Hold, Obstacle, Reason, Why};
pub use refusal::{Law, Refusal};
pub use scale_ups::{ScaleUp, ScaleUps};

use assignee::Assignee;
use assignment::Targets;
use jiff::Timestamp;
use observed::REACTION;
use participant::Participant;
use replacement::Replacement;

/// Decides. Deterministic; the order of the clusters does not matter.
///
/// Store [`Plan::basis`] and the targets of [`Plan::shares`] first: the next plan starts from them, and without them it
/// assigns anew, from the measurements of that time. Then apply the steps of [`Plan::now`] in their order; observe and
/// plan again. When steps fail, are lost or arrive late, the sum of `maxReplicas`
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
    // Where nobody ever got a share, as while no cluster answered, there is nothing to keep.
    let kept = request.basis == Some(basis) && clusters.iter().any(|cluster| cluster.target.is_some());
    let mut targets: Targets = if kept {
        reassignment::keep(request, &clusters, &participants)
    } else {
        assignment::assign(request, &clusters, &participants)
    };
    if let Some(candidates) = without_receiver(&clusters, &participants, &targets) {
        return unchanged(request, &clusters, basis, Note::AllAway { candidates });
    }
    let Adjusted { next, idle, divided, replacement } = adjust(request, &clusters, &participants, &mut targets, kept);
    assignment::remark(request, &participants, &targets, &mut notes);
    zero::remark(request, &participants, &targets, &mut notes);
    notes.extend(replacement.note);
    let transitions = transition::transitions(request, &clusters, &targets, replacement.kept);
    let mut shares = outcome::shares(&clusters, &targets, &transitions, &replacement.lost, request.now);
    let (mut steps, binding, followed) =
        steps::steps(request, &clusters, &targets, &transitions, &replacement.verdicts, &mut notes);
    let next = [next, followed.as_ref().and_then(|followed| followed.due)].into_iter().flatten().min();
    let followed = followed.filter(|followed| followed.due.is_none()).map(|followed| followed.entries);
    outcome::receive(&mut shares, &clusters, &steps, request.now);
    let refusals = gate::pass(request, &clusters, &shares, &mut steps);
    Plan { basis, shares, binding, steps, followed, notes, refusals, next, idle, divided }
}

/// The number of candidates, where a failed one still has what it had and no other that gets a share answers. Nobody
/// could be asked for what it may still run, so nothing is taken from it.
fn without_receiver(clusters: &[&Cluster<'_>], participants: &[Participant<'_>], targets: &Targets) -> Option<usize> {
    let failed =
        |cluster: &&Cluster<'_>| cluster.state == ClusterState::Away && !cluster.deleted && owed::holds(cluster);
    let gets = |at: usize| targets.get(at).copied().flatten().is_some_and(|target| target.bounds.is_some());
    let receives = |it: &Participant<'_>| it.cluster.state == ClusterState::Serving && gets(it.at);
    let chosen = || clusters.iter().filter(|cluster| cluster.chosen).count();
    (clusters.iter().any(failed) && !participants.iter().any(receives)).then(chosen)
}

/// Further results of the adjustment.
#[derive(Clone, Debug, Default)]
struct Adjusted {
    /// When to plan again.
    next: Option<Timestamp>,
    /// Since when a cluster could go to zero.
    idle: Option<Timestamp>,
    /// When headroom was last rebalanced.
    divided: Option<Timestamp>,
    /// Which clusters may leave, and their replacement.
    replacement: Replacement,
}

/// Adjusts the targets; `kept` is whether they are those of the previous plan.
fn adjust(
    request: &Request<'_>,
    clusters: &[&Cluster<'_>],
    participants: &[Participant<'_>],
    targets: &mut Targets,
    kept: bool,
) -> Adjusted {
    let mut assignees = Vec::with_capacity(participants.len());
    let mut rest = participants.iter().peekable();
    for (at, target) in targets.iter_mut().enumerate() {
        if let (Some(participant), Some(target)) = (rest.next_if(|participant| participant.at == at), target) {
            assignees.push(Assignee { participant, target });
        }
    }
    let divided = if kept { request.divided } else { Some(request.now) };
    let mut adjusted = Adjusted { divided, ..Adjusted::default() };
    // Clusters need a moment to react to new bounds.
    let settled = kept && !request.within(divided, REACTION);
    if request.scale_assist {
        let mut next = vec![divided.and_then(|divided| divided.checked_add(REACTION).ok())];
        next.push(cannot_scale::look(request, &mut assignees));
        if settled && request.policy.divides() {
            let moved = priority_tiers::drain(request, &mut assignees) | cannot_scale::raise(request, &mut assignees);
            let optimized = optimization::optimize(request, &mut assignees, moved);
            adjusted.divided = optimized.divided;
            next.push(optimized.next);
        }
        next.extend(assignees.iter().flat_map(|assignee| assignee.may_move_at(request)).map(Some));
        assist::forget(request, &mut assignees);
        if settled {
            assist::assist(request, &mut assignees);
        }
        next.push(assist::end(request, &assignees));
        adjusted.replacement = replacement::replace(request, clusters, &mut assignees);
        assignees.sort_by_key(|assignee| !assignee.target.bounds.is_some());
        let bound = assignees.partition_point(|assignee| assignee.target.bounds.is_some());
        let bound = assignees.split_at_mut_checked(bound).map(|(bound, _)| bound).unwrap_or_default();
        let idle = zero::zero(request, bound, settled, adjusted.replacement.lost.iter().any(Option::is_some));
        adjusted.idle = idle.since;
        next.push(idle.next);
        adjusted.next = next.into_iter().flatten().filter(|next| *next > request.now).min();
    } else {
        // Where pods cannot be scheduled, a new leader does not know it before a source responds.
        cannot_scale::look(request, &mut assignees);
        assist::forget(request, &mut assignees);
        for assignee in &mut assignees {
            let Memory { stuck, floor, others, failed, assist, scale_ups, .. } = assignee.target.memory;
            let stuck = stuck.filter(|stuck| stuck.cause == Cause::Pending);
            let assist = assist.filter(|_| floor.is_some());
            assignee.target.memory = Memory { stuck, assist, scale_ups, floor, others, failed, ..Memory::default() };
        }
        adjusted.replacement = replacement::replace(request, clusters, &mut assignees);
    }
    let sizes = participant::sizes_change_by(request, participants);
    adjusted.next = [adjusted.next, adjusted.replacement.next, sizes].into_iter().flatten().min();
    priority_tiers::hold(request, &mut assignees);
    adjusted
}

/// Everything stays as it is: the user suspends the object, or no cluster serves (docs/design.md#failover: a control
/// plane that reaches no cluster must not take bounds from clusters that may still run, nor let go on what is on its way).
fn unchanged<'a>(request: &Request<'_>, clusters: &[&'a Cluster<'a>], basis: Basis, note: Note) -> Plan<'a> {
    let kept = |cluster: &&'a Cluster<'a>| {
        let memory = Memory { lost: owed::waits(request, cluster.memory.lost, false), ..cluster.memory };
        let Some(target) = cluster.target else { return outcome::replaced(cluster, memory.lost, request.now) };
        let now = if request.suspended { written(cluster) } else { target };
        Some(Share { cluster: cluster.name, target, now, reason: Reason::Unchanged, hold: None, memory })
    };
    let entry = |cluster: &&'a Cluster<'a>| Some(Entry { cluster: cluster.name, replicas: cluster.entry? });
    let mut shares: Vec<Share<'a>> = clusters.iter().filter_map(kept).collect();
    let binding: Vec<Entry<'a>> = clusters.iter().filter_map(entry).collect();
    let mut steps = if request.suspended { Vec::new() } else { steps::kept(request, clusters) };
    outcome::follow(&mut shares, &steps);
    steps.extend(steps::bind(clusters, &binding, Vec::new()));
    let renewals = shares.iter().filter_map(|share| owed::renewal(request, share.memory.lost?));
    Plan {
        basis: request.basis.unwrap_or(basis),
        next: renewals.min(),
        shares,
        binding,
        steps,
        followed: None,
        notes: vec![note],
        refusals: Vec::new(),
        idle: request.idle,
        divided: request.divided,
    }
}

/// The bounds that were last written for the cluster.
fn written(cluster: &Cluster<'_>) -> Bounds {
    cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default()
}
