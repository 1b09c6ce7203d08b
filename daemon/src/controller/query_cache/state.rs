//! Entries of a query cache, by cluster. No I/O, except for the log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::{Cached, Query, QueryError, Response, Times};
use crate::decision::excerpt::{ERROR, excerpt};

/// Most queries in progress to one cluster.
const MAX_IN_PROGRESS: usize = 4;
/// Most entries; at the limit new queries are rejected until old entries are dropped.
const MAX_ENTRIES: usize = 200_000;

/// All entries.
pub(super) struct QueryEntries<Q, R> {
    clusters: HashMap<String, Cluster<Q, R>>,
    /// Number of entries, over all clusters.
    entries: usize,
    /// When old entries were last dropped.
    swept: Option<Instant>,
    /// Queries whose changed result must be reported.
    changed: HashSet<Q>,
}

impl<Q, R> Default for QueryEntries<Q, R> {
    fn default() -> Self {
        Self { clusters: HashMap::new(), entries: 0, swept: None, changed: HashSet::new() }
    }
}

/// State of one cluster.
struct Cluster<Q, R> {
    entries: HashMap<Q, Entry<R>>,
    /// Until when it is left alone.
    paused_until: Option<Instant>,
    /// Last logged state: whether it responds.
    responds: Option<bool>,
    slots: Arc<Semaphore>,
}

impl<Q, R> Default for Cluster<Q, R> {
    fn default() -> Self {
        let slots = Arc::new(Semaphore::new(MAX_IN_PROGRESS));
        Self { entries: HashMap::new(), paused_until: None, responds: None, slots }
    }
}

impl<Q, R> Cluster<Q, R> {
    fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }
}

/// State of one query.
struct Entry<R> {
    /// The last result, and its time.
    result: Option<(Instant, R)>,
    /// Why the query was rejected.
    refused: Option<String>,
    /// Whether a change must be reported.
    report: bool,
    /// When it was last answered or rejected.
    completed: Option<Instant>,
    /// Closes when the request in progress ends.
    request: Option<watch::Receiver<()>>,
}

impl<R> Default for Entry<R> {
    fn default() -> Self {
        Self { result: None, refused: None, report: false, completed: None, request: None }
    }
}

/// What became of a query.
pub(super) enum Begun {
    /// Its result is fresh.
    Fresh,
    /// The cluster is left alone.
    Paused,
    /// There are too many entries.
    Full,
    /// A request is in progress, until the receiver closes.
    InProgress(watch::Receiver<()>),
    /// The caller must send it when a slot is free.
    Started {
        /// Limits requests to the cluster.
        slots: Arc<Semaphore>,
        /// Dropped by the caller when the request has ended.
        running: watch::Sender<()>,
        /// Closes when `running` is dropped.
        end: watch::Receiver<()>,
    },
}

/// A stored outcome.
pub(super) struct Stored {
    /// Whether a change must be reported.
    pub(super) report: bool,
    /// Whether the cluster responded before; `None`: it was not queried before.
    pub(super) responded: Option<bool>,
}

impl<Q: Query, R: Response> QueryEntries<Q, R> {
    /// The cached result, if it is younger than `kept`.
    pub(super) fn get(&self, cluster: &str, query: &Q, kept: Duration, now: Instant) -> Cached<R> {
        let Some(entry) = self.clusters.get(cluster).and_then(|cluster| cluster.entries.get(query)) else {
            return Cached { result: None, refused: None, in_progress: false };
        };
        let young = |(at, _): &(Instant, R)| now.duration_since(*at) < kept;
        Cached {
            result: entry.result.clone().filter(young),
            refused: entry.refused.clone(),
            in_progress: entry.request_in_progress().is_some(),
        }
    }

    /// The queries whose changed result must be reported, since the last call.
    pub(super) fn take_changed(&mut self) -> HashSet<Q> {
        std::mem::take(&mut self.changed)
    }

    /// Begins a query, unless its result is younger than `fresh`.
    pub(super) fn begin(&mut self, name: &str, query: &Q, fresh: Duration, report: bool, now: Instant) -> Begun {
        let full = self.entries >= MAX_ENTRIES;
        let cluster = match self.clusters.get_mut(name) {
            Some(cluster) => cluster,
            None => self.clusters.entry(name.to_owned()).or_default(),
        };
        if let Some(entry) = cluster.entries.get_mut(query) {
            entry.report |= report;
            if let Some(end) = entry.request_in_progress() {
                return Begun::InProgress(end);
            }
            if entry.completed_within(fresh, now) {
                return Begun::Fresh;
            }
        }
        if cluster.is_paused(now) {
            return Begun::Paused;
        }
        let (running, end) = watch::channel(());
        if let Some(entry) = cluster.entries.get_mut(query) {
            entry.request = Some(end.clone());
        } else {
            if full {
                return Begun::Full;
            }
            let entry = Entry { request: Some(end.clone()), report, ..Entry::default() };
            cluster.entries.insert(query.clone(), entry);
            self.entries = self.entries.saturating_add(1);
        }
        Begun::Started { slots: Arc::clone(&cluster.slots), running, end }
    }

