//! When a Work is applied to its cluster: in order, late when the queue is long, and not while the cluster does not
//! answer. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::queue::{Queue, Turn};
use crate::clock::after;

/// Reachability of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It answers.
    Up,
    /// It does not answer, and Karmada knows that.
    Unready,
    /// It refuses connections, and Karmada does not know that yet.
    Refused,
    /// It does not answer, and Karmada does not know that yet.
    Hangs,
    /// It is back, and Karmada does not have a copy yet of what it has now: an update is a conflict.
    Stale,
}

/// What to do with a Work now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Apply it to the member.
    Goes,
    /// An attempt failed.
    Fails,
    /// Wait; until the given time, where only time changes that.
    Waits(Option<Timestamp>),
}

/// The known Works.
#[derive(Debug, Default)]
pub struct Deliveries {
    tries: Queue,
    /// When a changed Work is due.
    due: BTreeMap<String, Timestamp>,
    /// Until when to wait for a hanging request.
    asked: BTreeMap<String, Timestamp>,
}

impl Deliveries {
    /// What to do with the Work in this generation, with a queue of this length.
    pub fn turn(&mut self, work: (&str, i64), reach: Reach, lag: SignedDuration, now: Timestamp) -> Delivery {
        let (key, generation) = work;
        if let Some(until) = self.asked.get(key).copied() {
            if reach == Reach::Hangs && until > now {
                return Delivery::Waits(Some(until));
            }
            self.asked.remove(key);
            if reach != Reach::Up {
                self.tries.gave_up(key, generation, now);
                return Delivery::Fails;
            }
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
            (Turn::Now, Reach::Hangs) => {
                let until = after(now, HANDSHAKE_PATIENCE);
                self.asked.insert(key.to_owned(), until);
                Delivery::Waits(Some(until))
            }
            (Turn::Now, _) => self.answered(work, reach, now),
            (Turn::At(due), Reach::Up | Reach::Stale | Reach::Hangs) => Delivery::Waits(Some(due)),
            (Turn::Done, Reach::Up | Reach::Stale) => Delivery::Goes,
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

/// How long to wait for a new connection. Go's TLS handshake: 10 seconds.
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
    fn a_request_that_hangs_is_answered_late_or_fails_with_its_handshake_and_is_made_again() {
        let mut works = Deliveries::default();
        let mut turn =
            |generation: i64, reach: Reach, seconds: i64| works.turn(("a", generation), reach, AT_ONCE, at(seconds));
        assert_eq!(turn(1, Reach::Hangs, 20), Delivery::Waits(Some(at(30))));
        assert_eq!(turn(1, Reach::Up, 25), Delivery::Goes);
        assert_eq!(turn(2, Reach::Hangs, 40), Delivery::Waits(Some(at(50))));
        assert_eq!(turn(2, Reach::Hangs, 50), Delivery::Fails);
        let again = at(50) + SignedDuration::from_millis(5);
        assert_eq!(turn(2, Reach::Hangs, 50), Delivery::Waits(Some(again)));
        assert_eq!(turn(2, Reach::Hangs, 51), Delivery::Waits(Some(at(61))));
        assert_eq!(turn(2, Reach::Unready, 55), Delivery::Fails, "its answer never comes");
        assert_eq!(turn(2, Reach::Unready, 56), Delivery::Waits(None));
    }

    #[test]
    fn a_conflict_after_an_absence_is_waited_for_as_long_as_after_the_failures_before_it() {
        let mut works = Deliveries::default();
        let mut turn =
            |generation: i64, reach: Reach, seconds: i64| works.turn(("a", generation), reach, AT_ONCE, at(seconds));
        assert_eq!(turn(1, Reach::Unready, 0), Delivery::Waits(None));
        assert_eq!(turn(1, Reach::Unready, 100), Delivery::Waits(None));
        assert_eq!(turn(2, Reach::Stale, 110), Delivery::Fails);
        assert!(matches!(turn(2, Reach::Up, 130), Delivery::Waits(Some(due)) if due > at(150)));
        assert_eq!(turn(3, Reach::Up, 130), Delivery::Goes);
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
