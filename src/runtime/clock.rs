//! The one place that reads the time of day. Everything else is given it.

use jiff::Timestamp;

/// The time of day.
#[allow(clippy::disallowed_methods, reason = "this is the file that may")]
pub fn now() -> Timestamp {
    Timestamp::now()
}
