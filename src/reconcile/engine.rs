//! Hands out turns: to objects that changed, whose instant has come, or whose retry is due. One task; turns run beside it,
//! one per object at a time. No decisions; turns talk to the API server.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::WallClock;
use super::key::Key;
use super::wheel::Wheel;
use crate::decision::backoff::{self, ErrorClass};
use crate::runtime::clock;
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::EngineMetrics;

/// The wall clock is looked at this often while something waits for it, so that a jump is noticed.
const NAP: Duration = Duration::from_secs(1);
/// Wall time that differs from elapsed time by more than this has jumped.
const JUMP: SignedDuration = SignedDuration::from_secs(2);

/// How a turn ended. `T` is what is left to do.
#[derive(Debug, Default)]
pub struct Ended<T> {
    /// What is known of the object that is not worked off yet; nothing when all is.
    pub trouble: Option<T>,
    /// When to look at the object again, if nothing happens to it.
    pub wake: Option<Timestamp>,
    /// When to try again.
    pub retry: Option<Duration>,
}

/// Works off the objects of one kind.
pub trait Worker: Send + Sync + 'static {
    /// What is known of an object between two of its turns. It is lost when the process ends, or the term.
    type Trouble: Default + Send;

    /// Waits until something changed.
    fn news(&self) -> impl Future<Output = ()> + Send;
    /// The objects that changed since this was last asked.
    fn changed(&self) -> BTreeSet<Key>;
    /// All objects.
    fn keys(&self) -> Vec<Key>;
    /// Works off what stands over one object.
    ///
    /// # Errors
    /// When this process leads no more.
    fn turn(
        &self,
        leader: &Leader,
        key: &Key,
        trouble: Self::Trouble,
    ) -> impl Future<Output = Result<Ended<Self::Trouble>, LeaseLost>> + Send;
    /// Is told what waits and what runs.
    fn standing(&self, standing: Standing<'_>);
    /// Is told that a turn begins for an object that waited for so long.
    fn dequeued(&self, waited: Duration);
    /// Is told that a turn panicked.
    fn panicked(&self);
}

/// What waits and what runs.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Objects by the instant at which they want a turn.
    pub wheel: &'a Wheel,
    /// Objects that want a turn now.
    pub queued: usize,
    /// Turns under way.
    pub turns: usize,
}

impl Standing<'_> {
    /// Shows it in gauges.
    pub fn show(self, gauges: &EngineMetrics) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        gauges.delay_queue_depth.set(number(self.wheel.len()));
        gauges.workqueue_depth.set(number(self.queued));
        gauges.active_workers.set(number(self.turns));
    }
}

/// The object of a turn, and how the turn ended.
type Turn<T> = (Key, Result<Ended<T>, LeaseLost>);

/// Gives turns to objects.
pub struct Engine<W: Worker> {
    worker: Arc<W>,
    clock: WallClock,
    /// Turns at a time.
    concurrency: usize,
    wheel: Wheel,
    /// Objects that want a turn, and since when.
    queue: VecDeque<(Key, Instant)>,
    /// Keys in `queue`.
    queued: BTreeSet<Key>,
    turns: JoinSet<Turn<W::Trouble>>,
    running: HashMap<Id, Key>,
    /// Keys with a turn, and whether they want another one after it.
    busy: HashMap<Key, bool>,
    troubles: HashMap<Key, W::Trouble>,
    clocks: Clocks,
}

/// Wall and steady time, last read together.
struct Clocks {
    wall: Timestamp,
    steady: Instant,
}

impl<W: Worker> Engine<W> {
    /// Gives at most `concurrency` turns at a time.
    pub fn new(worker: Arc<W>, clock: WallClock, concurrency: usize) -> Self {
        let clocks = Clocks { wall: clock(), steady: clock::steady() };
        Self {
            worker,
            clock,
            concurrency: concurrency.max(1),
            wheel: Wheel::default(),
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            turns: JoinSet::new(),
            running: HashMap::new(),
            busy: HashMap::new(),
            troubles: HashMap::new(),
            clocks,
        }
    }

    /// Works while this process leads, until `stop` is told. Then nothing more begins, and what is under way ends; whoever does
    /// not wait for it drops this.
    pub async fn run(mut self, mut leadership: watch::Receiver<Option<Leader>>, mut stop: watch::Receiver<bool>) {
        let worker = Arc::clone(&self.worker);
        let mut leader = leadership.borrow_and_update().clone();
        self.begin(leader.as_ref()).await;
        loop {
            if let Some(leader) = &leader {
                self.hand_out(leader);
            }
            let Self { wheel, queue, turns, .. } = &self;
            self.worker.standing(Standing { wheel, queued: queue.len(), turns: turns.len() });
            let nap = self.nap(leader.is_some());
            tokio::select! {
                biased;
                () = told_to_stop(&mut stop) => break,
                told = leadership.changed() => {
                    if told.is_err() {
                        break;
                    }
                    leader.clone_from(&leadership.borrow_and_update());
                    self.begin(leader.as_ref()).await;
                }
                Some(ended) = self.turns.join_next_with_id() => self.ended(ended),
                () = worker.news() => {
                    let changed = worker.changed();
                    if leader.is_some() {
                        for key in changed {
                            self.want(key);
                        }
                    }
                }
                () = sleep_until(nap) => {}
            }
        }
        while self.turns.join_next().await.is_some() {}
    }

