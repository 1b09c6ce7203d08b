//! Replaces clusters that leave or failed: first the replacement, then the removal (docs/design.md#failover,
//! docs/design.md#clusters-that-leave). Pure.
//!
//! Owed replicas are stored in two places, and move from one to the other: [`Lost::uncovered`] of the leaving cluster is
//! the part that no cluster was asked to run yet, the [`ReplacementMin`] of another is the part that it was asked to run,
//! including its own. A cluster may leave when nothing is uncovered and every replacement min is ready. A receiver that
//! fails or leaves owes its replacement min, so that no replicas are forgotten, and keeps it until others are asked. What
//! is due once more and has room nowhere waits with the replacement min of a cluster that stays
//! ([`ReplacementMin::uncovered`]), and no HPA asks for it.

use jiff::Timestamp;

use super::cannot_scale::hand_over;
use super::owed::{holds, owed, remember_others, renewal, still_runs, waits};
use super::place::{share_out, starts};
use super::replacement_min::{self, Moves};
use super::row::{Row, Verdict, bound, budget, sum, take};
use super::transition::part;
use super::{ClusterState, Lost, Note, Obstacle, Reason, ReplacementMin, Request};
use crate::split::Replicas;

/// Result for all clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacement {
    pub(super) note: Option<Note>,
    /// Replicas that leaving clusters keep, whatever others were asked for.
    pub(super) kept: Replicas,
    /// When to plan again.
    pub(super) next: Option<Timestamp>,
}

/// Lets other clusters run the replicas of clusters that leave or failed, and decides which may be removed.
pub(super) fn replace(request: &Request<'_>, rows: &mut [Row<'_>]) -> Replacement {
    // Whether some cluster that stays answers, so that it can be asked.
    let able = answering(rows).next().is_some();
    owe(request, rows, able && !request.unplanned);
    replacement_min::forget(rows);
    replacement_min::outgrown(sum(rows.iter().filter(|row| still_runs(row.cluster)).map(Row::replaced)), rows);
    remember_others(uncovered(rows).saturating_add(again(rows)), rows);
    // Replicas under Karmada's graceful eviction still run and serve load that the other HPAs have not observed.
    // Those of a cluster that a taint excludes, too: only what does not answer is not known to serve.
    let serve = |row: &Row<'_>| row.cluster.state != ClusterState::Lost || row.cluster.ready > 0;
    let ends = |row: &Row<'_>| row.cluster.eviction_ends.is_some_and(|end| end > request.now);
    let evicting = rows.iter().any(|row| ends(row) && serve(row));
    let moves = Moves { replacing: owes(rows), replaced: has_replaced(rows), evicting };
    replacement_min::keep(request, rows, moves);
    ask(request, rows);
    end(request, rows, able)
}

/// Notes what is owed for each cluster that leaves or failed; `asked` is whether others could be asked for it.
fn owe(request: &Request<'_>, rows: &mut [Row<'_>], asked: bool) {
    // What one that is back still runs of its own is among those that run.
    let dues = rows.iter().filter_map(|row| {
        let runs = if row.bounds.is_some() { row.cluster.max_while_leaving() } else { 0 };
        Some(row.cluster.memory.lost?.uncovered.saturating_sub(runs))
    });
    let stay = rows.iter().filter(|row| row.is_assigned()).map(|row| row.or_due(row.cluster.may_run_without_surge()));
    let running = sum(stay.chain(dues));
    for row in rows.iter_mut() {
        let stays = row.bounds.is_some();
        let lost = if stays { None } else { owed(request, row.cluster, row.is_assigned(), running) };
        row.memory.lost = waits(request, lost, asked);
        let due = row.cluster.memory.lost.filter(|_| stays).map_or(0, |lost| lost.uncovered);
        row.again = due.saturating_sub(row.cluster.max_while_leaving());
    }
    follow(rows);
}

/// Replicas that leaving clusters removed by themselves are no longer due. It does not matter which cluster runs them.
fn follow(rows: &mut [Row<'_>]) {
    let due = |row: &Row<'_>| if still_runs(row.cluster) { row.uncovered() } else { 0 };
    let owing = rows.iter().filter(|row| row.memory.lost.is_some() && still_runs(row.cluster));
    let covered = sum(owing.map(|row| row.cluster.covers(row.uncovered())));
    take(sum(rows.iter().map(due)).saturating_sub(covered), rows, due, settle_one);
}

/// Fewer replicas are due for a cluster.
fn settle_one(row: &mut Row<'_>, less: Replicas) {
    if let Some(lost) = &mut row.memory.lost {
        lost.uncovered = lost.uncovered.saturating_sub(less);
    }
}

/// Whether any cluster owes replicas.
pub(super) fn owes(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| row.memory.lost.is_some())
}

/// Whether the previous plan replaced clusters.
fn has_replaced(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| row.cluster.memory.lost.is_some())
}

