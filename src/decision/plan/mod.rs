//! One pure function that decides what every member cluster gets and in which order (docs/design.md#distributed-mode).
//! Pure.
//!
//! [`plan`] has these stages: *assignment* gives every cluster its target by policy, *reassignment* keeps existing
//! targets and moves them when clusters fail or return, *transition* limits the targets to what running pods and
//! leaving clusters allow now, *steps* order the writes so that the budget is never exceeded. Between reassignment and
//! transition `adjust` changes targets by the health of clusters: it finds clusters that cannot scale and moves headroom
//! (*cannot_scale*, *priority_tiers*, *optimization*), lets other clusters run missing replicas (*assist*) and those of
//! leaving clusters (*replacement*), and scales idle clusters to zero (*zero*). All of them read and change one list
//! with a *row* for each cluster; the *numbers* of replicas of a row have one meaning for all.

mod asking;
mod assignment;
mod assist;
mod basis;
mod binding;
mod cannot_scale;
mod distribute;
mod floors;
mod inputs;
mod memory;
mod note;
mod numbers;
mod observed;
mod optimization;
mod outcome;
mod owed;
mod policy;
mod priority_tiers;
mod reason;
mod reassignment;
mod replacement;
mod row;
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
pub use scale_ups::{ScaleUp, ScaleUps};

use jiff::{SignedDuration, Timestamp};
use observed::REACTION;
use replacement::Replacement;
use row::{Row, assigned, assigned_mut, bound, parts};

/// How often the sizes of clusters are looked at where headroom is never rebalanced.
const SIZES: SignedDuration = SignedDuration::from_secs(60);

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
    let mut rows = row::rows(request);
    let basis = inputs::basis(request, &rows);
    if request.suspended {
        return unchanged(request, &rows, basis, Note::Suspended);
    }
    let candidates = rows.iter().filter(|row| row.cluster.chosen).count();
    if parts(&rows).next().is_none() {
        let note = if candidates == 0 { Note::NoCandidates } else { Note::AllAway { candidates } };
        return unchanged(request, &rows, basis, note);
    }
    let mut notes = Vec::new();
    // Where nobody ever got a share, as while no cluster answered, there is nothing to keep.
    let kept = request.basis == Some(basis) && rows.iter().any(|row| row.cluster.target.is_some());
    if kept {
        reassignment::keep(request, &mut rows);
    } else {
        assignment::assign(request, &mut rows, false);
    }
    if is_without_receiver(&rows) {
        return unchanged(request, &rows, basis, Note::AllAway { candidates });
    }
    let Adjusted { next, idle, divided, replacement } = adjust(request, &mut rows, kept);
    assignment::remark(request, &rows, &mut notes);
    zero::remark(request, &rows, &mut notes);
    notes.extend(replacement.note);
    transition::transitions(request, &mut rows, replacement.kept);
    let mut shares = outcome::shares(&rows, request.now);
    let (steps, binding, followed) = steps::steps(request, &mut rows, &mut notes);
    let next = [next, followed.as_ref().and_then(|followed| followed.due)].into_iter().flatten().min();
    let followed = followed.filter(|followed| followed.due.is_none()).map(|followed| followed.entries);
    outcome::receive(&mut shares, &rows, &steps, request.now);
    Plan { basis, shares, binding, steps, followed, notes, next, idle, divided }
}

