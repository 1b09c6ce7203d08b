//! Replaces clusters that leave or failed: first the replacement, then the removal (docs/design.md#failover,
//! docs/design.md#clusters-that-leave). Pure.
//!
//! Owed replicas are stored in two places, and move from one to the other: [`Lost::due`] of the leaving cluster is the
//! part that no cluster was asked to run yet, the [`Floor`] of another is the part that it was asked to run, including
//! its own. A cluster may leave when nothing is due and every floor is ready. A receiver that fails or leaves owes its
//! floor, so that no replicas are forgotten, and keeps it until others are asked.

use jiff::Timestamp;

use super::asking::{share_out, spare, starts};
use super::assignee::{Assignee, sum, take};
use super::floors::{self, Moves, serves};
use super::owed::{covers, holds, owed, remember_others, renewal, still_runs, waits};
use super::transition::{frozen, part};
use super::{Cluster, ClusterState, Floor, Lost, Note, Obstacle, Request};
use crate::decision::split::Replicas;

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
    /// Replicas that leaving clusters keep, whatever others were asked for.
    pub(super) kept: Replicas,
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
    floors::forget(&going.lost, assignees);
    if request.policy.divides() {
        let again = floors::outgrown(going.replaced(), assignees);
        going.ask_again(&again);
        remember_others(going.due(), assignees);
        // Replicas under Karmada's graceful eviction still run and serve load that the other HPAs have not observed.
        // Those of a cluster that a taint excludes, too: only what does not answer is not known to serve.
        let serve = |cluster: &Cluster<'_>| cluster.state != ClusterState::Away || cluster.ready > 0;
        let ends = |cluster: &Cluster<'_>| cluster.eviction_ends.is_some_and(|end| end > request.now);
        let evicting = clusters.iter().any(|cluster| ends(cluster) && serve(cluster));
        let moves = Moves { replacing: going.any(), replaced: going.has_replaced(), evicting };
        let cut = floors::keep(request, assignees, moves);
        going.ask_again(&cut);
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
    /// Whether some cluster that stays answers, so that it can be asked.
    able: bool,
    lost: Vec<Option<Lost>>,
    /// Owed replicas of clusters that have returned, and those that no longer fit below the max of a receiver: they are
    /// requested once more. By assignee.
    back: Vec<Replicas>,
}

impl<'c, 'a> Going<'c, 'a> {
    fn of(request: &Request<'_>, clusters: &'c [&'c Cluster<'a>], assignees: &[Assignee<'_, '_>]) -> Self {
        // Whether it stays, where the rules assigned it something or nothing.
        let mut stays = vec![None; clusters.len()];
        for assignee in assignees {
            if let Some(stays) = stays.get_mut(assignee.participant.at) {
                *stays = Some(assignee.target.bounds.is_some());
            }
        }
        let runs =
            |assignee: &Assignee<'_, '_>| assignee.participant.cluster.stays().max(assignee.target.memory.floor());
        // What one that is back still runs of its own is among those that run.
        let dues = clusters.iter().zip(&stays).filter_map(|(cluster, stays)| {
            let runs = if *stays == Some(true) { frozen(cluster) } else { 0 };
            Some(cluster.memory.lost?.due.saturating_sub(runs))
        });
        let running = sum(assignees.iter().map(runs).chain(dues));
        let able = answering(assignees).next().is_some();
        let asked = able && !request.unplanned;
        let owes = |(cluster, stays): (&&Cluster<'_>, &Option<bool>)| match stays {
            Some(true) => None,
            Some(false) | None => owed(request, cluster, stays.is_some(), running),
        };
        let lost = clusters.iter().zip(&stays).map(|pair| waits(request, owes(pair), asked)).collect();
        let back = assignees.iter().map(|assignee| {
            let (cluster, stays) = (assignee.participant.cluster, assignee.target.bounds.is_some());
            let due = cluster.memory.lost.filter(|_| stays).map_or(0, |lost| lost.due);
            due.saturating_sub(frozen(cluster))
        });
        let mut going = Self { clusters, able, back: back.collect(), lost };
        going.follow();
        going
    }

    /// Replicas that leaving clusters removed by themselves are no longer due. It does not matter which cluster runs
    /// them.
    fn follow(&mut self) {
        if !self.any() {
            return;
        }
        let mut covered: Replicas = 0;
        let mut dues: Vec<(&str, Replicas)> = Vec::with_capacity(self.clusters.len());
        for (cluster, lost) in self.clusters.iter().zip(&self.lost) {
            let due = lost.filter(|_| still_runs(cluster)).map(|lost| lost.due);
            covered = covered.saturating_add(due.map_or(0, |due| covers(cluster, due)));
            dues.push((cluster.name, due.unwrap_or_default()));
        }
        let less = sum(dues.iter().map(|(_, due)| *due)).saturating_sub(covered);
        for (lost, less) in self.lost.iter_mut().zip(take(less, &dues)) {
            if let Some(lost) = lost {
                lost.due = lost.due.saturating_sub(less);
            }
        }
    }

