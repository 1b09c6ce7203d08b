//! Transitions as an ordered list of writes: donors before receivers, replacement before removal
//! (docs/design.md#law-2-stay-within-the-budget). Pure.

use std::cmp::Reverse;

use super::entries::{Entries, Followed, entries, followed};
use super::row::{Row, Transition, Verdict};
use super::{Action, Bounds, Cluster, ClusterState, Entry, Eviction, Note, Request, Step, Wait, Why};
use crate::split::Replicas;

/// The steps, the final entries of the binding, and where no step writes them, what they are to follow.
///
/// Steps that need not wait are safe in any order and when any of them are lost: bounds that may be in effect elsewhere
/// are counted as if no lower bound had arrived.
pub(super) fn steps<'a>(
    request: &Request<'_>,
    rows: &mut [Row<'a>],
    notes: &mut Vec<Note>,
) -> (Vec<Step<'a>>, Vec<Entry<'a>>, Option<Followed<'a>>) {
    let mut writes = Writes::default();
    let budget = Budget::of(request, rows);
    writes.lower(request, &budget, rows);
    writes.raise(request, &budget, rows, notes);
    let settled = writes.now.is_empty() && writes.later.is_empty() && rows.iter().all(is_ready);
    for row in rows.iter_mut() {
        row.goes = goes(row, settled);
    }
    for Write { at, bounds, .. } in writes.first {
        if let Some(row) = rows.get_mut(at) {
            row.first_max = Some(bounds.max);
        }
    }
    let Entries { now, last, evictions } = entries(request, rows);
    let mut steps: Vec<Step<'_>> = lowered_first(writes.now).collect();
    let bind = bind(rows, &now, evictions);
    let followed = if bind.is_some() { None } else { followed(request, rows, &now) };
    steps.extend(bind);
    steps.extend(rows.iter().filter_map(scale));
    let (removals, last_removals): (Vec<_>, Vec<_>) =
        rows.iter().filter_map(removal).partition(|step| step.wait == Wait::Nothing);
    steps.extend(removals);
    steps.extend(writes.later);
    if last != now {
        let action = Action::UpdateBinding { entries: last.clone(), evictions: Vec::new() };
        steps.push(Step { action, wait: Wait::Replaced, why: Why::BindingUpdated });
    }
    steps.extend(last_removals);
    steps.extend(lowered_first(rows.iter().enumerate().filter_map(|(at, row)| {
        let Transition::Have { bounds, .. } = row.transition else { return None };
        let wanted = row.with_requests(row.bounds.max);
        let later = Write { at, cluster: row.cluster, bounds: wanted, scale_down_disabled: row.scale_down_disabled };
        (bounds != wanted).then(|| later.step(Wait::Shrunk, bounds.max, why(Some(bounds), wanted)))
    })));
    (steps, last, followed)
}

/// Whether it leaves now; `settled` is whether the others have their bounds and run their min.
fn goes(row: &Row<'_>, settled: bool) -> bool {
    match row.transition {
        Transition::Drop => true,
        // With an HPA but without bounds, its running replicas exceed the budget.
        Transition::Leave(bounds) => {
            let bound = row.cluster.written().is_some();
            let empty = !bounds.is_some() && (bound || row.cluster.may_run() == 0);
            empty || row.verdict == Verdict::TimesOut || settled && row.verdict == Verdict::Goes
        }
        Transition::Have { .. } | Transition::Rest => false,
    }
}

/// Bounds that are written after the same wait, so that their sum stays within the budget from one step to the next.
fn lowered_first<'a>(writes: impl IntoIterator<Item = Step<'a>>) -> impl Iterator<Item = Step<'a>> {
    let (lowered, others): (Vec<_>, Vec<_>) =
        writes.into_iter().partition(|step| matches!(step.why, Why::MaxLowered { .. } | Why::ClusterLeaving));
    lowered.into_iter().chain(others)
}

