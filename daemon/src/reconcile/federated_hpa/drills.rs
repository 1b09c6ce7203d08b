//! The drills of the leader: what would not run if each of the clusters were lost, one after the other. Computes beside
//! the reconciles, from their cache. Sends nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, sleep_until};

use super::coverage::{Coverage, Findings};
use super::drill::Drill;
use super::observe::live_state::LiveState;
use crate::controller::key::Key;
use crate::decision::defaults::Mode;
use crate::decision::drill::FailureDomain;
use crate::runtime::clock::{WallClock, steady};
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;

/// A new leader waits so long: its first plans tell what is promised.
const FIRST: Duration = Duration::from_mins(1);
/// A drill begins no sooner after the one before it began.
const EVERY: Duration = Duration::from_mins(10);
/// After the loss of a cluster nothing is computed for so many times as long as that took: a drill takes at most one
/// per cent of a core.
const PAUSE: u32 = 100;

/// Drills while this process leads.
pub struct Drills {
    /// What is found.
    pub coverage: Arc<Coverage>,
    /// Input of reconciles.
    pub live: LiveState,
    /// The mode of objects that are stored without one.
    pub mode: Option<Mode>,
    /// The time of day.
    pub clock: WallClock,
    /// The counters.
    pub metrics: Arc<ControllerMetrics>,
}

impl Drills {
    /// Drills while a leader `acts`, until `stop` is true.
    pub async fn run(self, acts: watch::Receiver<Option<Leader>>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.lead(acts) => {}
            // A sender that is gone stops nothing any more: the others end by themselves.
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    async fn lead(&self, mut acts: watch::Receiver<Option<Leader>>) {
        while acts.wait_for(Option::is_some).await.is_ok() {
            self.coverage.clear();
            tokio::select! {
                () = self.repeat() => {}
                _ = acts.wait_for(Option::is_none) => {}
            }
        }
    }

    async fn repeat(&self) {
        sleep(FIRST).await;
        let mut before = Vec::new();
        loop {
            let begun = steady();
            before = self.drill(before).await;
            match begun.checked_add(EVERY) {
                Some(next) => sleep_until(next).await,
                None => return,
            }
        }
    }

    /// Loses each cluster, and returns them. `before`: those of the drill before.
    async fn drill(&self, mut before: Vec<String>) -> Vec<String> {
        let mut findings = Findings::default();
        let fleet = self.live.cache.fleet();
        let clusters: Vec<String> = fleet.members.iter().map(|member| member.name.to_string()).collect();
        for cluster in &clusters {
            let begun = steady();
            let (live, mode, now) = (self.live.clone(), self.mode, (self.clock)());
            let domain = FailureDomain::of_clusters(vec![cluster.clone()]);
            let computed = spawn_blocking(move || {
                let drill = Drill::new(&live, mode, now);
                let loss = drill.loss(domain);
                (drill, loss)
            });
            // One that panicked is tried again with the next drill.
            let Ok((drill, loss)) = computed.await else { return clusters };
            self.metrics.uncovered(cluster, loss.short);
            findings.add(&drill, cluster, loss);
            drop(drill);
            sleep(steady().saturating_duration_since(begun).saturating_mul(PAUSE)).await;
        }
        before.retain(|cluster| !clusters.contains(cluster));
        self.metrics.uncovered_gone(&before);
        self.coverage.learn(findings, |key| self.requires(key));
        clusters
    }

    fn requires(&self, key: &Key) -> bool {
        let view = self.live.cache.view(key);
        view.is_some_and(|view| self.live.failover.requires_cover(&view.federated_hpa))
    }
}
