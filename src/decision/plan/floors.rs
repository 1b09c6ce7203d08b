//! Fewest replicas of clusters that run those of others (docs/design.md#failover): how long they hold, and what of them
//! fits. Pure.

use jiff::{SignedDuration, Timestamp};

use super::assignee::{Assignee, sum, take};
use super::transition::present;
use super::{Assist, Cluster, ClusterState, Floor, Lost, Memory, Request};
use crate::decision::split::Replicas;

/// HPA measurements are up to a minute old: earlier ones do not include the load of others.
const SEEN: SignedDuration = SignedDuration::from_secs(60);
/// While Karmada evicts, floors are renewed in steps of this size.
const STEP: SignedDuration = SignedDuration::from_secs(30);

/// The floors of clusters that leave, or come back after they left, are among the owed replicas.
pub(super) fn forget(lost: &[Option<Lost>], assignees: &mut [Assignee<'_, '_>]) {
    for assignee in assignees {
        let leaves = lost.get(assignee.participant.at).is_some_and(Option::is_some);
        if leaves || assignee.participant.cluster.memory.lost.is_some() {
            assignee.target.memory.floor = None;
        }
    }
}

/// Whether what it was asked to run is in effect as its min, or has been waited for long enough, and its HPA has acted
/// on that where it has metrics. Before, replicas that its HPA adds by itself look like those that were asked for.
pub(super) fn is_in_effect(assignee: &Assignee<'_, '_>) -> bool {
    let cluster = assignee.participant.cluster;
    let least = assignee.target.memory.floor().min(assignee.target.bounds.max);
    let written = || cluster.hpa.filter(|hpa| hpa.confirmed)?.written;
    // Without metrics it wants what it wanted, whatever its min.
    let acts = || cluster.load.is_none() || cluster.desired.is_none_or(|desired| desired >= least);
    least == 0 || cluster.overdue || written().is_some_and(|written| written.min >= least) && acts()
}

/// Requested replicas that it does not run.
pub(super) fn short_of(assignee: &Assignee<'_, '_>) -> Replicas {
    assignee.target.memory.floor().saturating_sub(assignee.participant.cluster.stays_ready())
}

/// As [`short_of`], of all.
pub(super) fn deficit(assignees: &[Assignee<'_, '_>]) -> Replicas {
    sum(assignees.iter().map(short_of))
}

/// Requested replicas that it cannot run, because no further pods can be scheduled there, or it does not answer and was
/// waited for: what it did run may run still.
pub(super) fn cannot_run(assignee: &Assignee<'_, '_>) -> Replicas {
    let cluster = assignee.participant.cluster;
    if cluster.state == ClusterState::Silent && cluster.overdue {
        return assignee.target.memory.floor().saturating_sub(cluster.may_run());
    }
    short_of(assignee).min(cluster.pending)
}

/// Replicas that it was asked to run and does not, or that its HPA may remove, because it does not ask for them yet.
pub(super) fn unsure_of(assignee: &Assignee<'_, '_>) -> Replicas {
    let ready = assignee.participant.cluster.stays_ready();
    let sure = if is_in_effect(assignee) { ready } else { ready.min(may_want(assignee)) };
    assignee.target.memory.floor().saturating_sub(sure)
}

/// Ends the floors of clusters whose HPAs want more by what they measure: the load of clusters that leave, which run
/// `leaving` replicas that others were asked for, comes on top of that. Returns how many replicas of each must be asked
/// for once more.
pub(super) fn outgrown(leaving: Replicas, assignees: &mut [Assignee<'_, '_>]) -> Vec<Replicas> {
    let mut rest = leaving;
    let again = |assignee: &mut Assignee<'_, '_>| {
        let wanted = wants(assignee);
        let floor = assignee.target.memory.floor.take_if(|floor| rest > 0 && wanted > floor.replicas);
        let again = floor.map_or(0, |floor| floor.replicas.min(rest));
        rest = rest.saturating_sub(again);
        again
    };
    assignees.iter_mut().map(again).collect()
}

/// Replicas that its HPA wants, as far as that is known.
pub(super) fn wants(assignee: &Assignee<'_, '_>) -> Replicas {
    assignee.participant.cluster.desired.filter(|_| assignee.answers()).unwrap_or_default()
}

/// Replicas that its HPA may want: while its bounds are on their way, those that it wanted before. It would run these
/// by itself, so they replace none of another cluster. An HPA that is being deleted will ask for none.
pub(super) fn may_want(assignee: &Assignee<'_, '_>) -> Replicas {
    let cluster = assignee.participant.cluster;
    let stays = || cluster.hpa.is_some_and(|hpa| hpa.written.is_some());
    cluster.wished.filter(|_| assignee.answers() && stays()).unwrap_or_default()
}

