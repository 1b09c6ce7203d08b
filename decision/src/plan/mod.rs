//! One pure function that decides what every member cluster gets and in which order (docs/design.md#distributed-mode).
//! Pure.
//!
//! [`plan`] has these stages: *assignment* gives every cluster its target by policy, *keep* keeps existing
//! targets and moves them when clusters fail or return, *transition* limits the targets to what running pods and
//! leaving clusters allow now, *steps* order the writes so that the budget is never exceeded, and the *gate* looks at
//! all writes of now together once more. Between keep and transition `adjust` changes targets by the health of clusters:
//! it finds clusters that cannot scale and moves headroom (*cannot_scale*, *priority_tiers*, *rebalance*), lets other
//! clusters run missing replicas (*assist*), a min that has no room (*hold_min*) and the replicas of leaving clusters
//! (*replacement*), and scales idle clusters to zero (*zero*). All of them read and change one list with a *row* for each
//! cluster; the *numbers* of replicas of a row have one meaning for all.

mod asks;
mod assignment;
mod assist;
mod cannot_scale;
mod distribute;
mod entries;
mod gate;
mod hash;
mod hold_min;
mod keep;
mod memory;
mod model;
mod note;
mod numbers;
mod observed;
mod owed;
mod place;
mod policy;
mod priority_tiers;
mod reason;
mod rebalance;
mod refusal;
mod replacement;
mod replacement_min;
mod row;
mod scale_up;
mod scale_ups;
mod steps;
mod tiers;
mod transition;
mod zero;

pub use hash::AssignmentHash;
pub use memory::{Assist, CLOCK_SKEW, Cause, Failed, Lost, Memory, Moved, ReplacementMin, ScaleUpBlock, is_ahead};
pub use model::{Action, Entry, Eviction, Plan, Share, Step, Wait};
pub use note::Note;
pub use observed::{
    Bounds, Cluster, ClusterState, Hpa, HpaVersion, Limits, Purge, REPLACEMENT, Reach, Request, UNCONFIRMED, UNREADY,
};
pub use policy::Policy;
pub use reason::{Hold, Obstacle, Reason, Why};
pub use refusal::{Law, Refusal};
pub use scale_ups::{ScaleUp, ScaleUps};

use jiff::{SignedDuration, Timestamp};
use observed::REACTION;
use replacement::Replacement;
use row::{Row, assigned, assigned_mut, bound, parts};

/// How often the sizes of clusters are looked at where headroom is never rebalanced.
const SIZES: SignedDuration = SignedDuration::from_secs(60);

/// Decides. Deterministic; the order of the clusters does not matter.
///
/// Store [`Plan::assignment_hash`] and the targets of [`Plan::shares`] first: the next plan starts from them, and without
/// them it assigns anew, from the measurements of that time. Then apply the steps of [`Plan::now`] in their order;
/// observe and plan again. When steps fail, are lost or arrive late, the sum of `maxReplicas`
/// over the members stays within `spec.maxReplicas`: a raise is included only when it fits beside all bounds that may
/// be in effect elsewhere. A settled fleet has no steps.
///
/// The names of the clusters must be unique.
#[must_use]
pub fn plan<'a>(request: &'a Request<'_>) -> Plan<'a> {
    plan_with(request, |_| ())
}

/// As [`plan`], with the steps changed by `above` before the gate: shows that the gate holds the laws whatever is above it.
#[doc(hidden)]
#[must_use]
pub fn plan_with<'a>(request: &'a Request<'_>, above: impl FnOnce(&mut Vec<Step<'a>>)) -> Plan<'a> {
    let mut rows = row::rows(request);
    let assignment_hash = assignment::hash(request, &rows);
    if request.suspended {
        return unchanged(request, &rows, assignment_hash, Note::Suspended);
    }
    let candidates = rows.iter().filter(|row| row.cluster.is_candidate).count();
    if parts(&rows).next().is_none() {
        let note = if candidates == 0 { Note::NoCandidates } else { Note::AllLost { candidates } };
        return unchanged(request, &rows, assignment_hash, note);
    }
    let mut notes = Vec::new();
    // Where nobody ever got a share, as while no cluster answered, there is nothing to keep.
    let kept = request.assignment_hash == Some(assignment_hash) && rows.iter().any(|row| row.cluster.target.is_some());
    if kept {
        keep::keep(request, &mut rows);
    } else {
        assignment::assign(request, &mut rows, false);
    }
    if is_without_receiver(&rows) {
        return unchanged(request, &rows, assignment_hash, Note::AllLost { candidates });
    }
    let Adjusted { next, idle_since, last_rebalanced, replacement } = adjust(request, &mut rows, kept);
    assignment::notes(request, &rows, &mut notes);
    zero::notes(request, &rows, &mut notes);
    notes.extend(replacement.note);
    transition::transitions(request, &mut rows, replacement.kept);
    let mut shares = model::shares(&rows, request.now);
    let (mut steps, binding, followed) = steps::steps(request, &mut rows, &mut notes);
    let next = [next, followed.as_ref().and_then(|followed| followed.due)].into_iter().flatten().min();
    let followed = followed.filter(|followed| followed.due.is_none()).map(|followed| followed.entries);
    model::receive(&mut shares, &rows, &steps, request.now);
    above(&mut steps);
    let refusals = gate::pass(request, &rows, &mut steps);
    let asks = asks::asks(request, &rows);
    Plan { assignment_hash, shares, binding, steps, followed, notes, refusals, asks, next, idle_since, last_rebalanced }
}

