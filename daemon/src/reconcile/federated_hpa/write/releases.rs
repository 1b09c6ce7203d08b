//! Releases in progress. No I/O.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::SignedDuration;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::controller::key::Key;
use crate::decision::split::Replicas;
use crate::runtime::clock::steady;

/// Longest wait, over several leaders where the object is deleted: for clusters to lose their HPAs, and for Karmada to
/// follow the template.
pub(super) const PATIENCE: Duration = Duration::from_mins(3);

/// State of a release in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct ReleaseProgress {
    /// Since when clusters that leave are replaced first.
    replacing: Option<Instant>,
    /// Since when clusters that do not answer are waited for.
    pub(super) awaiting: Option<Instant>,
    /// Start time.
    pub(super) since: Option<Instant>,
    /// Replicas that the HPAs of members asked for when they were deleted.
    pub(super) wished: BTreeMap<String, Replicas>,
    /// Replicas requested in members after their HPAs are gone.
    pub(super) asked: BTreeMap<String, Replicas>,
    /// What was written to the template.
    pub(super) scaled: Option<Scaling>,
    /// Whether the workload keeps the label, as one of the skipped steps says.
    pub(super) keeps_label: bool,
    /// Skipped steps.
    pub(super) undone: Vec<String>,
}

/// Replicas that the template got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaling {
    /// What it asks for since.
    pub(super) to: Replicas,
    /// What the binding asked for then.
    pub(super) from: i32,
    /// When.
    pub(super) at: Instant,
    /// Whether the binding got the same, as Karmada did not copy it.
    pub(super) copied: bool,
}

/// The releases in progress; lost with the process, which only restarts the waits.
#[derive(Debug, Default)]
pub struct Releases(pub(super) Mutex<HashMap<Key, ReleaseProgress>>);

impl Releases {
    /// Whether a release may still wait until clusters that leave are replaced, which takes at most `limit` by the plan;
    /// `None`: without limit.
    pub(in crate::reconcile::federated_hpa) fn waits(&self, key: &Key, limit: Option<SignedDuration>) -> bool {
        let mut releases = self.0.lock();
        let since = *releases.entry(key.clone()).or_default().replacing.get_or_insert_with(steady);
        let Some(limit) = limit.and_then(|limit| Duration::try_from(limit).ok()) else { return true };
        steady().saturating_duration_since(since) < limit.saturating_add(PATIENCE)
    }

    /// Whether a release may still wait for clusters that do not answer.
    pub(super) fn awaits(&self, key: &Key) -> bool {
        let mut releases = self.0.lock();
        let since = *releases.entry(key.clone()).or_default().awaiting.get_or_insert_with(steady);
        steady().saturating_duration_since(since) < PATIENCE
    }

    /// Whether a release has taken a step.
    pub(in crate::reconcile::federated_hpa) fn has_begun(&self, key: &Key) -> bool {
        self.0.lock().get(key).is_some_and(|progress| progress.since.is_some())
    }

    /// Forgets a release that has ended, or does not happen.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}