fn uncovered(rows: &[Row<'_>]) -> Replicas {
    sum(rows.iter().map(Row::uncovered))
}

/// Replicas to request once more.
fn again(rows: &[Row<'_>]) -> Replicas {
    sum(rows.iter().map(|row| row.again))
}

/// Requests as many replicas as allowed now: as many as fit beside all running ones, and where that is little, a part of
/// those that leaving clusters run - they release that first.
fn ask(request: &Request<'_>, rows: &mut [Row<'_>]) {
    let back = again(rows);
    // Others may use the whole budget meanwhile: nobody may run more.
    let serves = |row: &Row<'_>| row.or_asked(row.cluster.staying(row.cluster.ready_without_surge()));
    let others = sum(bound(rows).map(serves));
    let most = budget(request, rows).saturating_sub(others).saturating_sub(back);
    settle(rows, uncovered(rows).saturating_sub(most));
    let due = uncovered(rows).saturating_add(back);
    let moves = sum(rows.iter().map(Row::cannot_run));
    if due == 0 && moves == 0 {
        return;
    }
    follow_room(request, rows, due.saturating_add(moves));
    let batch = batch(request, rows, due);
    let mut given = share_out(request, rows, batch.saturating_add(moves), false);
    if given == 0 {
        given = share_out(request, rows, batch, true);
    }
    let shifted = given.min(moves);
    take(shifted, rows, Row::cannot_run, |row, less| {
        if let Some(min) = &mut row.memory.replacement_min {
            min.replicas = min.replicas.saturating_sub(less);
        }
    });
    let given = given.saturating_sub(shifted);
    settle(rows, given.saturating_sub(back));
    keep(request, rows, back.saturating_sub(given));
}

/// Headroom for which a cluster has no free capacity goes at once to those that have some, as far as replicas are due and
/// the max of no cluster leaves room for them. Under StaticWeighted the split is the user's, and without `scaleAssist`
/// bounds stay.
fn follow_room(request: &Request<'_>, rows: &mut [Row<'_>], due: Replicas) {
    let able = sum(rows.iter().filter_map(|row| row.room_for_others(false)));
    let lacking = due.saturating_sub(able);
    if lacking == 0 || !request.scale_assist || !request.policy.depends_on_capacity() {
        return;
    }
    let unusable = |row: &Row<'_>| {
        let usable = row.room_for_others(true).map(|room| row.comes_to().saturating_add(room));
        usable.map_or(0, |usable| row.bounds.max.saturating_sub(usable.max(row.lowest_max())))
    };
    let most = |row: &Row<'_>| {
        let room = row.room_up_to(row.high, false).filter(|room| *room > 0 && row.bounds.is_some());
        room.map_or(0, |room| row.comes_to().saturating_add(room))
    };
    let unassigned = request.total.max.saturating_sub(sum(bound(rows).map(|row| row.bounds.max)));
    let why = |less| Reason::HeadroomReleased { less };
    hand_over(request, rows, (unassigned, lacking), unusable, most, why);
}

/// Stores what was to be requested once more, and no cluster has room for: the next plan requests it again. What leaving
/// clusters still run is due again: requested of another it would take their place before it is ready.
fn keep(request: &Request<'_>, rows: &mut [Row<'_>], mut rest: Replicas) {
    for row in rows.iter_mut().filter(|row| still_runs(row.cluster)) {
        let Some(Lost { replicas, uncovered, .. }) = &mut row.memory.lost else { continue };
        let again = rest.min((*replicas).min(row.cluster.may_run()).saturating_sub(*uncovered));
        *uncovered = uncovered.saturating_add(again);
        rest = rest.saturating_sub(again);
    }
    take(
        rest,
        rows,
        |row| row.again,
        |row, kept| {
            let known = row.cluster.known_without_surge();
            let min = ReplacementMin { replicas: known, uncovered: 0, since: request.now };
            row.memory.replacement_min.get_or_insert(min).uncovered = kept;
        },
    );
}

/// Reduces the due replicas by `given`: first those of failed clusters, which are missing now.
fn settle(rows: &mut [Row<'_>], given: Replicas) {
    let mut rest = given;
    for failed in [true, false] {
        let due = |row: &Row<'_>| if (row.cluster.state == ClusterState::Lost) == failed { row.uncovered() } else { 0 };
        let settled = rest.min(sum(rows.iter().map(due)));
        take(settled, rows, due, settle_one);
        rest = rest.saturating_sub(settled);
    }
}

fn batch(request: &Request<'_>, rows: &[Row<'_>], due: Replicas) -> Replicas {
    let budget = budget(request, rows);
    let others = sum(bound(rows).map(Row::busy));
    // What their HPAs want comes up beside it.
    let wished = sum(bound(rows).map(|row| row.busy().max(row.may_want())));
    let runs = sum(leaving(rows).map(|row| row.cluster.max_while_leaving()));
    let unready = sum(rows.iter().map(Row::unsure_of));
    // Under Duplicated what leaves takes nothing from the max of another.
    let kept = if request.policy.divides() { runs.min(due.saturating_add(unready)) } else { 0 };
    let beside = due.min(budget.saturating_sub(wished).saturating_sub(kept));
    let able = || rows.iter().any(|row| row.room_for_others(false).is_some_and(|spare| spare > 0));
    if unready > 0 || rows.iter().any(starts) && !able() {
        return beside;
    }
    beside.max(due.min(parts(rows)).min(budget.saturating_sub(others)))
}

