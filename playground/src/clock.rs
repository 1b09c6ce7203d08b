//! The time in the playground: the time of day, or a manual clock for tests.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// Returns the time. Clones return the same time.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    Real,
    Standing(Arc<Mutex<Timestamp>>),
    Told(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

impl Clock {
    /// The time of day.
    #[must_use]
    pub const fn real() -> Self {
        Self(Source::Real)
    }

    /// A manual clock that shows `start` until it is moved.
    #[must_use]
    pub fn standing(start: Timestamp) -> Self {
        Self(Source::Standing(Arc::new(Mutex::new(start))))
    }

    /// A clock that returns the time of `told`.
    #[must_use]
    pub fn told(told: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self(Source::Told(told))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Real => fhpa_daemon::runtime::clock::wall(),
            Source::Standing(time) => *time.lock(),
            Source::Told(told) => told(),
        }
    }

    /// Moves a manual clock forward to `to`, never backwards. Others are not moved.
    pub fn move_to(&self, to: Timestamp) {
        if let Source::Standing(time) = &self.0 {
            let mut time = time.lock();
            *time = to.max(*time);
        }
    }
}

/// `time` plus `wait`.
#[must_use]
pub fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// In the format of Kubernetes, in whole seconds.
#[must_use]
pub fn rfc3339(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// Parses the format of [`rfc3339`] or of Kubernetes.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
