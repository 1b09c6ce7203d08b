//! Releases in progress. No I/O.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::controller::key::Key;
use crate::decision::split::Replicas;

/// State of a release in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct ReleaseProgress {
    /// Start time.
    pub(super) since: Option<Instant>,
    /// Replicas requested in members after their HPAs are gone.
    pub(super) asked: BTreeMap<String, Replicas>,
    /// Replicas written to the template, and when.
    pub(super) scaled: Option<(Replicas, Instant)>,
    /// Skipped steps.
    pub(super) undone: Vec<String>,
}

/// The releases in progress; lost with the process, which only restarts the waits.
#[derive(Debug, Default)]
pub struct Releases(pub(super) Mutex<HashMap<Key, ReleaseProgress>>);

impl Releases {
    /// Forgets a release that has ended, or does not happen.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}
