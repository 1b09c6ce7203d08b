//! Write ids: each write of a member's HPA has a unique one, which contains its time. No I/O.

use jiff::Timestamp;

/// The id of a write at `now` that follows the one with the id `previous`. Ids of one object increase, even when the
/// clock does not.
#[must_use]
pub fn next(previous: Option<&str>, now: Timestamp) -> String {
    let previous = previous.and_then(number).map_or(i64::MIN, |previous| previous.saturating_add(1));
    now.as_millisecond().max(previous).to_string()
}

/// When the write was made.
#[must_use]
pub fn time(token: &str) -> Option<Timestamp> {
    Timestamp::from_millisecond(number(token)?).ok()
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
        assert_eq!(next(Some("2000000"), at), "2000001");
        assert_eq!(next(Some("999"), at), "1000000");
        assert_eq!(next(Some("what"), at), "1000000");
        assert_eq!(time("1000000"), Some(at));
    }
}
