//! State of the process between start and end: readiness, and the phases of shutdown. No I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// The current phase, which every connection observes.
#[derive(Debug)]
pub struct Lifecycle(watch::Sender<Phase>);

impl Default for Lifecycle {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }
}

impl Lifecycle {
    /// Advances to `phase`; never backwards.
    pub fn advance(&self, phase: Phase) {
        self.0.send_if_modified(|current| {
            let later = phase > *current;
            *current = phase.max(*current);
            later
        });
    }

    /// Whether connections should end after their next response.
    pub fn parting(&self) -> bool {
        *self.0.borrow() >= Phase::Parting
    }

    /// Returns when `phase` or a later one is reached.
    pub async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`, so the wait ends only by the phase.
        let _ = self.0.subscribe().wait_for(|current| *current >= phase).await;
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
        assert_eq!(*lifecycle.0.borrow(), Phase::Stopping);
        assert!(lifecycle.parting());
    }
}
