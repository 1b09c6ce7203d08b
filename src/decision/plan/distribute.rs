//! A number of replicas given to the participants by policy (docs/design.md#initial-assignment). Pure.

use std::cmp::Reverse;

use super::Policy;
use super::participant::Participant;
use crate::decision::split::{Part, Replicas, by_weight};

/// Lower and upper limit of a participant's share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) low: Replicas,
    pub(super) high: Replicas,
}

/// Distributes `total` to the participants, in their order; each gets at least its `low`, where that is possible, and
/// at most its `high`.
///
/// * StaticWeighted: split by weight.
/// * DynamicWeighted: split by free capacity; the excess over the limits goes to the others by capacity, or evenly
///   where no cluster has any: unassigned bounds could not be used once there is free capacity.
/// * Aggregated: one after the other up to its capacity, largest first; the excess over all capacity goes to the
///   largest.
/// * Prioritized: the same by priority. Participants of one priority share by capacity: none of them is first.
pub(super) fn distribute(
    policy: Policy,
    total: Replicas,
    participants: &[Participant<'_>],
    ranges: &[Range],
) -> Vec<Replicas> {
    match policy {
        Policy::Duplicated => ranges.iter().map(|range| total.max(range.low).min(range.high)).collect(),
        Policy::StaticWeighted => weighted(total, participants, ranges, |participant| participant.weight),
        Policy::DynamicWeighted => by_room(total, participants, ranges),
        Policy::Aggregated | Policy::Prioritized => {
            in_order(total, participants, ranges, policy == Policy::Prioritized)
        }
    }
}

/// Distributes `rest` on top of the `low` of the ranges. By weight only the rest is divided; by order the whole is
/// divided, with `low` as a minimum.
pub(super) fn top_up<'a>(
    policy: Policy,
    rest: Replicas,
    participants: &[Participant<'a>],
    ranges: &[Range],
) -> Vec<Replicas> {
    let lows = ranges.iter().map(|range| range.low);
    if matches!(policy, Policy::StaticWeighted | Policy::DynamicWeighted) {
        let above: Vec<Range> =
            ranges.iter().map(|range| Range { low: 0, high: range.high.saturating_sub(range.low) }).collect();
        let kept = |(participant, range): (&Participant<'a>, &Range)| Participant {
            kept: participant.kept.map(|kept| kept.saturating_sub(range.low)),
            ..*participant
        };
        let participants: Vec<Participant<'_>> = participants.iter().zip(ranges).map(kept).collect();
        return lows
            .zip(distribute(policy, rest, &participants, &above))
            .map(|(low, more)| low.saturating_add(more))
            .collect();
    }
    distribute(policy, lows.fold(rest, Replicas::saturating_add), participants, ranges)
}

fn part<'a>(participant: &Participant<'a>, weight: u64, range: Range) -> Part<'a> {
    let cluster = participant.cluster;
    let current = cluster.current.or(cluster.entry).unwrap_or_default();
    let kept = participant.kept.unwrap_or_default();
    Part { name: cluster.name, current, weight, kept, low: range.low, high: range.high }
}