/// Whether load still has to move to the receivers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moves {
    /// Clusters are being replaced.
    pub(super) replacing: bool,
    /// Clusters were being replaced at the previous plan.
    pub(super) replaced: bool,
    /// Replicas under Karmada's graceful eviction still run, at most for Karmada's own time limit.
    pub(super) evicting: bool,
}

/// Floors end when the HPAs have had time to observe the moved load. How long a replacement lasts is not known, and it
/// may last for ever where Karmada rejects the division: its floors are not stored again until it is over ([`renew`]).
/// Returns the replicas of each that no longer fit below its max, which run nowhere.
pub(super) fn keep(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>], moves: Moves) -> Vec<Replicas> {
    let going = moves.replacing || moves.replaced || moves.evicting;
    let hold = request.window.max(SEEN);
    let mut cut = vec![0; assignees.len()];
    for (assignee, cut) in assignees.iter_mut().zip(&mut cut) {
        let most = assignee.target.bounds.max.max(assignee.participant.cluster.may_run());
        let memory = &mut assignee.target.memory;
        memory.floor = memory.floor.filter(|floor| going || request.within(Some(floor.since), hold));
        if let Some(floor) = &mut memory.floor {
            *cut = floor.replicas.saturating_sub(most);
            lower(&mut memory.assist, floor, most);
            if moves.evicting && !request.within(Some(floor.since), STEP) {
                floor.since = request.now;
            }
        }
    }
    // The user has lowered the total, or a cluster is back with what it ran.
    let over = sum(assignees.iter().filter(|assignee| assignee.target.bounds.is_some()).map(will_run));
    let over = over.saturating_sub(request.total.max);
    let spare = |assignee: &Assignee<'_, '_>| {
        let spare = assignee.asked().saturating_sub(assignee.participant.cluster.may_run());
        if assignee.target.bounds.is_some() { spare } else { 0 }
    };
    let spares: Vec<(&str, Replicas)> =
        assignees.iter().map(|assignee| (assignee.participant.cluster.name, spare(assignee))).collect();
    for (assignee, less) in assignees.iter_mut().zip(take(over, &spares)).filter(|(_, less)| *less > 0) {
        let Memory { assist, floor: Some(floor), .. } = &mut assignee.target.memory else { continue };
        lower(assist, floor, floor.replicas.saturating_sub(less));
    }
    cut
}

/// All clusters are replaced: from now on the HPAs have time to observe the moved load.
pub(super) fn renew(request: &Request<'_>, assignees: &mut [Assignee<'_, '_>]) {
    for floor in assignees.iter_mut().filter_map(|assignee| assignee.target.memory.floor.as_mut()) {
        floor.since = request.now;
    }
}

/// Asks for at most `most` replicas, for now and as its min.
fn lower(assist: &mut Option<Assist>, floor: &mut Floor, most: Replicas) {
    floor.replicas = floor.replicas.min(most);
    if let Some(assist) = assist {
        assist.replicas = assist.replicas.min(most);
    }
}

pub(super) fn end(request: &Request<'_>, assignees: &[Assignee<'_, '_>]) -> Option<Timestamp> {
    let hold = request.window.max(SEEN);
    let ends = assignees.iter().filter_map(|assignee| assignee.target.memory.floor?.since.checked_add(hold).ok());
    ends.filter(|end| *end > request.now).min()
}

/// Replicas that must not be taken from it: its running and its replacement replicas.
pub(super) fn busy(assignee: &Assignee<'_, '_>) -> Replicas {
    assignee.asked().max(present(assignee.participant.cluster))
}

/// As [`Assignee::asked`], without those that go: above its written max, or without an entry.
fn will_run(assignee: &Assignee<'_, '_>) -> Replicas {
    let cluster = assignee.participant.cluster;
    cluster.stays().min(kept(cluster)).max(assignee.target.memory.floor())
}

/// As [`Assignee::asked`], but ready ones only, without those that go.
pub(super) fn serves(assignee: &Assignee<'_, '_>) -> Replicas {
    let cluster = assignee.participant.cluster;
    cluster.stays_ready().min(kept(cluster)).max(assignee.target.memory.floor())
}

/// The most replicas that stay: those within its written max, as long as it has an entry.
fn kept(cluster: &Cluster<'_>) -> Replicas {
    let written = || cluster.hpa.and_then(|hpa| hpa.written).map_or(Replicas::MAX, |written| written.max);
    cluster.entry.map_or(0, |_| written())
}
