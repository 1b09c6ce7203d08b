//! Transitions as an ordered list of writes: donors before receivers, replacement before removal
//! (docs/design.md#law-2-stay-within-the-budget). Pure.

use std::cmp::Reverse;

use super::assignment::{Target, Targets};
use super::binding::{Entries, Followed, entries, followed};
use super::replacement::Verdict;
use super::transition::{Transition, floored};
use super::{Action, Bounds, Cluster, ClusterState, Entry, Eviction, Memory, Note, Request, Step, Wait, Why};
use crate::decision::split::Replicas;

/// The steps, the final entries of the binding, and where no step writes them, what they are to follow.
///
/// Steps that need not wait are safe in any order and when any of them are lost: bounds that may be in effect elsewhere
/// are counted as if no lower bound had arrived.
pub(super) fn steps<'a>(
    request: &Request<'_>,
    clusters: &[&'a Cluster<'a>],
    targets: &Targets,
    transitions: &[Transition],
    verdicts: &[Verdict],
    notes: &mut Vec<Note>,
) -> (Vec<Step<'a>>, Vec<Entry<'a>>, Option<Followed<'a>>) {
    let mut writes = Writes::of(clusters.len());
    let budget = Budget::of(request, clusters, transitions);
    writes.lower(request, &budget, clusters, transitions);
    writes.raise(request, &budget, clusters, targets, notes);
    let settled = writes.now.is_empty() && writes.later.is_empty() && all_ready(clusters, targets, transitions);
    let goes = |((cluster, transition), verdict): ((&&Cluster<'_>, &Transition), &Verdict)| match transition {
        Transition::Drop => true,
        // With an HPA but without bounds, its running replicas exceed the budget.
        Transition::Leave(bounds) => {
            let bound = cluster.hpa.is_some_and(|hpa| hpa.written.is_some());
            let empty = !bounds.is_some() && (bound || cluster.may_run() == 0);
            empty || *verdict == Verdict::TimesOut || settled && *verdict == Verdict::Goes
        }
        Transition::Have { .. } | Transition::Rest => false,
    };
    let goes: Vec<bool> = clusters.iter().zip(transitions).zip(verdicts).map(goes).collect();
    let Entries { now, last, evictions } = entries(request, clusters, targets, transitions, &goes, &writes.fresh);
    let mut steps: Vec<Step<'_>> = lowered_first(writes.now).collect();
    let bind = bind(clusters, &now, evictions);
    let follows = || followed(request, clusters, targets, transitions, &now);
    let followed = if bind.is_some() { None } else { follows() };
    steps.extend(bind);
    let scaled = clusters.iter().zip(targets).zip(transitions);
    steps.extend(
        scaled.filter_map(|((cluster, target), transition)| scale(cluster, &target.as_ref()?.memory, transition)),
    );
    let (removals, last_removals): (Vec<_>, Vec<_>) =
        removals(clusters, transitions, &goes).partition(|step| step.wait == Wait::Nothing);
    steps.extend(removals);
    steps.extend(writes.later);
    if last != now {
        let action = Action::UpdateBinding { entries: last.clone(), evictions: Vec::new() };
        steps.push(Step { action, wait: Wait::Replaced, why: Why::BindingUpdated });
    }
    steps.extend(last_removals);
    let shrinking = clusters.iter().zip(targets).zip(transitions).enumerate();
    steps.extend(lowered_first(shrinking.filter_map(|(at, ((cluster, target), transition))| {
        let (Transition::Have { bounds, .. }, Some(target)) = (transition, target) else { return None };
        let wanted = floored(cluster, *target);
        let later = Write { at, cluster, bounds: wanted, held: target.held };
        (*bounds != wanted).then(|| later.step(Wait::Shrunk, bounds.max, why(Some(*bounds), wanted)))
    })));
    (steps, last, followed)
}

/// Bounds that are written after the same wait, so that their sum stays within the budget from one step to the next.
fn lowered_first<'a>(writes: impl IntoIterator<Item = Step<'a>>) -> impl Iterator<Item = Step<'a>> {
    let (lowered, others): (Vec<_>, Vec<_>) =
        writes.into_iter().partition(|step| matches!(step.why, Why::MaxLowered { .. } | Why::ClusterLeaving));
    lowered.into_iter().chain(others)
}

