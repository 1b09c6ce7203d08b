//! State of the process between start and end: readiness, and the phases of shutdown. No I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The phases, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are accepted and kept.
    Serving,
    /// Connections are accepted; each is asked to end when nothing can be lost.
    Parting,
    /// No connection is accepted; requests in flight finish.
    Stopping,
    /// Requests in flight are dropped.
    Aborted,
}

impl Phase {
    const fn rank(self) -> u8 {
        match self {
            Self::Serving => 0,
            Self::Parting => 1,
            Self::Stopping => 2,
            Self::Aborted => 3,
        }
    }
}

/// The current phase, which every connection observes.
#[derive(Debug)]
pub struct Lifecycle {
    sender: watch::Sender<Phase>,
    // Read on each response without a lock.
    rank: AtomicU8,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self { sender: watch::Sender::new(Phase::Serving), rank: AtomicU8::new(Phase::Serving.rank()) }
    }
}

impl Lifecycle {
    /// Advances to `phase`; never backwards.
    pub fn advance(&self, phase: Phase) {
        self.sender.send_if_modified(|current| {
            let later = phase > *current;
            if later {
                *current = phase;
                self.rank.store(phase.rank(), Ordering::Relaxed);
            }
            later
        });
    }

    /// Whether connections should end after their next response.
    pub fn parting(&self) -> bool {
        self.rank.load(Ordering::Relaxed) >= Phase::Parting.rank()
    }

    /// Subscribes to further changes.
    pub fn subscribe(&self) -> watch::Receiver<Phase> {
        self.sender.subscribe()
    }

    /// Returns when `phase` or a later one is reached.
    pub async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`, so the wait ends only by the phase.
        let _ = self.subscribe().wait_for(|current| *current >= phase).await;
    }
}

/// A condition for readiness.
#[derive(Clone, Debug)]
pub struct Condition(Arc<AtomicBool>);

impl Condition {
    /// Marks the condition as met.
    pub fn met(&self) {
        self.0.store(true, Ordering::Release);
    }
}

type Check = Box<dyn Fn(Timestamp) -> bool + Send + Sync>;

/// Whether the process accepts reviews, and the missing conditions when it does not.
#[derive(Default)]
pub struct Readiness {
    conditions: Mutex<Vec<(&'static str, Condition)>>,
    checks: Mutex<Vec<(&'static str, Check)>>,
    draining: AtomicBool,
}

impl Readiness {
    /// Adds a condition that is not met yet; `missing` is reported until it is.
    pub fn condition(&self, missing: &'static str) -> Condition {
        let condition = Condition(Arc::new(AtomicBool::new(false)));
        let mut conditions = self.conditions.lock();
        conditions.push((missing, condition.clone()));
        condition
    }

    /// Adds a condition that is checked on each request; `missing` is reported while it is false.
    pub fn check(&self, missing: &'static str, holds: impl Fn(Timestamp) -> bool + Send + Sync + 'static) {
        self.checks.lock().push((missing, Box::new(holds)));
    }

    /// Makes the process unready from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// The missing conditions at `now`; empty when ready.
    pub fn missing(&self, now: Timestamp) -> Vec<&'static str> {
        let conditions = self.conditions.lock();
        let checks = self.checks.lock();
        let draining = self.draining.load(Ordering::Acquire).then_some("the process is shutting down");
        let unmet = conditions.iter().filter(|(_, c)| !c.0.load(Ordering::Acquire)).map(|(missing, _)| *missing);
        let failed = checks.iter().filter(|(_, holds)| !holds(now)).map(|(missing, _)| *missing);
        draining.into_iter().chain(unmet).chain(failed).collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Lifecycle, Phase, Readiness};

    #[test]
    fn readiness_names_what_is_missing_until_it_is_met() {
        let readiness = Readiness::default();
        let listed = readiness.condition("not listed");
        readiness.check("no certificate", |now| now > Timestamp::UNIX_EPOCH);
        assert_eq!(readiness.missing(Timestamp::UNIX_EPOCH), ["not listed", "no certificate"]);
        listed.met();
        assert_eq!(readiness.missing(Timestamp::MAX), [""; 0]);
        readiness.drain();
        assert_eq!(readiness.missing(Timestamp::MAX), ["the process is shutting down"]);
    }

    #[test]
    fn phases_never_go_back() {
        let lifecycle = Lifecycle::default();
        lifecycle.advance(Phase::Stopping);
        lifecycle.advance(Phase::Parting);
        assert_eq!(*lifecycle.subscribe().borrow(), Phase::Stopping);
        assert!(lifecycle.parting());
    }
}
