//! What clusters are asked beside what watches bring: heard once, kept for a while, and never waited for longer than a plan
//! can wait. Asks through a [`Source`].
//!
//! A question that was answered is not asked again while its answer is fresh, and one that is being asked is not asked a
//! second time. Who asks waits a moment only, or not at all; an answer that comes later is there for the next plan. A cluster
//! that does not answer is left in peace for a while, and keeps nobody from asking others.
//!
//! Not a cache of watches: entries come by questions, expire, and wait for answers under way.

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

/// Puts questions `Q` to clusters.
pub trait Source<Q, A>: Send + Sync + 'static {
    /// Who answers for a cluster, for the log.
    fn who(&self) -> &'static str;

    /// What the cluster answers.
    fn ask(&self, cluster: &str, question: &Q) -> BoxFuture<'static, Result<A, QueryError>>;

    /// Nobody asks about the cluster any more, or its connection is not to be trusted.
    fn forget(&self, cluster: &str);
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Nobody is there.
    #[error("nobody answers: {0}")]
    Absent(String),
    /// Somebody is there who cannot be talked to, for example because of a certificate.
    #[error("it cannot be talked to: {0}")]
    Unusable(String),
    /// It does not answer in time.
    #[error("it does not answer in time")]
    Slow,
    /// It answers that it cannot answer this question.
    #[error("it answers with an error: {0}")]
    Refused(String),
}

/// How long things take and last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// An answer is good for so long before it is asked for again.
    pub fresh: Duration,
    /// An answer that could not be had again is good for so long.
    pub kept: Duration,
    /// Who asks waits for so long, over all clusters.
    pub patience: Duration,
    /// A cluster has so long to answer.
    pub answer: Duration,
    /// One that did not answer is left in peace for so long.
    pub rest: Duration,
    /// A cluster where nobody seems to be is left in peace for so long.
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

/// Questions under way at a time to one cluster.
const AT_ONCE: usize = 4;
/// Questions that are remembered; beyond that there are no new ones until old ones are forgotten.
const REMEMBERED: usize = 200_000;

/// What a question can be.
pub trait Asked: Clone + Eq + Hash + Send + Sync + 'static {}
impl<Q: Clone + Eq + Hash + Send + Sync + 'static> Asked for Q {}

/// What an answer can be.
pub trait Answered: Clone + PartialEq + Send + Sync + 'static {}
impl<A: Clone + PartialEq + Send + Sync + 'static> Answered for A {}

/// What is known from clusters. A clone knows the same.
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
    /// Questions of all clusters.
    questions: usize,
    /// When what is old was last thrown away.
    swept: Option<Instant>,
    /// Questions of those who do not wait, with another answer than before.
    changed: HashSet<Q>,
}

impl<Q, A> Default for Known<Q, A> {
    fn default() -> Self {
        Self { clusters: HashMap::new(), questions: 0, swept: None, changed: HashSet::new() }
    }
}

/// One that answers.
struct Cluster<Q, A> {
    questions: HashMap<Q, Entry<A>>,
    /// Until when it is left in peace.
    rests: Option<Instant>,
    /// What was last logged of it: whether it answers.
    answers: Option<bool>,
    turns: Arc<Semaphore>,
}

