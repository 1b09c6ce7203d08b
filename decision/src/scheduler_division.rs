//! Division of replicas over clusters, with the arithmetic of karmada-scheduler. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::plan::Policy;

/// A cluster that may get replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its static weight, or the further replicas that fit.
    pub weight: i64,
    /// Replicas in the last division.
    pub last: i32,
}

/// Divides `wanted` replicas as karmada-scheduler does for a placement of this policy; it knows no priorities.
///
/// # Errors
/// How many fit, when that is too few: the last division stays then.
pub fn divide(policy: Policy, wanted: i32, candidates: &[Candidate]) -> Result<BTreeMap<String, i32>, i64> {
    match policy {
        Policy::Duplicated => Ok(candidates.iter().map(|candidate| (candidate.name.clone(), wanted)).collect()),
        Policy::StaticWeighted if candidates.iter().all(|candidate| candidate.weight == 0) => {
            let even: Vec<Candidate> = candidates.iter().map(|c| Candidate { weight: 1, ..c.clone() }).collect();
            Ok(by_weight(wanted, &even))
        }
        Policy::StaticWeighted => Ok(by_weight(wanted, candidates)),
        Policy::DynamicWeighted => by_room(wanted, candidates, false),
        Policy::Aggregated | Policy::Prioritized => by_room(wanted, candidates, true),
    }
}

/// Divides `seats` by weight with Webster's method: the next replica goes where weight / (2 * replicas + 1) is
/// greatest. Of equals, the one that had more before, then the one with fewer, then the first by name.
#[must_use]
pub fn by_weight(seats: i32, candidates: &[Candidate]) -> BTreeMap<String, i32> {
    let total: i128 = candidates.iter().map(|candidate| i128::from(candidate.weight)).sum();
    let mut given: Vec<(&Candidate, i128)> = candidates.iter().map(|candidate| (candidate, 0)).collect();
    if total <= 0 {
        return BTreeMap::new();
    }
    // No cluster ends further below its quota than there are clusters: begin there, so that the work is bounded.
    let slack = i128::try_from(candidates.len()).unwrap_or_default();
    for (candidate, seats_of) in &mut given {
        let quota = i128::from(seats).saturating_mul(candidate.weight.into()).checked_div(total);
        *seats_of = quota.unwrap_or_default().saturating_sub(slack).max(0);
    }
    let mut left = i128::from(seats).saturating_sub(given.iter().map(|(_, seats)| *seats).sum());
    while left > 0 {
        let next = given.iter_mut().max_by(|(a, x), (b, y)| {
            let odd = |seats: i128| seats.saturating_mul(2).saturating_add(1);
            let weighed = |weight: i64, seats: i128| i128::from(weight).saturating_mul(odd(seats));
            let crossed = weighed(a.weight, *y).cmp(&weighed(b.weight, *x));
            let tie = (a.last, Reverse(*x), Reverse(&a.name)).cmp(&(b.last, Reverse(*y), Reverse(&b.name)));
            crossed.then(tie)
        });
        if let Some((_, seats)) = next {
            *seats = seats.saturating_add(1);
        }
        left = left.saturating_sub(1);
    }
    let whole = |seats: i128| i32::try_from(seats).unwrap_or(i32::MAX);
    given.into_iter().map(|(candidate, seats)| (candidate.name.clone(), whole(seats))).collect()
}

/// Divides by free capacity (`weight`), and keeps existing replicas: only the difference is divided. `aggregated` uses
/// as few clusters as possible, first those with replicas.
///
/// # Errors
/// How many fit, when that is too few.
pub fn by_room(wanted: i32, candidates: &[Candidate], aggregated: bool) -> Result<BTreeMap<String, i32>, i64> {
    let there: BTreeMap<String, i32> =
        candidates.iter().filter(|c| c.last > 0).map(|c| (c.name.clone(), c.last)).collect();
    let assigned: i32 = there.values().fold(0, |sum, replicas| sum.saturating_add(*replicas));
    if assigned == wanted {
        return Ok(there);
    }
    if assigned > wanted {
        let mut shrinking: Vec<Candidate> =
            candidates.iter().map(|c| Candidate { weight: c.last.into(), ..c.clone() }).collect();
        if aggregated {
            shrinking = fewest(wanted, shrinking);
        }
        return Ok(by_weight(wanted, &shrinking));
    }
    let missing = wanted.saturating_sub(assigned);
    let room: i64 = candidates.iter().fold(0, |sum, candidate| sum.saturating_add(candidate.weight));
    if room < missing.into() {
        return Err(room);
    }
    let growing = if aggregated { fewest(missing, candidates.to_vec()) } else { candidates.to_vec() };
    let mut result = there;
    for (name, more) in by_weight(missing, &growing) {
        let replicas = result.entry(name).or_default();
        *replicas = replicas.saturating_add(more);
    }
    Ok(result)
}

