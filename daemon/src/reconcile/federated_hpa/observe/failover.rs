//! Tolerations of failed clusters, and the rate of failovers over all objects. No I/O.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::decision::failovers::{Failovers, MOST};
use crate::decision::fleet::tolerance::FailureTolerance;
use crate::decision::ledger::Standing;
use crate::decision::plan::REPLACEMENT;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::runtime::clock::steady;

/// Type of the condition that exists while failed clusters keep their bounds.
pub const FAILOVER_PAUSED: &str = "FailoverPaused";

/// When failover was last resumed after a pause, if that ends now at the latest: while it lasts no cluster fails over, and
/// when it ends all tolerations begin anew.
#[must_use]
pub fn resumed(entry: &FederatedHpaEntry, now: Timestamp) -> Option<Timestamp> {
    if entry.is_true(FAILOVER_PAUSED) { Some(now) } else { last_resumed(entry) }
}

/// When failover was last resumed after a pause that is over.
#[must_use]
pub fn last_resumed(entry: &FederatedHpaEntry) -> Option<Timestamp> {
    entry.object.status.as_ref()?.last_failover_resume_time.as_ref().map(|time| time.0)
}

/// Settings of the operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How long to wait for failed clusters.
    pub tolerance: FailureTolerance,
    /// How long a leaving cluster waits until others run its replicas; `None`: without limit.
    pub replacement: Option<SignedDuration>,
    /// Failovers per second, over all objects; 0: none.
    pub rate: f64,
    /// `spec.minCoveredLosses` of objects that name none.
    pub min_covered_losses: i32,
}

impl Settings {
    /// Whether the object is to survive the loss of any one cluster.
    #[must_use]
    pub fn requires_cover(&self, entry: &FederatedHpaEntry) -> bool {
        entry.object.spec.min_covered_losses.unwrap_or(self.min_covered_losses) > 0
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tolerance: FailureTolerance::default(),
            replacement: Some(REPLACEMENT),
            rate: 0.5,
            min_covered_losses: 0,
        }
    }
}

/// Limits the rate of failovers: who comes first where capacity is scarce fails over first.
#[derive(Debug)]
pub struct Queue {
    /// Times are counted from here.
    begun: Instant,
    failovers: Mutex<Failovers>,
}

impl Default for Queue {
    fn default() -> Self {
        Self { begun: steady(), failovers: Mutex::default() }
    }
}

impl Queue {
    /// Which of the clusters of an object may fail over now, and after how long to ask for the others.
    pub fn ask(&self, standing: &Standing, clusters: &[&str], rate: f64) -> (Vec<String>, Option<Duration>) {
        let between = (rate > 0.0).then(|| Duration::try_from_secs_f64(1.0 / rate).unwrap_or(MOST));
        let now = steady().saturating_duration_since(self.begun);
        self.failovers.lock().ask(standing, clusters, between, now)
    }

    /// Forgets an object.
    pub fn forget(&self, name: &str) {
        self.failovers.lock().forget(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::FederatedHPA;
    use crate::api::federated_hpa::FederatedHPASpec;
    use crate::controller::key::Key;
    use crate::decision::failovers::{ASKS, GATHER};
    use crate::decision::ledger::Rank;
    use std::cmp::Reverse;

    fn standing(key: &Key, priority: i32) -> Standing {
        Standing { rank: Rank::Replace, priority: Reverse(priority), created: None, name: key.to_string() }
    }

    #[test]
    fn what_an_object_asks_for_comes_before_the_default_of_the_installation() {
        let entry = |losses: Option<i32>| {
            let spec = FederatedHPASpec { min_covered_losses: losses, ..FederatedHPASpec::default() };
            FederatedHpaEntry::of(&FederatedHPA::new("web", spec))
        };
        let requires = |default, losses| {
            let settings = Settings { min_covered_losses: default, ..Settings::default() };
            settings.requires_cover(&entry(losses))
        };
        assert_eq!([None, Some(0), Some(1)].map(|losses| requires(0, losses)), [false, false, true]);
        assert_eq!([None, Some(0), Some(1)].map(|losses| requires(1, losses)), [true, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_after_the_other_may_fail_over() {
        let queue = Queue::default();
        let [one, two] = ["one", "two"].map(|name| Key::new("prod", name));
        let ask = |key: &Key, clusters: &[&str], rate| queue.ask(&standing(key, 0), clusters, rate);
        assert_eq!(ask(&one, &["a"], 0.5), (Vec::new(), Some(GATHER)), "others may come before it");
        tokio::time::sleep(GATHER).await;
        assert_eq!(ask(&one, &["a"], 0.5), (vec!["a".to_owned()], None));
        assert_eq!(ask(&one, &["a"], 0.5), (vec!["a".to_owned()], None), "its turn lasts a while");
        assert_eq!(ask(&two, &["a"], 0.5), (Vec::new(), Some(Duration::from_secs(2))));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(ask(&two, &["a", "b"], 0.5), (vec!["a".to_owned()], Some(Duration::from_secs(2))), "one of them");
        assert_eq!(ask(&two, &["c"], 0.0), (Vec::new(), Some(MOST)), "none at all");
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_first_fails_over_first() {
        let queue = Queue::default();
        let keys = ["one", "low", "high"].map(|name| Key::new("prod", name));
        let ask = |at: usize, priority| queue.ask(&standing(&keys[at], priority), &["a"], 0.5);
        let wait = |seconds| (Vec::new(), Some(Duration::from_secs(seconds)));
        let now = (vec!["a".to_owned()], None);
        assert_eq!([ask(0, 0), ask(1, 1), ask(2, 2)], [wait(1), wait(1), wait(1)]);
        tokio::time::sleep(GATHER).await;
        assert_eq!([ask(0, 0), ask(1, 1), ask(2, 2), ask(1, 1)], [wait(2), wait(2), now.clone(), wait(2)]);
        // Each of many takes its time to ask again.
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(ask(0, 0), wait(2), "low comes first");
        // One that no longer asks keeps nobody waiting.
        queue.forget("prod/low");
        assert_eq!(ask(0, 0), now);
        tokio::time::sleep(ASKS).await;
        assert_eq!(ask(1, 1), wait(1), "it begins anew");
    }
}
