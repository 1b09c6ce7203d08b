//! The only place that reads the time; all other code gets it passed in.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;

/// Returns the time of day.
pub type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The wall clock.
#[allow(clippy::disallowed_methods)]
pub fn wall() -> Timestamp {
    Timestamp::now()
}

/// A monotonic clock. It is tokio's, so that tests can control it.
#[allow(clippy::disallowed_methods, reason = "this is the file that may")]
pub fn steady() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// A monotonic clock.
#[allow(clippy::disallowed_methods)]
pub fn monotonic() -> Instant {
    Instant::now()
}