/// The write of the entries, where the binding has others.
pub(super) fn bind<'a>(
    clusters: &[&'a Cluster<'a>],
    entries: &[Entry<'a>],
    evictions: Vec<Eviction<'a>>,
) -> Option<Step<'a>> {
    let bound = clusters.iter().filter(|cluster| !cluster.evicting);
    let bound = bound.filter_map(|cluster| Some(Entry { cluster: cluster.name, replicas: cluster.entry? }));
    let differs = !bound.eq(entries.iter().copied());
    let action = Action::UpdateBinding { entries: entries.to_vec(), evictions };
    differs.then_some(Step { action, wait: Wait::Nothing, why: Why::BindingUpdated })
}

/// What is written while no cluster serves: a lower max that is still on its way is raised again to what the cluster
/// runs meanwhile, within what may be in effect there. Nothing else would keep the replicas that its HPA added since.
pub(super) fn kept<'a>(request: &Request<'_>, clusters: &[&'a Cluster<'a>]) -> Vec<Step<'a>> {
    let budget = Budget::of(request, clusters, &vec![Transition::Rest; clusters.len()]);
    let above = budget.above > 0 && request.policy.divides();
    let raised = |(at, cluster): (usize, &&'a Cluster<'a>)| {
        let cluster: &'a Cluster<'a> = cluster;
        let hpa = cluster.hpa.filter(|_| cluster.state != ClusterState::Away)?;
        let written = hpa.written?;
        let most = taken(cluster, above).min(cluster.limits.most).min(request.total.max);
        let min = if cluster.reach.own_zero { written.min } else { written.min.max(1) };
        let bounds = Bounds { min, max: cluster.keeps().min(most) };
        let write = Write { at, cluster, bounds, held: hpa.held };
        let due = bounds.max > written.max;
        due.then(|| write.step(Wait::Nothing, hpa.ceiling(), why(Some(written), bounds)))
    };
    clusters.iter().enumerate().filter_map(raised).collect()
}

/// Deletions of HPAs, of which those of clusters that do not go yet wait.
fn removals<'a>(
    clusters: &[&'a Cluster<'a>],
    transitions: &[Transition],
    goes: &[bool],
) -> impl Iterator<Item = Step<'a>> {
    clusters.iter().zip(transitions).zip(goes).filter_map(|((cluster, transition), goes)| {
        let from = cluster.hpa.and_then(|hpa| hpa.written)?;
        let (goes, why) = match transition {
            Transition::Drop => (*goes, Why::ClusterFailed),
            Transition::Leave(_) => (*goes, Why::ClusterRemoved),
            // An HPA from before it left, while the budget has no room for the cluster.
            Transition::Have { bounds, .. } if !bounds.is_some() && cluster.entry.is_none() => {
                (true, Why::MaxLowered { from })
            }
            Transition::Have { .. } | Transition::Rest => return None,
        };
        let wait = if goes { Wait::Nothing } else { Wait::Replaced };
        Some(Step { action: Action::DeleteHpa { cluster: cluster.name }, wait, why })
    })
}

/// The bounds to write to a cluster.
#[derive(Clone, Copy)]
struct Write<'a> {
    /// The index of the cluster.
    at: usize,
    cluster: &'a Cluster<'a>,
    bounds: Bounds,
    held: bool,
}

impl<'a> Write<'a> {
    fn step(&self, wait: Wait, ceiling: Replicas, why: Why) -> Step<'a> {
        let Self { cluster: Cluster { name, version, .. }, bounds, held, .. } = *self;
        let outstanding = ceiling.max(bounds.max);
        Step { action: Action::ApplyHpa { cluster: name, bounds, version: *version, outstanding, held }, wait, why }
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
    /// The max of the first HPA of the clusters that get one now.
    fresh: Vec<Option<Replicas>>,
}

impl<'a> Writes<'a> {
    /// None yet, in this number of clusters.
    fn of(clusters: usize) -> Self {
        Self { fresh: vec![None; clusters], ..Self::default() }
    }

    fn write(&mut self, write: &Write<'a>, ceiling: Replicas, why: Why) {
        if let Some(fresh) = self.fresh.get_mut(write.at) {
            *fresh = write.cluster.hpa.is_none().then_some(write.bounds.max);
        }
        self.now.push(write.step(Wait::Nothing, ceiling, why));
    }

