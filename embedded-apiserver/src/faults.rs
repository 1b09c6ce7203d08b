//! For tests: recorded requests, and faults to inject. No I/O.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::status::StatusError;

/// Selects the requests of a fault. Empty fields match all.
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
    fn meets(&self, seen: &ObservedRequest) -> bool {
        let fits = |want: &str, have: &str| want.is_empty() || want == have;
        fits(&self.verb, &seen.verb) && fits(&self.resource, &seen.resource) && fits(&self.name, &seen.name)
    }
}

/// A recorded request.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObservedRequest {
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
    failure: StatusError,
}

/// When a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before it is processed.
    Arriving,
    /// After it is processed, before the response is sent.
    Answered,
}

/// Holds one request; dropping it releases the request.
#[derive(Debug)]
pub struct Hold {
    reached: watch::Receiver<bool>,
    _held: watch::Sender<()>,
}

impl Hold {
    /// Returns when the request is held.
    pub async fn reached(&mut self) {
        // The sender is dropped only after it has sent.
        let _: Result<_, watch::error::RecvError> = self.reached.wait_for(|reached| *reached).await.map(|_| ());
    }
}

/// Whether a request reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// `get` and `list`.
    Read,
    /// `create`, `update`, `patch` and `delete`.
    Write,
}

impl Access {
    /// Neither for watches, which have no end, nor for Leases and Events, which depend on time.
    fn of(seen: &ObservedRequest) -> Option<Self> {
        if matches!(&*seen.resource, "leases" | "events") {
            return None;
        }
        match &*seen.verb {
            "get" | "list" => Some(Self::Read),
            "create" | "update" | "patch" | "delete" => Some(Self::Write),
            _ => None,
        }
    }
}

/// A request, by its number among those of one client, identified by its `User-Agent`, that read, or that write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nth {
    /// The `User-Agent`.
    pub agent: String,
    /// Among which it counts.
    pub access: Access,
    /// The first is 1.
    pub number: usize,
}

/// Delays the events of watches on a resource; dropping it releases all of them.
#[derive(Debug)]
pub struct Freeze {
    resource: String,
    frozen: watch::Sender<BTreeSet<String>>,
}

impl Drop for Freeze {
    fn drop(&mut self) {
        self.frozen.send_modify(|frozen| {
            frozen.remove(&self.resource);
        });
    }
}

#[derive(Debug)]
enum Meets {
    Like(Which),
    Nth(Nth),
}

#[derive(Debug)]
struct Stop {
    meets: Meets,
    moment: Moment,
    reached: watch::Sender<bool>,
    held: watch::Receiver<()>,
}

#[derive(Debug, Default)]
struct Inner {
    faults: VecDeque<Fault>,
    stops: Vec<Stop>,
    counts: BTreeMap<(String, String), u64>,
    log: Option<Vec<ObservedRequest>>,
    /// The reads and the writes of followed clients.
    followed: BTreeMap<(String, Access), Vec<ObservedRequest>>,
}

/// The recorder and the faults of one server.
#[derive(Debug)]
pub struct Faults {
    inner: Mutex<Inner>,
    watches: watch::Sender<u64>,
    paused: watch::Sender<bool>,
    frozen: watch::Sender<BTreeSet<String>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            inner: Mutex::default(),
            watches: watch::Sender::new(0),
            paused: watch::Sender::new(false),
            frozen: watch::Sender::default(),
        }
    }
}

impl Faults {
    /// Lets the next `count` requests of this kind fail with `failure`.
    pub fn fail(&self, which: Which, count: usize, failure: StatusError) {
        self.inner.lock().faults.push_back(Fault { which, left: count, failure });
    }

    /// Removes all failures that have not occurred yet.
    pub fn heal(&self) {
        self.inner.lock().faults.clear();
    }

    /// Holds the next request of this kind at `moment`.
    pub fn hold(&self, which: Which, moment: Moment) -> Hold {
        self.stop(Meets::Like(which), moment)
    }

    /// Holds this request of a followed client at `moment`.
    pub fn hold_nth(&self, nth: Nth, moment: Moment) -> Hold {
        self.stop(Meets::Nth(nth), moment)
    }

    fn stop(&self, meets: Meets, moment: Moment) -> Hold {
        let (reached, told) = watch::channel(false);
        let (release, held) = watch::channel(());
        self.inner.lock().stops.push(Stop { meets, moment, reached, held });
        Hold { reached: told, _held: release }
    }

