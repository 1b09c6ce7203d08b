//! The part of the user's min that clusters with unschedulable pods cannot run, and that others run as long
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use super::assist::held;
use super::distribute::{Receiver, Receivers};
use super::row::{Row, bound, sum, take};
use super::{Assist, Request};
use crate::split::Replicas;

/// Lets others run what clusters with unschedulable pods lack of their min, as far as all are below that of the user: by
/// the min of their HPAs, since no load asks for it. What already runs there holds first, so that nothing moves; what did
/// not come within the time of an assist is asked of those that have room now.
pub(super) fn hold_min(request: &Request<'_>, rows: &mut [Row<'_>]) {
    let lacks = |row: &Row<'_>| row.is_stuck(request) && row.cluster.running() < row.bounds.min;
    if !request.policy.divides() || !bound(rows).any(lacks) {
        return;
    }
    let lacking = lacking(request, rows);
    let above = |row: &Row<'_>| if row.may_hold(request) { row.has().saturating_sub(row.bounds.min) } else { 0 };
    let there = lacking.min(sum(rows.iter().map(above)));
    take(there, rows, above, |row, more| row.held = row.bounds.min.saturating_add(more));
    let mut receivers = Receivers::of(rows, |row| {
        let room = row.room_up_to(row.most_in_effect(), false).filter(|_| row.may_hold(request))?;
        let room = room.saturating_sub(row.bounds.min.saturating_sub(row.comes_to()));
        (room > 0).then(|| Receiver { capacity: room, ..Receiver::of(row, 0, room) })
    });
    receivers.distribute(request.policy.of_help(), lacking.saturating_sub(there));
    receivers.hand_out(rows, |row, share| {
        if share > 0 {
            row.held = row.has().saturating_add(share);
        }
    });
    rows.iter_mut().filter(|row| row.held > 0).for_each(|row| remember(request, row));
}

/// What all clusters together are below the user's min, by what runs where pods cannot be scheduled, and by the mins of
/// the others.
fn lacking(request: &Request<'_>, rows: &[Row<'_>]) -> Replicas {
    let runs = |row: &Row<'_>| match row.answers() {
        true if row.is_stuck(request) => row.cluster.running(),
        true => row.bounds.min,
        false => row.cluster.may_run().max(row.bounds.min),
    };
    let awake = bound(rows).filter(|row| !row.memory.scaled_to_zero);
    request.total.min.saturating_sub(sum(awake.map(runs)))
}

/// Stores it as an assist, with the time from which it is asked for.
fn remember(request: &Request<'_>, row: &mut Row<'_>) {
    let stays = |assist: &Assist| {
        let waits = request.within(Some(assist.since), held(request));
        assist.replicas == row.held && (waits || row.cluster.running() >= row.held)
    };
    let known = row.memory.assist.or(row.cluster.memory.assist.filter(stays));
    let assist = known.unwrap_or(Assist { replicas: row.held, since: request.now });
    row.memory.assist = Some(Assist { replicas: assist.replicas.max(row.held), ..assist });
}

impl Row<'_> {
    /// Whether others help because its pods cannot be scheduled.
    fn is_stuck(&self, request: &Request<'_>) -> bool {
        self.is_pending() && self.counts(request)
    }

    /// Whether it may run a part of the min of others.
    fn may_hold(&self, request: &Request<'_>) -> bool {
        self.bounds.is_some() && self.answers() && !self.is_stuck(request) && !self.memory.scaled_to_zero
    }

    /// Its max as far as it is written: no HPA runs more.
    fn most_in_effect(&self) -> Replicas {
        self.bounds.max.min(self.cluster.written().map_or(0, |written| written.max))
    }

    /// Replicas that it runs, or was asked to run at once, or its min.
    fn has(&self) -> Replicas {
        self.cluster.running().max(self.memory.ordered()).min(self.most_in_effect()).max(self.bounds.min)
    }
}