    /// Writes bounds that need nothing from other clusters, as those below a max that may still be in effect; the rest
    /// are raises.
    fn lower(
        &mut self,
        request: &Request<'_>,
        budget: &Budget,
        clusters: &[&'a Cluster<'a>],
        transitions: &[Transition],
    ) {
        for (at, (cluster, transition)) in clusters.iter().zip(transitions).enumerate() {
            let written = cluster.hpa.and_then(|hpa| hpa.written);
            match *transition {
                Transition::Have { bounds, held, .. } if bounds.is_some() => {
                    let same = cluster.hpa.is_some_and(|hpa| hpa.version == cluster.version && hpa.held == held);
                    if written == Some(bounds) && same {
                        continue;
                    }
                    let write = Write { at, cluster, bounds, held };
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
                    let write = Write { at, cluster, bounds, held: false };
                    self.sort(request, budget, write, why.unwrap_or(Why::ClusterLeaving));
                }
                Transition::Have { .. } | Transition::Leave(_) | Transition::Drop | Transition::Rest => {}
            }
        }
    }

    /// Writes bounds whose max may be in effect in their cluster; others are raises.
    fn sort(&mut self, request: &Request<'_>, budget: &Budget, write: Write<'a>, why: Why) {
        if write.bounds.max <= taken(write.cluster, budget.above > 0) || !request.policy.divides() {
            self.write(&write, ceiling(write.cluster), why);
        } else {
            self.raises.push(write);
        }
    }

    /// Raises what fits. New clusters come first, then greater priority and weight.
    ///
    /// A raise is written whole, once its bounds are free: lower bounds arrive soon, and each cluster is then written
    /// once. Only when a cluster does not answer in time others get a partial raise; and a min that holds replacement
    /// replicas does not wait for a greater max.
    fn raise(
        &mut self,
        request: &Request<'_>,
        budget: &Budget,
        clusters: &[&'a Cluster<'a>],
        targets: &Targets,
        notes: &mut Vec<Note>,
    ) {
        if !request.policy.divides() {
            return;
        }
        let Budget { free, above } = *budget;
        if above > 0 {
            notes.push(Note::AboveBudget { by: above });
        }
        let mut free = Replicas::try_from(free).unwrap_or(Replicas::MAX);
        let waits_in_vain = clusters.iter().zip(targets).any(|(cluster, target)| {
            let unconfirmed = cluster.hpa.is_some_and(|hpa| !hpa.confirmed);
            let most = target.map_or(0, |target| target.bounds.max);
            let silent = cluster.state == ClusterState::Silent && (unconfirmed || ceiling(cluster) > most);
            silent || unconfirmed && cluster.overdue
        });
        let mut raises = std::mem::take(&mut self.raises);
        raises.sort_unstable_by_key(|write| {
            let cluster = write.cluster;
            (cluster.hpa.is_some(), Reverse(cluster.priority), Reverse(cluster.weight), write.at)
        });
        for write in raises {
            let ceiling = ceiling(write.cluster);
            let from = write.cluster.hpa.and_then(|hpa| hpa.written);
            let need = write.bounds.max.saturating_sub(taken(write.cluster, above > 0));
            if need <= free {
                free = free.saturating_sub(need);
                self.write(&write, ceiling, why(from, write.bounds));
                continue;
            }
            let max = ceiling.saturating_add(free);
            // Without an HPA nothing bounds what it runs: a part of its share would remove the rest.
            let least = if write.cluster.hpa.is_none() { write.cluster.keeps() } else { 0 };
            if waits_in_vain && free > 0 && max >= least {
                let part = Write { bounds: Bounds { min: write.bounds.min.min(max), max }, ..write };
                free = 0;
                if from != Some(part.bounds) {
                    self.write(&part, ceiling, Why::MaxRaisedPartially { to: write.bounds.max });
                }
            } else if let Some(bounds) = from.and_then(|from| holding(&write, from, targets.get(write.at)?.as_ref()?)) {
                self.write(&Write { bounds, ..write }, ceiling, Why::MaxRaisedPartially { to: write.bounds.max });
            }
            self.later.push(write.step(Wait::Lowered, ceiling, why(from, write.bounds)));
        }
    }
}