fn weighted(
    total: Replicas,
    participants: &[Participant<'_>],
    ranges: &[Range],
    weight: impl Fn(&Participant<'_>) -> u64,
) -> Vec<Replicas> {
    let parts =
        participants.iter().zip(ranges).map(|(participant, range)| part(participant, weight(participant), *range));
    by_weight(total, &parts.collect::<Vec<_>>())
}

fn by_room(total: Replicas, participants: &[Participant<'_>], ranges: &[Range]) -> Vec<Replicas> {
    let measures: [fn(&Participant<'_>) -> u64; 3] =
        [|participant| participant.weight, |participant| participant.capacity.into(), |_| 1];
    let mut shares: Vec<Replicas> = Vec::new();
    for measure in measures {
        let over = |(range, share): (&Range, &Replicas)| Range { low: *share, ..*range };
        let above: Vec<Range> = ranges.iter().zip(&shares).map(over).collect();
        shares = weighted(total, participants, if shares.is_empty() { ranges } else { &above }, measure);
        if shares.iter().map(|share| u64::from(*share)).sum::<u64>() >= total.into() {
            break;
        }
    }
    shares
}

/// One participant with its index.
type Placed<'s, 'a> = (usize, &'s Participant<'a>, Range);

fn in_order(total: Replicas, participants: &[Participant<'_>], ranges: &[Range], by_priority: bool) -> Vec<Replicas> {
    let mut order: Vec<Placed<'_, '_>> = participants
        .iter()
        .zip(ranges)
        .enumerate()
        .map(|(at, (participant, range))| (at, participant, *range))
        .collect();
    order.sort_unstable_by_key(|(_, participant, _)| {
        let cluster = participant.cluster;
        let priority = if by_priority { cluster.priority } else { None };
        (Reverse(priority), Reverse(participant.capacity), Reverse(cluster.current), participant.at)
    });
    if !by_priority {
        steady(&mut order);
    }
    let mut given = vec![0; participants.len()];
    let mut rest = total;
    let levels: [fn(&Participant<'_>, Range) -> Replicas; 3] = [
        |_, range| range.low,
        |participant, range| participant.capacity.clamp(range.low, range.high.max(range.low)),
        |_, range| range.high.max(range.low),
    ];
    for level in levels {
        for tier in order.chunk_by(|a, b| by_priority && a.1.cluster.priority == b.1.cluster.priority) {
            rest = raise(rest, tier, level, &mut given);
        }
    }
    given
}

/// Participants of about one size keep their current order: the one with more replicas is first. One is moved before
/// another only when it is clearly larger, because sizes change a little with every replica.
fn steady(order: &mut [Placed<'_, '_>]) {
    if order.iter().any(|(_, participant, _)| participant.kept.is_none()) {
        return;
    }
    order.sort_by_key(|(_, participant, _)| Reverse(participant.kept));
    // The least size up to each place, in which the first clearly smaller one is found by bisection.
    let mut least: Vec<Replicas> = Vec::with_capacity(order.len());
    for at in 0..order.len() {
        let Some(capacity) = order.get(at).map(|(_, participant, _)| participant.capacity) else { continue };
        let place = least.partition_point(|least| !is_clearly_more(capacity, *least));
        let before = place.checked_sub(1).and_then(|before| least.get(before));
        least.insert(place, before.map_or(capacity, |before| capacity.min(*before)));
        if let Some(later) = order.get_mut(place..=at) {
            later.rotate_right(1);
        }
    }
}

/// By a tenth, and by at least one.
fn is_clearly_more(one: Replicas, other: Replicas) -> bool {
    u64::from(one).saturating_mul(10) > u64::from(other).saturating_mul(11).saturating_add(10)
}

/// Raises the participants of a tier up to a level as far as `rest` allows; returns the remainder.
fn raise(
    rest: Replicas,
    tier: &[Placed<'_, '_>],
    level: fn(&Participant<'_>, Range) -> Replicas,
    given: &mut [Replicas],
) -> Replicas {
    if rest == 0 {
        return 0;
    }
    let before = |at: usize, given: &[Replicas]| given.get(at).copied().unwrap_or_default();
    let missing =
        tier.iter().map(|(at, participant, range)| level(participant, *range).saturating_sub(before(*at, given)));
    let missing: u64 = missing.map(u64::from).sum();
    if missing <= rest.into() {
        for (at, participant, range) in tier {
            if let Some(given) = given.get_mut(*at) {
                *given = (*given).max(level(participant, *range));
            }
        }
        return rest.saturating_sub(Replicas::try_from(missing).unwrap_or(Replicas::MAX));
    }
    let has: u64 = tier.iter().map(|(at, ..)| u64::from(before(*at, given))).sum();
    let total = Replicas::try_from(has.saturating_add(rest.into())).unwrap_or(Replicas::MAX);
    let capacity: u64 = tier.iter().map(|(_, participant, _)| u64::from(participant.capacity)).sum();
    let parts: Vec<Part<'_>> = tier
        .iter()
        .map(|(at, participant, range)| {
            let weight = if capacity == 0 { 1 } else { participant.capacity.into() };
            part(participant, weight, Range { low: before(*at, given), high: level(participant, *range) })
        })
        .collect();
    let mut raised = by_weight(total, &parts);
    // A participant without capacity has weight 0; the excess of the others goes to it.
    let left = u64::from(total).saturating_sub(raised.iter().map(|share| u64::from(*share)).sum());
    if left > 0 && capacity > 0 {
        let parts: Vec<Part<'_>> =
            parts.iter().zip(&raised).map(|(part, low)| Part { weight: 1, low: *low, ..*part }).collect();
        raised = by_weight(total, &parts);
    }
    let mut rest = rest;
    for ((at, ..), share) in tier.iter().zip(raised) {
        if let Some(given) = given.get_mut(*at) {
            rest = rest.saturating_sub(share.saturating_sub(*given));
            *given = share;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::decision::plan::Cluster;

    /// The names in the order in which they are filled: name, current bounds, and size.
    fn filled<'a>(participants: &[(&'a str, Option<Replicas>, Replicas)]) -> Vec<&'a str> {
        let clusters: Vec<Cluster<'_>> =
            participants.iter().map(|(name, ..)| Cluster { name, ..Cluster::default() }).collect();
        let participant = |(at, (_, kept, capacity)): (usize, &(&str, Option<Replicas>, Replicas))| Participant {
            at,
            cluster: &clusters[at],
            weight: 0,
            capacity: *capacity,
            high: Replicas::MAX,
            kept: *kept,
        };
        let all: Vec<Participant<'_>> = participants.iter().enumerate().map(participant).collect();
        let mut order: Vec<Placed<'_, '_>> = all
            .iter()
            .enumerate()
            .map(|(at, participant)| (at, participant, Range { low: 0, high: Replicas::MAX }))
            .collect();
        order.sort_unstable_by_key(|(_, participant, _)| Reverse(participant.capacity));
        steady(&mut order);
        order.iter().map(|(at, ..)| participants[*at].0).collect()
    }

    #[test]
    fn participants_of_about_one_size_keep_their_order() {
        assert_eq!(filled(&[("a", Some(10), 20), ("b", Some(20), 19)]), ["b", "a"]);
        assert_eq!(filled(&[("a", Some(10), 21), ("b", Some(20), 19)]), ["b", "a"]);
        assert_eq!(filled(&[("a", Some(10), 22), ("b", Some(20), 19)]), ["a", "b"]);
        // Without current bounds the larger is first.
        assert_eq!(filled(&[("a", None, 19), ("b", None, 20)]), ["b", "a"]);
        // The last is clearly larger than the first, though not than the second.
        assert_eq!(filled(&[("a", Some(3), 15), ("b", Some(2), 17), ("c", Some(1), 18)]), ["c", "a", "b"]);
    }

    proptest! {
        #[test]
        fn each_participant_is_before_the_first_that_is_clearly_smaller(sizes in vec(0_u32..60, 0..40)) {
            let mut wanted: Vec<usize> = Vec::new();
            for (at, size) in sizes.iter().enumerate() {
                let smaller = wanted.iter().position(|other| is_clearly_more(*size, sizes[*other]));
                wanted.insert(smaller.unwrap_or(wanted.len()), at);
            }
            let names: Vec<String> = (0..sizes.len()).map(|at| at.to_string()).collect();
            let kept = (0..100).rev().map(Some);
            let participants: Vec<(&str, Option<Replicas>, Replicas)> =
                names.iter().zip(kept).zip(&sizes).map(|((name, kept), size)| (name.as_str(), kept, *size)).collect();
            let wanted: Vec<&str> = wanted.iter().map(|at| names[*at].as_str()).collect();
            prop_assert_eq!(filled(&participants), wanted);
        }
    }
}
