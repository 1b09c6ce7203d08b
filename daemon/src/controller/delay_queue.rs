//! One delay queue for all objects of a kind: which object to reconcile next, and when
//! (docs/cron.md#late-runs). No I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::key::Key;

/// Objects by the instant of their next reconcile; each at most once.
#[derive(Debug, Default)]
pub struct DelayQueue {
    by_time: BTreeSet<(Timestamp, Key)>,
    by_key: BTreeMap<Key, Timestamp>,
}

impl DelayQueue {
    /// Sets the instant of `key`; absent: removes it.
    pub fn set(&mut self, key: &Key, at: Option<Timestamp>) {
        if let Some(old) = self.by_key.remove(key) {
            self.by_time.remove(&(old, key.clone()));
        }
        if let Some(at) = at {
            self.by_key.insert(key.clone(), at);
            self.by_time.insert((at, key.clone()));
        }
    }

    /// Removes one object whose instant is not later than `now`, the earliest first.
    pub fn pop(&mut self, now: Timestamp) -> Option<Key> {
        if self.next()? > now {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }

    /// The earliest instant.
    pub fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Removes all objects.
    pub fn clear(&mut self) {
        self.by_time.clear();
        self.by_key.clear();
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{DelayQueue, Key};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn objects_come_out_by_their_instants_and_each_once() {
        let mut delay_queue = DelayQueue::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| Key::new("prod", name));
        delay_queue.set(&a, Some(at(30)));
        delay_queue.set(&b, Some(at(10)));
        delay_queue.set(&c, Some(at(20)));
        delay_queue.set(&a, Some(at(15)));
        delay_queue.set(&c, None);
        assert_eq!((delay_queue.len(), delay_queue.next()), (2, Some(at(10))));
        assert_eq!(delay_queue.pop(at(9)), None);
        assert_eq!(
            [delay_queue.pop(at(15)), delay_queue.pop(at(15)), delay_queue.pop(at(99))],
            [Some(b), Some(a), None]
        );
        assert!(delay_queue.is_empty());
    }
}
