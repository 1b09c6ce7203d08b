//! For tests: what was asked, and what shall go wrong. No I/O.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::status::Failure;

/// Which requests a fault meets. Empty fields meet all.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// `deployments` or `deployments/status`.
    pub resource: String,
    /// Name of the object.
    pub name: String,
}

impl Which {
    fn meets(&self, seen: &Seen) -> bool {
        let fits = |want: &str, have: &str| want.is_empty() || want == have;
        fits(&self.verb, &seen.verb) && fits(&self.resource, &seen.resource) && fits(&self.name, &seen.name)
    }
}

/// A request, as the recorder sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Verb.
    pub verb: String,
    /// `deployments` or `deployments/status`; the path for requests that are not about objects.
    pub resource: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

#[derive(Debug)]
struct Fault {
    which: Which,
    left: usize,
    failure: Failure,
}

/// Where a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing has been done yet.
    Arriving,
    /// It is done, and the answer is not sent yet.
    Answered,
}

/// Holds one request; dropped, it lets it go.
#[derive(Debug)]
pub struct Hold {
    reached: watch::Receiver<bool>,
    _held: watch::Sender<()>,
}

impl Hold {
    /// Returns when the request is held.
    pub async fn reached(&mut self) {
        // The other end goes only after it has told.
        let _: Result<_, watch::error::RecvError> = self.reached.wait_for(|reached| *reached).await.map(|_| ());
    }
}

#[derive(Debug)]
struct Stop {
    which: Which,
    moment: Moment,
    reached: watch::Sender<bool>,
    held: watch::Receiver<()>,
}

#[derive(Debug, Default)]
struct Inner {
    faults: VecDeque<Fault>,
    stops: Vec<Stop>,
    counts: BTreeMap<(String, String), u64>,
    log: Option<Vec<Seen>>,
}

/// The recorder and the faults of one server.
#[derive(Debug)]
pub struct Faults {
    inner: Mutex<Inner>,
    watches: watch::Sender<u64>,
    paused: watch::Sender<bool>,
}

impl Default for Faults {
    fn default() -> Self {
        Self { inner: Mutex::default(), watches: watch::Sender::new(0), paused: watch::Sender::new(false) }
    }
}

impl Faults {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next `count` requests of this kind fail so.
    pub fn fail(&self, which: Which, count: usize, failure: Failure) {
        self.inner().faults.push_back(Fault { which, left: count, failure });
    }

    /// Takes back all failures that have not met a request yet.
    pub fn heal(&self) {
        self.inner().faults.clear();
    }

    /// The next request of this kind is held at `moment`.
    pub fn hold(&self, which: Which, moment: Moment) -> Hold {
        let (reached, told) = watch::channel(false);
        let (release, held) = watch::channel(());
        self.inner().stops.push(Stop { which, moment, reached, held });
        Hold { reached: told, _held: release }
    }

    /// Waits when a request is to be held at `moment`.
    async fn wait(&self, seen: &Seen, moment: Moment) {
        let stop = {
            let mut inner = self.inner();
            let found = inner.stops.iter().position(|stop| stop.moment == moment && stop.which.meets(seen));
            found.map(|at| inner.stops.remove(at))
        };
        if let Some(mut stop) = stop {
            stop.reached.send_replace(true);
            while stop.held.changed().await.is_ok() {}
        }
    }

    /// A request was worked off.
    pub(super) async fn done(&self, seen: &Seen) {
        self.wait(seen, Moment::Answered).await;
    }

    /// Ends all running watches.
    pub fn drop_watches(&self) {
        self.watches.send_modify(|epoch| *epoch += 1);
    }

    /// Holds all requests back, or lets them go.
    pub fn pause(&self, on: bool) {
        self.paused.send_replace(on);
    }

    /// How often each (verb, resource) was asked for.
    pub fn counts(&self) -> BTreeMap<(String, String), u64> {
        self.inner().counts.clone()
    }

    /// Number of requests of one kind.
    pub fn count(&self, verb: &str, resource: &str) -> u64 {
        self.inner().counts.get(&(verb.to_owned(), resource.to_owned())).copied().unwrap_or_default()
    }

    /// Starts to keep each request, in order, and forgets the counts.
    pub fn record(&self) {
        let mut inner = self.inner();
        inner.counts.clear();
        inner.log = Some(Vec::new());
    }

    /// The requests kept since `record`.
    pub fn recorded(&self) -> Vec<Seen> {
        self.inner().log.clone().unwrap_or_default()
    }

    /// Notes a request; fails when a fault is due.
    pub(super) async fn meet(&self, seen: Seen) -> Result<(), Failure> {
        self.wait(&seen, Moment::Arriving).await;
        let mut paused = self.paused.subscribe();
        // The sender lives as long as this, so waiting ends only by a change.
        let _: Result<_, watch::error::RecvError> = paused.wait_for(|on| !on).await.map(|_| ());
        let mut inner = self.inner();
        *inner.counts.entry((seen.verb.clone(), seen.resource.clone())).or_default() += 1;
        let due = inner.faults.iter_mut().find(|fault| fault.left > 0 && fault.which.meets(&seen));
        let failure = due.map(|fault| {
            fault.left -= 1;
            fault.failure.clone()
        });
        inner.faults.retain(|fault| fault.left > 0);
        if let Some(log) = &mut inner.log {
            log.push(seen);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Changes when running watches shall end.
    pub(super) fn epoch(&self) -> watch::Receiver<u64> {
        self.watches.subscribe()
    }
}
