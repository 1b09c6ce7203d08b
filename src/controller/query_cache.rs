//! Cache of queries to clusters for data that watches do not provide. A result is kept for a while, and no plan waits
//! long for one. Asks through a [`Source`].
//!
//! A query with a fresh result is not repeated, and concurrent callers share one request. Callers wait for a moment
//! only, or not at all; a later result is available to the next plan. A cluster that does not answer is left alone for
//! a while, and does not delay queries to others.
//!
//! Not a cache of watches: queries create its entries, the entries expire, and callers wait for pending results.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use crate::decision::excerpt::{ERROR, excerpt};
use crate::runtime::clock;

/// Sends queries `Q` to clusters.
pub trait Source<Q, A>: Send + Sync + 'static {
    /// Name of the component that answers, for the log.
    fn who(&self) -> &'static str;

    /// The result from the cluster.
    fn ask(&self, cluster: &str, question: &Q) -> BoxFuture<'static, Result<A, QueryError>>;

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

/// Most queries in progress to one cluster.
const AT_ONCE: usize = 4;
/// Most queries kept; at the limit new ones are rejected until old ones are dropped.
const REMEMBERED: usize = 200_000;

/// A type of queries.
pub trait Asked: Clone + Eq + Hash + Send + Sync + 'static {}
impl<Q: Clone + Eq + Hash + Send + Sync + 'static> Asked for Q {}

/// A type of results.
pub trait Answered: Clone + PartialEq + Send + Sync + 'static {}
impl<A: Clone + PartialEq + Send + Sync + 'static> Answered for A {}

/// Cached results of clusters. Clones share the cache.
pub struct QueryCache<Q, A> {
    inner: Arc<Inner<Q, A>>,
}

impl<Q, A> Clone for QueryCache<Q, A> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<Q, A> {
    source: Box<dyn Source<Q, A>>,
    times: Times,
    known: Mutex<Known<Q, A>>,
    news: Notify,
}

struct Known<Q, A> {
    clusters: HashMap<String, Cluster<Q, A>>,
    /// Number of queries, over all clusters.
    questions: usize,
    /// When old entries were last dropped.
    swept: Option<Instant>,
    /// Queries of [`QueryCache::look`] whose result changed.
    changed: HashSet<Q>,
}

impl<Q, A> Default for Known<Q, A> {
    fn default() -> Self {
        Self { clusters: HashMap::new(), questions: 0, swept: None, changed: HashSet::new() }
    }
}

/// State of one cluster.
struct Cluster<Q, A> {
    questions: HashMap<Q, Entry<A>>,
    /// Until when it is left alone.
    rests: Option<Instant>,
    /// Last logged state: whether it answers.
    answers: Option<bool>,
    turns: Arc<Semaphore>,
}

