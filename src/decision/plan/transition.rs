//! Targets bent to what may be now: running pods are not taken for others, leaving clusters go after their replacement,
//! and the sum stays within the budget (docs/design.md#law-3-keep-ready-pods). Pure.

use std::cmp::Ordering;

use super::assignment::{Target, Targets};
use super::{Bounds, Cluster, ClusterState, Hold, Request};
use crate::decision::split::{Part, Replicas, by_weight};

/// What to do with a cluster now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// Have these bounds.
    Have {
        /// The bounds; [`Bounds::NONE`] while there is no room for it yet.
        bounds: Bounds,
        /// Why they are not the target.
        hold: Option<Hold>,
        /// Its HPA may not scale down.
        held: bool,
    },
    /// Go: run no more than these until the others are ready. [`Bounds::NONE`]: at once.
    Leave(Bounds),
    /// Its HPA and its entry are taken away at once.
    Drop,
    /// Nothing; it keeps what it has.
    Rest,
}

/// The transition of each cluster, in their order.
///
/// A max does not go below what runs, save for a threshold of the user, under Duplicated, and where the budget is below
/// what runs. What a cluster keeps above its target, others get later: the targets of the others are cut by their size.
/// A leaving cluster gives up its headroom first, and replicas only where the others could not have what they run, or
/// are to run in its place, otherwise.
pub(super) fn transitions(request: &Request<'_>, clusters: &[&Cluster<'_>], targets: &Targets) -> Vec<Transition> {
    let wanted: Vec<Transition> =
        clusters.iter().zip(targets).map(|(cluster, target)| wish(request, cluster, target.as_ref())).collect();
    if request.policy.divides() { fit(request, clusters, targets, wanted) } else { wanted }
}

/// Whether a cluster that has no bounds to have holds something that has to go.
pub(super) fn leaves(cluster: &Cluster<'_>, target: Option<&Target>) -> bool {
    let holds = is_known(cluster);
    // It is not taken in yet. An HPA that it has from before would stand in the way of the others, and goes.
    let waits = cluster.state == ClusterState::Serving && target.is_none() && cluster.hpa.is_none();
    holds && !waits && matches!(cluster.state, ClusterState::Serving | ClusterState::Leaving { .. })
}

/// Whether it has something already, so that it keeps one replica at least.
pub(super) fn is_known(cluster: &Cluster<'_>) -> bool {
    cluster.hpa.is_some() || cluster.entry.is_some()
}

/// What a cluster that leaves may run still: no more than it was told last, so that several that give way do not give
/// twice, and nothing when it has left the binding.
pub(super) fn frozen(cluster: &Cluster<'_>) -> Replicas {
    if cluster.entry.is_none() {
        return 0;
    }
    cluster.running().min(cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default().max)
}

/// What the target comes to with what it runs in the place of others.
pub(super) fn floored(Target { bounds, memory, .. }: Target) -> Bounds {
    Bounds { min: bounds.min.max(memory.floor()).min(bounds.max), ..bounds }
}

fn wish(request: &Request<'_>, cluster: &Cluster<'_>, target: Option<&Target>) -> Transition {
    match (cluster.state, target) {
        (ClusterState::Away, _) => Transition::Drop,
        (ClusterState::Serving | ClusterState::Silent, Some(&whole @ Target { bounds: target, memory, held, .. }))
            if target.is_some() =>
        {
            let running = if request.policy.divides() { cluster.running().min(cluster.limits.most) } else { 0 };
            let bounds = floored(Target { bounds: Bounds { max: target.max.max(running), ..target }, ..whole });
            let replaces = (bounds.min > target.min).then_some(Hold::Replaces { replicas: memory.floor() });
            let hold = if running > target.max { Some(Hold::Running { running }) } else { replaces };
            Transition::Have { bounds, hold, held }
        }
        _ if leaves(cluster, target) => {
            let running = frozen(cluster);
            Transition::Leave(Bounds { min: running.min(1), max: running })
        }
        (ClusterState::Serving | ClusterState::Silent | ClusterState::Leaving { .. }, _) => Transition::Rest,
    }
}