/// The bounds that ask for replacement replicas and those of an assist within the written max, where the written min
/// does not.
fn holding(write: &Write<'_>, from: Bounds, target: &Target) -> Option<Bounds> {
    let asked = target.memory.floor.is_some() || target.memory.assist.is_some();
    let floor = if asked { floored(write.cluster, *target).min } else { 0 };
    let min = floor.min(write.bounds.min).min(from.max);
    (min > from.min).then_some(Bounds { min, max: from.max })
}

fn ceiling(cluster: &Cluster<'_>) -> Replicas {
    cluster.hpa.map_or(0, |hpa| hpa.ceiling())
}

/// The max that a write to the cluster may keep: the greatest that may be in effect there. Where all of these together
/// are `above` the budget, as after another policy, a lower one may be in effect already, and only that is certain.
fn taken(cluster: &Cluster<'_>, above: bool) -> Replicas {
    let written = || cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default().max;
    if above { written() } else { ceiling(cluster) }
}

/// What the bounds that may be in effect leave of `maxReplicas`.
struct Budget {
    free: u64,
    above: u64,
}

impl Budget {
    fn of(request: &Request<'_>, clusters: &[&Cluster<'_>], transitions: &[Transition]) -> Self {
        let counted = |(cluster, transition): (&&Cluster<'_>, &Transition)| match transition {
            Transition::Drop => 0,
            Transition::Have { .. } | Transition::Leave(_) | Transition::Rest => ceiling(cluster),
        };
        let held: u64 = clusters.iter().zip(transitions).map(|pair| u64::from(counted(pair))).sum();
        let budget = u64::from(request.total.max);
        Self { free: budget.saturating_sub(held), above: held.saturating_sub(budget) }
    }
}

/// Whether the remaining clusters have their bounds and run their min, so that leaving ones may be removed.
fn all_ready(clusters: &[&Cluster<'_>], targets: &Targets, transitions: &[Transition]) -> bool {
    clusters.iter().zip(targets).zip(transitions).all(|((cluster, target), transition)| {
        let Transition::Have { bounds, .. } = transition else { return true };
        // A cluster that waits for running replicas does not wait for a leaving cluster: that one releases them.
        if cluster.overdue || cluster.state == ClusterState::Silent || !bounds.is_some() {
            return true;
        }
        let asleep = target.is_some_and(|target| target.memory.zero);
        let bound = cluster.hpa.is_some_and(|hpa| hpa.confirmed);
        let runs = asleep || cluster.pending > 0 || cluster.stays_ready() >= bounds.min;
        bound && (cluster.evicting || cluster.entry.is_some() && runs)
    })
}

/// The replicas to write to the workload itself: to zero, from zero, and an assist. At zero replicas the HPA does
/// nothing; within its bounds all other changes are the HPA's.
fn scale<'a>(cluster: &'a Cluster<'a>, memory: &Memory, transition: &Transition) -> Option<Step<'a>> {
    let Transition::Have { bounds, .. } = transition else { return None };
    let hpa = cluster.hpa.filter(|hpa| hpa.confirmed)?;
    let current = cluster.current.filter(|_| cluster.entry.is_some() && cluster.state == ClusterState::Serving)?;
    let max = hpa.written.unwrap_or_default().max.min(bounds.max);
    let (replicas, why) = match memory.assist {
        _ if !cluster.reach.scale => return None,
        // Its HPA goes to zero by itself, and comes back.
        _ if memory.zero && cluster.reach.own_zero => return None,
        _ if memory.zero => (0, Why::ScaledToZero),
        Some(assist) if current == 0 => (assist.replicas.max(bounds.min).min(max), Why::ScaledFromZero),
        Some(assist) => (assist.replicas.min(max), Why::ScaleAssisted),
        None => (bounds.min.min(max), Why::ScaledFromZero),
    };
    let due = match why {
        Why::ScaledToZero => current > 0,
        Why::ScaleAssisted => current < replicas,
        _ => current == 0 && replicas > 0,
    };
    let action = Action::Scale { cluster: cluster.name, replicas, reported: current };
    due.then_some(Step { action, wait: Wait::Nothing, why })
}