impl<Q, A> Default for Cluster<Q, A> {
    fn default() -> Self {
        Self { questions: HashMap::new(), rests: None, answers: None, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

/// One question.
struct Entry<A> {
    /// The last answer, and when it came.
    heard: Option<(Instant, A)>,
    /// Why it is not answered.
    refused: Option<String>,
    /// Whether somebody is to be told.
    told: bool,
    /// When it was last answered or refused.
    settled: Option<Instant>,
    /// Closes when the question under way is over.
    under_way: Option<watch::Receiver<()>>,
}

impl<A> Default for Entry<A> {
    fn default() -> Self {
        Self { heard: None, refused: None, told: false, settled: None, under_way: None }
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

/// What is known of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Word<A> {
    /// The last answer, if it is not too old, and when it came.
    pub heard: Option<(Instant, A)>,
    /// Why it was refused, if it was the last time.
    pub refused: Option<String>,
    /// Whether an answer may come soon.
    pub under_way: bool,
}

impl<Q: Asked, A: Answered> QueryCache<Q, A> {
    /// Asks through `source`.
    #[must_use]
    pub fn new(source: Box<dyn Source<Q, A>>, times: Times) -> Self {
        Self { inner: Arc::new(Inner { source, times, known: Mutex::default(), news: Notify::new() }) }
    }

    /// What is known. Asks nobody.
    #[must_use]
    pub fn word(&self, cluster: &str, question: &Q) -> Word<A> {
        let known = self.inner.known.lock();
        let Some(entry) = known.clusters.get(cluster).and_then(|cluster| cluster.questions.get(question)) else {
            return Word { heard: None, refused: None, under_way: false };
        };
        let young = |(at, _): &(Instant, A)| clock::steady().duration_since(*at) < self.inner.times.kept;
        Word {
            heard: entry.heard.clone().filter(young),
            refused: entry.refused.clone(),
            under_way: entry.waits().is_some(),
        }
    }

    /// Asks these clusters, as far as their answers are not fresh, and waits a moment for all of them. Returns whether all
    /// have answered or are left in peace; else an answer may still come.
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

    /// Asks a cluster, unless its answer is younger than `fresh`, and waits for nothing: [`Self::news`] tells when there is
    /// another answer.
    pub fn look(&self, cluster: &str, question: &Q, fresh: Duration) {
        let _under_way = self.ask(cluster, question, fresh, true, clock::steady());
    }

    /// Waits until a question of [`Self::look`] has another answer.
    pub async fn news(&self) {
        self.inner.news.notified().await;
    }

    /// The questions that have another answer since this was last asked.
    #[must_use]
    pub fn changed(&self) -> HashSet<Q> {
        std::mem::take(&mut self.inner.known.lock().changed)
    }

    /// Asks unless there is no need to; what is returned closes when the question is over.
    fn ask(&self, name: &str, question: &Q, fresh: Duration, told: bool, now: Instant) -> Option<watch::Receiver<()>> {
        self.inner.sweep(now);
        let mut known = self.inner.known.lock();
        let room = known.questions < REMEMBERED;
        let cluster = match known.clusters.get_mut(name) {
            Some(cluster) => cluster,
            None => known.clusters.entry(name.to_owned()).or_default(),
        };
        if let Some(entry) = cluster.questions.get_mut(question) {
            entry.told |= told;
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
            let entry = Entry { under_way: Some(waits.clone()), told, ..Entry::default() };
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
    /// Forgets what nobody asks about any more.
    fn sweep(&self, now: Instant) {
        let gone = self.known.lock().sweep(&self.times, now);
        for cluster in gone {
            self.source.forget(&cluster);
        }
    }

    /// Puts one question when it is its turn.
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
            // One that answered before is about to come back.
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
    /// Returns whether somebody is to be told of it.
    fn settle(&mut self, outcome: &Result<A, QueryError>, answered: bool, now: Instant) -> bool {
        let first = self.settled.is_none() && self.heard.is_none();
        if answered {
            self.settled = Some(now);
        }
        let same = match outcome {
            Ok(answer) => {
                let same = self.refused.is_none() && self.heard.as_ref().is_some_and(|(_, known)| known == answer);
                self.heard = Some((now, answer.clone()));
                self.refused = None;
                same
            }
            Err(QueryError::Refused(why)) => {
                let same = self.refused.replace(why.clone()).is_some();
                same && !first
            }
            // Somebody else may be asked instead.
            Err(_) => !first,
        };
        self.told && !same
    }
}

impl<Q: Asked, A> Known<Q, A> {
    /// Throws away what is old, from time to time; returns the clusters that nobody asks about any more.
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
                    || entry.heard.as_ref().is_some_and(|(at, _)| young(*at))
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

/// Says once when a cluster begins or ceases to answer.
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
