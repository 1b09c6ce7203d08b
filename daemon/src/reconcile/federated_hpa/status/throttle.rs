//! Limits status writes that no decision depends on: measurements of many member HPAs every few seconds, the progress of
//! a step, and what is only shown while other objects wait for their bounds. No I/O.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::controller::key::Key;

use crate::api::federated_hpa::FederatedHPAStatus;
use crate::reconcile::federated_hpa::cache::MEASUREMENTS;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::status;

/// Shortest interval between writes of messages of the same condition.
const WORDS: SignedDuration = SignedDuration::from_secs(2);

/// How long a status that is only shown waits at most, once, for the bounds of other objects. The time of plans has whole
/// seconds, and so must this: a wait that ends within a second would begin again until the next one.
const BEHIND: SignedDuration = SignedDuration::from_secs(1);

/// When statuses were last written, and which wait; lost with the process.
#[derive(Debug, Default)]
pub struct StatusThrottle(Mutex<HashMap<Key, Throttled>>);

/// Of one object.
#[derive(Debug, Default)]
struct Throttled {
    /// When its status was last written.
    wrote: Option<Timestamp>,
    /// Until when its status waits, or has waited, for the bounds of other objects.
    waits: Option<Timestamp>,
}

impl StatusThrottle {
    /// Records a write at `now`.
    pub fn wrote(&self, key: &Key, now: Timestamp) {
        self.0.lock().insert(key.clone(), Throttled { wrote: Some(now), waits: None });
    }

    /// Until when a status that is only shown waits while many objects are busy; `None`: it has waited once.
    #[must_use]
    pub fn behind(&self, key: &Key, now: Timestamp) -> Option<Timestamp> {
        let mut all = self.0.lock();
        let waits = &mut all.entry(key.clone()).or_default().waits;
        if waits.is_none() {
            *waits = now.checked_add(BEHIND).ok();
        }
        // A clock that was set back must not cause a wait.
        waits.filter(|until| *until > now && until.duration_since(now) <= BEHIND)
    }

    /// When a status that differs from that of `entry` may be written; `None`: now.
    #[must_use]
    pub fn due(&self, entry: &FederatedHpaEntry, status: &FederatedHPAStatus, now: Timestamp) -> Option<Timestamp> {
        if status::words_only(entry, status) {
            self.after(&entry.key(), WORDS, now)
        } else if status::measures_only(entry, status) {
            self.after(&entry.key(), MEASUREMENTS, now)
        } else {
            None
        }
    }

    fn after(&self, key: &Key, pace: SignedDuration, now: Timestamp) -> Option<Timestamp> {
        let due = self.0.lock().get(key)?.wrote?.checked_add(pace).ok()?;
        // A clock that was set back must not cause a wait.
        (due > now && due.duration_since(now) <= pace).then_some(due)
    }

    /// Forgets an object.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_wait_for_their_turn() {
        let (pace, key) = (StatusThrottle::default(), Key::new("prod", "web"));
        let at = |second| Timestamp::constant(second, 0);
        assert_eq!(pace.after(&key, MEASUREMENTS, at(100)), None);
        pace.wrote(&key, at(100));
        assert_eq!(
            [100, 129, 130, 50].map(|now| pace.after(&key, MEASUREMENTS, at(now))),
            [Some(at(130)), Some(at(130)), None, None]
        );
        pace.forget(&key);
        assert_eq!(pace.after(&key, MEASUREMENTS, at(101)), None);
    }

    #[test]
    fn what_is_only_shown_waits_once_for_others() {
        let (pace, key) = (StatusThrottle::default(), Key::new("prod", "web"));
        let at = |second| Timestamp::constant(second, 0);
        assert_eq!([100, 100, 101].map(|now| pace.behind(&key, at(now))), [Some(at(101)), Some(at(101)), None]);
        pace.wrote(&key, at(101));
        assert_eq!(pace.behind(&key, at(102)), Some(at(103)));
        assert_eq!(pace.behind(&key, at(90)), None, "the clock was set back");
    }
}
