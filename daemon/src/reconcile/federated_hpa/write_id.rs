//! Write ids: each write of a member's HPA has a unique one, which contains its time. No I/O.

use jiff::Timestamp;

use crate::decision::plan::CLOCK_SKEW;

/// The id of a write at `now` that follows the one with the id `previous`. Ids of one object increase, even when the
/// clock does not; only one of a clock that ran ahead is followed by the time that it is.
#[must_use]
pub fn next(previous: Option<&str>, now: Timestamp) -> String {
    if previous.is_some_and(|previous| ran_ahead(previous, now)) {
        // The clock that ran ahead may have made an id of this millisecond before: the zero makes another one of it.
        return format!("0{}", now.as_millisecond());
    }
    let previous = previous.and_then(number).map_or(i64::MIN, |previous| previous.saturating_add(1));
    now.as_millisecond().max(previous).to_string()
}

/// When the write was made; `None` where that is not known at `now`, as its clock ran ahead.
#[must_use]
pub fn time(token: &str, now: Timestamp) -> Option<Timestamp> {
    Timestamp::from_millisecond(number(token)?).ok().filter(|_| !ran_ahead(token, now))
}

/// Whether no wait for the write can end soon after `now`: it has the time of a clock that ran ahead, or none at all.
#[must_use]
pub fn is_timeless(token: &str, now: Timestamp) -> bool {
    time(token, now).is_none()
}

fn ran_ahead(token: &str, now: Timestamp) -> bool {
    let latest = now.saturating_add(CLOCK_SKEW).map_or(i64::MAX, Timestamp::as_millisecond);
    number(token).is_some_and(|token| token > latest)
}

fn number(token: &str) -> Option<i64> {
    token.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_writes_have_one_mark() {
        let at = Timestamp::constant(1_000, 0);
        assert_eq!(next(None, at), "1000000");
        assert_eq!(next(Some("1000000"), at), "1000001");
        assert_eq!(next(Some("1060000"), at), "1060001");
        assert_eq!(next(Some("999"), at), "1000000");
        assert_eq!(next(Some("what"), at), "1000000");
        assert_eq!(time("1000000", at), Some(at));
    }

    #[test]
    fn what_a_clock_that_ran_ahead_wrote_has_no_time_and_the_next_write_has_its_own() {
        let at = Timestamp::constant(1_000, 0);
        assert_eq!(["1060000", "1060001", "what", ""].map(|id| is_timeless(id, at)), [false, true, true, true]);
        let next = next(Some("1060001"), at);
        assert_eq!((&*next, time(&next, at)), ("01000000", Some(at)), "no id that the other clock may have made");
        assert_eq!(super::next(Some(&next), at), "1000001");
    }
}
