//! Replicas that others run at once in the place of clusters that cannot scale (docs/design.md#clusters-that-cannot-scale).
//! Pure.

use jiff::SignedDuration;

use super::adjust::{Participant, sum, take, within};
use super::pour::{Range, pour};
use super::seat::Seat;
use super::signal::counts;
use super::{Assist, Cause, Policy, Reach, Request};
use crate::decision::split::Replicas;

/// After this time what was not reached will not be.
const GIVEN_UP: SignedDuration = SignedDuration::from_secs(60);

/// Says who is to run how many at once. What was asked for a cluster is remembered with it, so that it is asked once.
pub(super) fn assist(request: &Request<'_>, places: &mut [Participant<'_, '_>]) {
    forget(request, places);
    let short: Vec<(&str, Replicas)> =
        places.iter().map(|place| (place.seat.cluster.name, shortfall(request, place))).collect();
    let total = sum(short.iter().map(|(_, short)| *short));
    let given = share_out(request, places, total);
    for (place, helped) in places.iter_mut().zip(take(given, &short)) {
        let memory = &mut place.target.memory;
        memory.helped = memory.helped.saturating_add(helped);
    }
}

/// Has the clusters that can run so many more, by policy. Returns how many they will.
fn share_out(request: &Request<'_>, places: &mut [Participant<'_, '_>], total: Replicas) -> Replicas {
    let able = places.iter().enumerate();
    let receivers: Vec<(usize, Seat<'_>, Range)> =
        able.filter_map(|(at, place)| Some((at, receiver(request, place)?))).map(seated).collect();
    if total == 0 || receivers.is_empty() {
        return 0;
    }
    let (seats, ranges): (Vec<Seat<'_>>, Vec<Range>) = receivers.iter().map(|(_, seat, range)| (*seat, *range)).unzip();
    // Each of a Duplicated workload has all of it: the one with most room helps.
    let policy = if request.policy.divides() { request.policy } else { Policy::Aggregated };
    let shares = pour(policy, total, &seats, &ranges);
    let given = sum(shares.iter().copied());
    for ((at, ..), share) in receivers.iter().zip(shares).filter(|(_, share)| *share > 0) {
        if let Some(place) = places.get_mut(*at) {
            let replicas = runs(place).saturating_add(share);
            place.target.memory.assist = Some(Assist { replicas, since: request.now });
        }
    }
    given
}

/// What was reached is forgotten, and what was not within a while: its HPA has decided since, and two would fight.
pub(super) fn forget(request: &Request<'_>, places: &mut [Participant<'_, '_>]) {
    for place in places {
        let max = place.seat.cluster.hpa.and_then(|hpa| hpa.written).unwrap_or_default().max;
        let current = place.seat.cluster.current;
        let memory = &mut place.target.memory;
        memory.assist = memory.assist.filter(|assist| {
            let reached = current.is_none_or(|current| current >= assist.replicas.min(max));
            // Not while its raise is still to come.
            let waits = max < assist.replicas && max < place.target.bounds.max;
            within(Some(assist.since), GIVEN_UP, request.now) && (!reached || waits)
        });
    }
}

/// `ceil(ready * metric / target) - ready`, without what others were asked for; of one at its max only what that max will
/// not allow. Without a metric: the pods that cannot be scheduled. (`ready`, not `current`: the metric is measured
/// over the pods that run, so that pods that do not would count twice.)
fn shortfall(request: &Request<'_>, place: &Participant<'_, '_>) -> Replicas {
    let Some(stuck) = place.target.memory.stuck.filter(|_| counts(request, place)) else { return 0 };
    let cluster = place.seat.cluster;
    let running = cluster.running();
    let wanted = cluster.load.map_or(cluster.current.unwrap_or_default(), |load| load.wanted(running));
    let has = match stuck.cause {
        Cause::Pending => running,
        Cause::AtMax => running.max(place.target.bounds.max),
    };
    wanted.saturating_sub(has).saturating_sub(place.target.memory.helped)
}

/// What it runs or is to run.
fn runs(place: &Participant<'_, '_>) -> Replicas {
    let assist = place.target.memory.assist.map_or(0, |assist| assist.replicas).max(place.target.memory.floor());
    place.seat.cluster.current.unwrap_or_default().max(assist)
}

/// What a cluster can run more, within its max and its room.
fn receiver<'a>(request: &Request<'_>, place: &Participant<'_, 'a>) -> Option<(Seat<'a>, Replicas)> {
    let cluster = place.seat.cluster;
    let able = place.answers() && !place.is_stuck() && cluster.reach == Reach::Scale;
    let runs = runs(place);
    let ordered = runs.saturating_sub(cluster.current?);
    let room = cluster.available.unwrap_or_default().saturating_sub(ordered);
    let spare = room.min(place.target.bounds.max.saturating_sub(runs));
    if !able || spare == 0 {
        return None;
    }
    let weight = if request.policy == Policy::StaticWeighted { place.seat.weight } else { room.into() };
    Some((Seat { weight, capacity: spare, ..*place.seat }, spare))
}

fn seated((at, (seat, spare)): (usize, (Seat<'_>, Replicas))) -> (usize, Seat<'_>, Range) {
    (at, seat, Range { low: 0, high: spare })
}
