//! Schedules -> their next runs.

mod json;
mod listing;
mod rules;
mod text;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use jiff::Timestamp;

use super::output;
use crate::runtime::clock;
use crate::runtime::zones::{self, ZoneDatabase};
use listing::{Listing, Question};

/// Arguments of `fhpa cron`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Schedules, each in quotes, or manifests with CronFederatedHPAs: YAML or JSON files, directories, `-` for standard
    /// input.
    #[arg(value_name = "EXPR|FILE", required = true)]
    inputs: Vec<String>,
    /// IANA name of the time zone [default: in a manifest the rule's, else the zone of this process].
    #[arg(short = 'z', long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Show runs later than this instant, for example 2027-03-28T00:00:00Z [default: now].
    #[arg(long, value_name = "RFC3339")]
    after: Option<Timestamp>,
    /// How many runs to show.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    count: u16,
    /// How to print the runs.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  fhpa cron '30 8 * * 1-5' --time-zone Europe/Berlin
  fhpa cron '@hourly' -n 3 --after 2027-03-28T00:00:00Z -o json
  fhpa cron cronfederatedhpa.yaml

The five fields are: minute hour day-of-month month day-of-week.
Exit code: 0 fine, 1 a schedule or zone is wrong, 2 a file cannot be read, or the output not written.";

/// How runs are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: in the zone and in UTC, with a word on clock changes.
    Text,
    /// For programs: instants in UTC.
    Json,
}

/// Success.
const FINE: u8 = 0;
/// A schedule or a time zone is invalid.
const WRONG: u8 = 1;
/// A file could not be read.
const UNREADABLE: u8 = 2;

impl Args {
    /// Runs the command.
    pub(super) fn run(self) -> ExitCode {
        let zones = ZoneDatabase::open();
        let question = Question {
            zones: &zones,
            process_zone: zones::process_zone(&zones),
            after: self.after.unwrap_or_else(clock::wall),
            count: self.count.into(),
        };
        match self.inputs.as_slice() {
            [one] if !is_path(one) => self.expression(one, &question),
            [first, ..] if !is_path(first) && !self.inputs.iter().all(|input| is_path(input) || is_whole(input)) => {
                eprint(&format!("error: put the schedule in quotes: fhpa cron '{}'\n", self.inputs.join(" ")));
                ExitCode::from(UNREADABLE)
            }
            _ => self.several(&question),
        }
    }

    fn expression(&self, expression: &str, question: &Question<'_>) -> ExitCode {
        let listing = self.ask(expression, question);
        let code = if listing.outcome.is_ok() { FINE } else { WRONG };
        match (self.output, &listing.outcome) {
            (Output::Json, _) => print(&json::one(&listing), code),
            (Output::Text, Ok(_)) => print(&text::one(&listing, question), code),
            (Output::Text, Err(_)) => {
                eprint(&text::one(&listing, question));
                ExitCode::from(code)
            }
        }
    }

    fn ask(&self, expression: &str, question: &Question<'_>) -> Listing {
        question.ask(expression, self.time_zone.as_deref().unwrap_or(&question.process_zone))
    }

    /// Schedules, then the rules of files.
    fn several(&self, question: &Question<'_>) -> ExitCode {
        let (schedules, paths): (Vec<_>, Vec<_>) =
            self.inputs.iter().partition(|input| is_whole(input) && !is_path(input));
        let found = rules::read(&paths.into_iter().map(PathBuf::from).collect::<Vec<_>>());
        for error in &found.errors {
            eprint(&format!("error: {error}\n"));
        }
        let rules = found.rules.into_iter().map(|rule| {
            let zone = self.time_zone.as_deref().or(rule.time_zone.as_deref()).unwrap_or(&question.process_zone);
            question.ask(&rule.schedule, zone).of(rule.place)
        });
        let listings: Vec<Listing> =
            schedules.into_iter().map(|schedule| self.ask(schedule, question)).chain(rules).collect();
        let code = match () {
            () if !found.errors.is_empty() => UNREADABLE,
            () if listings.iter().any(|listing| listing.outcome.is_err()) => WRONG,
            () => FINE,
        };
        match self.output {
            Output::Json => print(&json::many(&listings), code),
            Output::Text if listings.is_empty() => {
                eprint("no rule of a CronFederatedHPA was found\n");
                ExitCode::from(code)
            }
            Output::Text => print(&text::many(&listings, question), code),
        }
    }
}

/// Whether an argument is a whole schedule: white space in it was quoted.
fn is_whole(text: &str) -> bool {
    text.contains(char::is_whitespace) || text.starts_with('@')
}

/// Whether an argument is the path of a file or directory, or standard input, rather than a schedule.
fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    let manifest = || {
        let extension = path.extension().unwrap_or_default();
        ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    };
    text == "-" || (!text.is_empty() && path.exists()) || manifest()
}

fn print(text: &str, code: u8) -> ExitCode {
    output::print("cron", &mut std::io::stdout(), text, code)
}

fn eprint(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