    /// Counts the reads and the writes of a client from now on.
    pub fn follow(&self, agent: &str) {
        let none = [Access::Read, Access::Write].map(|access| ((agent.to_owned(), access), Vec::new()));
        self.inner.lock().followed.extend(none);
    }

    /// The reads or the writes of a client since it was followed.
    pub fn requests_of(&self, agent: &str, access: Access) -> Vec<ObservedRequest> {
        self.inner.lock().followed.get(&(agent.to_owned(), access)).cloned().unwrap_or_default()
    }

    /// Delays the events of watches on a resource, such as `works`, from now on.
    pub fn freeze(&self, resource: &str) -> Freeze {
        self.frozen.send_modify(|frozen| {
            frozen.insert(resource.to_owned());
        });
        Freeze { resource: resource.to_owned(), frozen: self.frozen.clone() }
    }

    /// The resources whose watches are delayed.
    pub(super) fn frozen(&self) -> watch::Receiver<BTreeSet<String>> {
        self.frozen.subscribe()
    }

    /// Records a request of a followed client. Returns its number.
    fn number(&self, seen: &ObservedRequest, agent: &str) -> Option<Nth> {
        let access = Access::of(seen)?;
        let mut inner = self.inner.lock();
        let known = inner.followed.get_mut(&(agent.to_owned(), access))?;
        known.push(seen.clone());
        Some(Nth { agent: agent.to_owned(), access, number: known.len() })
    }

    /// Waits when a request should be held at `moment`.
    async fn wait(&self, seen: &ObservedRequest, nth: Option<&Nth>, moment: Moment) {
        let stop = {
            let mut inner = self.inner.lock();
            let meets = |stop: &Stop| match &stop.meets {
                Meets::Like(which) => which.meets(seen),
                Meets::Nth(wanted) => nth == Some(wanted),
            };
            let found = inner.stops.iter().position(|stop| stop.moment == moment && meets(stop));
            found.map(|at| inner.stops.remove(at))
        };
        if let Some(mut stop) = stop {
            stop.reached.send_replace(true);
            while stop.held.changed().await.is_ok() {}
        }
    }

    /// Marks a request as processed.
    pub(super) async fn done(&self, seen: &ObservedRequest, nth: Option<&Nth>) {
        self.wait(seen, nth, Moment::Answered).await;
    }

    /// Ends all running watches.
    pub fn drop_watches(&self) {
        self.watches.send_modify(|epoch| *epoch += 1);
    }

    /// Holds all requests, or releases them.
    pub fn pause(&self, on: bool) {
        self.paused.send_replace(on);
    }

    /// Number of requests by (verb, resource).
    pub fn counts(&self) -> BTreeMap<(String, String), u64> {
        self.inner.lock().counts.clone()
    }

    /// Number of requests of one kind.
    pub fn count(&self, verb: &str, resource: &str) -> u64 {
        self.inner.lock().counts.get(&(verb.to_owned(), resource.to_owned())).copied().unwrap_or_default()
    }

    /// Starts to record requests, in order, and resets the counts.
    pub fn record(&self) {
        let mut inner = self.inner.lock();
        inner.counts.clear();
        inner.log = Some(Vec::new());
    }

    /// The requests recorded since `record`.
    pub fn recorded(&self) -> Vec<ObservedRequest> {
        self.inner.lock().log.clone().unwrap_or_default()
    }

    /// Records a request of a client; fails when a fault is due. Returns its number for a followed client.
    pub(super) async fn meet(&self, seen: ObservedRequest, agent: &str) -> (Option<Nth>, Result<(), StatusError>) {
        let nth = self.number(&seen, agent);
        let met = self.meet_nth(seen, nth.as_ref()).await;
        (nth, met)
    }

    async fn meet_nth(&self, seen: ObservedRequest, nth: Option<&Nth>) -> Result<(), StatusError> {
        self.wait(&seen, nth, Moment::Arriving).await;
        let mut paused = self.paused.subscribe();
        // The sender lives as long as `self`, so the wait ends only with a change.
        let _: Result<_, watch::error::RecvError> = paused.wait_for(|on| !on).await.map(|_| ());
        let mut inner = self.inner.lock();
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

    /// Changes when running watches should end.
    pub(super) fn epoch(&self) -> watch::Receiver<u64> {
        self.watches.subscribe()
    }
}
