//! How many replicas fit into a cluster, from its resource summary and from the answers of estimators
//! (docs/design.md#on-the-wire; Karmada's general estimator). Pure.
//!
//! Only the sums over all nodes are used. Karmada's `resourceModels` (nodes by grade) are ignored: they describe a node
//! by the lower bound of its grade only, and karmada-scheduler-estimator is more accurate.

use std::collections::BTreeMap;

use super::quantity;
use super::split::Replicas;

/// A resource, in thousandths of its unit.
pub type Thousandths = i128;

/// Every replica is a pod, and nodes take a limited number of them.
pub const PODS: &str = "pods";

/// The largest number of replicas in Karmada's API; as an answer it means that there is no limit.
const UNLIMITED: i32 = i32::MAX;

/// Requests of each replica, by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand(BTreeMap<String, Thousandths>);

impl Demand {
    /// Reads `replicaRequirements.resourceRequest`. `None` when a quantity cannot be parsed. A resource with a request
    /// of 0 is left out; one pod is always requested.
    pub fn read<'a>(request: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let read = |(name, quantity): (&str, &str)| Some((name.to_owned(), quantity::thousandths(quantity)?));
        request.into_iter().map(read).collect()
    }
}

impl FromIterator<(String, Thousandths)> for Demand {
    fn from_iter<I: IntoIterator<Item = (String, Thousandths)>>(asked: I) -> Self {
        let mut asked: BTreeMap<_, _> = asked.into_iter().filter(|(_, amount)| *amount > 0).collect();
        let pods = asked.entry(PODS.to_owned()).or_default();
        *pods = 1000.max(*pods);
        Self(asked)
    }
}

/// Amounts of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(BTreeMap<String, Thousandths>);

impl FromIterator<(String, Thousandths)> for Amounts {
    fn from_iter<I: IntoIterator<Item = (String, Thousandths)>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl Amounts {
    /// Those that `replicas` request.
    #[must_use]
    pub fn of(Demand(each): &Demand, replicas: Replicas) -> Self {
        let all = |each: &Thousandths| each.saturating_mul(replicas.into());
        Self(each.iter().map(|(name, each)| (name.clone(), all(each))).collect())
    }

    /// Adds others.
    pub fn add(&mut self, others: Self) {
        for (name, more) in others.0 {
            let amount = self.0.entry(name).or_default();
            *amount = amount.saturating_add(more);
        }
    }

    /// Takes others away, none below nothing.
    pub fn take(&mut self, others: &Self) {
        for (name, less) in &others.0 {
            if let Some(amount) = self.0.get_mut(name) {
                *amount = amount.saturating_sub(*less).max(0);
            }
        }
    }

    /// The greater of both, of each resource.
    #[must_use]
    pub fn most(mut self, others: &Self) -> Self {
        for (name, other) in &others.0 {
            let amount = self.0.entry(name.clone()).or_default();
            *amount = (*amount).max(*other);
        }
        self
    }

    /// What is more than in `others`.
    #[must_use]
    pub fn since(&self, others: &Self) -> Self {
        let more = |(name, amount): (&String, &Thousandths)| {
            let before = others.0.get(name).copied().unwrap_or_default();
            (name.clone(), amount.saturating_sub(before).max(0))
        };
        Self(self.0.iter().map(more).collect())
    }

    /// No more of each than there is in `most`.
    #[must_use]
    pub fn within(&self, most: &Self) -> Self {
        let least = |(name, amount): (&String, &Thousandths)| {
            let most = most.0.get(name).copied().unwrap_or_default();
            (name.clone(), most.min(*amount))
        };
        Self(self.0.iter().map(least).collect())
    }

    /// How many replicas with this demand fit no more beside them.
    #[must_use]
    pub fn displaced(&self, Demand(each): &Demand) -> Replicas {
        let count = |(name, each): (&String, &Thousandths)| {
            let amount = self.0.get(name).copied().unwrap_or_default();
            let rounded = amount.saturating_add(each.saturating_sub(1)).checked_div(*each)?;
            Some(Replicas::try_from(rounded).unwrap_or(Replicas::MAX))
        };
        each.iter().filter_map(count).max().unwrap_or_default()
    }
}

/// Amount of one resource in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Allocatable amount of its nodes.
    pub allocatable: Thousandths,
    /// Requests of pods on nodes and of pods that wait for a node.
    pub taken: Thousandths,
}

/// Resources of a cluster (`status.resourceSummary`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary(BTreeMap<String, Stock>);

