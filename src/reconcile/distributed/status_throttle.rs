//! How often a status is written for nothing but measurements: the HPAs of many clusters measure every few seconds, and nobody
//! decides by what the status shows of it. No I/O.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::reconcile::key::Key;

/// Measurements are shown at most so often.
pub const PACE: SignedDuration = SignedDuration::from_secs(30);

/// When statuses were last written; lost with the process.
#[derive(Debug, Default)]
pub struct StatusThrottle(Mutex<HashMap<Key, Timestamp>>);

impl StatusThrottle {
    fn written(&self) -> MutexGuard<'_, HashMap<Key, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A status is written at `now`.
    pub fn wrote(&self, key: &Key, now: Timestamp) {
        self.written().insert(key.clone(), now);
    }

    /// When measurements may be written again; nothing: now.
    #[must_use]
    pub fn due(&self, key: &Key, now: Timestamp) -> Option<Timestamp> {
        let due = self.written().get(key)?.checked_add(PACE).ok()?;
        // A clock that was set back is no reason to wait.
        (due > now && due.duration_since(now) <= PACE).then_some(due)
    }

    /// The object is gone.
    pub fn forget(&self, key: &Key) {
        self.written().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_wait_for_their_turn() {
        let (pace, key) = (StatusThrottle::default(), Key::new("prod", "web"));
        let at = |second| Timestamp::constant(second, 0);
        assert_eq!(pace.due(&key, at(100)), None);
        pace.wrote(&key, at(100));
        assert_eq!([100, 129, 130, 50].map(|now| pace.due(&key, at(now))), [Some(at(130)), Some(at(130)), None, None]);
        pace.forget(&key);
        assert_eq!(pace.due(&key, at(101)), None);
    }
}
