//! Cache of queries to clusters for data that watches do not provide. A result is kept for a while, and no plan waits
//! long for one. Sends queries through a [`Source`].
//!
//! A query with a fresh result is not repeated, and concurrent callers share one request. Callers wait for a moment
//! only, or not at all; a later result is available to the next plan. A cluster that does not answer is left alone for
//! a while, and does not delay queries to others.
//!
//! Not a cache of watches: queries create its entries, the entries expire, and callers wait for pending results.

mod state;

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, timeout};

use self::state::{Begun, QueryEntries, log_change};
use crate::runtime::clock;

/// Sends queries `Q` to clusters.
pub trait Source<Q, R>: Send + Sync + 'static {
    /// Name of the component that responds, for the log.
    fn component(&self) -> &'static str;

    /// Sends a query to the cluster, and returns the result.
    fn send(&self, cluster: &str, query: &Q) -> BoxFuture<'static, Result<R, QueryError>>;

    /// Drops the connection: it is no longer needed, or cannot be trusted.
    fn forget(&self, cluster: &str);
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No server is listening.
    #[error("no server answers: {0}")]
    Absent(String),
    /// A server is listening but cannot be used, for example because of a certificate.
    #[error("it cannot be used: {0}")]
    Unusable(String),
    /// The server did not answer in time.
    #[error("it does not answer in time")]
    Slow,
    /// The server rejected the query.
    #[error("it answers with an error: {0}")]
    Refused(String),
}

/// Durations of queries and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// A result is not queried again for this long.
    pub fresh: Duration,
    /// A result that could not be refreshed is used for this long.
    pub kept: Duration,
    /// A caller waits for this long, over all clusters.
    pub patience: Duration,
    /// Time limit for a cluster to answer.
    pub answer: Duration,
    /// A cluster that did not answer is left alone for this long.
    pub rest: Duration,
    /// A cluster without a server is left alone for this long.
    pub absence: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            fresh: Duration::from_secs(30),
            kept: Duration::from_mins(5),
            patience: Duration::from_secs(1),
            answer: Duration::from_secs(3),
            rest: Duration::from_secs(10),
            absence: Duration::from_mins(1),
        }
    }
}

/// A type of queries.
pub trait Query: Clone + Eq + Hash + Send + Sync + 'static {}
impl<Q: Clone + Eq + Hash + Send + Sync + 'static> Query for Q {}

/// A type of results.
pub trait Response: Clone + PartialEq + Send + Sync + 'static {}
impl<R: Clone + PartialEq + Send + Sync + 'static> Response for R {}

/// Cached results of clusters. Clones share the cache.
pub struct QueryCache<Q, R> {
    inner: Arc<Inner<Q, R>>,
}

impl<Q, R> Clone for QueryCache<Q, R> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<Q, R> {
    source: Box<dyn Source<Q, R>>,
    times: Times,
    state: Mutex<QueryEntries<Q, R>>,
    change: Notify,
}

/// Cached result of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Cached<R> {
    /// The last result, if it is not too old, and its time.
    pub result: Option<(Instant, R)>,
    /// Why the query was rejected, if the last one was.
    pub refused: Option<String>,
    /// Whether a request is in progress.
    pub in_progress: bool,
}

impl<Q: Query, R: Response> QueryCache<Q, R> {
    /// Queries through `source`.
    #[must_use]
    pub fn new(source: Box<dyn Source<Q, R>>, times: Times) -> Self {
        Self { inner: Arc::new(Inner { source, times, state: Mutex::default(), change: Notify::new() }) }
    }

    /// The cached result. Sends no query.
    #[must_use]
    pub fn get(&self, cluster: &str, query: &Q) -> Cached<R> {
        self.inner.state.lock().get(cluster, query, self.inner.times.kept, clock::steady())
    }

    /// Queries these clusters, except for fresh results, and waits a moment for all of them. Returns whether all have
    /// responded or are left alone; otherwise a result may still arrive.
    pub async fn refresh(&self, clusters: &[&str], query: &Q) -> bool {
        self.refresh_older(clusters, query, self.inner.times.fresh).await
    }

    /// As [`Self::refresh`], except for results that are younger than `fresh`.
    pub async fn refresh_older(&self, clusters: &[&str], query: &Q, fresh: Duration) -> bool {
        let now = clock::steady();
        let requests: Vec<_> =
            clusters.iter().filter_map(|cluster| self.start(cluster, query, fresh, false, now)).collect();
        if requests.is_empty() {
            return true;
        }
        let all = join_all(requests.into_iter().map(|mut end| async move { while end.changed().await.is_ok() {} }));
        timeout(self.inner.times.patience, all).await.is_ok()
    }

    /// Queries a cluster in the background, unless its result is younger than `fresh`: [`Self::wait_for_change`]
    /// reports a changed result.
    pub fn refresh_in_background(&self, cluster: &str, query: &Q, fresh: Duration) {
        let _end = self.start(cluster, query, fresh, true, clock::steady());
    }

    /// Waits until the result of a query of [`Self::refresh_in_background`] changes.
    pub async fn wait_for_change(&self) {
        self.inner.change.notified().await;
    }

    /// The queries whose result changed since the last call.
    #[must_use]
    pub fn changed(&self) -> HashSet<Q> {
        self.inner.state.lock().take_changed()
    }

    /// Sends a query unless its result is fresh; the returned receiver closes when the request ends.
    fn start(
        &self,
        cluster: &str,
        query: &Q,
        fresh: Duration,
        report: bool,
        now: Instant,
    ) -> Option<watch::Receiver<()>> {
        self.inner.sweep(now);
        let begun = {
            let mut state = self.inner.state.lock();
            let begun = state.begin(cluster, query, fresh, report, now);
            if matches!(begun, Begun::Started { .. }) {
                state.drop_expiring(cluster, query, &self.inner.times, now);
            }
            begun
        };
        match begun {
            Begun::Fresh | Begun::Paused | Begun::Full => None,
            Begun::InProgress(end) => Some(end),
            Begun::Started { slots, running, end } => {
                let request = Arc::clone(&self.inner).send(slots, cluster.to_owned(), query.clone());
                tokio::spawn(async move {
                    request.await;
                    drop(running);
                });
                Some(end)
            }
        }
    }
}

impl<Q: Query, R: Response> Inner<Q, R> {
    /// Drops entries that are no longer used.
    fn sweep(&self, now: Instant) {
        let gone = self.state.lock().sweep(self.times.kept, now);
        for cluster in gone {
            self.source.forget(&cluster);
        }
    }

    /// Sends one query when a slot is free.
    async fn send(self: Arc<Self>, slots: Arc<Semaphore>, cluster: String, query: Q) {
        let Ok(_slot) = slots.acquire().await else { return };
        if self.state.lock().is_paused(&cluster, clock::steady()) {
            return;
        }
        let request = self.source.send(&cluster, &query);
        let outcome = timeout(self.times.answer, request).await.unwrap_or(Err(QueryError::Slow));
        if matches!(outcome, Err(QueryError::Slow)) {
            self.source.forget(&cluster);
        }
        self.store(&cluster, &query, &outcome);
    }

    fn store(&self, cluster: &str, query: &Q, outcome: &Result<R, QueryError>) {
        let Some(stored) = self.state.lock().store(cluster, query, outcome, &self.times, clock::steady()) else {
            return;
        };
        if stored.report {
            self.change.notify_one();
        }
        log_change(self.source.component(), cluster, stored.responded, outcome);
    }
}
