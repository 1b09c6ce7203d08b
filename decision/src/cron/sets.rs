//! The values that a schedule allows in each field. Pure.

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
}