/// The write of the entries, where the binding has others.
pub(super) fn bind<'a>(rows: &[Row<'a>], entries: &[Entry<'a>], evictions: Vec<Eviction<'a>>) -> Option<Step<'a>> {
    let bound = rows.iter().map(|row| row.cluster).filter(|cluster| !cluster.evicting);
    let bound = bound.filter_map(|cluster| Some(Entry { cluster: cluster.name, replicas: cluster.entry? }));
    let differs = !bound.eq(entries.iter().copied());
    let action = Action::UpdateBinding { entries: entries.to_vec(), evictions };
    differs.then_some(Step { action, wait: Wait::Nothing, why: Why::BindingUpdated })
}

/// What is written while no cluster serves: a lower max that is still on its way is raised again to what the cluster
/// runs meanwhile, within what may be in effect there. Nothing else would keep the replicas that its HPA added since.
pub(super) fn kept<'a>(request: &Request<'_>, rows: &[Row<'a>]) -> Vec<Step<'a>> {
    let above = Budget::of(request, rows).above > 0 && request.policy.divides();
    let raised = |(at, row): (usize, &Row<'a>)| {
        let cluster = row.cluster;
        let hpa = cluster.hpa.filter(|_| cluster.state != ClusterState::Lost)?;
        let written = hpa.written?;
        let most = cluster.certain_max(above).min(cluster.limits.most).min(request.total.max);
        let min = if cluster.reach.own_zero { written.min } else { written.min.max(1) };
        let bounds = Bounds { min, max: cluster.max_to_keep().min(most) };
        let write = Write { at, cluster, bounds, scale_down_disabled: hpa.scale_down_disabled };
        let due = bounds.max > written.max;
        due.then(|| write.step(Wait::Nothing, hpa.ceiling(), why(Some(written), bounds)))
    };
    rows.iter().enumerate().filter_map(raised).collect()
}

/// The deletion of its HPA, which waits where the cluster does not go yet.
fn removal<'a>(row: &Row<'a>) -> Option<Step<'a>> {
    let from = row.cluster.written()?;
    let (goes, why) = match row.transition {
        Transition::Drop => (row.goes, Why::ClusterFailed),
        Transition::Leave(_) => (row.goes, Why::ClusterRemoved),
        // An HPA from before it left, while the budget has no room for the cluster.
        Transition::Have { bounds, .. } if !bounds.is_some() && row.cluster.entry.is_none() => {
            (true, Why::MaxLowered { from })
        }
        Transition::Have { .. } | Transition::Rest => return None,
    };
    let wait = if goes { Wait::Nothing } else { Wait::Replaced };
    Some(Step { action: Action::DeleteHpa { cluster: row.cluster.name }, wait, why })
}

/// The bounds to write to a cluster.
#[derive(Clone, Copy)]
struct Write<'a> {
    /// The index of the cluster.
    at: usize,
    cluster: &'a Cluster<'a>,
    bounds: Bounds,
    scale_down_disabled: bool,
}

impl<'a> Write<'a> {
    fn step(&self, wait: Wait, ceiling: Replicas, why: Why) -> Step<'a> {
        let Self { cluster: Cluster { name, version, .. }, bounds, scale_down_disabled, .. } = *self;
        let pending_max = ceiling.max(bounds.max);
        Step {
            action: Action::ApplyHpa { cluster: name, bounds, version: *version, pending_max, scale_down_disabled },
            wait,
            why,
        }
    }
}

fn why(from: Option<Bounds>, to: Bounds) -> Why {
    match from {
        None => Why::Assigned,
        Some(from) if to.max < from.max => Why::MaxLowered { from },
        Some(from) if to.max > from.max => Why::MaxRaised { from },
        Some(from) => Why::BoundsChanged { from },
    }
}

#[derive(Default)]
struct Writes<'a> {
    now: Vec<Step<'a>>,
    later: Vec<Step<'a>>,
    raises: Vec<Write<'a>>,
    /// Those of now that write the first HPA of a cluster.
    first: Vec<Write<'a>>,
}