/// Whether a failed cluster still has what it had and no other that gets a share answers. Nobody could be asked for what
/// it may still run, so nothing is taken from it.
fn is_without_receiver(rows: &[Row<'_>]) -> bool {
    let failed =
        |Row { cluster, .. }: &Row<'_>| cluster.state == ClusterState::Lost && !cluster.deleted && owed::holds(cluster);
    rows.iter().any(failed) && !bound(rows).any(Row::answers)
}

/// Further results of the adjustment.
#[derive(Clone, Debug, Default)]
struct Adjusted {
    /// When to plan again.
    next: Option<Timestamp>,
    /// Since when a cluster could go to zero.
    idle_since: Option<Timestamp>,
    /// When headroom was last rebalanced.
    last_rebalanced: Option<Timestamp>,
    /// Which clusters may leave, and their replacement.
    replacement: Replacement,
}

/// Adjusts the targets; `kept` is whether they are those of the previous plan.
fn adjust(request: &Request<'_>, rows: &mut [Row<'_>], kept: bool) -> Adjusted {
    let last_rebalanced = if kept { request.last_rebalanced } else { Some(request.now) };
    let mut adjusted = Adjusted { last_rebalanced, ..Adjusted::default() };
    // Clusters need a moment to react to new bounds.
    let settled = kept && !request.within(last_rebalanced, REACTION);
    if request.scale_assist {
        let mut next = vec![last_rebalanced.and_then(|last_rebalanced| last_rebalanced.checked_add(REACTION).ok())];
        next.push(cannot_scale::update_blocked(request, rows));
        if settled && request.policy.divides() {
            let moved = priority_tiers::donate_lowest_tier(request, rows) | cannot_scale::raise(request, rows);
            let optimized = rebalance::optimize(request, rows, moved);
            adjusted.last_rebalanced = optimized.last_rebalanced;
            next.push(optimized.next);
        }
        next.extend(assigned(rows).flat_map(|row| row.may_move_at(request)).map(Some));
        assist::forget(request, rows);
        if settled {
            assist::assist(request, rows);
        }
        hold_min::hold_min(request, rows);
        next.push(assist::end(request, rows));
        adjusted.replacement = replacement::replace(request, rows);
        let replaces = replacement::owes(rows);
        let idle = zero::zero(request, rows, settled, replaces);
        adjusted.idle_since = idle.since;
        next.push(idle.next);
        adjusted.next = next.into_iter().flatten().filter(|next| *next > request.now).min();
    } else {
        // Where pods cannot be scheduled, a new leader does not know it before a source responds.
        cannot_scale::update_blocked(request, rows);
        assist::forget(request, rows);
        for row in assigned_mut(rows) {
            let Memory { replacement_min, other_replicas, failures, scale_ups, .. } = row.memory;
            let scale_up_blocked = row.memory.scale_up_blocked.filter(|blocked| blocked.cause.is_pending());
            let kept = Memory { scale_ups, replacement_min, other_replicas, failures, ..Memory::default() };
            row.memory = Memory { scale_up_blocked, ..kept };
        }
        adjusted.replacement = replacement::replace(request, rows);
    }
    adjusted.next =
        [adjusted.next, adjusted.replacement.next, sizes_change_by(request, rows)].into_iter().flatten().min();
    priority_tiers::disable_scale_down(request, rows);
    adjusted
}

/// When to look again at the sizes of clusters of which the workload may use a share: nobody tells that nodes came or
/// went.
fn sizes_change_by(request: &Request<'_>, rows: &[Row<'_>]) -> Option<Timestamp> {
    let shared = parts(rows).any(|row| row.cluster.usage_limit.is_some());
    request.now.checked_add(request.period.unwrap_or(SIZES)).ok().filter(|_| shared)
}

/// Everything stays as it is: the user suspends the object, or no cluster serves (docs/design.md#failover: a control
/// plane that reaches no cluster must not take bounds from clusters that may still run, nor let go on what is on its way).
fn unchanged<'a>(request: &Request<'_>, rows: &[Row<'a>], hash: AssignmentHash, note: Note) -> Plan<'a> {
    let kept = |Row { cluster, .. }: &Row<'a>| {
        let memory = Memory { lost: owed::waits(request, cluster.memory.lost, false), ..cluster.memory };
        let Some(target) = cluster.target else { return model::replaced(cluster, memory.lost, request.now) };
        let now = if request.suspended { cluster.written().unwrap_or_default() } else { target };
        Some(Share { cluster: cluster.name, target, now, reason: Reason::Unchanged, hold: None, memory })
    };
    let entry = |Row { cluster, .. }: &Row<'a>| Some(Entry { cluster: cluster.name, replicas: cluster.entry? });
    let mut shares: Vec<Share<'a>> = rows.iter().filter_map(kept).collect();
    let binding: Vec<Entry<'a>> = rows.iter().filter_map(entry).collect();
    let mut steps = if request.suspended { Vec::new() } else { steps::kept(request, rows) };
    model::follow(&mut shares, &steps);
    steps.extend(steps::bind(rows, &binding, Vec::new()));
    let refusals = gate::pass(request, rows, &mut steps);
    let renewals = shares.iter().filter_map(|share| owed::renewal(request, share.memory.lost?));
    Plan {
        assignment_hash: request.assignment_hash.unwrap_or(hash),
        next: renewals.min(),
        shares,
        binding,
        steps,
        followed: None,
        notes: vec![note],
        refusals,
        asks: asks::asks(request, rows),
        idle_since: request.idle_since,
        last_rebalanced: request.last_rebalanced,
    }
}