/// Clusters that owe replicas and answer or are waited for.
fn leaving<'r, 'a>(rows: &'r [Row<'a>]) -> impl Iterator<Item = &'r Row<'a>> {
    rows.iter().filter(|row| row.memory.lost.is_some() && row.cluster.state != ClusterState::Lost)
}

/// What leaving clusters release at a time: a part of each, and no more than a part of all, because many clusters with
/// one replica each must not leave together.
fn parts(rows: &[Row<'_>]) -> Replicas {
    let all = || leaving(rows).filter_map(|row| Some((row, row.memory.lost?.replicas)));
    let parts = sum(all().map(|(row, ran)| part(ran).min(row.cluster.may_run())));
    parts.min(part(sum(all().map(|(_, ran)| ran))))
}

/// Replicas that leaving clusters keep, whatever others were asked for: those that are not ready elsewhere, and what
/// their HPAs added and nobody was asked for yet, without a part.
fn kept(rows: &[Row<'_>]) -> Replicas {
    let runs = rows.iter().filter(|row| still_runs(row.cluster));
    let added = sum(runs.filter_map(|row| Some(row.cluster.may_run().saturating_sub(row.memory.lost?.replicas))));
    uncovered(rows).saturating_add(replacement_min::deficit(rows)).saturating_add(added).saturating_sub(parts(rows))
}

/// Decides which clusters may be removed now, with the remaining note; `able` is whether any could be asked.
fn end(request: &Request<'_>, rows: &mut [Row<'_>], able: bool) -> Replacement {
    let unready = replacement_min::deficit(rows);
    let asked = unready == 0 && rows.iter().all(Row::is_min_in_effect);
    let mut next: Option<Timestamp> = None;
    let mut timed_out = false;
    let mut spare = spare(rows, unready);
    for row in rows.iter_mut() {
        let Some(lost @ Lost { replicas, uncovered, since }) = row.memory.lost else {
            row.verdict = Verdict::Goes;
            continue;
        };
        let runs = if still_runs(row.cluster) { row.cluster.may_run() } else { 0 };
        let replaced = uncovered == 0 && asked && runs <= spare.min(replicas);
        spare = spare.saturating_sub(if replaced { runs } else { 0 });
        let ends = request.waits_until(since);
        // A cluster that is already removed is reported for as long again.
        let forgotten = request.replacement.zip(ends).and_then(|(patience, end)| end.checked_add(patience).ok());
        let renewal = renewal(request, lost).filter(|_| !able);
        next = [next, ends, forgotten, renewal].into_iter().flatten().filter(|next| *next > request.now).min();
        let over = |end: Option<Timestamp>| end.is_some_and(|end| end <= request.now);
        row.verdict = match replaced {
            true => Verdict::Goes,
            false if over(ends) => Verdict::TimesOut,
            false => Verdict::Stays,
        };
        let holds = holds(row.cluster);
        timed_out |= !replaced && over(ends) && holds && row.cluster.state != ClusterState::Lost;
        if !holds && (replaced || over(forgotten)) {
            row.memory.lost = None;
        }
    }
    if has_replaced(rows) && !owes(rows) {
        replacement_min::renew(request, rows);
    }
    next = next.into_iter().chain(replacement_min::end(request, rows)).min();
    let missing = uncovered(rows).saturating_add(unready);
    let note = (owes(rows) && missing > 0).then(|| {
        let obstacle = obstacle(rows);
        if timed_out { Note::LeftUnreplaced { missing, obstacle } } else { Note::Missing { missing, obstacle } }
    });
    Replacement { kept: kept(rows), note, next }
}

/// Replicas that leaving clusters run beyond those owed for all of them; it does not matter which cluster runs them.
fn spare(rows: &[Row<'_>], unready: Replicas) -> Replicas {
    let owing = rows.iter().filter(|row| row.memory.lost.is_some() && still_runs(row.cluster));
    let running = sum(owing.map(|row| row.cluster.may_run()));
    running.saturating_sub(uncovered(rows).saturating_add(unready))
}

fn obstacle(rows: &[Row<'_>]) -> Obstacle {
    let mut short = rows.iter().filter(|row| row.short_of() > 0).peekable();
    if short.peek().is_none() {
        Obstacle::Room
    } else if short.any(|row| row.cluster.hpa.is_none_or(|hpa| !hpa.confirmed)) {
        Obstacle::Unconfirmed
    } else {
        Obstacle::Unready
    }
}

/// Those that answer and have a share. Where no cluster gets one, all that answer: waiting for another would never end.
fn answering<'r, 'a>(rows: &'r [Row<'a>]) -> impl Iterator<Item = &'r Row<'a>> {
    let all = bound(rows).next().is_none();
    rows.iter().filter(move |row| row.is_assigned() && row.answers() && (all || row.bounds.is_some()))
}
