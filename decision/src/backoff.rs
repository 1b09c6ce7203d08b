//! How long to wait before a retry, by the class of the error. Pure: the jitter comes from the key, not from chance.
//!
//! Crates for this use random jitter and sleep themselves. Here the wait is a value, so that time can be virtual and a
//! run can be repeated.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Why an attempt failed, as far as it matters for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Another client wrote first: read again and retry (409).
    Conflict,
    /// The API server is busy or restarting (429, 500, 503, 504, connection errors, timeouts).
    Transient,
    /// A required object does not exist yet (404 on the target).
    Missing,
    /// The API server rejects the request until an object or a role changes (403, 422, other 4xx).
    Refused,
}

impl ErrorClass {
    /// First wait and longest wait of the class.
    const fn bounds(self) -> (Duration, Duration) {
        match self {
            Self::Conflict => (Duration::from_millis(5), Duration::from_secs(1)),
            Self::Transient => (Duration::from_millis(200), Duration::from_secs(15)),
            Self::Missing => (Duration::from_secs(1), Duration::from_secs(30)),
            Self::Refused => (Duration::from_secs(2), Duration::from_mins(1)),
        }
    }

    /// Label of metrics and logs.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Transient => "transient",
            Self::Missing => "missing",
            Self::Refused => "refused",
        }
    }
}

/// The wait after the `failures`-th failure in a row (from 1) of the object `key`. It doubles from the first wait of
/// the class up to its longest, minus up to a quarter that depends on the key, so that objects do not all retry at the
/// same time.
///
/// The server's own `retry_after` is a lower bound.
#[must_use]
pub fn wait(class: ErrorClass, failures: u32, key: &impl Hash, retry_after: Option<Duration>) -> Duration {
    let (first, longest) = class.bounds();
    let doubled = first.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX)).min(longest);
    let mut hasher = DefaultHasher::new();
    (key, failures).hash(&mut hasher);
    let share = u32::try_from(hasher.finish() % 256).unwrap_or_default();
    let spread = doubled.saturating_sub(doubled.saturating_mul(share) / 1024);
    retry_after.map_or(spread, |asked| spread.max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_and_stays_below_the_longest() {
        let key = "prod/web";
        let mut previous = Duration::ZERO;
        for failures in 1..=6 {
            let now = wait(ErrorClass::Transient, failures, &key, None);
            assert!(now > previous, "{failures}: {now:?} after {previous:?}");
            previous = now;
        }
        for failures in [8, 31, 32, 33, 1000, u32::MAX] {
            let now = wait(ErrorClass::Transient, failures, &key, None);
            assert!(now <= Duration::from_secs(15) && now >= Duration::from_secs(11), "{failures}: {now:?}");
        }
    }

    #[test]
    fn objects_come_back_spread_out_and_each_the_same_way_every_time() {
        let waits: Vec<Duration> = (0..100).map(|object| wait(ErrorClass::Refused, 9, &object, None)).collect();
        let again: Vec<Duration> = (0..100).map(|object| wait(ErrorClass::Refused, 9, &object, None)).collect();
        assert_eq!(waits, again);
        let first = waits[0];
        assert!(waits.iter().any(|wait| wait.abs_diff(first) > Duration::from_secs(5)));
        assert!(waits.iter().all(|wait| *wait >= Duration::from_secs(45) && *wait <= Duration::from_mins(1)));
    }

    #[test]
    fn the_servers_own_word_is_kept() {
        assert_eq!(wait(ErrorClass::Transient, 1, &1, Some(Duration::from_secs(40))), Duration::from_secs(40));
    }

    #[test]
    fn a_conflict_is_tried_again_at_once() {
        assert!(wait(ErrorClass::Conflict, 1, &1, None) <= Duration::from_millis(5));
    }
}
