//! What objects on one target tell each other: their newest runs, what became of due runs that have no record yet, and
//! who waits for it. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use jiff::Timestamp;

use super::entry::Entry;
use super::newest_runs::NewestRuns;
use crate::controller::key::Key;
use crate::decision::cron::settle::{Attempt, Outcome};

/// A target of several objects.
#[derive(Debug, Default)]
pub struct SharedTarget {
    /// Newest run of each object.
    pub newest: NewestRuns,
    attempted: BTreeMap<Key, Attempted>,
    waiting: BTreeSet<Key>,
}

/// Attempts of an object at runs that had no record.
#[derive(Debug)]
struct Attempted {
    uid: Box<str>,
    generation: i64,
    attempts: Vec<Attempt>,
}

impl SharedTarget {
    /// An object is new or changed.
    pub fn changed(&mut self, key: &Key) {
        self.newest.changed(key);
    }

    /// An object is gone.
    pub fn remove(&mut self, key: &Key) {
        self.newest.remove(key);
        self.attempted.remove(key);
        self.waiting.remove(key);
    }

    /// Stores the attempts of the object of `entry`. Returns whether that makes a difference to the others.
    pub fn attempt(&mut self, entry: &Entry, attempts: Vec<Attempt>) -> bool {
        let told = told(&self.attempts(entry)) != told(&attempts);
        let attempted = Attempted { uid: entry.uid.clone(), generation: entry.generation, attempts };
        self.attempted.insert(entry.key.clone(), attempted);
        told
    }

    /// The attempts of the object of `entry`, with the rules that it has now.
    pub fn attempts(&self, entry: &Entry) -> Vec<Attempt> {
        let attempted = self.attempted.get(&entry.key);
        let attempted = attempted.filter(|known| known.uid == entry.uid && known.generation == entry.generation);
        attempted.map(|attempted| attempted.attempts.clone()).unwrap_or_default()
    }

    /// Sets whether an object waits for runs of others.
    pub fn wait(&mut self, key: &Key, waits: bool) {
        if waits {
            self.waiting.insert(key.clone());
        } else {
            self.waiting.remove(key);
        }
    }

    /// The objects beside `own` that wait, and do no more. An object learns by itself what became of its own runs.
    pub fn wake(&mut self, own: &Key) -> BTreeSet<Key> {
        let mut woken = mem::take(&mut self.waiting);
        self.waiting.extend(woken.take(own));
        woken
    }
}

/// What attempts tell other objects: a run that is retried like any other on its target is as one that was not attempted.
fn told(attempts: &[Attempt]) -> BTreeSet<(&str, Timestamp, u8)> {
    let tells = |outcome: &Outcome| match outcome {
        Outcome::Postponed(_) => None,
        Outcome::Executed(_) => Some(0),
        Outcome::Refused(_) => Some(1),
        Outcome::GivenUp(_) => Some(2),
        Outcome::Superseded(_) => Some(3),
    };
    attempts.iter().filter_map(|one| Some((&*one.rule, one.scheduled, tells(&one.outcome)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn attempt(minute: i64, outcome: Outcome) -> Attempt {
        Attempt { rule: "rule".into(), scheduled: at(minute), at: at(minute), outcome }
    }

    #[test]
    fn a_run_that_fails_as_any_other_would_wakes_nobody_and_no_run_wakes_its_own_object() {
        let mut shared = SharedTarget::default();
        let entry = Entry { key: Key::new("prod", "a"), ..Entry::default() };
        let postponed = |why: &str| attempt(1, Outcome::Postponed(why.to_owned()));
        assert!(!shared.attempt(&entry, vec![postponed("gone")]));
        assert!(!shared.attempt(&entry, vec![postponed("gone still")]));
        assert!(shared.attempt(&entry, vec![attempt(1, Outcome::Refused("no".to_owned()))]));
        assert!(!shared.attempt(&entry, vec![attempt(1, Outcome::Refused("never".to_owned()))]));
        for name in ["a", "b"] {
            shared.wait(&Key::new("prod", name), true);
        }
        assert_eq!(shared.wake(&entry.key), BTreeSet::from([Key::new("prod", "b")]));
        assert_eq!(shared.wake(&Key::new("prod", "b")), BTreeSet::from([entry.key]));
    }
}
