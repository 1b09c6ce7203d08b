//! Which clusters should have no replicas (docs/design.md#to-and-from-zero). Pure.

use std::cmp::Reverse;

use jiff::Timestamp;

use super::distribute::{Receiver, Receivers};
use super::row::{Row, bound, parts, sum};
use super::{Assist, Bounds, Cluster, Note, Policy, Reach, Request};
use crate::load::Load;
use crate::split::Replicas;

/// What the scaling to zero tells besides the targets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idle {
    /// Since when a cluster could go to zero.
    pub(super) since: Option<Timestamp>,
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
}

/// Scales clusters with bounds from zero, or one of them to zero; `settled` is whether they have reacted to their bounds,
/// `replaces` whether clusters leave or failed whose load is not theirs yet.
pub(super) fn zero(request: &Request<'_>, rows: &mut [Row<'_>], settled: bool, replaces: bool) -> Idle {
    if !request.may_be_zero() {
        bound_mut(rows).for_each(|row| row.memory.scaled_to_zero = false);
        return Idle::default();
    }
    let short = is_short_without(rows);
    for row in bound_mut(rows) {
        let cluster = row.cluster;
        // A new cluster begins at zero.
        let new = cluster.target.is_none() && cluster.may_run() == 0 && !cluster.is_unknown();
        let runs = is_back(request, cluster) || is_loaded(row, short);
        let may = can_be_zero(cluster.reach) && !runs && row.memory.replacement_min.is_none();
        row.memory.scaled_to_zero = (row.memory.scaled_to_zero || new) && may;
    }
    let woken = ensure_min(request, rows) | (settled && from_zero(request, rows));
    let replaces = replaces || bound(rows).any(|row| row.memory.replacement_min.is_some());
    let idle = match settled {
        _ if woken || replaces => Idle::default(),
        true => to_zero(request, rows),
        // Headroom that moved is no load: the window goes on, and nobody goes to sleep now.
        false => Idle { since: request.idle_since.filter(|_| victim(request, rows).is_some()), next: None },
    };
    // Its HPA scales to zero by itself.
    for row in bound_mut(rows).filter(|row| row.memory.scaled_to_zero && row.cluster.reach.own_zero) {
        row.bounds.min = 0;
    }
    idle
}

fn bound_mut<'r, 'a>(rows: &'r mut [Row<'a>]) -> impl Iterator<Item = &'r mut Row<'a>> {
    rows.iter_mut().filter(|row| row.bounds.is_some())
}

/// Whether it should have replicas.
fn is_awake(row: &Row<'_>) -> bool {
    row.bounds.is_some() && !row.memory.scaled_to_zero
}

/// Whether it should have no replicas, and answers.
fn is_asleep(row: &Row<'_>) -> bool {
    row.bounds.is_some() && row.memory.scaled_to_zero && row.answers()
}

/// Adds notes on clusters whose replicas cannot be written.
pub(super) fn notes(request: &Request<'_>, rows: &[Row<'_>], notes: &mut Vec<Note>) {
    if request.scaling_to_zero && request.scale_assist && !request.policy.divides() {
        notes.push(Note::ScaleToZeroDuplicated);
    }
    let unwritable =
        || parts(rows).filter(|row| row.cluster.reach == Reach::BOUNDS && row.bounds.is_some() && row.answers());
    let clusters = unwritable().count();
    if request.may_be_zero() && clusters > 0 {
        notes.push(Note::ScaleToZeroUnsupported { clusters });
    }
    let asleep = |row: &&Row<'_>| row.cluster.current == Some(0) && row.cluster.entry.is_some();
    let clusters = unwritable().filter(asleep).count();
    if clusters > 0 {
        notes.push(Note::ScaleFromZeroUnsupported { clusters });
    }
}

const fn can_be_zero(reach: Reach) -> bool {
    reach.scale || reach.own_zero
}

/// Whether its HPA has started it again by itself.
fn is_back(request: &Request<'_>, cluster: &Cluster<'_>) -> bool {
    let runs = cluster.reach.own_zero && cluster.current.is_some_and(|current| current > 0);
    runs && cluster.load.is_some_and(|load| load.value > 0 && !request.is_below(load))
}

/// Whether it was to be scaled to zero, still runs, and may not go by now: the write may come long after the decision.
fn is_loaded(row: &Row<'_>, short: bool) -> bool {
    let runs = row.cluster.current.filter(|current| *current > 0 && !row.cluster.reach.own_zero);
    runs.is_some_and(|current| current > row.bounds.min.max(1) || short)
}

