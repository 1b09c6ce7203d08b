//! Limits targets to what is possible now: running pods are not removed for other clusters, leaving clusters are
//! removed after their replacement, and the sum stays within the budget (docs/design.md#law-3-keep-ready-pods). Pure.

use std::cmp::Ordering;

use super::row::{Row, Transition};
use super::{Bounds, Cluster, ClusterState, Hold, Request};
use crate::split::{Part, Replicas, by_weight};

/// Divisor of the replicas that a cluster releases before its replacement runs, where there is no headroom for both.
const PART: Replicas = 4;

/// Sets the transition of each cluster.
///
/// A max is not lowered below the running replicas, except for a threshold of the user, under Duplicated, and where the
/// budget is below the running replicas. While a cluster keeps replicas above its target, the targets of the others are
/// cut in proportion. A leaving cluster releases its headroom first, and replicas only where the others could not
/// otherwise have their running or replacement replicas; for the latter leaving clusters keep `kept` replicas.
pub(super) fn transitions(request: &Request<'_>, rows: &mut [Row<'_>], kept: Replicas) {
    for row in rows.iter_mut() {
        row.transition = wish(request, row);
    }
    if request.policy.divides() {
        fit(request, rows, kept);
    }
}

/// Whether a cluster without bounds still has something that must be removed; `assigned`: the rules gave it nothing,
/// and did not pass it over.
pub(super) fn leaves(cluster: &Cluster<'_>, assigned: bool) -> bool {
    let holds = is_known(cluster);
    // It is not taken back yet. An HPA from before would use budget that the others need, so it is removed.
    let waits = cluster.state == ClusterState::Serving && !assigned && cluster.hpa.is_none();
    holds && !waits && matches!(cluster.state, ClusterState::Serving | ClusterState::Leaving { .. })
}

/// Whether it has an HPA or an entry.
pub(super) fn is_known(cluster: &Cluster<'_>) -> bool {
    cluster.hpa.is_some() || cluster.entry.is_some()
}

/// Bounds of a leaving cluster that may still run `max` replicas. Its min stays: its HPA would remove what only the min
/// holds before it is ready elsewhere.
fn remaining(cluster: &Cluster<'_>, max: Replicas) -> Bounds {
    let written = cluster.written();
    let min = written.map_or(0, |written| written.min).max(1);
    Bounds { min: min.min(max), max }
}

/// Replicas that leaving clusters which ran `ran` release at a time, where there is no headroom for both.
pub(super) fn part(ran: Replicas) -> Replicas {
    ran.checked_div(PART).unwrap_or_default().max(1)
}

fn wish(request: &Request<'_>, row: &Row<'_>) -> Transition {
    let Row { cluster, bounds: target, .. } = *row;
    match cluster.state {
        ClusterState::Lost => Transition::Drop,
        ClusterState::Serving | ClusterState::Silent if target.is_some() => {
            let running = if request.policy.divides() { cluster.max_to_keep().min(cluster.limits.most) } else { 0 };
            let bounds = row.with_requests(target.max.max(running));
            let replicas = bounds.min;
            let replaces = (replicas > target.min).then_some(match row.memory.replacement_min {
                Some(_) => Hold::Replaces { replicas },
                None => Hold::Assists { replicas },
            });
            let hold = if running > target.max { Some(Hold::Running { running }) } else { replaces };
            Transition::Have { bounds, hold, scale_down_disabled: row.scale_down_disabled }
        }
        _ if leaves(cluster, row.is_assigned()) => Transition::Leave(remaining(cluster, cluster.max_while_leaving())),
        ClusterState::Serving | ClusterState::Silent | ClusterState::Leaving { .. } => Transition::Rest,
    }
}

/// A transition that can be cut.
struct Cuttable<'a> {
    at: usize,
    name: &'a str,
    /// Weight of its cut: a size that does not change by itself, so that a cut is stable while replicas vary.
    weight: u64,
    max: Replicas,
    /// Its running replicas, and its min; of a leaving cluster those that stay while it releases a part.
    gentle: Replicas,
    /// Its running or replacement replicas; 1 where there is already an entry.
    busy: Replicas,
    /// As `busy`, without the extra pods of a rollout: no replicas of a leaving cluster are released for these.
    asked: Replicas,
    /// As `running`, without the extra pods of a rollout.
    stays: Replicas,
    /// Its running replicas; 1 where there is already an entry.
    running: Replicas,
    /// Its ready replicas, and its min; 1 where there is already an entry. Where more is asked for than the budget, some
    /// of those that start never will.
    ready: Replicas,
    /// Replicas that must not be taken from it: its min, and its running replicas within its target.
    due: Replicas,
}