    /// Drops a result that expires before the query that has begun must be answered: a large one is not held beside the
    /// next.
    pub(super) fn drop_expiring(&mut self, cluster: &str, query: &Q, times: &Times, now: Instant) {
        let answered = now.checked_add(times.answer).unwrap_or(now);
        let expires = |(at, _): &mut (Instant, R)| answered.duration_since(*at) >= times.kept;
        if let Some(entry) = self.clusters.get_mut(cluster).and_then(|cluster| cluster.entries.get_mut(query)) {
            entry.result.take_if(expires);
        }
    }

    /// Whether a cluster is left alone.
    pub(super) fn is_paused(&self, cluster: &str, now: Instant) -> bool {
        self.clusters.get(cluster).is_some_and(|cluster| cluster.is_paused(now))
    }

    /// Stores the outcome of a query; `None` when its cluster is no longer queried.
    pub(super) fn store(
        &mut self,
        cluster: &str,
        query: &Q,
        outcome: &Result<R, QueryError>,
        times: &Times,
        now: Instant,
    ) -> Option<Stored> {
        let cluster = self.clusters.get_mut(cluster)?;
        let responded = cluster.responds;
        let pause = match outcome {
            Ok(_) | Err(QueryError::Refused(_)) => None,
            // A cluster that responded before is probably about to return.
            Err(QueryError::Absent(_)) if responded != Some(true) => Some(times.absence),
            Err(_) => Some(times.rest),
        };
        cluster.paused_until = pause.and_then(|pause| now.checked_add(pause));
        cluster.responds = Some(pause.is_none());
        let report = cluster.entries.get_mut(query).is_some_and(|entry| entry.store(outcome, pause.is_none(), now));
        if report {
            self.changed.insert(query.clone());
        }
        Some(Stored { report, responded })
    }

    /// Drops old entries from time to time; returns the clusters that are no longer queried.
    pub(super) fn sweep(&mut self, kept: Duration, now: Instant) -> Vec<String> {
        let due = self.swept.is_none_or(|swept| now.duration_since(swept) >= kept);
        if !due {
            return Vec::new();
        }
        self.swept = Some(now);
        let young = |at: Instant| now.duration_since(at) < kept;
        for cluster in self.clusters.values_mut() {
            cluster.entries.retain(|_, entry| {
                entry.request_in_progress().is_some()
                    || entry.completed.is_some_and(young)
                    || entry.result.as_ref().is_some_and(|(at, _)| young(*at))
            });
        }
        let unused = |cluster: &Cluster<Q, R>| cluster.entries.is_empty() && !cluster.is_paused(now);
        let gone: Vec<String> =
            self.clusters.iter().filter(|(_, cluster)| unused(cluster)).map(|(name, _)| name.clone()).collect();
        self.clusters.retain(|_, cluster| !unused(cluster));
        self.entries = self.clusters.values().map(|cluster| cluster.entries.len()).sum();
        gone
    }
}

impl<R> Entry<R> {
    fn request_in_progress(&self) -> Option<watch::Receiver<()>> {
        self.request.clone().filter(|end| end.has_changed().is_ok())
    }

    fn completed_within(&self, age: Duration, now: Instant) -> bool {
        self.completed.is_some_and(|completed| now.duration_since(completed) < age)
    }
}

impl<R: Response> Entry<R> {
    /// Returns whether the change must be reported.
    fn store(&mut self, outcome: &Result<R, QueryError>, responded: bool, now: Instant) -> bool {
        let first = self.completed.is_none() && self.result.is_none();
        if responded {
            self.completed = Some(now);
        }
        let same = match outcome {
            Ok(response) => {
                let same = self.refused.is_none() && self.result.as_ref().is_some_and(|(_, known)| known == response);
                self.result = Some((now, response.clone()));
                self.refused = None;
                same
            }
            Err(QueryError::Refused(why)) => {
                let same = self.refused.replace(why.clone()).is_some();
                same && !first
            }
            // Another source may be queried instead.
            Err(_) => !first,
        };
        self.report && !same
    }
}

/// Logs once when a cluster begins or stops to respond.
pub(super) fn log_change<R>(component: &str, cluster: &str, before: Option<bool>, outcome: &Result<R, QueryError>) {
    match outcome {
        Ok(_) if before == Some(false) => info!(cluster, "{component} of the cluster responds again"),
        Err(failure @ QueryError::Refused(_)) => {
            let failure = failure.to_string();
            debug!(cluster, error = excerpt(&failure, ERROR), "{component} returned no answer for the cluster");
        }
        Err(failure) if before != Some(false) => {
            let absent = matches!(failure, QueryError::Absent(_));
            let failure = failure.to_string();
            let error = excerpt(&failure, ERROR);
            if absent && before.is_none() {
                info!(cluster, error, "no {component} found for the cluster");
            } else {
                warn!(
                    cluster,
                    error, "{component} of the cluster does not respond; its last answers are used until they expire"
                );
            }
        }
        _ => {}
    }
}