impl<'a> Writes<'a> {
    fn write(&mut self, write: &Write<'a>, ceiling: Replicas, why: Why) {
        self.first.extend(write.cluster.hpa.is_none().then_some(*write));
        self.now.push(write.step(Wait::Nothing, ceiling, why));
    }

    /// Writes bounds that need nothing from other clusters, as those below a max that may still be in effect; the rest
    /// are raises.
    fn lower(&mut self, request: &Request<'_>, budget: &Budget, rows: &[Row<'a>]) {
        for (at, row) in rows.iter().enumerate() {
            let cluster = row.cluster;
            let written = cluster.written();
            match row.transition {
                Transition::Have { bounds, scale_down_disabled, .. } if bounds.is_some() => {
                    let same = cluster.hpa.is_some_and(|hpa| {
                        hpa.version == cluster.version && hpa.scale_down_disabled == scale_down_disabled
                    });
                    if written == Some(bounds) && same {
                        continue;
                    }
                    let write = Write { at, cluster, bounds, scale_down_disabled };
                    if cluster.hpa.is_some() && written.is_none() {
                        self.later.push(write.step(Wait::Gone, 0, Why::Assigned));
                    } else {
                        self.sort(request, budget, write, why(written, bounds));
                    }
                }
                Transition::Leave(bounds)
                    if written.is_some_and(|written| bounds.is_some() && bounds.max != written.max) =>
                {
                    let why = Some(why(written, bounds)).filter(|why| matches!(why, Why::MaxRaised { .. }));
                    let write = Write { at, cluster, bounds, scale_down_disabled: false };
                    self.sort(request, budget, write, why.unwrap_or(Why::ClusterLeaving));
                }
                Transition::Have { .. } | Transition::Leave(_) | Transition::Drop | Transition::Rest => {}
            }
        }
    }

    /// Writes bounds whose max may be in effect in their cluster; others are raises.
    fn sort(&mut self, request: &Request<'_>, budget: &Budget, write: Write<'a>, why: Why) {
        if write.bounds.max <= write.cluster.certain_max(budget.above > 0) || !request.policy.divides() {
            self.write(&write, write.cluster.ceiling(), why);
        } else {
            self.raises.push(write);
        }
    }

    /// Raises what fits. New clusters come first, then greater priority and weight.
    ///
    /// A raise is written whole, once its bounds are free: lower bounds arrive soon, and each cluster is then written
    /// once. Only when a cluster does not answer in time others get a partial raise; and a min that holds replacement
    /// replicas does not wait for a greater max.
    fn raise(&mut self, request: &Request<'_>, budget: &Budget, rows: &[Row<'a>], notes: &mut Vec<Note>) {
        if !request.policy.divides() {
            return;
        }
        let Budget { free, above } = *budget;
        if above > 0 {
            notes.push(Note::AboveBudget { by: above });
        }
        let mut free = Replicas::try_from(free).unwrap_or(Replicas::MAX);
        let waits_in_vain = rows.iter().any(|Row { cluster, bounds, .. }| {
            let unconfirmed = cluster.is_unconfirmed();
            let silent = cluster.state == ClusterState::Silent && (unconfirmed || cluster.ceiling() > bounds.max);
            silent || unconfirmed && cluster.unresponsive
        });
        let mut raises = std::mem::take(&mut self.raises);
        raises.sort_unstable_by_key(|write| {
            let cluster = write.cluster;
            (cluster.hpa.is_some(), Reverse(cluster.priority), Reverse(cluster.weight), write.at)
        });
        for write in raises {
            let ceiling = write.cluster.ceiling();
            let from = write.cluster.written();
            let need = write.bounds.max.saturating_sub(write.cluster.certain_max(above > 0));
            if need <= free {
                free = free.saturating_sub(need);
                self.write(&write, ceiling, why(from, write.bounds));
                continue;
            }
            let max = ceiling.saturating_add(free);
            // Without an HPA nothing bounds what it runs: a part of its share would remove the rest.
            let least = if write.cluster.hpa.is_none() { write.cluster.max_to_keep() } else { 0 };
            if waits_in_vain && free > 0 && max >= least {
                let part = Write { bounds: Bounds { min: write.bounds.min.min(max), max }, ..write };
                free = 0;
                if from != Some(part.bounds) {
                    self.write(&part, ceiling, Why::MaxRaisedPartially { to: write.bounds.max });
                }
            } else if let Some(bounds) = from.and_then(|from| holding(&write, from, rows.get(write.at)?)) {
                self.write(&Write { bounds, ..write }, ceiling, Why::MaxRaisedPartially { to: write.bounds.max });
            }
            self.later.push(write.step(Wait::Lowered, ceiling, why(from, write.bounds)));
        }
    }
}

