//! What estimators say of their clusters: heard once, kept for a while, and never waited for longer than a plan can wait.
//! Asks through [`Estimator`].
//!
//! A question that was answered is not asked again while its answer is fresh, and one that is being asked is not asked a
//! second time. Who asks waits a moment only; an answer that comes later is there for the next plan. A cluster whose
//! estimator does not answer is left in peace for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};

use super::question::Question;
use crate::decision::capacity::Answer;
use crate::decision::excerpt::excerpt;
use crate::runtime::clock;

/// Asks the estimator of a cluster.
pub trait Estimator: Send + Sync + 'static {
    /// The number it answers with.
    fn ask(&self, cluster: &str, question: &Question) -> BoxFuture<'static, Result<i32, Failure>>;

    /// Nobody asks about the cluster any more, or its connection is not to be trusted.
    fn forget(&self, cluster: &str);
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody is there: the cluster has no estimator.
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
    /// An estimator has so long to answer.
    pub answer: Duration,
    /// One that did not answer is left in peace for so long.
    pub rest: Duration,
    /// A cluster that seems to have none is left in peace for so long.
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

/// Questions under way at a time to one estimator.
const AT_ONCE: usize = 4;
/// Questions that are remembered; beyond that there are no new ones until old ones are forgotten.
const REMEMBERED: usize = 200_000;
/// Characters of an error that are logged.
const SHOWN: usize = 300;

/// What is known from estimators. A clone knows the same.
#[derive(Clone)]
pub struct Estimators {
    inner: Arc<Inner>,
}

struct Inner {
    estimator: Box<dyn Estimator>,
    times: Times,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    clusters: HashMap<String, Cluster>,
    /// Questions of all clusters.
    questions: usize,
    /// When what is old was last thrown away.
    swept: Option<Instant>,
}

