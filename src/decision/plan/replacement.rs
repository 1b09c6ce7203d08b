//! Replaces clusters that leave or failed: first the replacement, then the removal (docs/design.md#failover,
//! docs/design.md#clusters-that-leave). Pure.
//!
//! Owed replicas are stored in two places, and move from one to the other: [`Lost::due`] of the leaving cluster is the
//! part that no cluster was asked to run yet, the [`Floor`] of another is the part that it was asked to run, including
//! its own. A cluster may leave when nothing is due and every floor is ready. A receiver that fails or leaves owes its
//! floor, so that no replicas are forgotten.

use jiff::{SignedDuration, Timestamp};

use super::adjust::{Assignee, sum, take, within};
use super::distribute::{Range, distribute};
use super::participant::Participant;
use super::transition::{frozen, is_known, leaves};
use super::{Assist, Cause, Cluster, ClusterState, Floor, Lost, Note, Obstacle, Policy, Request};
use crate::decision::split::Replicas;

/// HPA measurements are up to a minute old: earlier ones do not include the load of others.
const SEEN: SignedDuration = SignedDuration::from_secs(60);
/// While clusters are replaced, floors are renewed in steps of this size.
const STEP: SignedDuration = SignedDuration::from_secs(30);
/// Divisor of the replicas that a cluster releases before its replacement runs, where there is no headroom for both.
const PART: Replicas = 4;

/// Whether a leaving cluster may be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not yet.
    #[default]
    Stays,
    /// Its replicas are ready elsewhere.
    Goes,
    /// The longest wait has passed.
    TimesOut,
}

/// Result, by index of the sorted clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacement {
    pub(super) lost: Vec<Option<Lost>>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) note: Option<Note>,
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
}

