//! The order in which Karmada's controllers process objects: at once after a change, and after a failure again and
//! again, each time with a doubled wait. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::clock::after;

/// Wait after the first failure. Karmada: `--rate-limiter-base-delay`.
const FIRST_WAIT: SignedDuration = SignedDuration::from_millis(5);
/// Longest wait between two attempts. Karmada: `--rate-limiter-max-delay`.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(1000);

/// Whether an object is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is due now.
    Now,
    /// It failed, and is retried at this time.
    At(Timestamp),
    /// It has not changed since it was processed.
    Done,
}

/// State of one object.
#[derive(Clone, Copy, Debug)]
struct QueueEntry {
    generation: i64,
    failures: u32,
    due: Option<Timestamp>,
}

/// The queue of one controller.
#[derive(Debug, Default)]
pub struct Queue(BTreeMap<String, QueueEntry>);

fn wait(failures: u32) -> SignedDuration {
    let mut wait = FIRST_WAIT;
    for _ in 1..failures {
        wait = wait.saturating_add(wait).min(LONGEST_WAIT);
        if wait == LONGEST_WAIT {
            break;
        }
    }
    wait
}

impl Queue {
    /// Whether the object changed since it was last processed or attempted.
    #[must_use]
    pub fn fresh(&self, key: &str, generation: i64) -> bool {
        self.0.get(key).is_none_or(|place| place.generation != generation)
    }

    /// Whether the object is due in this generation.
    #[must_use]
    pub fn turn(&self, key: &str, generation: i64, now: Timestamp) -> Turn {
        match self.0.get(key).filter(|place| place.generation == generation).map(|place| place.due) {
            None => Turn::Now,
            Some(None) => Turn::Done,
            Some(Some(due)) if due <= now => Turn::Now,
            Some(Some(due)) => Turn::At(due),
        }
    }

    /// Records that the object was processed.
    pub fn done(&mut self, key: &str, generation: i64) {
        self.0.insert(key.to_owned(), QueueEntry { generation, failures: 0, due: None });
    }

    /// Records a failure. A change of an object that failed before does not reset its wait.
    pub fn failed(&mut self, key: &str, generation: i64, now: Timestamp) {
        let before = self.0.get(key).copied();
        let failures = before.map_or(0, |place| place.failures).saturating_add(1);
        let begun = before.filter(|place| place.generation == generation).and_then(|place| place.due).unwrap_or(now);
        let mut place = QueueEntry { generation, failures, due: Some(after(begun, wait(failures))) };
        // Skipped attempts count as failures like this one.
        while let Some(due) = place.due.filter(|due| *due <= now) {
            place.failures = place.failures.saturating_add(1);
            place.due = Some(after(due, wait(place.failures)));
        }
        self.0.insert(key.to_owned(), place);
    }

    /// Records a failure after a long attempt.
    pub fn gave_up(&mut self, key: &str, generation: i64, now: Timestamp) {
        let failures = self.0.get(key).map_or(0, |place| place.failures).saturating_add(1);
        self.0.insert(key.to_owned(), QueueEntry { generation, failures, due: Some(after(now, wait(failures))) });
    }

    /// Schedules the object again, regardless of its result.
    pub fn again(&mut self, key: &str, generation: i64, due: Timestamp) {
        self.0.insert(key.to_owned(), QueueEntry { generation, failures: 0, due: Some(due) });
    }

    /// Forgets objects that are gone.
    pub fn keep(&mut self, there: &BTreeSet<String>) {
        self.0.retain(|key, _| there.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::{SignedDuration, Timestamp};

    use super::{Queue, Turn, wait};

    fn at(millis: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis)
    }

    fn next(queue: &Queue, generation: i64) -> i64 {
        match queue.turn("a", generation, Timestamp::UNIX_EPOCH) {
            Turn::At(due) => due.as_millisecond(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_failed_try_is_repeated_after_twice_the_wait() {
        let mut queue = Queue::default();
        assert_eq!(queue.turn("a", 1, at(0)), Turn::Now);
        queue.failed("a", 1, at(0));
        assert_eq!(next(&queue, 1), 5);
        // 5 ms * (2^k - 1) after the change, as observed in real Karmada: 20.475 s and 40.955 s.
        for (asked, due) in [(6, 15), (15_000, 20_475), (20_475, 40_955)] {
            queue.failed("a", 1, at(asked));
            assert_eq!(next(&queue, 1), due);
        }
        assert_eq!(queue.turn("a", 1, at(40_955)), Turn::Now);
    }

    #[test]
    fn no_wait_is_longer_than_a_thousand_seconds() {
        assert_eq!(wait(17), SignedDuration::from_millis(5 << 16));
        assert_eq!((wait(19), wait(u32::MAX)), (SignedDuration::from_secs(1000), SignedDuration::from_secs(1000)));
    }

    #[test]
    fn a_change_is_tried_at_once_and_goes_on_with_the_longer_wait() {
        let mut queue = Queue::default();
        queue.failed("a", 1, at(0));
        queue.failed("a", 1, at(15_000));
        assert_eq!(queue.turn("a", 2, at(16_000)), Turn::Now);
        queue.failed("a", 2, at(16_000));
        assert_eq!(next(&queue, 2), 16_000 + 20_480);
    }

    #[test]
    fn success_forgets_the_failures_and_a_gone_object_is_forgotten() {
        let mut queue = Queue::default();
        queue.failed("a", 1, at(0));
        queue.done("a", 1);
        assert_eq!(queue.turn("a", 1, at(0)), Turn::Done);
        queue.failed("a", 2, at(100));
        assert_eq!(next(&queue, 2), 105);
        queue.keep(&BTreeSet::new());
        assert_eq!(queue.turn("a", 2, at(0)), Turn::Now);
    }
}
