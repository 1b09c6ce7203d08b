//! Which clusters run further replicas for others, and how many each (docs/design.md#clusters-that-leave). Pure.

use super::distribute::{Receiver, Receivers};
use super::row::Row;
use super::{Policy, ReplacementMin, Request};
use crate::split::Replicas;

/// Whether its first replica will start soon: its bounds are assigned, and it has an entry.
pub(super) fn starts(row: &Row<'_>) -> bool {
    let bound = row.bounds.is_some() && row.cluster.entry.is_some() && row.answers();
    bound && row.cluster.ready == 0 && row.cluster.pending == 0 && !row.memory.scaled_to_zero
}

/// Distributes `total` further replicas by policy; `all` includes clusters at zero, those without a ready replica, which
/// may never have one, and those whose replicas are unknown: these may have stopped to answer. Returns how many were
/// distributed.
pub(super) fn share_out(request: &Request<'_>, rows: &mut [Row<'_>], total: Replicas, all: bool) -> Replicas {
    if total == 0 {
        return 0;
    }
    let mut receivers = Receivers::of(rows, |row| {
        let spare = row.room_for_others(all).filter(|spare| *spare > 0)?;
        let room = row.cluster.available.unwrap_or(spare).into();
        let weight = if request.policy == Policy::StaticWeighted { row.weight } else { room };
        Some(Receiver { weight, capacity: spare, ..Receiver::of(row, 0, spare) })
    });
    receivers.distribute(request.policy.of_help(), total);
    receivers.hand_out(rows, |row, share| {
        if share > 0 {
            let (replicas, since) = (row.comes_to().saturating_add(share), request.now);
            row.memory.scaled_to_zero = false;
            row.memory.replacement_min = Some(ReplacementMin { replicas, uncovered: 0, since });
        }
    });
    receivers.given()
}
