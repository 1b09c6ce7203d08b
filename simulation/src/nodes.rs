//! The nodes of a cluster, which the pods of all workloads share, as sums by resource. Pure.

use super::{Growth, Second, Site};
use decision::capacity::{Amounts, Demand, Summary};
use decision::split::Replicas;

/// The nodes of a cluster, and what runs on them.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    summary: Summary,
    growth: Option<Growth>,
    growing: Option<Second>,
}

/// Nodes that were added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) nodes: Replicas,
    /// What they have, together.
    pub(super) more: Amounts,
}

/// Pods without a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<'a> {
    pub(super) each: &'a Demand,
    pub(super) pods: Replicas,
}

impl Nodes {
    pub(super) fn new(site: &Site<'_>) -> Self {
        Self { summary: Summary::idle(&site.capacity), growth: site.growth.clone(), growing: None }
    }

    /// Further replicas that fit.
    pub(super) fn fits(&self, each: &Demand) -> Replicas {
        self.summary.available(each)
    }

    /// Replicas that fit where nothing runs.
    pub(super) fn whole(&self, each: &Demand) -> Replicas {
        self.summary.whole(each)
    }

    /// Counts `after` pods on nodes where `before` were.
    pub(super) fn count(&mut self, each: &Demand, before: Replicas, after: Replicas) {
        if before != after {
            self.summary.count(each, before, after);
        }
    }

    /// No node is awaited any more.
    pub(super) fn restart(&mut self) {
        self.growing = None;
    }

    /// What the cluster reports: pods that wait for a node count, too.
    pub(super) fn report<'a>(&self, pending: impl Iterator<Item = Pending<'a>>) -> Summary {
        let mut report = self.summary.clone();
        for Pending { each, pods } in pending.filter(|pending| pending.pods > 0) {
            report.count(each, 0, pods);
        }
        report
    }

    /// Whether further nodes for such a pod can be added, where the cluster adds nodes at all.
    pub(super) fn can_grow(&self, each: &Demand) -> Option<bool> {
        let growth = self.growth.as_ref()?;
        Some(Summary::idle(&growth.capacity).whole(each) > self.whole(each))
    }

    /// Adds nodes while pods are pending.
    pub(super) fn grow<'a>(
        &mut self,
        pending: &(impl Iterator<Item = Pending<'a>> + Clone),
        now: Second,
    ) -> Option<Added> {
        let growth = self.growth.as_ref()?;
        let waiting = || pending.clone().filter(|pending| pending.pods > 0);
        match self.growing {
            Some(due) if due <= now => {
                let mut needed = Amounts::default();
                waiting().for_each(|pending| needed.add(Amounts::of(pending.each, pending.pods)));
                let nodes = needed.displaced(&growth.step).max(1);
                let left = growth.capacity.since(&self.summary.allocatable());
                let more = Amounts::of(&growth.step, nodes).within(&left);
                self.summary.grow(&more);
                self.growing = None;
                return Some(Added { nodes, more });
            }
            Some(_) if waiting().next().is_none() => self.growing = None,
            None if waiting().any(|pending| self.helps(pending.each)) => {
                self.growing = Some(now.saturating_add(growth.delay));
            }
            Some(_) | None => {}
        }
        None
    }

    /// Whether a pod finds no node and would find one among those that can be added.
    fn helps(&self, each: &Demand) -> bool {
        self.fits(each) == 0 && self.can_grow(each) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use decision::fleet::Member;
    use decision::plan::HpaVersion;

    fn cpu(number: &str) -> Demand {
        Demand::read([("cpu", number)]).unwrap()
    }

    #[test]
    fn nodes_come_for_the_pods_of_all_workloads() {
        let step = Demand::read([("cpu", "4"), ("pods", "110")]).unwrap();
        let mut nodes = Nodes::new(&Site {
            member: Member::default(),
            version: HpaVersion::V2,
            capacity: Amounts::of(&cpu("1"), 4),
            growth: Some(Growth { capacity: Amounts::of(&cpu("1"), 11), step, delay: 60 }),
            pod_start: None,
            writable: true,
        });
        let (small, large) = (cpu("1"), cpu("2"));
        nodes.count(&large, 0, 2);
        let pending = [Pending { each: &small, pods: 3 }, Pending { each: &large, pods: 1 }];
        assert_eq!(nodes.report(pending.iter().copied()).available(&small), 0);
        assert_eq!(nodes.grow(&pending.iter().copied(), 10), None);
        assert_eq!(nodes.grow(&pending.iter().copied(), 69), None);
        let added = nodes.grow(&pending.iter().copied(), 70).unwrap();
        assert_eq!((added.nodes, nodes.fits(&small)), (2, 7), "eight CPUs, of which seven can come");
        assert_eq!(nodes.grow(&pending.iter().copied(), 71), None, "all fit, and no further node can come");
    }
}
