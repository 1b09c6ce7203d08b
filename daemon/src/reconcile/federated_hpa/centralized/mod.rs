//! Centralized mode: the HPA algorithm over all clusters at once. Its result is written to the workload's own `scale`,
//! and karmada-scheduler divides the replicas (docs/centralized.md#what-it-does). Talks to the API server.
//!
//! Its state and its observation are here; the reconcile is `scaling`.

mod adapter;
pub mod metrics;
pub mod observe;
pub mod pods;
mod readings;
mod selectors;
pub(crate) mod status;

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use parking_lot::{Mutex, MutexGuard};

use self::metrics::Metrics;
use self::pods::PodWatches;
use self::selectors::Selectors;
use super::cache::entry::FederatedHpaEntry;
use crate::api::federated_hpa::FederatedHPASpec;
use crate::api::scale::Scale;
use crate::controller::key::Key;
use crate::convert;
use crate::decision::defaults::MIN_REPLICAS;
use crate::decision::hpa::decide::{History, Policy};
use crate::decision::hpa::limits::Range;
use crate::decision::hpa::multi_cluster::Controls;
use crate::decision::hpa::pod::Startup;
use crate::decision::hpa::replicas::Tolerance;
use crate::decision::related_objects::Target;
use crate::reconcile::scale_target::ResourcePath;
use crate::runtime::leader::Leader;

/// Settings of the operator, with the names and defaults of kube-controller-manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Time between two computations of an object.
    pub period: Duration,
    /// Stabilization window for scaling down without `behavior`.
    pub downscale_window: SignedDuration,
    /// Relative distance from the target that causes no scaling, where `behavior` sets none.
    pub tolerance: f64,
    /// How the age of a pod affects its samples.
    pub startup: Startup,
    /// External metrics that are read from members and summed; others are read from karmada-apiserver.
    pub external_sum: Vec<String>,
    /// Where metrics of pods and objects are read.
    pub metrics_source: MetricsSource,
}

/// Where metrics of pods and objects are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsSource {
    /// The metrics APIs of each member.
    #[default]
    Members,
    /// Those of karmada-apiserver, for which karmada-metrics-adapter asks all members.
    Adapter,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(15),
            downscale_window: SignedDuration::from_mins(5),
            tolerance: 0.1,
            startup: Startup::default(),
            external_sum: Vec::new(),
            metrics_source: MetricsSource::default(),
        }
    }
}

impl Settings {
    /// How an object is scaled.
    #[must_use]
    pub fn controls(&self, spec: &FederatedHPASpec) -> Controls {
        let behavior = spec.behavior.as_ref().map(convert::scaling::behavior);
        let usual = Tolerance { up: self.tolerance, down: self.tolerance };
        let tolerance = behavior.as_ref().map_or(usual, |behavior| behavior.tolerance(usual));
        let range = Range { min: spec.min_replicas.unwrap_or(MIN_REPLICAS), max: spec.max_replicas };
        let downscale_window_seconds = i32::try_from(self.downscale_window.as_secs()).unwrap_or(i32::MAX);
        let policy = Policy { range, behavior, downscale_window_seconds };
        Controls { policy, tolerance, startup: self.startup }
    }

    /// When the next computation is due. All objects are due at the same instants, so that one list of metrics is fresh
    /// for all of them.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let period = i64::try_from(self.period.as_millis()).ok().filter(|period| *period > 0)?;
        let past = now.as_millisecond().checked_rem_euclid(period)?;
        now.checked_add(SignedDuration::from_millis(period.checked_sub(past)?)).ok()
    }

    /// The instant `due`, of [`Self::next`] at some time, where it is still to come. A clock that was set back keeps
    /// nothing waiting.
    pub(crate) fn still_due(&self, due: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        due.filter(|due| *due > now && Some(*due) <= self.next(now))
    }
}

/// Dependencies of reconciles of Centralized objects.
pub struct Centralized {
    /// Settings of the operator.
    pub(crate) settings: Settings,
    /// The pods of members.
    pods: PodWatches,
    /// The metrics of members.
    metrics: Metrics,
    term: Mutex<Term>,
}

/// State of one leadership. A new leader begins with the current replicas, so it never scales down early.
#[derive(Default)]
struct Term {
    leader: Option<Leader>,
    objects: HashMap<Key, Memory>,
    selectors: Selectors,
}

/// State of an object.
#[derive(Default)]
pub(crate) struct Memory {
    uid: String,
    pub(crate) generation: Option<i64>,
    /// Time of the next computation, unless the object changes before.
    pub(crate) due: Option<Timestamp>,
    /// The workload of `history` and `scaled`, and its uid.
    pub(crate) workload: Option<(Target, Option<String>)>,
    pub(crate) history: History,
    pub(crate) scaled: Option<Timestamp>,
    pub(crate) scale: Option<KnownScale>,
}

/// The scale of a workload as it was last read or written.
pub(crate) struct KnownScale {
    /// The version of the workload in its binding at that time.
    pub(crate) version: String,
    pub(crate) path: ResourcePath,
    pub(crate) scale: Scale,
}

impl Centralized {
    /// Sends requests through `client`.
    #[must_use]
    pub fn new(client: &Client, settings: Settings) -> Self {
        let metrics = Metrics::new(client.clone(), settings.period);
        Self { settings, pods: PodWatches::new(client.clone()), metrics, term: Mutex::default() }
    }

    /// Takes the state of this object, compared by uid: a recreated object of the same name starts with an empty state.
    /// [`Self::keep`] puts it back.
    pub(crate) fn recall(&self, leader: &Leader, entry: &FederatedHpaEntry) -> Memory {
        let mut term = self.term();
        if !term.leader.as_ref().is_some_and(|known| known.is_same(leader)) {
            *term = Term { leader: Some(leader.clone()), ..Term::default() };
        }
        let uid = entry.object.metadata.uid.clone().unwrap_or_default();
        let known = term.objects.remove(&entry.key()).filter(|memory| memory.uid == uid);
        known.unwrap_or_else(|| Memory { uid, ..Memory::default() })
    }

    /// Stores the state of an object.
    pub(crate) fn keep(&self, key: Key, memory: Memory) {
        self.term().objects.insert(key, memory);
    }

    /// Drops the state of an object that is deleted, or no longer in Centralized mode.
    pub fn forget(&self, key: &Key) {
        let mut term = self.term();
        if term.objects.remove(key).is_some() {
            term.selectors.set(key, None);
        }
    }

    fn term(&self) -> MutexGuard<'_, Term> {
        self.term.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_objects_are_due_at_the_same_instants() {
        let settings = Settings::default();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for now in ["2026-11-20T08:00:00Z", "2026-11-20T08:00:07.25Z", "2026-11-20T08:00:14.999Z"] {
            assert_eq!(settings.next(at(now)), Some(at("2026-11-20T08:00:15Z")), "{now}");
        }
    }
}