impl Summary {
    /// Reads the three lists of `status.resourceSummary`. A resource with a quantity that cannot be parsed is left out.
    pub fn read<'a, Q: AsRef<str>, I: IntoIterator<Item = (&'a str, Q)>>(
        allocatable: I,
        allocated: I,
        allocating: I,
    ) -> Self {
        let mut stocks: BTreeMap<String, Stock> = BTreeMap::new();
        for (name, quantity) in allocatable {
            if let Some(allocatable) = quantity::thousandths(quantity.as_ref()) {
                stocks.insert(name.to_owned(), Stock { allocatable, taken: 0 });
            }
        }
        for (name, quantity) in allocated.into_iter().chain(allocating) {
            match quantity::thousandths(quantity.as_ref()) {
                Some(taken) => {
                    if let Some(stock) = stocks.get_mut(name) {
                        stock.taken = stock.taken.saturating_add(taken);
                    }
                }
                None => {
                    stocks.remove(name);
                }
            }
        }
        Self(stocks)
    }

    /// Nodes on which no pod runs.
    #[must_use]
    pub fn idle(allocatable: &Amounts) -> Self {
        let stock = |(name, amount): (&String, &Thousandths)| (name.clone(), Stock { allocatable: *amount, taken: 0 });
        Self(allocatable.0.iter().map(stock).collect())
    }

    /// What its nodes have.
    #[must_use]
    pub fn allocatable(&self) -> Amounts {
        Amounts(self.stocks().map(|(name, stock)| (name.to_owned(), stock.allocatable)).collect())
    }

    /// Adds nodes.
    pub fn grow(&mut self, more: &Amounts) {
        for (name, more) in &more.0 {
            let stock = self.0.entry(name.clone()).or_default();
            stock.allocatable = stock.allocatable.saturating_add(*more);
        }
    }

    /// Counts `after` replicas where `before` were counted.
    pub fn count(&mut self, Demand(each): &Demand, before: Replicas, after: Replicas) {
        let more = i128::from(after).saturating_sub(before.into());
        for (name, each) in each {
            if let Some(stock) = self.0.get_mut(name) {
                stock.taken = stock.taken.saturating_add(each.saturating_mul(more));
            }
        }
    }

    /// The resources by name.
    pub fn stocks(&self) -> impl Iterator<Item = (&str, &Stock)> {
        self.0.iter().map(|(name, stock)| (name.as_str(), stock))
    }

    /// Requests of all pods.
    #[must_use]
    pub fn taken(&self) -> Amounts {
        Amounts(self.stocks().map(|(name, stock)| (name.to_owned(), stock.taken)).collect())
    }

    /// Further replicas that fit beside the existing ones.
    #[must_use]
    pub fn available(&self, demand: &Demand) -> Replicas {
        self.beside(&Amounts::default(), demand)
    }

    /// Further replicas that fit beside the existing ones and `others`.
    #[must_use]
    pub fn beside(&self, others: &Amounts, demand: &Demand) -> Replicas {
        self.least(demand, |name, stock| {
            let others = others.0.get(name).copied().unwrap_or_default();
            stock.allocatable.saturating_sub(stock.taken.max(0)).saturating_sub(others)
        })
    }

    /// Replicas that would fit into the empty cluster.
    #[must_use]
    pub fn whole(&self, demand: &Demand) -> Replicas {
        self.least(demand, |_, stock| stock.allocatable)
    }

    /// The smallest number over the requested resources; a resource that the cluster does not have allows 0.
    fn least(&self, Demand(asked): &Demand, free: impl Fn(&str, &Stock) -> Thousandths) -> Replicas {
        let fits = |(name, each): (&String, &Thousandths)| {
            let fits = free(name, self.0.get(name)?).max(0).checked_div(*each)?;
            Some(Replicas::try_from(fits).unwrap_or(Replicas::MAX))
        };
        let least = asked.iter().map(|one| fits(one).unwrap_or_default()).min().unwrap_or_default();
        least.min(UNLIMITED.unsigned_abs())
    }
}

impl FromIterator<(String, Stock)> for Summary {
    fn from_iter<I: IntoIterator<Item = (String, Stock)>>(stocks: I) -> Self {
        Self(stocks.into_iter().collect())
    }
}

/// Answer of one source about the free capacity of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No usable answer.
    Unknown,
    /// This many replicas fit.
    Fits(Replicas),
    /// There is no limit.
    Unlimited,
}

impl Answer {
    /// Converts the number on the wire: below 0 (Karmada: `UnauthenticReplica`, -1) the source does not know.
    #[must_use]
    pub fn of(replicas: i32) -> Self {
        match replicas {
            UNLIMITED => Self::Unlimited,
            replicas => Replicas::try_from(replicas).map_or(Self::Unknown, Self::Fits),
        }
    }
}