/// Whether the clusters that stay awake run less than load asks of all.
fn is_short_without(rows: &[Row<'_>]) -> bool {
    let current = |row: &Row<'_>| row.cluster.current.unwrap_or_default();
    let stay = sum(rows.iter().filter(|row| is_awake(row)).map(current));
    stay < wanted(bound(rows).filter_map(|row| Some((row.cluster.current?, row.cluster.load?))))
}

/// Replicas that load asks of all together, by what each runs and its load. In thousandths: rounding up each cluster alone
/// would ask for more than all together.
fn wanted(loads: impl Iterator<Item = (Replicas, Load)>) -> Replicas {
    sum(loads.map(|(current, load)| load.wanted(current.saturating_mul(1000)))).div_ceil(1000)
}

/// Order of scaling to zero: fewest replicas, smallest weight or lowest priority, by policy.
fn order(request: &Request<'_>, row: &Row<'_>) -> (Option<i32>, u64) {
    match request.policy {
        Policy::Prioritized => (row.cluster.priority, 0),
        Policy::Aggregated => (None, row.cluster.current.unwrap_or_default().into()),
        Policy::StaticWeighted | Policy::DynamicWeighted | Policy::Duplicated => (None, row.weight),
    }
}

/// Scales as many clusters from zero as the user's min needs, and one where nothing else would ever start any.
fn ensure_min(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    let mut covered = sum(rows.iter().filter(|row| is_awake(row)).map(|row| row.bounds.min));
    // Where all are at zero and no HPA comes back by itself, nothing would ever start one.
    let mut starts = bound(rows).any(|row| !row.memory.scaled_to_zero || row.answers() && row.cluster.reach.own_zero);
    let mut asleep: Vec<&mut Row<'_>> = rows.iter_mut().filter(|row| is_asleep(row)).collect();
    asleep.sort_unstable_by_key(|row| (Reverse(order(request, row)), Reverse(row.capacity), row.cluster.name));
    let mut woken = false;
    for row in asleep {
        if covered >= request.total.min && starts {
            break;
        }
        starts = true;
        row.memory.scaled_to_zero = false;
        covered = covered.saturating_add(row.bounds.min.max(1));
        woken = true;
    }
    woken
}

/// Scales clusters from zero when a running cluster has more load than it can serve.
fn from_zero(request: &Request<'_>, rows: &mut [Row<'_>]) -> bool {
    let awake = || rows.iter().filter(|row| is_awake(row) && row.answers());
    let strained = |row: &Row<'_>| {
        let full = row.cluster.current == Some(row.bounds.max) && row.bounds.max > row.bounds.min;
        row.cluster.load.is_some_and(|load| request.is_above(load)) || row.counts(request) || full
    };
    // A cluster that was just scaled from zero will help soon.
    let starts = |row: &Row<'_>| row.cluster.ready == 0 && !row.cluster.unresponsive && !row.is_blocked();
    if !request.may_scale_up() || awake().any(starts) || !awake().any(strained) {
        return false;
    }
    let first = rows.iter().filter(|row| is_asleep(row)).map(|row| row.cluster.priority).max();
    let Some(first) = first else { return false };
    let wakes =
        |row: &Row<'_>| is_asleep(row) && (request.policy != Policy::Prioritized || row.cluster.priority == first);
    let missing = sum(awake().map(|row| row.overload(request)));
    start(request, rows, wakes, missing);
    true
}

/// Starts the clusters that `wakes` names, and asks them for more than their min, where the load is that high: within
/// max, free capacity and the policies of `behavior.scaleUp`.
fn start(request: &Request<'_>, rows: &mut [Row<'_>], wakes: impl Fn(&Row<'_>) -> bool, missing: Replicas) {
    let mut woken = Receivers::of(rows, |row| {
        let Bounds { min, max } = row.bounds;
        let room = row.cluster.available.unwrap_or_default();
        let most = max.min(room).min(request.most(0, &row.memory.scale_ups)).max(min);
        wakes(row).then(|| Receiver { capacity: most, ..Receiver::of(row, min, most) })
    });
    woken.distribute(request.policy, missing.max(woken.lowest()));
    woken.hand_out(rows, |row, replicas| {
        let more = replicas > row.bounds.min && row.cluster.reach.scale;
        row.memory.scaled_to_zero = false;
        row.memory.assist = more.then_some(Assist { replicas, since: request.now });
        request.remember(&mut row.memory, replicas);
    });
}

/// Scales one cluster to zero after all had little load for the whole window.
fn to_zero(request: &Request<'_>, rows: &mut [Row<'_>]) -> Idle {
    let Some(victim) = victim(request, rows) else { return Idle::default() };
    let since = request.idle_since.unwrap_or(request.now);
    if request.within(Some(since), request.window) {
        return Idle { since: Some(since), next: since.checked_add(request.window).ok() };
    }
    if let Some(row) = rows.get_mut(victim) {
        row.memory.scaled_to_zero = true;
    }
    Idle { since: Some(request.now), next: request.now.checked_add(request.window).ok() }
}

/// The index of the cluster to scale to zero, when all are idle and the others can serve the whole load.
fn victim(request: &Request<'_>, rows: &[Row<'_>]) -> Option<usize> {
    let awake: Vec<(usize, &Row<'_>, Replicas, Load)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| is_awake(row))
        .map(|(at, row)| Some((at, row, row.cluster.current?, row.cluster.load?)))
        .collect::<Option<_>>()?;
    let idle = |(_, row, current, load): &(usize, &Row<'_>, Replicas, Load)| {
        let at_min = *current <= row.bounds.min && row.cluster.ready >= *current;
        row.answers() && !row.is_blocked() && at_min && request.is_below(*load)
    };
    let all = sum(awake.iter().map(|(_, _, current, _)| *current));
    if !awake.iter().all(idle) || all <= request.total.min {
        return None;
    }
    let wanted = wanted(awake.iter().map(|(_, _, current, load)| (*current, *load)));
    let (at, victim, current, _) = awake
        .iter()
        .filter(|(_, row, ..)| can_be_zero(row.cluster.reach))
        .min_by_key(|(_, row, ..)| (order(request, row), Reverse(row.cluster.name)))?;
    let rest = all.saturating_sub(*current);
    // The last one is started by nobody else.
    let comes_back = rest > 0 || victim.cluster.reach.own_zero;
    (*current > 0 && rest >= request.total.min && rest >= wanted && comes_back).then_some(*at)
}
