//! Command-line flags -> settings of the rules. One set for the server and the command line. No I/O.

use clap::ValueEnum;

use super::zones::ZoneDatabase;
use crate::decision::cron::zone_name;
use crate::decision::defaults::Mode;
use crate::decision::validation::{ConflictPolicy, Settings};

/// Flags that choose between rules.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Rules")]
pub struct RuleArgs {
    /// What happens to an object that would scale the same workload as another one.
    #[arg(long, value_enum, default_value_t = Conflicts::Deny, ignore_case = true, value_name = "POLICY")]
    conflict_policy: Conflicts,
    /// `spec.mode` of a FederatedHPA that names none. Default: Distributed for new objects; one that is stored without
    /// a mode is left as it is.
    #[arg(long, value_enum, ignore_case = true, value_name = "MODE")]
    default_mode: Option<DefaultMode>,
    /// Zone of schedules that name none; an IANA name. Default: the zone of this process (TZ), UTC when it has no name.
    #[arg(long, value_name = "ZONE", value_parser = zone_name)]
    default_time_zone: Option<String>,
}

fn zone_name(text: &str) -> Result<String, String> {
    zone_name::find(&ZoneDatabase::open(), text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// [`ConflictPolicy`], as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Conflicts {
    /// It is refused.
    Deny,
    /// It is admitted with a warning.
    Warn,
}

/// [`Mode`], as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum DefaultMode {
    /// Member clusters scale by HPAs of their own.
    Distributed,
    /// One calculation for all clusters.
    Centralized,
}

impl From<DefaultMode> for Mode {
    fn from(mode: DefaultMode) -> Self {
        match mode {
            DefaultMode::Distributed => Self::Distributed,
            DefaultMode::Centralized => Self::Centralized,
        }
    }
}

impl RuleArgs {
    /// The settings.
    #[must_use]
    pub fn settings(self) -> Settings {
        Settings {
            default_mode: self.default_mode.map(Mode::from).unwrap_or_default(),
            mode_is_chosen: self.default_mode.is_some(),
            conflict_policy: match self.conflict_policy {
                Conflicts::Deny => ConflictPolicy::Deny,
                Conflicts::Warn => ConflictPolicy::Warn,
            },
            deny_early: true,
            default_time_zone: self.default_time_zone.unwrap_or_else(process_zone),
            names_others: true,
        }
    }
}

/// Name of the zone of this process.
fn process_zone() -> String {
    jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
}