impl<'a> Cuttable<'a> {
    /// Of a cluster that stays; `told` is whether any cluster reports its replicas.
    fn of(at: usize, row: &Row<'a>, bounds: Bounds, told: bool) -> Self {
        let (cluster, target) = (row.cluster, row.bounds);
        let running = cluster.may_run();
        let stays = cluster.at_least_entry(cluster.may_run_without_surge());
        Self {
            at,
            name: cluster.name,
            weight: target.max.into(),
            max: bounds.max,
            gentle: running.max(target.min).max(bounds.min).min(bounds.max),
            busy: row.busy().min(bounds.max),
            asked: row.or_asked(stays).min(bounds.max),
            stays: stays.min(bounds.max),
            running: cluster.at_least_entry(running).min(bounds.max),
            ready: row.ready_or_min(told).min(bounds.max),
            due: running.min(target.max).max(target.min).min(bounds.max),
        }
    }

    /// Of a cluster that leaves and may still run `max` replicas.
    fn leaving(at: usize, cluster: &'a Cluster<'a>, max: Replicas) -> Self {
        let gentle = max.saturating_sub(part(cluster.memory.lost.map_or(max, |lost| lost.replicas)));
        let (name, weight) = (cluster.name, max.into());
        Self { at, name, weight, max, gentle, busy: 0, asked: 0, stays: 0, running: 0, ready: 0, due: 0 }
    }
}

/// Cuts the transitions to the budget: first leaving clusters, as far as the others need their running or replacement
/// replicas; then the others, first headroom, then min - a new cluster waits rather than take running replicas - then
/// replicas that start, and last running replicas above a target.
fn fit(request: &Request<'_>, rows: &mut [Row<'_>], kept: Replicas) {
    let budget = u64::from(request.total.max);
    // Where nobody reports the replicas of a kind, all look as if they had not begun.
    let told = rows.iter().any(|row| row.cluster.current.is_some());
    let (mut stay, mut go) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        match row.transition {
            Transition::Have { bounds, .. } => stay.push(Cuttable::of(at, row, bounds, told)),
            Transition::Leave(Bounds { max, .. }) => go.push(Cuttable::leaving(at, row.cluster, max)),
            Transition::Drop | Transition::Rest => {}
        }
    }
    let needed = |need: fn(&Cuttable<'_>) -> Replicas| stay.iter().map(|one| u64::from(need(one))).sum::<u64>();
    release(&mut go, budget.saturating_sub(needed(|one| one.asked)).max(kept.into()));
    release(&mut go, budget.saturating_sub(needed(|one| one.stays)));
    let room = budget.saturating_sub(sum(&go));
    let floors: [fn(&Cuttable<'_>) -> Replicas; 5] =
        [|one| one.gentle, |one| one.busy, |one| one.running, |one| one.ready, |one| one.due];
    for floor in floors {
        let over = sum(&stay).saturating_sub(room);
        cut(&mut stay, over, floor);
    }
    for Cuttable { at, max, .. } in stay.iter().chain(&go) {
        let Some(row) = rows.get_mut(*at) else { continue };
        match &mut row.transition {
            Transition::Have { bounds, hold, .. } if *max < bounds.max => {
                *bounds = Bounds { min: bounds.min.min(*max), max: *max };
                *hold = match max.cmp(&row.bounds.max) {
                    Ordering::Less => Some(Hold::Budget),
                    Ordering::Equal => None,
                    Ordering::Greater => *hold,
                };
            }
            Transition::Leave(bounds) => *bounds = Bounds { min: bounds.min.min(*max), max: *max },
            Transition::Have { .. } | Transition::Drop | Transition::Rest => {}
        }
    }
}

fn sum(cuttable: &[Cuttable<'_>]) -> u64 {
    cuttable.iter().map(|one| u64::from(one.max)).sum()
}

/// Leaves leaving clusters `most` replicas. Each releases a part of its own first: what all may release together is more
/// than that.
fn release(cuttable: &mut [Cuttable<'_>], most: u64) {
    let floors: [fn(&Cuttable<'_>) -> Replicas; 2] = [|one| one.gentle, |_| 0];
    for floor in floors {
        let over = sum(cuttable).saturating_sub(most);
        cut(cuttable, over, floor);
    }
}

/// Cuts `over` from what can be cut, by weight, none below its `floor`.
fn cut(cuttable: &mut [Cuttable<'_>], over: u64, floor: fn(&Cuttable<'_>) -> Replicas) {
    let Some(over) = Replicas::try_from(over).ok().filter(|over| *over > 0) else { return };
    let parts = cuttable.iter().map(|one| {
        let high = one.max.saturating_sub(floor(one));
        Part { name: one.name, current: 0, weight: one.weight, kept: 0, low: 0, high }
    });
    let parts: Vec<Part<'_>> = parts.collect();
    for (one, taken) in cuttable.iter_mut().zip(by_weight(over, &parts)) {
        one.max = one.max.saturating_sub(taken);
    }
}
