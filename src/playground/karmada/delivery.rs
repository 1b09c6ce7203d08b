//! When a Work is brought to its cluster: in its turn, late when the queue is long, and not while nobody answers. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::queue::{Queue, Turn};
use crate::playground::clock::after;
use crate::playground::member::CONNECTION_PATIENCE;

/// How a cluster is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It answers.
    Up,
    /// Karmada knows that it does not.
    Unready,
    /// It refuses connections, and Karmada does not know yet.
    Refused,
    /// It has not answered since then, and Karmada does not know yet.
    Hangs(Timestamp),
}

/// What becomes of a Work now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is brought to the member.
    Goes,
    /// It was tried, and failed.
    Fails,
    /// Nothing yet; where time alone changes that, until when.
    Waits(Option<Timestamp>),
}

/// The Works that are known.
#[derive(Debug, Default)]
pub struct Deliveries {
    tries: Queue,
    /// When a changed Work is come to.
    due: BTreeMap<String, Timestamp>,
    /// Until when a request that hangs is waited for.
    asked: BTreeMap<String, Timestamp>,
}

impl Deliveries {
    /// What becomes of the Work in this generation, with so long a queue.
    pub fn turn(&mut self, work: (&str, i64), reach: Reach, lag: SignedDuration, now: Timestamp) -> Delivery {
        let (key, generation) = work;
        if let Some(until) = self.asked.get(key).copied() {
            if matches!(reach, Reach::Hangs(_)) && until > now {
                return Delivery::Waits(Some(until));
            }
            self.asked.remove(key);
            return self.answered(work, reach, now);
        }
        if self.tries.fresh(key, generation) {
            let due = *self.due.entry(key.to_owned()).or_insert_with(|| after(now, lag));
            if due > now {
                return Delivery::Waits(Some(due));
            }
            self.due.remove(key);
        }
        match (self.tries.turn(key, generation, now), reach) {
            (Turn::Now, Reach::Hangs(since)) => {
                let held = SignedDuration::try_from(CONNECTION_PATIENCE).unwrap_or_default();
                let until = after(since, held).max(after(now, HANDSHAKE_PATIENCE));
                self.asked.insert(key.to_owned(), until);
                Delivery::Waits(Some(until))
            }
            (Turn::Now, _) => self.answered(work, reach, now),
            (Turn::At(due), Reach::Up) => Delivery::Waits(Some(due)),
            (Turn::Done, Reach::Up) => Delivery::Goes,
            (Turn::At(_) | Turn::Done, _) => Delivery::Waits(None),
        }
    }

    fn answered(&mut self, (key, generation): (&str, i64), reach: Reach, now: Timestamp) -> Delivery {
        if reach == Reach::Up {
            self.tries.done(key, generation);
            return Delivery::Goes;
        }
        self.tries.failed(key, generation, now);
        if reach == Reach::Unready { Delivery::Waits(None) } else { Delivery::Fails }
    }

    /// Forgets Works that are gone.
    pub fn keep(&mut self, there: &BTreeSet<String>) {
        self.tries.keep(there);
        self.due.retain(|key, _| there.contains(key));
        self.asked.retain(|key, _| there.contains(key));
    }
}

/// How long a new connection is waited for. Go's TLS handshake: 10 seconds.
const HANDSHAKE_PATIENCE: SignedDuration = SignedDuration::from_secs(10);

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{Deliveries, Delivery, Reach};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    const AT_ONCE: SignedDuration = SignedDuration::ZERO;

    #[test]
    fn a_long_queue_is_waited_for_once_and_changes_do_not_lose_their_place() {
        let mut works = Deliveries::default();
        let lag = SignedDuration::from_secs(120);
        assert_eq!(works.turn(("a", 1), Reach::Up, lag, at(0)), Delivery::Waits(Some(at(120))));
        assert_eq!(works.turn(("a", 2), Reach::Up, lag, at(60)), Delivery::Waits(Some(at(120))));
        assert_eq!(works.turn(("a", 2), Reach::Up, lag, at(120)), Delivery::Goes);
        assert_eq!(
            works.turn(("a", 2), Reach::Up, lag, at(121)),
            Delivery::Goes,
            "what the member changes is put back"
        );
        assert_eq!(works.turn(("a", 3), Reach::Up, lag, at(130)), Delivery::Waits(Some(at(250))));
    }

    #[test]
    fn a_request_that_hangs_is_answered_late_or_fails_with_its_connection() {
        let mut works = Deliveries::default();
        let hangs = Reach::Hangs(at(0));
        assert_eq!(works.turn(("a", 1), hangs, AT_ONCE, at(20)), Delivery::Waits(Some(at(45))));
        assert_eq!(works.turn(("a", 1), Reach::Up, AT_ONCE, at(30)), Delivery::Goes);
        assert_eq!(works.turn(("a", 2), hangs, AT_ONCE, at(40)), Delivery::Waits(Some(at(50))));
        assert_eq!(works.turn(("a", 2), hangs, AT_ONCE, at(50)), Delivery::Fails);
        assert_eq!(works.turn(("a", 3), hangs, AT_ONCE, at(60)), Delivery::Waits(Some(at(70))));
        assert_eq!(works.turn(("a", 3), Reach::Unready, AT_ONCE, at(65)), Delivery::Waits(None));
    }

    #[test]
    fn a_cluster_that_is_not_ready_is_not_asked_and_what_is_there_stays() {
        let mut works = Deliveries::default();
        assert_eq!(works.turn(("a", 1), Reach::Up, AT_ONCE, at(0)), Delivery::Goes);
        assert_eq!(works.turn(("a", 1), Reach::Unready, AT_ONCE, at(1)), Delivery::Waits(None));
        assert_eq!(works.turn(("a", 2), Reach::Refused, AT_ONCE, at(2)), Delivery::Fails);
        assert_eq!(works.turn(("a", 2), Reach::Refused, AT_ONCE, at(2)), Delivery::Waits(None));
        assert_eq!(works.turn(("a", 1), Reach::Up, AT_ONCE, at(3)), Delivery::Goes);
    }
}