/// A transition that can be cut.
struct Line<'a> {
    at: usize,
    name: &'a str,
    /// By what it is cut: sizes that do not change by themselves, so that a cut stays while replicas come and go.
    weight: u64,
    max: Replicas,
    /// What runs, and its min.
    gentle: Replicas,
    /// What runs or is to run in the place of others; 1 where there is an HPA or an entry already.
    busy: Replicas,
    /// What runs; 1 where there is an HPA or an entry already.
    running: Replicas,
    /// What nobody may take from it: its min, and what runs within its target.
    due: Replicas,
}

/// Cuts the transitions to the budget: of leaving clusters as far as the others need what they run or are to run in
/// their place, then of the others first headroom, then min - a new cluster waits rather than take running replicas -
/// and last what runs above a target.
fn fit(
    request: &Request<'_>,
    clusters: &[&Cluster<'_>],
    targets: &Targets,
    mut transitions: Vec<Transition>,
) -> Vec<Transition> {
    let budget = u64::from(request.total.max);
    let (mut stay, mut go) = (Vec::new(), Vec::new());
    for (at, ((cluster, target), transition)) in clusters.iter().zip(targets).zip(&transitions).enumerate() {
        match transition {
            Transition::Have { bounds, .. } => {
                let whole = *target;
                let target = target.map(|target| target.bounds).unwrap_or_default();
                let running = cluster.running();
                let gentle = running.max(target.min).max(bounds.min).min(bounds.max);
                let due = running.min(target.max).max(target.min).min(bounds.max);
                let weight = target.max.into();
                let known = is_known(cluster);
                let running = running.max(known.into()).min(bounds.max);
                let busy = running.max(whole.map_or(0, |target| target.memory.floor())).min(bounds.max);
                stay.push(Line { at, name: cluster.name, weight, max: bounds.max, gentle, busy, running, due });
            }
            Transition::Leave(Bounds { max, .. }) => {
                let weight = (*max).into();
                go.push(Line { at, name: cluster.name, weight, max: *max, gentle: 0, busy: 0, running: 0, due: 0 });
            }
            Transition::Drop | Transition::Rest => {}
        }
    }
    let sum = |lines: &[Line<'_>]| lines.iter().map(|line| u64::from(line.max)).sum::<u64>();
    let busy: u64 = stay.iter().map(|line| u64::from(line.busy)).sum();
    let over = sum(&go).saturating_sub(budget.saturating_sub(busy));
    cut(&mut go, over, |_| 0);
    let room = budget.saturating_sub(sum(&go));
    let floors: [fn(&Line<'_>) -> Replicas; 4] =
        [|line| line.gentle, |line| line.busy, |line| line.running, |line| line.due];
    for floor in floors {
        let over = sum(&stay).saturating_sub(room);
        cut(&mut stay, over, floor);
    }
    for line in stay.iter().chain(&go) {
        match transitions.get_mut(line.at) {
            Some(Transition::Have { bounds, hold, .. }) if line.max < bounds.max => {
                let target = targets.get(line.at).copied().flatten().map(|target| target.bounds).unwrap_or_default();
                *bounds = Bounds { min: bounds.min.min(line.max), max: line.max };
                *hold = match line.max.cmp(&target.max) {
                    Ordering::Less => Some(Hold::Budget),
                    Ordering::Equal => None,
                    Ordering::Greater => *hold,
                };
            }
            Some(Transition::Leave(bounds)) => *bounds = Bounds { min: line.max.min(1), max: line.max },
            _ => {}
        }
    }
    transitions
}

/// Takes `over` from the lines, by weight, none below its floor.
fn cut(lines: &mut [Line<'_>], over: u64, floor: fn(&Line<'_>) -> Replicas) {
    let Some(over) = Replicas::try_from(over).ok().filter(|over| *over > 0) else { return };
    let parts = lines.iter().map(|line| {
        let high = line.max.saturating_sub(floor(line));
        Part { name: line.name, current: 0, weight: line.weight, low: 0, high }
    });
    let parts: Vec<Part<'_>> = parts.collect();
    for (line, taken) in lines.iter_mut().zip(by_weight(over, &parts)) {
        line.max = line.max.saturating_sub(taken);
    }
}
