//! The values that a schedule allows in each field, and the days and times of day that it has by them. Pure.

use jiff::civil::{Date, DateTime};

use super::field::Field;

/// The sets of a parsed text, one bit for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sets {
    pub(super) minutes: u64,
    pub(super) hours: u64,
    pub(super) days: u64,
    pub(super) months: u64,
    /// Sunday is bit 0.
    pub(super) weekdays: u64,
    /// The day of month is a star: it restricts nothing.
    pub(super) any_day: bool,
    /// The day of week is a star: it restricts nothing.
    pub(super) any_weekday: bool,
}

impl Sets {
    /// Both day fields restrict: either one suffices (docs/cron.md#schedules).
    pub(super) const fn either_day(&self) -> bool {
        !self.any_day && !self.any_weekday
    }

    /// Every hour of the day is in the set.
    pub(super) const fn every_hour(&self) -> bool {
        self.hours == Field::Hour.full()
    }

    /// Whether a schedule runs on the day `day`.
    fn has_day(&self, day: Date) -> bool {
        let by_day = holds(self.days, day.day());
        let by_weekday = holds(self.weekdays, day.weekday().to_sunday_zero_offset());
        holds(self.months, day.month()) && if self.either_day() { by_day || by_weekday } else { by_day && by_weekday }
    }

    /// Whether a schedule names the wall time `wall`.
    pub(super) fn has_wall(&self, wall: DateTime) -> bool {
        let whole = wall.second() == 0 && wall.subsec_nanosecond() == 0;
        whole && holds(self.minutes, wall.minute()) && holds(self.hours, wall.hour()) && self.has_day(wall.date())
    }
}

/// Whether `value` is in a set.
pub(super) fn holds(set: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| set & (1 << value) != 0)
}

/// The values of a set, ascending.
pub(super) fn values(bits: u64) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(bits), |rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|rest| *rest != 0)
        .map(u64::trailing_zeros)
}