/// One estimator.
struct Cluster {
    questions: HashMap<Question, Entry>,
    /// Until when it is left in peace.
    rests: Option<Instant>,
    /// What was last logged of it: whether it answers.
    answers: Option<bool>,
    turns: Arc<Semaphore>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self { questions: HashMap::new(), rests: None, answers: None, turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

/// One question.
#[derive(Default)]
struct Entry {
    /// The last answer, and when it came.
    heard: Option<(Instant, Answer)>,
    /// When it was last answered or refused.
    settled: Option<Instant>,
    /// Closes when the question under way is over.
    under_way: Option<watch::Receiver<()>>,
}

impl Entry {
    fn waits(&self) -> Option<watch::Receiver<()>> {
        self.under_way.clone().filter(|over| over.has_changed().is_ok())
    }

    fn settled_within(&self, age: Duration, now: Instant) -> bool {
        self.settled.is_some_and(|settled| now.duration_since(settled) < age)
    }
}

impl Estimators {
    /// Asks through `estimator`.
    #[must_use]
    pub fn new(estimator: Box<dyn Estimator>, times: Times) -> Self {
        Self { inner: Arc::new(Inner { estimator, times, known: Mutex::default() }) }
    }

    /// What was last heard, if that is not too long ago. Asks nobody.
    #[must_use]
    pub fn heard(&self, cluster: &str, question: &Question) -> Answer {
        let known = self.inner.known();
        let heard = known.clusters.get(cluster).and_then(|cluster| cluster.questions.get(question)?.heard);
        let young = heard.filter(|(at, _)| clock::steady().duration_since(*at) < self.inner.times.kept);
        young.map_or(Answer::Unknown, |(_, answer)| answer)
    }

    /// Asks the estimators of these clusters, as far as their answers are not fresh, and waits a moment for all of them.
    /// Returns whether all have answered or are left in peace; else an answer may still come.
    pub async fn hear(&self, clusters: &[&str], question: &Question) -> bool {
        let now = clock::steady();
        let under_way: Vec<_> = clusters.iter().filter_map(|cluster| self.ask(cluster, question, now)).collect();
        if under_way.is_empty() {
            return true;
        }
        let all = join_all(under_way.into_iter().map(|mut over| async move { while over.changed().await.is_ok() {} }));
        timeout(self.inner.times.patience, all).await.is_ok()
    }

    /// Asks unless there is no need to; what is returned closes when the question is over.
    fn ask(&self, name: &str, question: &Question, now: Instant) -> Option<watch::Receiver<()>> {
        let times = self.inner.times;
        self.inner.sweep(now);
        let mut known = self.inner.known();
        let room = known.questions < REMEMBERED;
        let cluster = match known.clusters.get_mut(name) {
            Some(cluster) => cluster,
            None => known.clusters.entry(name.to_owned()).or_default(),
        };
        if let Some(entry) = cluster.questions.get(question) {
            if let Some(over) = entry.waits() {
                return Some(over);
            }
            if entry.settled_within(times.fresh, now) {
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
            let entry = Entry { under_way: Some(waits.clone()), ..Entry::default() };
            cluster.questions.insert(question.clone(), entry);
            known.questions = known.questions.saturating_add(1);
        }
        drop(known);
        let turn = Arc::clone(&self.inner).turn(turns, name.to_owned(), question.clone());
        tokio::spawn(async move {
            turn.await;
            drop(over);
        });
        Some(waits)
    }
}

impl Inner {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what nobody asks about any more.
    fn sweep(&self, now: Instant) {
        let gone = self.known().sweep(&self.times, now);
        for cluster in gone {
            self.estimator.forget(&cluster);
        }
    }

    /// Puts one question when it is its turn.
    async fn turn(self: Arc<Self>, turns: Arc<Semaphore>, cluster: String, question: Question) {
        let Ok(_turn) = turns.acquire().await else { return };
        if self.rests(&cluster) {
            return;
        }
        let asked = self.estimator.ask(&cluster, &question);
        let outcome = timeout(self.times.answer, asked).await.unwrap_or(Err(Failure::Slow));
        if matches!(outcome, Err(Failure::Slow)) {
            self.estimator.forget(&cluster);
        }
        self.settle(&cluster, &question, &outcome);
    }

    fn rests(&self, cluster: &str) -> bool {
        let rests = self.known().clusters.get(cluster).and_then(|cluster| cluster.rests);
        rests.is_some_and(|until| clock::steady() < until)
    }

    fn settle(&self, name: &str, question: &Question, outcome: &Result<i32, Failure>) {
        let now = clock::steady();
        let mut known = self.known();
        let Some(cluster) = known.clusters.get_mut(name) else { return };
        let before = cluster.answers;
        let rest = match outcome {
            Ok(_) | Err(Failure::Refused(_)) => None,
            // One that answered before is about to come back.
            Err(Failure::Absent(_)) if before != Some(true) => Some(self.times.absence),
            Err(_) => Some(self.times.rest),
        };
        cluster.rests = rest.and_then(|rest| now.checked_add(rest));
        cluster.answers = Some(rest.is_none());
        if let Some(entry) = cluster.questions.get_mut(question) {
            if rest.is_none() {
                entry.settled = Some(now);
            }
            if let Ok(number) = outcome {
                entry.heard = Some((now, Answer::of(*number)));
            }
        }
        drop(known);
        report(name, before, outcome);
    }
}

impl Known {
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
                    || entry.heard.is_some_and(|(at, _)| young(at))
            });
        }
        let silent = |cluster: &Cluster| cluster.questions.is_empty() && cluster.rests.is_none_or(|until| until <= now);
        let gone: Vec<String> =
            self.clusters.iter().filter(|(_, cluster)| silent(cluster)).map(|(name, _)| name.clone()).collect();
        self.clusters.retain(|_, cluster| !silent(cluster));
        self.questions = self.clusters.values().map(|cluster| cluster.questions.len()).sum();
        gone
    }
}

/// Says once when an estimator begins or ceases to answer.
fn report(cluster: &str, before: Option<bool>, outcome: &Result<i32, Failure>) {
    match outcome {
        Ok(_) if before == Some(false) => info!(cluster, "the estimator of the cluster answers"),
        Err(failure @ Failure::Refused(_)) => {
            let failure = failure.to_string();
            debug!(cluster, error = excerpt(&failure, SHOWN), "the estimator of the cluster does not know");
        }
        Err(failure) if before != Some(false) => {
            let absent = matches!(failure, Failure::Absent(_));
            let failure = failure.to_string();
            let error = excerpt(&failure, SHOWN);
            if absent && before.is_none() {
                info!(cluster, error, "the cluster has no estimator; its capacity is what the Cluster says of itself");
            } else {
                warn!(
                    cluster,
                    error, "the estimator of the cluster does not answer; its last answers are used while they last"
                );
            }
        }
        _ => {}
    }
}
