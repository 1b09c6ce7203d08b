//! Durations in arguments: `10s`, `3m`, `1h30m`; `0` is none. No I/O.

use std::time::Duration;

use jiff::SignedDuration;

/// Parses a duration of up to an hour.
///
/// # Errors
/// It is invalid; the text says what to write.
pub fn within_an_hour(text: &str) -> Result<Duration, String> {
    within(text, SignedDuration::from_hours(1), "1h")
}

/// Parses a duration of up to a day.
///
/// # Errors
/// It is invalid; the text says what to write.
pub fn within_a_day(text: &str) -> Result<Duration, String> {
    within(text, SignedDuration::from_hours(24), "24h")
}

/// Parses a duration of up to a day, except 0.
///
/// # Errors
/// It is invalid; the text says what to write.
pub fn positive_within_a_day(text: &str) -> Result<Duration, String> {
    let duration = within_a_day(text)?;
    if duration.is_zero() { Err("must be greater than 0".to_owned()) } else { Ok(duration) }
}

fn within(text: &str, most: SignedDuration, shown: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let duration: SignedDuration = text.parse().map_err(|_| format!("{text:?} is not a duration such as 10s or 3m"))?;
    if duration > most {
        return Err(format!("must be at most {shown}"));
    }
    duration.try_into().map_err(|_| "must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_and_0_has_none() {
        assert_eq!(within_an_hour("0"), Ok(Duration::ZERO));
        assert_eq!(within_an_hour("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(within_an_hour("600ms"), Ok(Duration::from_millis(600)));
        assert_eq!(within_a_day("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(within_an_hour("10").unwrap_err(), "\"10\" is not a duration such as 10s or 3m");
        assert_eq!(within_an_hour("2h").unwrap_err(), "must be at most 1h");
        assert_eq!(within_a_day("-1s").unwrap_err(), "must not be negative");
        assert_eq!(positive_within_a_day("0s").unwrap_err(), "must be greater than 0");
    }
}