impl<Q, A> Default for Cluster<Q, A> {
    fn default() -> Self {
        Self { questions: HashMap::new(), rests: None, answers: None, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

/// State of one query.
struct Entry<A> {
    /// The last result, and its time.
    result: Option<(Instant, A)>,
    /// Why the query was rejected.
    refused: Option<String>,
    /// Whether a change must be reported.
    report: bool,
    /// When it was last answered or rejected.
    settled: Option<Instant>,
    /// Closes when the request in progress ends.
    under_way: Option<watch::Receiver<()>>,
}

impl<A> Default for Entry<A> {
    fn default() -> Self {
        Self { result: None, refused: None, report: false, settled: None, under_way: None }
    }
}

impl<A> Entry<A> {
    fn waits(&self) -> Option<watch::Receiver<()>> {
        self.under_way.clone().filter(|over| over.has_changed().is_ok())
    }

    fn settled_within(&self, age: Duration, now: Instant) -> bool {
        self.settled.is_some_and(|settled| now.duration_since(settled) < age)
    }
}

/// Cached result of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Cached<A> {
    /// The last result, if it is not too old, and its time.
    pub result: Option<(Instant, A)>,
    /// Why the query was rejected, if the last one was.
    pub refused: Option<String>,
    /// Whether a result may arrive soon.
    pub under_way: bool,
}

impl<Q: Asked, A: Answered> QueryCache<Q, A> {
    /// Queries through `source`.
    #[must_use]
    pub fn new(source: Box<dyn Source<Q, A>>, times: Times) -> Self {
        Self { inner: Arc::new(Inner { source, times, known: Mutex::default(), news: Notify::new() }) }
    }

    /// The cached result. Sends no query.
    #[must_use]
    pub fn cached(&self, cluster: &str, question: &Q) -> Cached<A> {
        let known = self.inner.known.lock();
        let Some(entry) = known.clusters.get(cluster).and_then(|cluster| cluster.questions.get(question)) else {
            return Cached { result: None, refused: None, under_way: false };
        };
        let young = |(at, _): &(Instant, A)| clock::steady().duration_since(*at) < self.inner.times.kept;
        Cached {
            result: entry.result.clone().filter(young),
            refused: entry.refused.clone(),
            under_way: entry.waits().is_some(),
        }
    }

    /// Queries these clusters, except for fresh results, and waits a moment for all of them. Returns whether all have
    /// answered or are left alone; otherwise a result may still arrive.
    pub async fn hear(&self, clusters: &[&str], question: &Q) -> bool {
        let (now, fresh) = (clock::steady(), self.inner.times.fresh);
        let under_way: Vec<_> =
            clusters.iter().filter_map(|cluster| self.ask(cluster, question, fresh, false, now)).collect();
        if under_way.is_empty() {
            return true;
        }
        let all = join_all(under_way.into_iter().map(|mut over| async move { while over.changed().await.is_ok() {} }));
        timeout(self.inner.times.patience, all).await.is_ok()
    }

    /// Queries a cluster in the background, unless its result is younger than `fresh`: [`Self::news`] reports a changed
    /// result.
    pub fn look(&self, cluster: &str, question: &Q, fresh: Duration) {
        let _under_way = self.ask(cluster, question, fresh, true, clock::steady());
    }

    /// Waits until the result of a query of [`Self::look`] changes.
    pub async fn news(&self) {
        self.inner.news.notified().await;
    }

    /// The queries whose result changed since the last call.
    #[must_use]
    pub fn changed(&self) -> HashSet<Q> {
        std::mem::take(&mut self.inner.known.lock().changed)
    }

    /// Sends a query unless its result is fresh; the returned receiver closes when the query ends.
    fn ask(
        &self,
        name: &str,
        question: &Q,
        fresh: Duration,
        report: bool,
        now: Instant,
    ) -> Option<watch::Receiver<()>> {
        self.inner.sweep(now);
        let mut known = self.inner.known.lock();
        let room = known.questions < REMEMBERED;
        let cluster = match known.clusters.get_mut(name) {
            Some(cluster) => cluster,
            None => known.clusters.entry(name.to_owned()).or_default(),
        };
        if let Some(entry) = cluster.questions.get_mut(question) {
            entry.report |= report;
            if let Some(over) = entry.waits() {
                return Some(over);
            }
            if entry.settled_within(fresh, now) {
                return None;
            }
        }
        if cluster.rests.is_some_and(|until| now < until) {
            return None;
        }
        let turns = Arc::clone(&cluster.turns);
        let (over, waits) = watch::channel(());
        if let Some(entry) = cluster.questions.get_mut(question) {
            entry.under_way = Some(waits.clone());
        } else {
            if !room {
                return None;
            }
            let entry = Entry { under_way: Some(waits.clone()), report, ..Entry::default() };
            cluster.questions.insert(question.clone(), entry);
            known.questions = known.questions.saturating_add(1);
        }
        drop(known);
        let turn = Arc::clone(&self.inner).put(turns, name.to_owned(), question.clone());
        tokio::spawn(async move {
            turn.await;
            drop(over);
        });
        Some(waits)
    }
}

impl<Q: Asked, A: Answered> Inner<Q, A> {
    /// Drops entries that are no longer used.
    fn sweep(&self, now: Instant) {
        let gone = self.known.lock().sweep(&self.times, now);
        for cluster in gone {
            self.source.forget(&cluster);
        }
    }

    /// Sends one query when a slot is free.
    async fn put(self: Arc<Self>, turns: Arc<Semaphore>, cluster: String, question: Q) {
        let Ok(_turn) = turns.acquire().await else { return };
        if self.rests(&cluster) {
            return;
        }
        let asked = self.source.ask(&cluster, &question);
        let outcome = timeout(self.times.answer, asked).await.unwrap_or(Err(QueryError::Slow));
        if matches!(outcome, Err(QueryError::Slow)) {
            self.source.forget(&cluster);
        }
        self.settle(&cluster, &question, &outcome);
    }

    fn rests(&self, cluster: &str) -> bool {
        let rests = self.known.lock().clusters.get(cluster).and_then(|cluster| cluster.rests);
        rests.is_some_and(|until| clock::steady() < until)
    }

    fn settle(&self, name: &str, question: &Q, outcome: &Result<A, QueryError>) {
        let now = clock::steady();
        let mut known = self.known.lock();
        let Some(cluster) = known.clusters.get_mut(name) else { return };
        let before = cluster.answers;
        let rest = match outcome {
            Ok(_) | Err(QueryError::Refused(_)) => None,
            // A cluster that answered before is probably about to return.
            Err(QueryError::Absent(_)) if before != Some(true) => Some(self.times.absence),
            Err(_) => Some(self.times.rest),
        };
        cluster.rests = rest.and_then(|rest| now.checked_add(rest));
        cluster.answers = Some(rest.is_none());
        let changed =
            cluster.questions.get_mut(question).is_some_and(|entry| entry.settle(outcome, rest.is_none(), now));
        if changed {
            known.changed.insert(question.clone());
            self.news.notify_one();
        }
        drop(known);
        report(self.source.who(), name, before, outcome);
    }
}

impl<A: Answered> Entry<A> {
    /// Returns whether the change must be reported.
    fn settle(&mut self, outcome: &Result<A, QueryError>, answered: bool, now: Instant) -> bool {
        let first = self.settled.is_none() && self.result.is_none();
        if answered {
            self.settled = Some(now);
        }
        let same = match outcome {
            Ok(answer) => {
                let same = self.refused.is_none() && self.result.as_ref().is_some_and(|(_, known)| known == answer);
                self.result = Some((now, answer.clone()));
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

impl<Q: Asked, A> Known<Q, A> {
    /// Drops old entries from time to time; returns the clusters that are no longer queried.
    fn sweep(&mut self, times: &Times, now: Instant) -> Vec<String> {
        let due = self.swept.is_none_or(|swept| now.duration_since(swept) >= times.kept);
        if !due {
            return Vec::new();
        }
        self.swept = Some(now);
        let young = |at: Instant| now.duration_since(at) < times.kept;
        for cluster in self.clusters.values_mut() {
            cluster.questions.retain(|_, entry| {
                entry.waits().is_some()
                    || entry.settled.is_some_and(young)
                    || entry.result.as_ref().is_some_and(|(at, _)| young(*at))
            });
        }
        let silent =
            |cluster: &Cluster<Q, A>| cluster.questions.is_empty() && cluster.rests.is_none_or(|until| until <= now);
        let gone: Vec<String> =
            self.clusters.iter().filter(|(_, cluster)| silent(cluster)).map(|(name, _)| name.clone()).collect();
        self.clusters.retain(|_, cluster| !silent(cluster));
        self.questions = self.clusters.values().map(|cluster| cluster.questions.len()).sum();
        gone
    }
}

/// Logs once when a cluster begins or stops to answer.
fn report<A>(who: &str, cluster: &str, before: Option<bool>, outcome: &Result<A, QueryError>) {
    match outcome {
        Ok(_) if before == Some(false) => info!(cluster, "{who} of the cluster responds again"),
        Err(failure @ QueryError::Refused(_)) => {
            let failure = failure.to_string();
            debug!(cluster, error = excerpt(&failure, ERROR), "{who} returned no answer for the cluster");
        }
        Err(failure) if before != Some(false) => {
            let absent = matches!(failure, QueryError::Absent(_));
            let failure = failure.to_string();
            let error = excerpt(&failure, ERROR);
            if absent && before.is_none() {
                info!(cluster, error, "no {who} found for the cluster");
            } else {
                warn!(
                    cluster,
                    error, "{who} of the cluster does not respond; its last answers are used until they expire"
                );
            }
        }
        _ => {}
    }
}
