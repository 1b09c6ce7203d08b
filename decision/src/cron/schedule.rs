//! A schedule that can fire. Pure.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use super::local_time::Stepper;
use super::parse_error::ScheduleError;
use super::sets::Sets;
use super::{parser, syntax_help, unsatisfiable};

/// Longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// A valid cron schedule that fires at least once in a while.
///
/// Parsing allocates nothing; the stepper is built at the first step.
#[derive(Clone)]
pub struct Schedule {
    pub(super) sets: Sets,
    stepper: OnceLock<Option<Box<Stepper>>>,
}

impl Schedule {
    /// Reads the five-field syntax of Kubernetes CronJob (docs/cron.md#schedules).
    ///
    /// # Errors
    /// The text cannot be parsed, or never fires; the message says what to write.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        if text.len() > MAX_LENGTH {
            return Err(syntax_help::too_long(text.len(), MAX_LENGTH));
        }
        let sets = parser::parse(text).unwrap_or_else(|| Err(syntax_help::error(text)))?;
        match unsatisfiable::reason(&sets) {
            Some(error) => Err(error),
            None => Ok(Self { sets, stepper: OnceLock::new() }),
        }
    }

    /// Whether every hour is a wildcard: such a schedule follows elapsed time over clock changes, any other has fixed
    /// times (docs/cron.md#clock-changes). `*` and `0-23` are equal; `*/2` has fixed hours.
    pub const fn has_wildcard_hour(&self) -> bool {
        self.sets.every_hour()
    }

    /// The stepper over wall-clock time. `None` only if the `cron` crate rejected a canonical text, which it does not.
    pub(super) fn stepper(&self) -> Option<&Stepper> {
        self.stepper.get_or_init(|| Stepper::new(&self.sets).map(Box::new)).as_deref()
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.sets == other.sets
    }
}

impl Eq for Schedule {}

impl PartialOrd for Schedule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Any order that lasts.
impl Ord for Schedule {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sets.cmp(&other.sets)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedule").field(&self.sets).finish()
    }
}
