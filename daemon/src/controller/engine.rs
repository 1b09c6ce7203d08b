//! Reconciles objects: those that changed, whose instant has come, or whose retry is due. One task; reconciles run
//! beside it, one per object at a time. Makes no decisions; reconciles talk to the API server.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::delay_queue::DelayQueue;
use super::key::Key;
use crate::decision::backoff::{self, ErrorClass};
use crate::runtime::clock;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::{EngineMetrics, ReconcileResult};

/// The wall clock is checked this often while a timer depends on it, so that a jump is noticed.
const NAP: Duration = Duration::from_secs(1);
/// The wall clock jumped when it differs from elapsed time by more than this.
const JUMP: SignedDuration = SignedDuration::from_secs(2);
/// Objects that can wait are not held up longer by reconciles that take this long, such as of a target that does not
/// answer.
const BRISK: Duration = Duration::from_secs(1);
/// Objects that can wait are first once they have waited for this long.
const OVERDUE: Duration = Duration::from_secs(30);
/// A reconcile that found the term over begins again after it, where the term goes on.
const AGAIN: SignedDuration = SignedDuration::from_secs(1);

/// Result of a reconcile. `T` is its retry state.
#[derive(Debug, Default)]
pub struct Ended<T> {
    /// State for the next attempt; `None` when nothing is left to retry.
    pub retry_state: Option<T>,
    /// When to reconcile the object again, if no event happens.
    pub wake: Option<Timestamp>,
    /// When to retry.
    pub retry: Option<Duration>,
}

/// Reconciles the objects of one kind.
pub trait Worker: Send + Sync + 'static {
    /// State of an object between two of its reconciles. It is lost when the process or the term ends.
    type RetryState: Default + Send;

    /// Waits until an object changed.
    fn wait_for_change(&self) -> impl Future<Output = ()> + Send;
    /// The objects that changed since the last call.
    fn changed(&self) -> BTreeSet<Key>;
    /// A term begins or ends: forgets what was decided in the last one.
    fn begin_term(&self) {}
    /// All objects.
    fn keys(&self) -> Vec<Key>;
    /// Reconciles one object.
    ///
    /// # Errors
    /// When this process no longer leads.
    fn reconcile(
        &self,
        leader: &Leader,
        key: &Key,
        retry_state: Self::RetryState,
    ) -> impl Future<Output = Result<Ended<Self::RetryState>, LeaseLost>> + Send;
    /// Whether the object is reconciled again as soon as no other one is queued; that may be at once. `retry_state` is
    /// what its reconcile left.
    fn can_wait(&self, _retry_state: &Self::RetryState) -> bool {
        false
    }
    /// Reports the state of the queue.
    fn queue_stats(&self, queue_stats: QueueStats<'_>);
    /// Reports that a reconcile begins for an object that waited for this long.
    fn dequeued(&self, waited: Duration);
    /// Reports how a reconcile ended, and how long it took.
    fn ended(&self, result: ReconcileResult, took: Duration);
}

/// State of the queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueStats<'a> {
    /// Objects by the instant of their next reconcile.
    pub delay_queue: &'a DelayQueue,
    /// Objects that wait to be reconciled.
    pub queued: usize,
    /// Objects that wait until no other one does.
    pub behind: usize,
    /// Reconciles in progress.
    pub reconciles: usize,
}

impl QueueStats<'_> {
    /// Sets the gauges.
    pub fn show(self, gauges: &EngineMetrics) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        gauges.delay_queue_depth.set(number(self.delay_queue.len()));
        gauges.workqueue_depth.set(number(self.queued.saturating_add(self.behind)));
        gauges.active_workers.set(number(self.reconciles));
    }
}

/// A reconcile in progress.
struct Running {
    key: Key,
    since: Instant,
    /// Whether it is one that could wait.
    behind: bool,
}

/// The object of a reconcile, and its result.
type Finished<T> = (Key, Result<Ended<T>, LeaseLost>);

/// Reconciles objects.
pub struct Engine<W: Worker> {
    worker: Arc<W>,
    clock: WallClock,
    /// Most reconciles at a time.
    concurrency: usize,
    delay_queue: DelayQueue,
    /// Objects that wait to be reconciled, and since when.
    queue: VecDeque<(Key, Instant)>,
    /// Keys in `queue`.
    queued: BTreeSet<Key>,
    /// Objects whose reconcile can wait until none is queued, and since when. One that was queued since is left out.
    behind: VecDeque<(Key, Instant)>,
    /// Keys in `behind`, without those that were left out.
    waiting: BTreeSet<Key>,
    reconciles: JoinSet<Finished<W::RetryState>>,
    running: HashMap<Id, Running>,
    /// Keys that are being reconciled, and whether to enqueue them again afterwards.
    busy: HashMap<Key, bool>,
    retry_states: HashMap<Key, W::RetryState>,
    clocks: Clocks,
}

