//! A number of replicas given to clusters by policy (docs/design.md#initial-assignment). Pure.

use std::cmp::Reverse;

use super::row::Row;
use super::{Cluster, Policy};
use crate::split::{Part, Replicas, by_weight};

/// A cluster that gets a share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver<'a> {
    /// The index of its row.
    pub(super) at: usize,
    pub(super) cluster: &'a Cluster<'a>,
    pub(super) weight: u64,
    pub(super) capacity: Replicas,
    /// Its current max, where clusters of about one size should keep their order, and what they have of a share that is
    /// rounded; `None`: only their sizes count.
    pub(super) kept: Option<Replicas>,
    /// The part of its lower limit on top of which its weight counts: what runs there, if it weighs by what is free.
    pub(super) base: Replicas,
    /// Lower limit of its share.
    pub(super) low: Replicas,
    /// Upper limit of its share.
    pub(super) high: Replicas,
    pub(super) share: Replicas,
}

impl<'a> Receiver<'a> {
    /// A row that gets a share between these limits.
    pub(super) fn of(row: &Row<'a>, low: Replicas, high: Replicas) -> Self {
        let Row { cluster, weight, capacity, .. } = *row;
        Self { at: 0, cluster, weight, capacity, kept: None, base: 0, low, high, share: 0 }
    }

    fn part(&self, weight: u64, low: Replicas, high: Replicas) -> Part<'a> {
        let Cluster { name, current, entry, .. } = *self.cluster;
        let current = current.or(entry).unwrap_or_default();
        Part { name, current, weight, kept: self.kept.unwrap_or_default(), low, high }
    }

    /// As [`Self::part`], of what is on top of its base.
    fn part_above(&self, weight: u64) -> Part<'a> {
        let above = |replicas: Replicas| replicas.saturating_sub(self.base);
        Part { kept: above(self.kept.unwrap_or_default()), ..self.part(weight, above(self.share), above(self.high)) }
    }
}

/// Clusters that get a share, in the order of their rows.
pub(super) struct Receivers<'a>(Vec<Receiver<'a>>);

