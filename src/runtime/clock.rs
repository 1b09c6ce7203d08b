//! The one place that reads the time; all else has it passed in.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;

/// Tells the time of day.
pub type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The wall clock.
#[allow(clippy::disallowed_methods)]
pub fn wall() -> Timestamp {
    Timestamp::now()
}

/// A clock that never goes back. It is tokio's, so that tests can drive it.
#[allow(clippy::disallowed_methods, reason = "this is the file that may")]
pub fn steady() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// A clock that never goes back.
#[allow(clippy::disallowed_methods)]
pub fn monotonic() -> Instant {
    Instant::now()
}