/// The bounds that ask for replacement replicas and those of an assist within the written max, where the written min
/// does not.
fn holding(write: &Write<'_>, from: Bounds, row: &Row<'_>) -> Option<Bounds> {
    let asked = row.memory.replacement_min.is_some() || row.memory.assist.is_some() || row.held > 0;
    let asks = if asked { row.with_requests(row.bounds.max).min } else { 0 };
    let min = asks.min(write.bounds.min).min(from.max);
    (min > from.min).then_some(Bounds { min, max: from.max })
}

/// What the bounds that may be in effect leave of `maxReplicas`.
struct Budget {
    free: u64,
    above: u64,
}

impl Budget {
    fn of(request: &Request<'_>, rows: &[Row<'_>]) -> Self {
        let counted = |row: &Row<'_>| match row.transition {
            Transition::Drop => 0,
            Transition::Have { .. } | Transition::Leave(_) | Transition::Rest => row.cluster.ceiling(),
        };
        let held: u64 = rows.iter().map(|row| u64::from(counted(row))).sum();
        let budget = u64::from(request.total.max);
        Self { free: budget.saturating_sub(held), above: held.saturating_sub(budget) }
    }
}

/// Whether it has its bounds and runs its min where it stays, so that leaving ones may be removed.
fn is_ready(row: &Row<'_>) -> bool {
    let Transition::Have { bounds, .. } = row.transition else { return true };
    let cluster = row.cluster;
    // A cluster that waits for running replicas does not wait for a leaving cluster: that one releases them.
    if cluster.unresponsive || cluster.state == ClusterState::Silent || !bounds.is_some() {
        return true;
    }
    let bound = cluster.hpa.is_some_and(|hpa| hpa.confirmed);
    let runs = row.memory.scaled_to_zero || cluster.pending > 0 || cluster.ready_without_surge() >= bounds.min;
    bound && (cluster.evicting || cluster.entry.is_some() && runs)
}

/// The replicas to write to the workload itself: to zero, from zero, and those that it should run at once. At zero
/// replicas the HPA does nothing; within its bounds all other changes are the HPA's.
fn scale<'a>(row: &Row<'a>) -> Option<Step<'a>> {
    let Transition::Have { bounds, .. } = row.transition else { return None };
    let (cluster, memory) = (row.cluster, &row.memory);
    let hpa = cluster.hpa.filter(|hpa| hpa.confirmed)?;
    let current = cluster.current.filter(|_| cluster.entry.is_some() && cluster.state == ClusterState::Serving)?;
    let max = hpa.written.unwrap_or_default().max.min(bounds.max);
    // An HPA that goes to zero by itself comes back, too.
    if !cluster.reach.scale || memory.scaled_to_zero && cluster.reach.own_zero {
        return None;
    }
    let (replicas, why) = match current {
        _ if memory.scaled_to_zero => (0, Why::ScaledToZero),
        0 => (memory.ordered().max(bounds.min).min(max), Why::ScaledFromZero),
        _ => (memory.ordered().min(max).max(current), Why::ScaleAssisted),
    };
    let action = Action::Scale { cluster: cluster.name, replicas, reported: current };
    (replicas != current).then_some(Step { action, wait: Wait::Nothing, why })
}
