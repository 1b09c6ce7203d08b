//! What objects on one target tell each other: their newest runs, what became of due runs that have no record yet, and
//! who waits for it. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::entry::Entry;
use super::newest_runs::NewestRuns;
use crate::controller::key::Key;
use crate::decision::cron::settle::Attempt;

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

    /// Stores the attempts of the object of `entry`.
    pub fn attempt(&mut self, entry: &Entry, attempts: Vec<Attempt>) {
        let attempted = Attempted { uid: entry.uid.clone(), generation: entry.generation, attempts };
        self.attempted.insert(entry.key.clone(), attempted);
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

    /// The objects that wait, and do no more.
    pub fn wake(&mut self) -> BTreeSet<Key> {
        mem::take(&mut self.waiting)
    }
}