impl<'a> Receivers<'a> {
    /// The rows of which `receiver` makes one.
    pub(super) fn of(rows: &[Row<'a>], receiver: impl Fn(&Row<'a>) -> Option<Receiver<'a>>) -> Self {
        let placed = |(at, row): (usize, &Row<'a>)| Some(Receiver { at, ..receiver(row)? });
        Self(rows.iter().enumerate().filter_map(placed).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sum of the lower limits, saturated.
    pub(super) fn lowest(&self) -> Replicas {
        self.0.iter().fold(0, |sum, receiver| sum.saturating_add(receiver.low))
    }

    /// The sum of the lower limits.
    pub(super) fn lows(&self) -> u64 {
        self.0.iter().map(|receiver| u64::from(receiver.low)).sum()
    }

    /// The sum of the shares above the lower limits, saturated.
    pub(super) fn given(&self) -> Replicas {
        self.0.iter().fold(0, |sum, receiver| sum.saturating_add(receiver.share.saturating_sub(receiver.low)))
    }

    /// Tells each row its share.
    pub(super) fn hand_out(&self, rows: &mut [Row<'a>], mut raise: impl FnMut(&mut Row<'a>, Replicas)) {
        for receiver in &self.0 {
            if let Some(row) = rows.get_mut(receiver.at) {
                raise(row, receiver.share);
            }
        }
    }

    /// Distributes `total`; each gets at least its `low`, where that is possible, and at most its `high`.
    ///
    /// * StaticWeighted: split by weight.
    /// * DynamicWeighted: split by free capacity, on top of what runs; the excess over the limits goes to the others by
    ///   capacity, or evenly where no cluster has any: unassigned bounds could not be used once there is free capacity.
    /// * Aggregated: one after the other up to its capacity, those that run some first, then the largest; the
    ///   excess over all capacity goes to the largest.
    /// * Prioritized: the same by priority. Clusters of one priority share by capacity: none of them is first.
    pub(super) fn distribute(&mut self, policy: Policy, total: Replicas) {
        match policy {
            Policy::Duplicated => {
                for one in &mut self.0 {
                    one.share = total.max(one.low).min(one.high);
                }
            }
            Policy::StaticWeighted => {
                self.start();
                self.weighted(total, |receiver| receiver.weight);
            }
            Policy::DynamicWeighted => self.by_room(total),
            Policy::Aggregated | Policy::Prioritized => self.in_order(total, policy == Policy::Prioritized),
        }
    }

    /// Distributes `rest` on top of the `low` of each. By weight only the rest is divided; by order the whole is
    /// divided, with `low` as a minimum.
    pub(super) fn top_up(&mut self, policy: Policy, rest: Replicas) {
        for one in &mut self.0 {
            one.base = one.low;
        }
        self.distribute(policy, rest.saturating_add(self.lowest()));
    }

    /// Each has its `low`.
    fn start(&mut self) {
        for one in &mut self.0 {
            one.share = one.low;
        }
    }

    /// Splits `total` by weight, on top of the base of each; each keeps at least what it has.
    fn weighted(&mut self, total: Replicas, weight: impl Fn(&Receiver<'a>) -> u64) {
        let bases: u64 = self.0.iter().map(|one| u64::from(one.base)).sum();
        if bases > total.into() {
            self.0.iter_mut().for_each(|one| one.base = 0);
        }
        let above = total.saturating_sub(self.0.iter().fold(0, |sum, one| sum.saturating_add(one.base)));
        let parts: Vec<Part<'_>> = self.0.iter().map(|one| one.part_above(weight(one))).collect();
        for (one, share) in self.0.iter_mut().zip(by_weight(above, &parts)) {
            one.share = one.base.saturating_add(share);
        }
    }

    fn by_room(&mut self, total: Replicas) {
        let measures: [fn(&Receiver<'a>) -> u64; 3] = [|one| one.weight, |one| one.capacity.into(), |_| 1];
        self.start();
        for measure in measures {
            self.weighted(total, measure);
            if self.0.iter().map(|one| u64::from(one.share)).sum::<u64>() >= total.into() {
                break;
            }
        }
    }

    fn in_order(&mut self, total: Replicas, by_priority: bool) {
        for one in &mut self.0 {
            one.share = 0;
        }
        let mut order: Vec<&mut Receiver<'a>> = self.0.iter_mut().collect();
        order.sort_unstable_by_key(|one| {
            let priority = if by_priority { one.cluster.priority } else { None };
            // As in Karmada, those that run some come first.
            let runs = !by_priority && one.cluster.running() > 0;
            (Reverse(priority), Reverse(runs), Reverse(one.capacity), Reverse(one.cluster.current), one.at)
        });
        if !by_priority {
            steady(&mut order);
        }
        let mut rest = total;
        let levels: [Level<'a>; 3] =
            [|one| one.low, |one| one.capacity.clamp(one.low, one.high.max(one.low)), |one| one.high.max(one.low)];
        for level in levels {
            for tier in order.chunk_by_mut(|a, b| by_priority && a.cluster.priority == b.cluster.priority) {
                rest = raise(rest, tier, level);
            }
        }
    }
}

/// Clusters of about one size keep their current order: the one with more replicas is first. One is moved before
/// another only when it is clearly larger, because sizes change a little with every replica.
fn steady(order: &mut [&mut Receiver<'_>]) {
    if order.iter().any(|one| one.kept.is_none()) {
        return;
    }
    order.sort_by_key(|one| Reverse(one.kept));
    // The least size up to each place, in which the first clearly smaller one is found by bisection.
    let mut least: Vec<Replicas> = Vec::with_capacity(order.len());
    for at in 0..order.len() {
        let Some(capacity) = order.get(at).map(|one| one.capacity) else { continue };
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

/// Up to how many replicas a cluster is filled.
type Level<'a> = fn(&Receiver<'a>) -> Replicas;

/// Raises the clusters of a tier up to a level as far as `rest` allows; returns the remainder.
fn raise<'a>(rest: Replicas, tier: &mut [&mut Receiver<'a>], level: Level<'a>) -> Replicas {
    if rest == 0 {
        return 0;
    }
    let missing: u64 = tier.iter().map(|one| u64::from(level(one).saturating_sub(one.share))).sum();
    if missing <= rest.into() {
        for one in tier {
            one.share = one.share.max(level(one));
        }
        return rest.saturating_sub(Replicas::try_from(missing).unwrap_or(Replicas::MAX));
    }
    let has: u64 = tier.iter().map(|one| u64::from(one.share)).sum();
    let total = Replicas::try_from(has.saturating_add(rest.into())).unwrap_or(Replicas::MAX);
    let capacity: u64 = tier.iter().map(|one| u64::from(one.capacity)).sum();
    let part = |one: &&mut Receiver<'a>| {
        let weight = if capacity == 0 { 1 } else { one.capacity.into() };
        one.part(weight, one.share, level(one))
    };
    let parts: Vec<Part<'_>> = tier.iter().map(part).collect();
    let mut raised = by_weight(total, &parts);
    // A cluster without capacity has weight 0; the excess of the others goes to it.
    let left = u64::from(total).saturating_sub(raised.iter().map(|share| u64::from(*share)).sum());
    if left > 0 && capacity > 0 {
        let parts: Vec<Part<'_>> =
            parts.iter().zip(&raised).map(|(part, low)| Part { weight: 1, low: *low, ..*part }).collect();
        raised = by_weight(total, &parts);
    }
    let mut rest = rest;
    for (one, share) in tier.iter_mut().zip(raised) {
        rest = rest.saturating_sub(share.saturating_sub(one.share));
        one.share = share;
    }
    rest
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The names in the order in which they are filled: name, current bounds, and size.
    fn filled<'a>(receivers: &[(&'a str, Option<Replicas>, Replicas)]) -> Vec<&'a str> {
        let clusters: Vec<Cluster<'_>> =
            receivers.iter().map(|(name, ..)| Cluster { name, ..Cluster::default() }).collect();
        let receiver = |(at, (_, kept, capacity)): (usize, &(&str, Option<Replicas>, Replicas))| Receiver {
            at,
            cluster: &clusters[at],
            weight: 0,
            capacity: *capacity,
            kept: *kept,
            base: 0,
            low: 0,
            high: Replicas::MAX,
            share: 0,
        };
        let mut all: Vec<Receiver<'_>> = receivers.iter().enumerate().map(receiver).collect();
        let mut order: Vec<&mut Receiver<'_>> = all.iter_mut().collect();
        order.sort_unstable_by_key(|one| Reverse(one.capacity));
        steady(&mut order);
        order.iter().map(|one| receivers[one.at].0).collect()
    }

    #[test]
    fn clusters_of_about_one_size_keep_their_order() {
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
        fn each_cluster_is_before_the_first_that_is_clearly_smaller(sizes in vec(0_u32..60, 0..40)) {
            let mut wanted: Vec<usize> = Vec::new();
            for (at, size) in sizes.iter().enumerate() {
                let smaller = wanted.iter().position(|other| is_clearly_more(*size, sizes[*other]));
                wanted.insert(smaller.unwrap_or(wanted.len()), at);
            }
            let names: Vec<String> = (0..sizes.len()).map(|at| at.to_string()).collect();
            let kept = (0..100).rev().map(Some);
            let receivers: Vec<(&str, Option<Replicas>, Replicas)> =
                names.iter().zip(kept).zip(&sizes).map(|((name, kept), size)| (name.as_str(), kept, *size)).collect();
            let wanted: Vec<&str> = wanted.iter().map(|at| names[*at].as_str()).collect();
            prop_assert_eq!(filled(&receivers), wanted);
        }
    }
}