/// The smallest of the answers; `None` when no source knows. When the only known answers are [`Answer::Unlimited`],
/// `most` fit: the most that could be requested.
#[must_use]
pub fn smallest(answers: impl IntoIterator<Item = Answer>, most: Replicas) -> Option<Replicas> {
    let mut unlimited = None;
    let fits = |answer| match answer {
        Answer::Unknown => None,
        Answer::Fits(replicas) => Some(replicas),
        Answer::Unlimited => {
            unlimited = Some(most);
            None
        }
    };
    answers.into_iter().filter_map(fits).min().or(unlimited)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(allocatable: &[(&str, &str)], allocated: &[(&str, &str)], allocating: &[(&str, &str)]) -> Summary {
        Summary::read(allocatable.to_vec(), allocated.to_vec(), allocating.to_vec())
    }

    fn demand(asked: &[(&str, &str)]) -> Demand {
        Demand::read(asked.to_vec()).unwrap()
    }

    /// A recorded Karmada status: 8 CPU, all requested, and four more pods pending.
    fn full() -> Summary {
        summary(
            &[("cpu", "8"), ("ephemeral-storage", "200Gi"), ("memory", "32Gi"), ("pods", "220")],
            &[("cpu", "8"), ("memory", "512Mi"), ("pods", "8")],
            &[("cpu", "4"), ("memory", "256Mi"), ("pods", "4")],
        )
    }

    #[test]
    fn the_scarcest_resource_decides() {
        let half = summary(&[("cpu", "8"), ("memory", "16Gi"), ("pods", "110")], &[("cpu", "1")], &[("cpu", "500m")]);
        for (asked, expected) in [
            (vec![("cpu", "500m"), ("memory", "1Gi")], 13),
            (vec![("cpu", "500m"), ("memory", "4Gi")], 4),
            (vec![("cpu", "1m"), ("memory", "1")], 110),
            (vec![("cpu", "100")], 0),
        ] {
            assert_eq!(half.available(&demand(&asked)), expected, "{asked:?}");
        }
        assert_eq!(half.whole(&demand(&[("cpu", "500m")])), 16);
    }

    #[test]
    fn pods_that_wait_for_a_node_are_subtracted_and_nothing_is_less_than_none() {
        assert_eq!(full().available(&demand(&[("cpu", "250m")])), 0);
        assert_eq!(full().available(&demand(&[("memory", "1Gi")])), 31);
        assert_eq!(full().available(&demand(&[])), 208);
        assert_eq!(full().whole(&demand(&[("cpu", "250m")])), 32);
    }

    #[test]
    fn a_resource_that_a_cluster_lacks_matters_when_it_is_asked_for() {
        assert_eq!(full().available(&demand(&[("nvidia.com/gpu", "1")])), 0);
        assert_eq!(full().available(&demand(&[("nvidia.com/gpu", "0")])), 208);
        assert_eq!(summary(&[("cpu", "8")], &[], &[]).available(&demand(&[("cpu", "1")])), 0);
    }

    #[test]
    fn what_cannot_be_read_is_not_there() {
        let odd = |taken| summary(&[("cpu", "8"), ("pods", "10")], &[("cpu", taken)], &[]);
        assert_eq!(odd("1").available(&demand(&[("cpu", "1")])), 7);
        assert_eq!(odd("one").available(&demand(&[("cpu", "1")])), 0);
        assert_eq!(odd("one").available(&demand(&[])), 10);
        assert_eq!(Demand::read([("cpu", "much")]), None);
    }

    #[test]
    fn a_cluster_with_more_bytes_than_64_bits_of_thousandths_has_room() {
        let huge = summary(&[("memory", "64Pi"), ("pods", "1M")], &[("memory", "63Pi")], &[]);
        assert_eq!(huge.available(&demand(&[("memory", "1Ti")])), 1024);
    }

    #[test]
    fn nodes_are_added_and_pods_counted() {
        let amounts = |cpu| Amounts::from_iter([("cpu".to_owned(), cpu), (PODS.to_owned(), 10_000)]);
        let mut nodes = Summary::idle(&amounts(4000));
        nodes.count(&demand(&[("cpu", "500m")]), 0, 5);
        assert_eq!(nodes.available(&demand(&[("cpu", "500m")])), 3);
        let room = amounts(9000).since(&nodes.allocatable());
        nodes.grow(&amounts(7000).within(&room));
        nodes.count(&demand(&[("cpu", "500m")]), 5, 4);
        assert_eq!(nodes.available(&demand(&[("cpu", "1")])), 6, "seven would fit, and there are pods for six");
    }

    #[test]
    fn the_smallest_answer_counts() {
        use Answer::{Fits, Unknown, Unlimited};
        let cases: &[(&[Answer], Option<Replicas>)] = &[
            (&[], None),
            (&[Unknown, Unknown], None),
            (&[Fits(3), Unknown], Some(3)),
            (&[Fits(3), Fits(0)], Some(0)),
            (&[Unlimited, Fits(3)], Some(3)),
            (&[Unlimited, Unknown], Some(20)),
        ];
        for (answers, expected) in cases {
            assert_eq!(smallest(answers.iter().copied(), 20), *expected, "{answers:?}");
        }
        assert_eq!([-1, -7, 0, 5, i32::MAX].map(Answer::of), [Unknown, Unknown, Fits(0), Fits(5), Unlimited]);
    }
}