/// Whether a failed cluster still has what it had and no other that gets a share answers. Nobody could be asked for what
/// it may still run, so nothing is taken from it.
fn is_without_receiver(rows: &[Row<'_>]) -> bool {
    let failed =
        |Row { cluster, .. }: &Row<'_>| cluster.state == ClusterState::Away && !cluster.deleted && owed::holds(cluster);
    rows.iter().any(failed) && !bound(rows).any(Row::answers)
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
fn adjust(request: &Request<'_>, rows: &mut [Row<'_>], kept: bool) -> Adjusted {
    let divided = if kept { request.divided } else { Some(request.now) };
    let mut adjusted = Adjusted { divided, ..Adjusted::default() };
    // Clusters need a moment to react to new bounds.
    let settled = kept && !request.within(divided, REACTION);
    if request.scale_assist {
        let mut next = vec![divided.and_then(|divided| divided.checked_add(REACTION).ok())];
        next.push(cannot_scale::look(request, rows));
        if settled && request.policy.divides() {
            let moved = priority_tiers::drain(request, rows) | cannot_scale::raise(request, rows);
            let optimized = optimization::optimize(request, rows, moved);
            adjusted.divided = optimized.divided;
            next.push(optimized.next);
        }
        next.extend(assigned(rows).flat_map(|row| row.may_move_at(request)).map(Some));
        assist::forget(request, rows);
        if settled {
            assist::assist(request, rows);
        }
        next.push(assist::end(request, rows));
        adjusted.replacement = replacement::replace(request, rows);
        let replaces = replacement::owes(rows);
        let idle = zero::zero(request, rows, settled, replaces);
        adjusted.idle = idle.since;
        next.push(idle.next);
        adjusted.next = next.into_iter().flatten().filter(|next| *next > request.now).min();
    } else {
        // Where pods cannot be scheduled, a new leader does not know it before a source responds.
        cannot_scale::look(request, rows);
        assist::forget(request, rows);
        for row in assigned_mut(rows) {
            let Memory { stuck, floor, others, failed, assist, scale_ups, .. } = row.memory;
            let stuck = stuck.filter(|stuck| stuck.cause == Cause::Pending);
            let assist = assist.filter(|_| floor.is_some());
            row.memory = Memory { stuck, assist, scale_ups, floor, others, failed, ..Memory::default() };
        }
        adjusted.replacement = replacement::replace(request, rows);
    }
    adjusted.next =
        [adjusted.next, adjusted.replacement.next, sizes_change_by(request, rows)].into_iter().flatten().min();
    priority_tiers::hold(request, rows);
    adjusted
}

/// When to look again at the sizes of clusters of which the workload may use a share: nobody tells that nodes came or
/// went.
fn sizes_change_by(request: &Request<'_>, rows: &[Row<'_>]) -> Option<Timestamp> {
    let shared = parts(rows).any(|row| row.cluster.cap.is_some());
    request.now.checked_add(request.period.unwrap_or(SIZES)).ok().filter(|_| shared)
}

/// Everything stays as it is: the user suspends the object, or no cluster serves (docs/design.md#failover: a control
/// plane that reaches no cluster must not take bounds from clusters that may still run, nor let go on what is on its way).
fn unchanged<'a>(request: &Request<'_>, rows: &[Row<'a>], basis: Basis, note: Note) -> Plan<'a> {
    let kept = |Row { cluster, .. }: &Row<'a>| {
        let memory = Memory { lost: owed::waits(request, cluster.memory.lost, false), ..cluster.memory };
        let Some(target) = cluster.target else { return outcome::replaced(cluster, memory.lost, request.now) };
        let now = if request.suspended { cluster.written().unwrap_or_default() } else { target };
        Some(Share { cluster: cluster.name, target, now, reason: Reason::Unchanged, hold: None, memory })
    };
    let entry = |Row { cluster, .. }: &Row<'a>| Some(Entry { cluster: cluster.name, replicas: cluster.entry? });
    let mut shares: Vec<Share<'a>> = rows.iter().filter_map(kept).collect();
    let binding: Vec<Entry<'a>> = rows.iter().filter_map(entry).collect();
    let mut steps = if request.suspended { Vec::new() } else { steps::kept(request, rows) };
    outcome::follow(&mut shares, &steps);
    steps.extend(steps::bind(rows, &binding, Vec::new()));
    let renewals = shares.iter().filter_map(|share| owed::renewal(request, share.memory.lost?));
    Plan {
        basis: request.basis.unwrap_or(basis),
        next: renewals.min(),
        shares,
        binding,
        steps,
        followed: None,
        notes: vec![note],
        idle: request.idle,
        divided: request.divided,
    }
}