/// Lets other clusters run the replicas of clusters that leave or failed, and decides which may be removed.
pub(super) fn replace(
    request: &Request<'_>,
    clusters: &[&Cluster<'_>],
    assignees: &mut [Assignee<'_, '_>],
) -> Replacement {
    let mut going = Going::of(request, clusters, assignees);
    if request.policy.divides() {
        remember_others(assignees);
        // Replicas under Karmada's graceful eviction still run and serve load that the other HPAs have not observed.
        let evicting = clusters.iter().any(|cluster| cluster.evicting && cluster.state != ClusterState::Away);
        keep_floors(request, assignees, going.any() || evicting);
        going.ask(request, assignees);
    } else {
        for assignee in assignees.iter_mut() {
            assignee.target.memory.floor = None;
        }
    }
    going.end(request, assignees)
}

/// Leaving clusters, and the replicas owed for each.
struct Going<'c, 'a> {
    clusters: &'c [&'c Cluster<'a>],
    lost: Vec<Option<Lost>>,
    /// Owed replicas of clusters that have returned: they are requested once more.
    back: Replicas,
}

impl<'c, 'a> Going<'c, 'a> {
    fn of(request: &Request<'_>, clusters: &'c [&'c Cluster<'a>], assignees: &[Assignee<'_, '_>]) -> Self {
        let mut stays = vec![false; clusters.len()];
        for assignee in assignees.iter().filter(|assignee| assignee.target.bounds.is_some()) {
            if let Some(stays) = stays.get_mut(assignee.participant.at) {
                *stays = true;
            }
        }
        let running = sum(assignees.iter().map(|assignee| assignee.participant.cluster.running()));
        let owes = |(cluster, stays): (&&Cluster<'_>, &bool)| {
            if *stays { None } else { owed(request, cluster, running) }
        };
        let lost = clusters.iter().zip(&stays).map(owes).collect();
        let back = clusters
            .iter()
            .zip(&stays)
            .filter(|(_, stays)| **stays)
            .map(|(cluster, _)| cluster.memory.lost.map_or(0, |lost| lost.due).saturating_sub(cluster.running()));
        let mut going = Self { clusters, back: sum(back), lost };
        going.follow();
        going
    }

    /// Replicas that leaving clusters removed by themselves are no longer due.
    fn follow(&mut self) {
        let runs = self.running();
        let dues = self
            .clusters
            .iter()
            .zip(&self.lost)
            .map(|(cluster, lost)| (cluster.name, lost.filter(|_| still_runs(cluster)).map_or(0, |lost| lost.due)));
        let dues: Vec<(&str, Replicas)> = dues.collect();
        let less = sum(dues.iter().map(|(_, due)| *due)).saturating_sub(runs);
        for (lost, less) in self.lost.iter_mut().zip(take(less, &dues)) {
            if let Some(lost) = lost {
                lost.due = lost.due.saturating_sub(less);
            }
        }
    }

    fn any(&self) -> bool {
        self.lost.iter().any(Option::is_some)
    }

    fn due(&self) -> Replicas {
        sum(self.lost.iter().flatten().map(|lost| lost.due))
    }

    /// Requests as many replicas as allowed now: as many as fit beside all running ones, and where that is little, a
    /// part of those that leaving clusters run - they release that first.
    fn ask(&mut self, request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
        let due = self.due().saturating_add(self.back);
        let unable: Vec<(&str, Replicas)> =
            assignees.iter().map(|assignee| (assignee.participant.cluster.name, cannot_run(assignee))).collect();
        let moves = sum(unable.iter().map(|(_, unable)| *unable));
        let batch = self.batch(request, assignees, due);
        let mut given = share_out(request, assignees, batch.saturating_add(moves), false);
        if given == 0 {
            // No cluster that is awake has capacity.
            given = share_out(request, assignees, batch, true);
        }
        let shifted = given.min(moves);
        for (assignee, less) in assignees.iter_mut().zip(take(shifted, &unable)) {
            if let Some(floor) = &mut assignee.target.memory.floor {
                floor.replicas = floor.replicas.saturating_sub(less);
            }
        }
        self.settle(given.saturating_sub(shifted).saturating_sub(self.back));
    }

    /// Reduces the due replicas by `given`: first those of failed clusters, which are missing now.
    fn settle(&mut self, given: Replicas) {
        let mut rest = given;
        for failed in [true, false] {
            let pairs = self.lost.iter().zip(self.clusters);
            let dues = pairs.map(|(lost, cluster)| {
                let due = lost.filter(|_| (cluster.state == ClusterState::Away) == failed).map_or(0, |lost| lost.due);
                (cluster.name, due)
            });
            let dues: Vec<(&str, Replicas)> = dues.collect();
            let settled = rest.min(sum(dues.iter().map(|(_, due)| *due)));
            for (lost, less) in self.lost.iter_mut().zip(take(settled, &dues)) {
                if let Some(lost) = lost {
                    lost.due = lost.due.saturating_sub(less);
                }
            }
            rest = rest.saturating_sub(settled);
        }
    }

    fn batch(&self, request: &Request<'_>, assignees: &[Assignee<'_, '_>], due: Replicas) -> Replicas {
        let budget = request.total.max;
        let others = sum(assignees.iter().filter(|assignee| assignee.target.bounds.is_some()).map(busy));
        let leaving =
            || self.clusters.iter().zip(&self.lost).filter(|(cluster, _)| cluster.state != ClusterState::Away);
        let runs = sum(leaving().filter(|(_, lost)| lost.is_some()).map(|(cluster, _)| frozen(cluster)));
        let unready = deficit(assignees);
        let kept = runs.min(due.saturating_add(unready));
        let beside = due.min(budget.saturating_sub(others).saturating_sub(kept));
        if unready > 0 || assignees.iter().any(starts) {
            return beside;
        }
        // A part of each, and no more than a part of all: many clusters with one replica each must not leave together.
        let part = |ran: Replicas| ran.checked_div(PART).unwrap_or_default().max(1);
        let leaving = || leaving().filter_map(|(_, lost)| lost.as_ref());
        let parts = sum(leaving().map(|lost| part(lost.ran).min(lost.due)));
        let parts = parts.min(part(sum(leaving().map(|lost| lost.ran))));
        beside.max(due.min(parts).min(budget.saturating_sub(others)))
    }

    /// Decides which clusters may be removed now, with the remaining note.
    fn end(mut self, request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Replacement {
        let unready = deficit(assignees);
        let serves = assignees.iter().any(|assignee| assignee.answers() && assignee.participant.cluster.ready > 0);
        let mut next = floors_end(request, assignees);
        let mut timed_out = false;
        let mut spare = self.spare(unready);
        let mut verdicts = Vec::with_capacity(self.clusters.len());
        for (cluster, lost) in self.clusters.iter().zip(&mut self.lost) {
            let Some(Lost { due, since, .. }) = *lost else {
                verdicts.push(Verdict::Goes);
                continue;
            };
            let covers = if still_runs(cluster) { cluster.running() } else { 0 };
            let replaced = if request.policy.divides() { due == 0 && unready == 0 && covers <= spare } else { serves };
            spare = spare.saturating_sub(if replaced { covers } else { 0 });
            let ends = request.replacement.and_then(|patience| since.checked_add(patience).ok());
            // A cluster that is already removed is reported for as long again.
            let forgotten = request.replacement.zip(ends).and_then(|(patience, end)| end.checked_add(patience).ok());
            next = [next, ends, forgotten].into_iter().flatten().filter(|next| *next > request.now).min();
            let over = |end: Option<Timestamp>| end.is_some_and(|end| end <= request.now);
            verdicts.push(match replaced {
                true => Verdict::Goes,
                false if over(ends) => Verdict::TimesOut,
                false => Verdict::Stays,
            });
            let holds = holds(cluster);
            timed_out |= !replaced && over(ends) && holds && cluster.state != ClusterState::Away;
            if !holds && (replaced || over(forgotten)) {
                *lost = None;
            }
        }
        let missing = self.due().saturating_add(unready);
        let note = (self.any() && missing > 0).then(|| {
            let obstacle = Self::obstacle(assignees);
            if timed_out { Note::LeftUnreplaced { missing, obstacle } } else { Note::Missing { missing, obstacle } }
        });
        Replacement { lost: self.lost, verdicts, note, next }
    }

    /// Replicas that leaving clusters run beyond those owed for all of them; it does not matter which cluster runs
    /// them.
    fn spare(&self, unready: Replicas) -> Replicas {
        self.running().saturating_sub(self.due().saturating_add(unready))
    }

    /// Replicas that leaving clusters run.
    fn running(&self) -> Replicas {
        let leaving =
            self.clusters.iter().zip(&self.lost).filter(|(cluster, lost)| still_runs(cluster) && lost.is_some());
        sum(leaving.map(|(cluster, _)| cluster.running()))
    }

    fn obstacle(assignees: &[Assignee<'_, '_>]) -> Obstacle {
        let mut short = assignees.iter().filter(|assignee| short_of(assignee) > 0).peekable();
        if short.peek().is_none() {
            Obstacle::Room
        } else if short.any(|assignee| assignee.participant.cluster.hpa.is_none_or(|hpa| !hpa.confirmed)) {
            Obstacle::Unconfirmed
        } else {
            Obstacle::Unready
        }
    }
}

/// Replicas that must not be taken from it: its running and its replacement replicas.
fn busy(assignee: &Assignee<'_, '_>) -> Replicas {
    let cluster = assignee.participant.cluster;
    cluster.running().max(assignee.target.memory.floor()).max(is_known(cluster).into())
}

/// Whether its first replica will start soon: its bounds are assigned.
fn starts(assignee: &Assignee<'_, '_>) -> bool {
    let cluster = assignee.participant.cluster;
    let bound = assignee.target.bounds.is_some() && is_known(cluster) && assignee.answers();
    bound && cluster.ready == 0 && cluster.pending == 0 && !assignee.target.memory.zero
}

/// Whether its replicas can still be observed.
fn still_runs(cluster: &Cluster<'_>) -> bool {
    cluster.state != ClusterState::Away && cluster.entry.is_some()
}

/// Whether it has an HPA or an entry that can be removed.
fn holds(cluster: &Cluster<'_>) -> bool {
    cluster.entry.is_some() || cluster.hpa.is_some_and(|hpa| hpa.written.is_some())
}

/// Replicas owed for a cluster that does not stay.
///
/// A failed cluster stopped a while ago: further replicas of the others since then already replace it.
fn owed(request: &Request<'_>, cluster: &Cluster<'_>, others: Replicas) -> Option<Lost> {
    let divides = request.policy.divides();
    let away = cluster.state == ClusterState::Away;
    if let Some(lost) = cluster.memory.lost {
        return Some(Lost { due: if divides { lost.due } else { 0 }, ..lost });
    }
    if !holds(cluster) || !away && !leaves(cluster, None) {
        return None;
    }
    let ran = ran(cluster, away).max(cluster.memory.floor());
    let more = cluster.memory.others.filter(|_| away).map_or(0, |before| others.saturating_sub(before));
    let due = if divides { ran.saturating_sub(more) } else { 0 };
    (ran > 0).then_some(Lost { ran, due, since: request.now })
}

/// Replicas that it runs, or last reported.
///
/// Workload and HPA are reported one after the other, seconds apart: of a cluster that stopped answering in between the
/// report with more replicas counts.
fn ran(cluster: &Cluster<'_>, away: bool) -> Replicas {
    let last = if away { cluster.current.max(cluster.last) } else { cluster.current.or(cluster.last) };
    let reported = last.or(cluster.entry).unwrap_or_default().saturating_sub(cluster.pending);
    if away { reported } else { cluster.running().max(if cluster.entry.is_none() { reported } else { 0 }) }
}

/// Stores, for a cluster that stopped answering, the replicas that the others run.
fn remember_others(assignees: &mut [Assignee<'_, '_>]) {
    let all = sum(assignees.iter().map(|assignee| assignee.participant.cluster.running()));
    for assignee in assignees {
        let others = all.saturating_sub(assignee.participant.cluster.running());
        let memory = &mut assignee.target.memory;
        memory.others = if assignee.participant.cluster.state == ClusterState::Silent {
            memory.others.or(Some(others))
        } else {
            None
        };
    }
}

/// Floors end when the HPAs have had time to observe the moved load; `going` is whether load still has to move.
fn keep_floors(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], going: bool) {
    let hold = request.window.max(SEEN);
    for assignee in assignees.iter_mut() {
        let most = assignee.target.bounds.max.max(assignee.participant.cluster.running());
        let memory = &mut assignee.target.memory;
        memory.floor = memory.floor.filter(|floor| going || within(Some(floor.since), hold, request.now));
        if let Some(floor) = &mut memory.floor {
            floor.replicas = floor.replicas.min(most);
            if going && !within(Some(floor.since), STEP, request.now) {
                floor.since = request.now;
            }
        }
    }
    let runs = |assignee: &Assignee<'_, '_>| assignee.participant.cluster.running().max(assignee.target.memory.floor());
    // The user has lowered the total.
    if sum(assignees.iter().filter(|assignee| assignee.target.bounds.is_some()).map(runs)) > request.total.max {
        for assignee in assignees {
            let running = assignee.participant.cluster.running();
            if let Some(floor) = &mut assignee.target.memory.floor {
                floor.replicas = floor.replicas.min(running);
            }
        }
    }
}

fn floors_end(request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Option<Timestamp> {
    let hold = request.window.max(SEEN);
    let ends = assignees.iter().filter_map(|assignee| assignee.target.memory.floor?.since.checked_add(hold).ok());
    ends.filter(|end| *end > request.now).min()
}

/// Requested replicas that it does not run.
fn short_of(assignee: &Assignee<'_, '_>) -> Replicas {
    assignee.target.memory.floor().saturating_sub(assignee.participant.cluster.ready)
}

fn deficit(assignees: &[Assignee<'_, '_>]) -> Replicas {
    sum(assignees.iter().map(short_of))
}

/// Requested replicas that it cannot run, because no further pods can be scheduled there.
fn cannot_run(assignee: &Assignee<'_, '_>) -> Replicas {
    short_of(assignee).min(assignee.participant.cluster.pending)
}

/// Distributes `total` further replicas by policy; `wake` includes clusters at zero. Returns how many were distributed.
fn share_out(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], total: Replicas, wake: bool) -> Replicas {
    if total == 0 {
        return 0;
    }
    let able = assignees.iter().enumerate().filter_map(|(at, assignee)| {
        let spare = spare(assignee, wake).filter(|spare| *spare > 0)?;
        let room = assignee.participant.cluster.available.unwrap_or(spare).into();
        let weight = if request.policy == Policy::StaticWeighted { assignee.participant.weight } else { room };
        Some((at, Participant { weight, capacity: spare, ..*assignee.participant }, Range { low: 0, high: spare }))
    });
    let receivers: Vec<(usize, Participant<'_>, Range)> = able.collect();
    let (participants, ranges): (Vec<Participant<'_>>, Vec<Range>) =
        receivers.iter().map(|(_, participant, range)| (*participant, *range)).unzip();
    let mut given: Replicas = 0;
    for ((at, ..), share) in receivers.iter().zip(distribute(request.policy, total, &participants, &ranges)) {
        let Some(assignee) = assignees.get_mut(*at).filter(|_| share > 0) else { continue };
        let replicas = runs(assignee).saturating_add(share);
        let memory = &mut assignee.target.memory;
        memory.zero = false;
        memory.floor = Some(Floor { replicas, since: request.now });
        memory.assist = Some(Assist { replicas, since: request.now });
        given = given.saturating_add(share);
    }
    given
}

/// Replicas that it runs or should run.
fn runs(assignee: &Assignee<'_, '_>) -> Replicas {
    let memory = &assignee.target.memory;
    let asked = memory.assist.map_or(0, |assist| assist.replicas).max(memory.floor());
    assignee.participant.cluster.current.unwrap_or_default().max(assignee.participant.cluster.ready).max(asked)
}

/// Further replicas that it can run, within its max and its free capacity; `None` where it cannot be asked. While the
/// free capacity is unknown it is asked: replicas that do not become ready replace nothing.
fn spare(assignee: &Assignee<'_, '_>, wake: bool) -> Option<Replicas> {
    let cluster = assignee.participant.cluster;
    let pends = cluster.pending > 0 || assignee.target.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::Pending);
    // An HPA does not scale a workload at zero replicas.
    let stopped = !cluster.reach.scale && cluster.entry.is_some() && cluster.current == Some(0);
    let asleep = assignee.target.memory.zero && !wake;
    if !assignee.answers() || pends || stopped || asleep || cluster.evicting {
        return None;
    }
    let runs = runs(assignee);
    let ordered = runs.saturating_sub(cluster.current.unwrap_or_default());
    let room = cluster.available.map_or(Replicas::MAX, |room| room.saturating_sub(ordered));
    Some(room.min(assignee.target.bounds.max.saturating_sub(runs)))
}