    /// Replicas that leaving clusters still run and others were asked for.
    fn replaced(&self) -> Replicas {
        let pairs = self.clusters.iter().zip(&self.lost).filter(|(cluster, _)| still_runs(cluster));
        sum(pairs.filter_map(|(cluster, lost)| {
            let Lost { ran, due, .. } = (*lost)?;
            Some(ran.saturating_sub(due).min(cluster.may_run()))
        }))
    }

    fn ask_again(&mut self, again: &[Replicas]) {
        for (back, again) in self.back.iter_mut().zip(again) {
            *back = back.saturating_add(*again);
        }
    }

    fn any(&self) -> bool {
        self.lost.iter().any(Option::is_some)
    }

    /// Whether the previous plan replaced clusters.
    fn has_replaced(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.memory.lost.is_some())
    }

    fn due(&self) -> Replicas {
        sum(self.lost.iter().flatten().map(|lost| lost.due))
    }

    /// Requests as many replicas as allowed now: as many as fit beside all running ones, and where that is little, a
    /// part of those that leaving clusters run - they release that first.
    fn ask(&mut self, request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
        let back = sum(self.back.iter().copied());
        // Others may use the whole budget meanwhile: nobody may run more.
        let others = sum(assignees.iter().filter(|assignee| assignee.target.bounds.is_some()).map(serves));
        let most = request.total.max.saturating_sub(others).saturating_sub(back);
        self.settle(self.due().saturating_sub(most));
        let due = self.due().saturating_add(back);
        let unable: Vec<(&str, Replicas)> = assignees
            .iter()
            .map(|assignee| (assignee.participant.cluster.name, floors::cannot_run(assignee)))
            .collect();
        let moves = sum(unable.iter().map(|(_, unable)| *unable));
        if due == 0 && moves == 0 {
            return;
        }
        let batch = self.batch(request, assignees, due);
        let mut given = share_out(request, assignees, batch.saturating_add(moves), false);
        if given == 0 {
            given = share_out(request, assignees, batch, true);
        }
        let shifted = given.min(moves);
        for (assignee, less) in assignees.iter_mut().zip(take(shifted, &unable)) {
            if let Some(floor) = &mut assignee.target.memory.floor {
                floor.replicas = floor.replicas.saturating_sub(less);
            }
        }
        let given = given.saturating_sub(shifted);
        self.settle(given.saturating_sub(back));
        self.keep(request, assignees, back.saturating_sub(given));
    }

    /// Stores what was to be requested once more, and no cluster has room for: the next plan requests it again. What
    /// leaving clusters still run is due again: as the min of another it would take their place before it is ready.
    fn keep(&mut self, request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], mut rest: Replicas) {
        for (cluster, lost) in self.clusters.iter().zip(&mut self.lost).filter(|(cluster, _)| still_runs(cluster)) {
            let Some(Lost { ran, due, .. }) = lost else { continue };
            let again = rest.min((*ran).min(cluster.may_run()).saturating_sub(*due));
            *due = due.saturating_add(again);
            rest = rest.saturating_sub(again);
        }
        let names = assignees.iter().map(|assignee| assignee.participant.cluster.name);
        let backs: Vec<(&str, Replicas)> = names.zip(self.back.iter().copied()).collect();
        for (assignee, kept) in assignees.iter_mut().zip(take(rest, &backs)).filter(|(_, kept)| *kept > 0) {
            let replicas = assignee.participant.cluster.may_run();
            let floor = assignee.target.memory.floor.get_or_insert(Floor { replicas, since: request.now });
            floor.replicas = floor.replicas.saturating_add(kept);
        }
    }

    /// Reduces the due replicas by `given`: first those of failed clusters, which are missing now.
    fn settle(&mut self, given: Replicas) {
        if given == 0 {
            return;
        }
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
        let bound = || assignees.iter().filter(|assignee| assignee.target.bounds.is_some());
        let others = sum(bound().map(floors::busy));
        // What their HPAs want comes up beside it.
        let wished = sum(bound().map(|assignee| floors::busy(assignee).max(floors::may_want(assignee))));
        let leaving =
            || self.clusters.iter().zip(&self.lost).filter(|(cluster, _)| cluster.state != ClusterState::Away);
        let runs = sum(leaving().filter(|(_, lost)| lost.is_some()).map(|(cluster, _)| frozen(cluster)));
        let unready = sum(assignees.iter().map(floors::unsure_of));
        let kept = runs.min(due.saturating_add(unready));
        let beside = due.min(budget.saturating_sub(wished).saturating_sub(kept));
        let able = || assignees.iter().any(|assignee| spare(assignee, false).is_some_and(|spare| spare > 0));
        if unready > 0 || assignees.iter().any(starts) && !able() {
            return beside;
        }
        beside.max(due.min(self.parts()).min(budget.saturating_sub(others)))
    }

    /// What leaving clusters release at a time: a part of each, and no more than a part of all, because many clusters with
    /// one replica each must not leave together.
    fn parts(&self) -> Replicas {
        let pairs = || self.clusters.iter().zip(&self.lost).filter_map(|(cluster, lost)| Some((cluster, (*lost)?)));
        let leaving = || pairs().filter(|(cluster, _)| cluster.state != ClusterState::Away);
        let parts = sum(leaving().map(|(cluster, lost)| part(lost.ran).min(cluster.may_run())));
        parts.min(part(sum(leaving().map(|(_, lost)| lost.ran))))
    }

    /// Replicas that leaving clusters keep, whatever others were asked for: those that are not ready elsewhere, and what
    /// their HPAs added and nobody was asked for yet, without a part.
    fn kept(&self, assignees: &[Assignee<'_, '_>]) -> Replicas {
        let pairs = self.clusters.iter().zip(&self.lost).filter(|(cluster, _)| still_runs(cluster));
        let added = sum(pairs.filter_map(|(cluster, lost)| Some(cluster.may_run().saturating_sub((*lost)?.ran))));
        self.due().saturating_add(floors::deficit(assignees)).saturating_add(added).saturating_sub(self.parts())
    }

    /// Decides which clusters may be removed now, with the remaining note.
    fn end(mut self, request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) -> Replacement {
        let unready = floors::deficit(assignees);
        let asked = unready == 0 && assignees.iter().all(floors::is_in_effect);
        let serves = answering(assignees).any(|assignee| assignee.participant.cluster.ready > 0);
        let mut next: Option<Timestamp> = None;
        let mut timed_out = false;
        let mut spare = self.spare(unready);
        let mut verdicts = Vec::with_capacity(self.clusters.len());
        for (cluster, lost) in self.clusters.iter().zip(&mut self.lost) {
            let Some(Lost { ran, due, since }) = *lost else {
                verdicts.push(Verdict::Goes);
                continue;
            };
            let runs = if still_runs(cluster) { cluster.may_run() } else { 0 };
            let replaced = if request.policy.divides() { due == 0 && asked && runs <= spare.min(ran) } else { serves };
            spare = spare.saturating_sub(if replaced { runs } else { 0 });
            let ends = request.waits_until(since);
            // A cluster that is already removed is reported for as long again.
            let forgotten = request.replacement.zip(ends).and_then(|(patience, end)| end.checked_add(patience).ok());
            let renewal = lost.and_then(|lost| renewal(request, lost)).filter(|_| !self.able);
            next = [next, ends, forgotten, renewal].into_iter().flatten().filter(|next| *next > request.now).min();
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
        if self.has_replaced() && !self.any() {
            floors::renew(request, assignees);
        }
        next = next.into_iter().chain(floors::end(request, assignees)).min();
        let due = if request.policy.divides() { self.due() } else { 0 };
        let missing = due.saturating_add(unready);
        let note = (self.any() && missing > 0).then(|| {
            let obstacle = Self::obstacle(assignees);
            if timed_out { Note::LeftUnreplaced { missing, obstacle } } else { Note::Missing { missing, obstacle } }
        });
        Replacement { kept: self.kept(assignees), lost: self.lost, verdicts, note, next }
    }

    /// Replicas that leaving clusters run beyond those owed for all of them; it does not matter which cluster runs
    /// them.
    fn spare(&self, unready: Replicas) -> Replicas {
        self.running().saturating_sub(self.due().saturating_add(unready))
    }

    /// Replicas that leaving clusters run.
    fn running(&self) -> Replicas {
        sum(self.leaving().map(Cluster::may_run))
    }

    /// Clusters whose replicas are owed and can be observed.
    fn leaving(&self) -> impl Iterator<Item = &'c Cluster<'a>> {
        let owing = self.clusters.iter().zip(&self.lost).filter(|(_, lost)| lost.is_some());
        owing.map(|(cluster, _)| *cluster).filter(|cluster| still_runs(cluster))
    }

    fn obstacle(assignees: &[Assignee<'_, '_>]) -> Obstacle {
        let mut short = assignees.iter().filter(|assignee| floors::short_of(assignee) > 0).peekable();
        if short.peek().is_none() {
            Obstacle::Room
        } else if short.any(|assignee| assignee.participant.cluster.hpa.is_none_or(|hpa| !hpa.confirmed)) {
            Obstacle::Unconfirmed
        } else {
            Obstacle::Unready
        }
    }
}

/// Those that answer and have a share. Where no cluster gets one, all that answer: waiting for another would never end.
fn answering<'x, 's, 'a>(assignees: &'x [Assignee<'s, 'a>]) -> impl Iterator<Item = &'x Assignee<'s, 'a>> {
    let bound = |assignee: &Assignee<'_, '_>| assignee.target.bounds.is_some();
    let all = !assignees.iter().any(bound);
    assignees.iter().filter(move |assignee| assignee.answers() && (all || bound(assignee)))
}
