//! The five fields of a schedule: bounds and names. Pure.

use std::fmt;

/// One of the five fields, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// 0-59.
    Minute,
    /// 0-23.
    Hour,
    /// 1-31.
    DayOfMonth,
    /// 1-12 or JAN-DEC.
    Month,
    /// 0-7 or SUN-SAT; 0 and 7 are Sunday.
    DayOfWeek,
}

/// Names of the months, January first.
pub(super) const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
/// Names of the weekdays, Sunday first.
pub(super) const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// All five, in the order of the text.
    pub const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];

    /// Name of the field in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day-of-month",
            Self::Month => "month",
            Self::DayOfWeek => "day-of-week",
        }
    }

    /// Least value.
    pub(super) const fn min(self) -> u64 {
        match self {
            Self::Minute | Self::Hour | Self::DayOfWeek => 0,
            Self::DayOfMonth | Self::Month => 1,
        }
    }

    /// Greatest value that `*` includes.
    pub(super) const fn max(self) -> u64 {
        match self {
            Self::Minute => 59,
            Self::Hour => 23,
            Self::DayOfMonth => 31,
            Self::Month => 12,
            Self::DayOfWeek => 6,
        }
    }

    /// Greatest value that may be written: Sunday may be 7.
    pub(super) const fn max_written(self) -> u64 {
        match self {
            Self::DayOfWeek => 7,
            _ => self.max(),
        }
    }

    /// Every value, one bit each.
    pub(super) const fn full(self) -> u64 {
        (u64::MAX >> (63 - self.max())) & (u64::MAX << self.min())
    }

    /// The value of a month or weekday name.
    pub(super) fn named(self, text: &str) -> Option<u64> {
        let (names, first): (&[&str], u64) = match self {
            Self::Month => (&MONTHS, 1),
            Self::DayOfWeek => (&WEEKDAYS, 0),
            _ => return None,
        };
        (first..).zip(names).find(|(_, name)| text.eq_ignore_ascii_case(name)).map(|(value, _)| value)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Decimal digits with or without a plus sign; a number that is too large becomes the greatest one.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.bytes().fold(0_u64, |sum, byte| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'))))
}
