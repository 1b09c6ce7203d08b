//! Which connections give way where all places are taken.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Connections without a request yet, the oldest first.
pub(super) struct Silent {
    all: Mutex<VecDeque<Weak<Notify>>>,
    /// With so many entries those of connections that ended or sent a request are removed.
    most: usize,
}

impl Silent {
    /// None, of at most `connections` at a time.
    pub(super) fn new(connections: usize) -> Self {
        Self { all: Mutex::default(), most: connections.saturating_mul(2) }
    }

    /// One more, as long as what is returned lives; it is notified when it is to give way.
    pub(super) fn enter(&self) -> Arc<Notify> {
        let one = Arc::new(Notify::new());
        let mut all = self.all.lock();
        if all.len() >= self.most {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push_back(Arc::downgrade(&one));
        one
    }

    /// Has the oldest give way. Returns whether there is any.
    pub(super) fn displace(&self) -> bool {
        let mut all = self.all.lock();
        let oldest = std::iter::from_fn(|| all.pop_front()).find_map(|one| one.upgrade());
        oldest.inspect(|oldest| oldest.notify_one()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn the_oldest_that_is_left_gives_way_once() {
        let silent = Silent::new(4);
        let [first, second, third] = [silent.enter(), silent.enter(), silent.enter()];
        drop(first);
        let told = |one: &Notify| one.notified().now_or_never().is_some();
        assert!(silent.displace());
        assert_eq!((told(&second), told(&third)), (true, false));
        assert!(silent.displace() && told(&third) && !silent.displace());
    }

    #[test]
    fn those_that_ended_take_no_memory() {
        let silent = Silent::new(4);
        let kept = silent.enter();
        (0..100).for_each(|_| drop(silent.enter()));
        assert!(silent.all.lock().len() <= 8);
        assert!(silent.displace() && kept.notified().now_or_never().is_some());
    }
}
