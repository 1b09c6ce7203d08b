//! A schedule and a zone -> the next runs, with notes on unusual ones. No I/O.

use jiff::Timestamp;

use super::rules::RuleLocation;
use crate::decision::cron::upcoming::{Run, upcoming};
use crate::decision::cron::zones::Zones;
use crate::decision::cron::{Schedule, doubts, fixed_offset, zone_name};
use crate::runtime::zones::ZoneDatabase;

/// Options of a listing.
pub(super) struct Question<'a> {
    pub(super) zones: &'a ZoneDatabase,
    pub(super) process_zone: String,
    pub(super) after: Timestamp,
    pub(super) count: usize,
}

/// The result for one schedule.
pub(super) struct Listing {
    /// Location of the schedule; absent when it was given as an argument.
    pub(super) place: Option<RuleLocation>,
    pub(super) expression: String,
    pub(super) time_zone: String,
    pub(super) outcome: Result<Runs, Refusal>,
}

/// The runs of a valid schedule.
pub(super) struct Runs {
    pub(super) next: Vec<Run>,
    /// What was probably not meant.
    pub(super) notes: Vec<String>,
}

/// An invalid schedule or zone.
pub(super) struct Refusal {
    /// The field of the schedule, `schedule` for the whole of it, or `timeZone`.
    pub(super) field: &'static str,
    pub(super) message: String,
}

impl Question<'_> {
    /// The next runs of `expression` in `time_zone`.
    pub(super) fn ask(&self, expression: &str, time_zone: &str) -> Listing {
        let outcome = self.outcome(expression, time_zone);
        Listing { place: None, expression: expression.to_owned(), time_zone: time_zone.to_owned(), outcome }
    }

    fn outcome(&self, expression: &str, time_zone: &str) -> Result<Runs, Refusal> {
        let schedule = Schedule::parse(expression).map_err(|error| Refusal {
            field: error.field.map_or("schedule", |field| field.name()),
            message: error.message,
        })?;
        let zone = zone_name::find(self.zones, time_zone)
            .map_err(|error| Refusal { field: "timeZone", message: format!("{time_zone:?} {error}") })?;
        let doubts = [
            doubts::either_day(expression, &schedule, &zone, self.after),
            doubts::uneven_step(expression),
            fixed_offset(self.zones, time_zone, self.after),
        ];
        let notes = doubts.into_iter().flatten().collect();
        Ok(Runs { next: upcoming(&schedule, &zone, self.after).take(self.count).collect(), notes })
    }

    /// Description of the zone database.
    pub(super) fn zone_rules(&self) -> String {
        format!("{} ({})", self.zones.version(), self.zones.source())
    }
}

impl Listing {
    /// The same result, for a rule at `place`.
    pub(super) fn of(self, place: RuleLocation) -> Self {
        Self { place: Some(place), ..self }
    }
}