    /// A term begins or ends: nothing of the one before counts.
    async fn begin(&mut self, leader: Option<&Leader>) {
        self.turns.shutdown().await;
        self.wheel.clear();
        self.queue.clear();
        self.queued.clear();
        self.running.clear();
        self.busy.clear();
        self.troubles.clear();
        if leader.is_some() {
            self.clocks = Clocks { wall: (self.clock)(), steady: clock::steady() };
            self.look_at_all();
            info!(objects = self.queue.len(), "looks at all objects");
        }
    }

    fn look_at_all(&mut self) {
        for key in self.worker.keys() {
            self.want(key);
        }
    }

    /// The object is to have a turn soon.
    fn want(&mut self, key: Key) {
        if let Some(again) = self.busy.get_mut(&key) {
            *again = true;
        } else if self.queued.insert(key.clone()) {
            self.queue.push_back((key, clock::steady()));
        }
    }

    /// Starts turns, as many as may run at a time.
    fn hand_out(&mut self, leader: &Leader) {
        let now = (self.clock)();
        if self.jumped(now) {
            warn!(%now, "the clock of this machine jumped: all objects are looked at again");
            self.look_at_all();
        }
        self.clocks = Clocks { wall: now, steady: clock::steady() };
        while let Some(key) = self.wheel.pop(now) {
            self.want(key);
        }
        while self.turns.len() < self.concurrency
            && let Some((key, since)) = self.queue.pop_front()
        {
            self.worker.dequeued(since.elapsed());
            self.queued.remove(&key);
            self.wheel.set(&key, None);
            let trouble = self.troubles.remove(&key).unwrap_or_default();
            let (worker, leader, of) = (Arc::clone(&self.worker), leader.clone(), key.clone());
            let task = self.turns.spawn(async move {
                let ended = worker.turn(&leader, &of, trouble).await;
                (of, ended)
            });
            self.running.insert(task.id(), key.clone());
            self.busy.insert(key, false);
        }
    }

    fn jumped(&self, now: Timestamp) -> bool {
        let elapsed = clock::steady().saturating_duration_since(self.clocks.steady);
        let expected = SignedDuration::try_from(elapsed).ok().and_then(|by| self.clocks.wall.checked_add(by).ok());
        expected.is_none_or(|expected| now.duration_since(expected).abs() > JUMP)
    }

    fn ended(&mut self, ended: Result<(Id, Turn<W::Trouble>), JoinError>) {
        let (key, ended) = match ended {
            Ok((id, (key, ended))) => {
                self.running.remove(&id);
                (key, ended)
            }
            Err(failed) => {
                let Some(key) = self.running.remove(&failed.id()) else { return };
                if failed.is_panic() {
                    error!(object = %key, "a turn panicked");
                    self.worker.panicked();
                }
                let retry = Some(backoff::wait(ErrorClass::Refused, 1, &key, None));
                (key, Ok(Ended { trouble: None, wake: None, retry }))
            }
        };
        let again = self.busy.remove(&key).unwrap_or_default();
        // The end of the term is told by the lease.
        let Ok(Ended { trouble, wake, retry }) = ended else { return };
        if let Some(trouble) = trouble {
            self.troubles.insert(key.clone(), trouble);
        }
        if again {
            self.want(key);
            return;
        }
        let retry = retry.and_then(|wait| (self.clock)().checked_add(wait).ok());
        self.wheel.set(&key, wake.into_iter().chain(retry).min());
    }

    /// Until when nothing happens by itself.
    fn nap(&self, leads: bool) -> Instant {
        let longest = clock::steady() + NAP;
        let Some(next) = self.wheel.next().filter(|_| leads) else { return clock::steady() + NAP * 60 };
        let left = Duration::try_from(next.duration_since((self.clock)())).unwrap_or_default();
        // Timers count in milliseconds; a nap that ends before its instant would be followed by another.
        longest.min(clock::steady() + left)
    }
}

/// Returns when `stop` is told, or nobody can tell it any more.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    let _: Result<_, watch::error::RecvError> = stop.wait_for(|stop| *stop).await.map(|_| ());
}