/// Wall and steady time, last read together.
struct Clocks {
    wall: Timestamp,
    steady: Instant,
}

impl<W: Worker> Engine<W> {
    /// Runs at most `concurrency` reconciles at a time.
    pub fn new(worker: Arc<W>, clock: WallClock, concurrency: usize) -> Self {
        let clocks = Clocks { wall: clock(), steady: clock::steady() };
        Self {
            worker,
            clock,
            concurrency: concurrency.max(1),
            delay_queue: DelayQueue::default(),
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            behind: VecDeque::new(),
            waiting: BTreeSet::new(),
            reconciles: JoinSet::new(),
            running: HashMap::new(),
            busy: HashMap::new(),
            retry_states: HashMap::new(),
            clocks,
        }
    }

    /// Reconciles while this process leads, until `stop` is true. Then no reconcile starts but of objects that could
    /// wait, and those in progress finish; a caller that does not want to wait drops the future.
    pub async fn run(mut self, mut leadership: watch::Receiver<Option<Leader>>, mut stop: watch::Receiver<bool>) {
        let worker = Arc::clone(&self.worker);
        let mut leader = leadership.borrow_and_update().clone();
        self.begin(leader.as_ref()).await;
        loop {
            if let Some(leader) = &leader {
                self.dispatch(leader);
            }
            self.worker.queue_stats(self.queue_stats());
            let nap = self.nap(leader.is_some());
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                changed = leadership.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    leader.clone_from(&leadership.borrow_and_update());
                    self.begin(leader.as_ref()).await;
                }
                Some(ended) = self.reconciles.join_next_with_id() => self.ended(ended),
                () = worker.wait_for_change() => {
                    let changed = worker.changed();
                    if leader.is_some() {
                        for key in changed {
                            self.enqueue(key);
                        }
                    }
                }
                () = sleep_until(nap) => {}
            }
        }
        self.finish(leader.as_ref()).await;
    }

    /// Reconciles the objects that could wait, and returns when none is in progress.
    async fn finish(&mut self, leader: Option<&Leader>) {
        loop {
            if let Some(leader) = leader {
                while self.reconciles.len() < self.concurrency
                    && let Some((key, since)) = self.next_behind()
                {
                    self.start(leader, key, since, true);
                }
            }
            let Some(ended) = self.reconciles.join_next_with_id().await else { return };
            self.ended(ended);
        }
    }

    fn queue_stats(&self) -> QueueStats<'_> {
        let Self { delay_queue, queue, waiting, reconciles, .. } = self;
        QueueStats { delay_queue, queued: queue.len(), behind: waiting.len(), reconciles: reconciles.len() }
    }

    /// A term begins or ends: drops all state of the previous one.
    async fn begin(&mut self, leader: Option<&Leader>) {
        self.reconciles.shutdown().await;
        self.delay_queue.clear();
        self.queue.clear();
        self.queued.clear();
        self.behind.clear();
        self.waiting.clear();
        self.running.clear();
        self.busy.clear();
        self.retry_states.clear();
        self.worker.begin_term();
        if leader.is_some() {
            self.clocks = Clocks { wall: (self.clock)(), steady: clock::steady() };
            self.enqueue_all();
            info!(objects = self.queue.len(), "requeueing all objects");
        }
    }

    fn enqueue_all(&mut self) {
        for key in self.worker.keys() {
            self.enqueue(key);
        }
    }

    /// Enqueues an object.
    fn enqueue(&mut self, key: Key) {
        if let Some(again) = self.busy.get_mut(&key) {
            *again = true;
        } else if self.queued.insert(key.clone()) {
            self.waiting.remove(&key);
            self.queue.push_back((key, clock::steady()));
        }
    }

    /// Starts reconciles, up to the limit.
    fn dispatch(&mut self, leader: &Leader) {
        let now = (self.clock)();
        if self.jumped(now) {
            warn!(%now, "the clock of this machine jumped; requeueing all objects");
            self.enqueue_all();
        }
        self.clocks = Clocks { wall: now, steady: clock::steady() };
        while let Some(key) = self.delay_queue.pop(now) {
            self.enqueue(key);
        }
        while self.reconciles.len() < self.concurrency
            && let Some((key, since, behind)) = self.next()
        {
            self.start(leader, key, since, behind);
        }
    }

    /// The object to reconcile next, since when it waits, and whether it is one that could wait.
    fn next(&mut self) -> Option<(Key, Instant, bool)> {
        while self.behind.pop_front_if(|(key, _)| !self.waiting.contains(key)).is_some() {}
        let overdue = self.behind.front().is_some_and(|(_, since)| since.elapsed() >= OVERDUE);
        if !overdue && let Some((key, since)) = self.queue.pop_front() {
            return Some((key, since, false));
        }
        if !overdue && self.running.values().any(|running| !running.behind && running.since.elapsed() < BRISK) {
            return None;
        }
        self.next_behind().map(|(key, since)| (key, since, true))
    }

    fn next_behind(&mut self) -> Option<(Key, Instant)> {
        while let Some((key, since)) = self.behind.pop_front() {
            if self.waiting.remove(&key) {
                return Some((key, since));
            }
        }
        None
    }

    fn start(&mut self, leader: &Leader, key: Key, since: Instant, behind: bool) {
        self.worker.dequeued(since.elapsed());
        self.queued.remove(&key);
        self.delay_queue.set(&key, None);
        let retry_state = self.retry_states.remove(&key).unwrap_or_default();
        let (worker, leader, of) = (Arc::clone(&self.worker), leader.clone(), key.clone());
        let task = self.reconciles.spawn(async move {
            let ended = worker.reconcile(&leader, &of, retry_state).await;
            (of, ended)
        });
        self.running.insert(task.id(), Running { key: key.clone(), since: clock::steady(), behind });
        self.busy.insert(key, false);
    }

    fn jumped(&self, now: Timestamp) -> bool {
        let elapsed = clock::steady().saturating_duration_since(self.clocks.steady);
        let expected = SignedDuration::try_from(elapsed).ok().and_then(|by| self.clocks.wall.checked_add(by).ok());
        expected.is_none_or(|expected| now.duration_since(expected).abs() > JUMP)
    }

    fn ended(&mut self, ended: Result<(Id, Finished<W::RetryState>), JoinError>) {
        let (key, ended) = match ended {
            Ok((id, (key, ended))) => {
                if let (Some(Running { since, .. }), Ok(ended)) = (self.running.remove(&id), &ended) {
                    let failed = ended.retry.is_some();
                    let result = if failed { ReconcileResult::Error } else { ReconcileResult::Success };
                    self.worker.ended(result, since.elapsed());
                }
                (key, ended)
            }
            Err(failed) => {
                let Some(Running { key, since, .. }) = self.running.remove(&failed.id()) else { return };
                if failed.is_panic() {
                    error!(object = %key, "a reconcile panicked");
                    self.worker.ended(ReconcileResult::Panic, since.elapsed());
                }
                let retry = Some(backoff::wait(ErrorClass::Refused, 1, &key, None));
                (key, Ok(Ended { retry_state: None, wake: None, retry }))
            }
        };
        let again = self.busy.remove(&key).unwrap_or_default();
        let Ok(Ended { retry_state, wake, retry }) = ended else {
            // The lease reports the end of the term, unless a renewal on its way prolongs it.
            self.delay_queue.set(&key, (self.clock)().checked_add(AGAIN).ok());
            return;
        };
        let can_wait = retry_state.as_ref().is_some_and(|retry_state| self.worker.can_wait(retry_state));
        if let Some(retry_state) = retry_state {
            self.retry_states.insert(key.clone(), retry_state);
        }
        if again {
            self.enqueue(key);
            return;
        }
        if can_wait && self.waiting.insert(key.clone()) {
            self.behind.push_back((key.clone(), clock::steady()));
        }
        let retry = retry.and_then(|wait| (self.clock)().checked_add(wait).ok());
        self.delay_queue.set(&key, wake.into_iter().chain(retry).min());
    }

    /// Until when no timer is due.
    fn nap(&self, leads: bool) -> Instant {
        let longest = clock::steady() + NAP;
        let Some(next) = self.delay_queue.next().filter(|_| leads) else {
            return if self.waiting.is_empty() { clock::steady() + NAP * 60 } else { longest };
        };
        let left = Duration::try_from(next.duration_since((self.clock)())).unwrap_or_default();
        // Timers count in milliseconds; a nap that ends before its instant would be followed by another.
        longest.min(clock::steady() + left)
    }
}

/// Returns when `stop` is true, or its sender is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _: Result<_, watch::error::RecvError> = stop.wait_for(|stop| *stop).await.map(|_| ());
}
