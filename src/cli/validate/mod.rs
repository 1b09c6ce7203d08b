//! Manifests -> the webhook's findings, shown in their files.

mod check;
pub(super) mod inputs;
mod json;
mod related_objects;
mod report;
mod rules;
mod subject;
pub(super) mod text;
mod unknown;

pub(super) use check::{File, Given, file, related_objects};
pub(super) use report::{Finding, ObjectName, Report};
pub(super) use rules::completed;
pub(super) use subject::{Class, Kind};

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp;

use super::manifest::Source;
use super::names;
use super::output;
use super::terminal::Color;
use crate::decision::validation::Settings;
use crate::runtime::clock;
use crate::runtime::settings::RuleArgs;
use crate::runtime::zones::ZoneDatabase;
use inputs::{FilenameArgs, Unreadable};

/// Default number of findings shown as text.
const MAX_PRINTED: usize = 100;
/// Default number of findings written as JSON.
const WRITTEN: usize = 10_000;

/// Arguments of `fhpa validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Manifests: YAML or JSON files, directories that are searched for them, `-` for standard input.
    #[arg(value_name = "FILE|DIR|-", required_unless_present = "filename")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    more: FilenameArgs,
    /// Namespace of objects that name none.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default", value_parser = names::namespace)]
    namespace: String,
    /// How to print the findings.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Exit with 1 for warnings too, and where nothing was checked.
    #[arg(long)]
    strict: bool,
    /// Print at most so many findings; all are counted [default: 100, as JSON 10000].
    #[arg(long, value_name = "COUNT")]
    max_findings: Option<usize>,
    #[command(flatten)]
    rules: RuleArgs,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: each finding in its file.
    Text,
    /// For programs: one array.
    Json,
}

const EXAMPLES: &str = "\
Objects of kind FederatedHPA and CronFederatedHPA are checked by the rules of the webhook, also against each \
other: two FederatedHPAs on one Deployment are found when both are given. Objects of other kinds are skipped.

Examples:
  Check a file, or all files below a directory:
    fhpa validate shop.yaml
    fhpa validate deploy/
  Check what a tool prints:
    kustomize build . | fhpa validate -
  Let warnings fail a CI job too, and leave a list that programs can read:
    fhpa validate --strict -o json deploy/ > findings.json

Exit codes:
  0  nothing wrong, or nothing to check; there may be warnings
  1  an object would be refused, or a document is no object; with --strict also a warning, or nothing was checked
  2  a file could not be read: it is missing, not UTF-8, or has a syntax error; or the findings could not be written";

/// The objects of `sources`, and what is found in them.
pub(super) fn examine(
    sources: Vec<Result<Source, Unreadable>>,
    namespace: &str,
    settings: Settings,
    now: Timestamp,
) -> (Vec<File>, Report) {
    let files: Vec<File> = sources.into_iter().map(|source| file(source, namespace)).collect();
    let report = report(&files, settings, now);
    (files, report)
}

/// What is found in the objects of `files`.
pub(super) fn report(files: &[File], settings: Settings, now: Timestamp) -> Report {
    let zones = Arc::new(ZoneDatabase::open());
    check::check(files, &check::CheckContext { zones, now, settings })
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let paths = self.more.all(self.paths);
        let (_, report) = examine(inputs::read(&paths), &self.namespace, self.rules.settings(), clock::wall());
        let printed = match self.output {
            Output::Text => text::render(&report, self.max_findings.unwrap_or(MAX_PRINTED)),
            Output::Json => json::render(&report, self.max_findings.unwrap_or(WRITTEN)),
        };
        output::print("validate", &mut color.stdout(), &printed, report.exit_code(self.strict))
    }
}
