//! The newest run of each object on one target, so that an object finds later runs of the others without a look at each
//! of them. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use jiff::Timestamp;

use crate::controller::key::Key;

/// What one object has set or is due to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Newest {
    /// Instant of its newest run that is due or executed.
    pub run: Option<Timestamp>,
    /// When its next run is due.
    pub until: Option<Timestamp>,
}

/// Objects on one target, by their newest runs.
#[derive(Debug, Default)]
pub struct NewestRuns {
    known: BTreeMap<Key, Newest>,
    by_run: BTreeSet<(Timestamp, Key)>,
    /// By the instant from which on the newest run must be determined again.
    by_end: BTreeSet<(Timestamp, Key)>,
}

impl NewestRuns {
    /// Stores what was determined.
    pub fn set(&mut self, key: &Key, newest: Newest) {
        self.remove(key);
        self.by_run.extend(newest.run.map(|at| (at, key.clone())));
        self.by_end.extend(newest.until.map(|at| (at, key.clone())));
        self.known.insert(key.clone(), newest);
    }

    /// An object is new or changed.
    pub fn changed(&mut self, key: &Key) {
        self.set(key, Newest { run: None, until: Some(Timestamp::MIN) });
    }

    /// An object is gone.
    pub fn remove(&mut self, key: &Key) {
        let Some(Newest { run, until }) = self.known.remove(key) else { return };
        for (set, at) in [(&mut self.by_run, run), (&mut self.by_end, until)] {
            if let Some(at) = at {
                set.remove(&(at, key.clone()));
            }
        }
    }

    /// The objects whose newest run at `now` must be determined.
    pub fn unknown(&self, now: Timestamp) -> impl Iterator<Item = &Key> {
        self.by_end.iter().take_while(move |(until, _)| *until <= now).map(|(_, key)| key)
    }

    /// The object with the newest run before `below`; `None`: of all.
    pub fn newest_below(&self, below: Option<&(Timestamp, Key)>) -> Option<&(Timestamp, Key)> {
        let end = below.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_run.range((Bound::Unbounded, end)).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn key(name: &str) -> Key {
        Key::new("prod", name)
    }

    #[test]
    fn objects_are_found_newest_run_first_and_looked_at_again_when_their_next_run_is_due() {
        let mut runs = NewestRuns::default();
        for (name, run, until) in [("a", Some(1), 5), ("b", Some(3), 4), ("c", None, 9), ("d", Some(3), 8)] {
            runs.changed(&key(name));
            runs.set(&key(name), Newest { run: run.map(at), until: Some(at(until)) });
        }
        let mut found = Vec::new();
        let mut below = None;
        while let Some(next) = runs.newest_below(below) {
            found.push(next.1.name.to_string());
            below = Some(next);
        }
        assert_eq!(found, ["d", "b", "a"]);
        let unknown = |runs: &NewestRuns| runs.unknown(at(5)).map(|key| key.name.to_string()).collect::<Vec<_>>();
        assert_eq!(unknown(&runs), ["b", "a"]);
        runs.changed(&key("d"));
        runs.remove(&key("b"));
        assert_eq!(unknown(&runs), ["d", "a"]);
        assert_eq!(runs.newest_below(None), Some(&(at(1), key("a"))));
    }
}
