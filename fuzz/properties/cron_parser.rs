//! Any bytes: the parser does not panic, answers shortly, and what it accepts can be run. Shared by the fuzz target and
//! the tests.

use fhpa::decision::cron::Schedule;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Longest message: a refused text is repeated in part only.
const MAX_MESSAGE: usize = 1024;

/// Panics when the property does not hold.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Schedule::parse(&text) {
        Ok(schedule) => runs(&schedule, &text),
        Err(error) => {
            let length = error.message.len();
            assert!((1..=MAX_MESSAGE).contains(&length), "{text:?}: a message of {length} bytes");
            assert!(!error.message.chars().any(char::is_control), "{text:?}: {:?}", error.message);
        }
    }
}

fn runs(schedule: &Schedule, text: &str) {
    let from = Timestamp::from_second(1_800_000_000).expect("a timestamp");
    let interval = schedule.shortest_interval();
    assert!(interval >= SignedDuration::from_mins(1), "{text:?}: {interval:?}");
    let zone = TimeZone::UTC;
    let first = schedule.next_after(&zone, from).expect("an accepted schedule runs within five years of 2027");
    let second = schedule.next_after(&zone, first).expect("and again");
    assert!(from < first && first < second, "{text:?}: {first} {second}");
    assert!(second.duration_since(first) >= interval, "{text:?}: {first} {second} {interval:?}");
    assert_eq!(schedule.previous_before(&zone, second), Some(first), "{text:?}");
    assert!(schedule.fires_at(&zone, first), "{text:?}: {first}");
}