/// The first clusters with capacity for `wanted`: those with replicas before the others, each by capacity.
fn fewest(wanted: i32, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_key(|candidate| (candidate.last == 0, Reverse(candidate.weight), candidate.name.clone()));
    let mut room = 0_i64;
    let mut taken = Vec::new();
    for candidate in candidates {
        if room >= wanted.into() {
            break;
        }
        room = room.saturating_add(candidate.weight);
        taken.push(candidate);
    }
    taken
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{Candidate, by_room, by_weight};

    fn candidates(weights: &[i64]) -> Vec<Candidate> {
        let named = weights.iter().enumerate();
        named.map(|(at, weight)| Candidate { name: format!("m{at}"), weight: *weight, last: 0 }).collect()
    }

    fn split(seats: i32, weights: &[i64]) -> Vec<i32> {
        by_weight(seats, &candidates(weights)).into_values().collect()
    }

    #[test]
    fn replicas_follow_the_weights_as_in_karmada() {
        assert_eq!(split(10, &[1, 2, 3]), [2, 3, 5]);
        assert_eq!(split(2, &[1, 2, 3]), [0, 1, 1]);
        assert_eq!(split(8, &[1, 5, 2]), [1, 5, 2]);
        assert_eq!(split(24, &[1, 5, 2]), [3, 15, 6]);
        assert_eq!(split(9, &[1, 2]), [3, 6]);
        assert_eq!(split(9, &[1, 3]), [2, 7]);
        assert_eq!(split(5, &[0, 0]), [0; 0]);
    }

    #[test]
    fn growing_leaves_what_is_there() {
        let mut there = candidates(&[4, 4]);
        there[0].last = 3;
        assert_eq!(by_room(5, &there, false), Ok(BTreeMap::from([("m0".into(), 4), ("m1".into(), 1)])));
        assert_eq!(by_room(5, &there, true), Ok(BTreeMap::from([("m0".into(), 5)])));
        assert_eq!(by_room(12, &there, false), Err(8));
    }

    #[test]
    fn shrinking_follows_what_is_there() {
        let mut there = candidates(&[0, 0]);
        there[0].last = 2;
        there[1].last = 4;
        assert_eq!(by_room(3, &there, false), Ok(BTreeMap::from([("m0".into(), 1), ("m1".into(), 2)])));
    }

    proptest! {
        #[test]
        fn a_division_by_weight_sums_exactly(seats in 0..i32::MAX, weights in prop::collection::vec(0..1000_i64, 1..8)) {
            let sum: i64 = split(seats, &weights).iter().map(|seats| i64::from(*seats)).sum();
            prop_assert_eq!(sum, if weights.iter().sum::<i64>() == 0 { 0 } else { seats.into() });
        }

        #[test]
        fn starting_at_the_quota_changes_nothing(seats in 0..400_i32, weights in prop::collection::vec(1..100_i64, 1..6)) {
            let mut slow = vec![0_i64; weights.len()];
            for _ in 0..seats {
                let next = (0..weights.len()).max_by(|a, b| {
                    let crossed = (weights[*a] * (2 * slow[*b] + 1)).cmp(&(weights[*b] * (2 * slow[*a] + 1)));
                    crossed.then(slow[*b].cmp(&slow[*a])).then(b.cmp(a))
                });
                slow[next.unwrap()] += 1;
            }
            let fast: Vec<i64> = split(seats, &weights).into_iter().map(i64::from).collect();
            prop_assert_eq!(fast, slow);
        }
    }
}
