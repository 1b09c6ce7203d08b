//! The pods of one cluster, as numbers by phase. Pure.

use std::collections::VecDeque;

use super::Second;
use decision::split::Replicas;

/// Pods that reach the next stage together.
#[derive(Clone, Copy, Debug)]
struct Batch {
    due: Second,
    pods: Replicas,
}

/// Pods that are pending, starting, ready, and ready for long enough that their CPU counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Pods {
    /// Without a node.
    pub(super) pending: Replicas,
    starting: VecDeque<Batch>,
    warming: VecDeque<Batch>,
    settled: Replicas,
    /// Sum of `starting`.
    start: Replicas,
    /// Sum of `warming`.
    warm: Replicas,
}

impl Pods {
    pub(super) const fn ready(&self) -> Replicas {
        self.settled.saturating_add(self.warm)
    }

    /// Pods whose CPU counts.
    pub(super) const fn settled(&self) -> Replicas {
        self.settled
    }

    /// Pods on a node.
    pub(super) const fn placed(&self) -> Replicas {
        self.ready().saturating_add(self.start)
    }

    pub(super) const fn all(&self) -> Replicas {
        self.placed().saturating_add(self.pending)
    }

    /// Creates or deletes pods; deletes the least useful first, as a ReplicaSet does.
    pub(super) fn scale(&mut self, to: Replicas) {
        self.pending = self.pending.saturating_add(to.saturating_sub(self.all()));
        let mut over = self.all().saturating_sub(to);
        take(&mut self.pending, &mut over);
        drop_last(&mut self.starting, &mut self.start, &mut over);
        drop_last(&mut self.warming, &mut self.warm, &mut over);
        take(&mut self.settled, &mut over);
    }

    /// Assigns pending pods to nodes where `room` more fit; these are ready at `due`.
    pub(super) fn place(&mut self, room: Replicas, due: Second) {
        let pods = room.min(self.pending);
        if pods == 0 {
            return;
        }
        self.pending = self.pending.saturating_sub(pods);
        self.start = self.start.saturating_add(pods);
        self.starting.push_back(Batch { due, pods });
    }

    /// Advances time; returns whether a pod became ready.
    pub(super) fn advance(&mut self, now: Second, window: Second) -> bool {
        while let Some(batch) = self.warming.front().copied().filter(|batch| batch.due <= now) {
            self.warming.pop_front();
            self.warm = self.warm.saturating_sub(batch.pods);
            self.settled = self.settled.saturating_add(batch.pods);
        }
        let before = self.start;
        while let Some(batch) = self.starting.front().copied().filter(|batch| batch.due <= now) {
            self.starting.pop_front();
            self.start = self.start.saturating_sub(batch.pods);
            self.warm = self.warm.saturating_add(batch.pods);
            self.warming.push_back(Batch { due: now.saturating_add(window), ..batch });
        }
        self.start != before
    }

    /// Pods that are ready from the start.
    pub(super) fn settle(&mut self, pods: Replicas) {
        self.settled = self.settled.saturating_add(pods);
    }

    /// Makes all pods pending again.
    pub(super) fn restart(&mut self) {
        *self = Self { pending: self.all(), ..Self::default() };
    }
}

fn take(from: &mut Replicas, over: &mut Replicas) {
    let taken = (*from).min(*over);
    *from = from.saturating_sub(taken);
    *over = over.saturating_sub(taken);
}

fn drop_last(batches: &mut VecDeque<Batch>, sum: &mut Replicas, over: &mut Replicas) {
    while *over > 0 {
        let Some(last) = batches.back_mut() else { return };
        let before = *over;
        take(&mut last.pods, over);
        *sum = sum.saturating_sub(before.saturating_sub(*over));
        if last.pods == 0 {
            batches.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pods;

    #[test]
    fn pods_start_get_ready_and_settle() {
        let mut pods = Pods::default();
        pods.scale(5);
        pods.place(3, 10);
        pods.place(0, 10);
        assert_eq!((pods.pending, pods.placed(), pods.ready(), pods.all()), (2, 3, 0, 5));
        assert!(!pods.advance(9, 15) && pods.advance(10, 15));
        assert_eq!((pods.ready(), pods.settled()), (3, 0));
        pods.advance(25, 15);
        assert_eq!((pods.ready(), pods.settled()), (3, 3));
    }

    #[test]
    fn those_that_do_least_go_first() {
        let mut pods = Pods::default();
        pods.settle(2);
        pods.scale(6);
        pods.place(2, 10);
        pods.scale(3);
        assert_eq!((pods.pending, pods.placed(), pods.ready()), (0, 3, 2));
        pods.scale(1);
        assert_eq!((pods.placed(), pods.settled()), (1, 1));
    }
}
