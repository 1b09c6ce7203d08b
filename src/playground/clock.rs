//! The time in the playground: the time of day, or one that tests move.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// Tells the time. Clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock(Option<Arc<Mutex<Timestamp>>>);

impl Clock {
    /// The time of day.
    #[must_use]
    pub const fn real() -> Self {
        Self(None)
    }

    /// A clock that stands at `start` until it is moved.
    #[must_use]
    pub fn standing(start: Timestamp) -> Self {
        Self(Some(Arc::new(Mutex::new(start))))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            None => crate::runtime::clock::wall(),
            Some(time) => *time.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Whether it only moves when it is moved.
    #[must_use]
    pub const fn stands(&self) -> bool {
        self.0.is_some()
    }

    /// Moves a standing clock forward to `to`; never back. The time of day is not moved.
    pub fn move_to(&self, to: Timestamp) {
        if let Some(time) = &self.0 {
            let mut time = time.lock().unwrap_or_else(PoisonError::into_inner);
            *time = to.max(*time);
        }
    }
}

/// `time` and `wait` later.
#[must_use]
pub fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// As Kubernetes writes it, in whole seconds.
#[must_use]
pub fn rfc3339(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// Reads what [`rfc3339`] wrote, or what Kubernetes did.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
