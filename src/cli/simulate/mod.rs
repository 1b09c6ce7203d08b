//! A scenario -> a simulated fleet in virtual time: its behavior under load, as a table, for programs, and as a chart.

mod assembly;
mod chart;
mod comparison;
mod document;
mod export;
mod given;
mod reader;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;

use super::names;
use super::output;
use super::picture::Picture;
use super::terminal::{Color, printable};
use super::validate::inputs::FilenameArgs;
use crate::runtime::settings::RuleArgs;
use crate::simulation::{Figures, Record, Scenario, Second, run};
use assembly::SimulatedSpec;

/// Points of a chart, from left to right.
const CHART_POINTS: Second = 240;

/// Arguments of `fhpa simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A FederatedHPA and a scenario: YAML or JSON files, directories, `-` for standard input.
    #[arg(value_name = "FILE|DIR|-", required_unless_present = "filename")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    more: FilenameArgs,
    /// Namespace of objects that name none.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default", value_parser = names::namespace)]
    namespace: String,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Draw a chart into this file, as SVG or PNG.
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    chart: Option<Picture>,
    /// Run the same scenario under every policy, in Centralized mode, and with plain HPAs whose bounds are divided
    /// once.
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    rules: RuleArgs,
}

/// How a run is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: samples, then figures.
    Table,
    /// For spreadsheets: a line for each sample.
    Csv,
    /// For programs: one object.
    Json,
}

const EXAMPLES: &str = "\
Member clusters with pods, nodes and HPAs, a load, and the controller's own decision, second by second in \
virtual time: a day takes a moment. Load is measured in replicas: a load of 5 keeps five replicas exactly at \
their target. The same scenario gives the same run each time.

A file holds the FederatedHPA and, in a document of its own, the scenario:
    kind: Simulation
    duration: 1h
    clusters:
      own: {capacity: 10, replicas: 4}
      cloud: {capacity: 4, nodes: {capacity: 40, step: 4, delay: 3m}, podStart: 40s}
    load:
      points: [{at: 0s, replicas: 4}, {at: 10m, replicas: 30, ramp: 5m}]
    faults:
      - {what: ClusterDown, cluster: own, from: 30m, to: 45m}
A cluster has: capacity (replicas that fit), nodes (capacity: that fit in the end, step, delay), replicas (at \
the start), podStart, count (that many alike), labels, provider, region, zone, kubernetesVersion, writable. A \
load has: points (at, replicas, ramp), daily (low, high, peak), file (rows of TIME,REPLICAS), noisePercent, \
seed, shares (of the load, by cluster; else one service spreads it over all ready replicas). Faults: \
ClusterDown, ControlPlaneDown, ReportsLate (by).
With `mode: Centralized` no cluster has an HPA: one computation over the pods of all clusters sets the replicas \
of the workload, each hpaSync, and they are divided as karmada-scheduler does for the placement: Duplicated, by \
static weights, by the replicas that fit, or aggregated.
Further: sample, placement, workload (podStart, saturationPercent), timing (hpaSync, apply, report, detect, \
downscaleWindow, metricsWindow, rebalancePeriod, settle).

Examples:
  A burst that is more than the own cluster can serve:
    fhpa simulate examples/simulate/cloud-burst.yaml
  The same as a chart, and its numbers for a spreadsheet:
    fhpa simulate examples/simulate/cloud-burst.yaml --chart burst.svg -o csv > burst.csv
  Is it worth it? All policies and plain HPAs side by side:
    fhpa simulate examples/simulate/cloud-burst.yaml --compare

Exit codes:
  0  it was simulated
  1  the FederatedHPA would be refused, or the scenario is wrong
  2  a file could not be read or written";

/// Why there is no run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
struct SimulateError {
    code: u8,
    message: String,
    /// Whether the message is a list of findings, for standard output.
    findings: bool,
}

impl SimulateError {
    fn wrong(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into(), findings: false }
    }

    fn unreadable(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), findings: false }
    }
}

/// A run with its samples.
struct Outcome {
    figures: Figures,
    /// Samples for the table.
    table: Record,
    /// Samples for the chart.
    chart: Record,
}

impl Outcome {
    fn of(scenario: &Scenario<'_>, sample: Second) -> Self {
        let mut table = Record::each(sample);
        let mut chart = Record::each(scenario.duration.checked_div(CHART_POINTS).unwrap_or(1));
        let figures = run(scenario, |frame| {
            table.take(frame);
            chart.take(frame);
        });
        Self { figures, table, chart }
    }
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let (printed, code) = match self.outcome() {
            Ok(printed) => (printed, 0),
            Err(SimulateError { code, message, findings: true }) => (message, code),
            Err(SimulateError { code, message, .. }) => {
                super::terminal::complain("simulate", &message);
                return ExitCode::from(code);
            }
        };
        output::print("simulate", &mut color.stdout(), &printed, code)
    }

    fn outcome(self) -> Result<String, SimulateError> {
        let subject = given::subject(&self.more.all(self.inputs), &self.namespace, &self.rules.settings())?;
        let spec = SimulatedSpec::of(&subject);
        let scenario = assembly::scenario(&subject, &spec)?;
        let title = title(&subject);
        if self.compare {
            let runs = comparison::runs(&scenario, spec.policy(), subject.document.sample);
            if let Some(file) = &self.chart {
                let drawn = chart::compared(&title, &scenario, &runs).map_err(SimulateError::unreadable)?;
                file.write(&drawn).map_err(SimulateError::unreadable)?;
            }
            return Ok(match self.output {
                Output::Table => comparison::table(&title, &runs),
                Output::Csv => comparison::csv(&runs),
                Output::Json => comparison::json(&runs),
            });
        }
        let outcome = Outcome::of(&scenario, subject.document.sample);
        if let Some(file) = &self.chart {
            let drawn = chart::single(&title, &scenario, &outcome).map_err(SimulateError::unreadable)?;
            file.write(&drawn).map_err(SimulateError::unreadable)?;
        }
        Ok(match self.output {
            Output::Table => table::render(&title, spec.policy(), &scenario, &outcome),
            Output::Csv => export::csv(&scenario, &outcome.table),
            Output::Json => export::json(&title, spec.policy(), &scenario, &outcome),
        })
    }
}

/// The file name without folders and extension.
fn title(subject: &given::SimulationInput) -> String {
    let stem = Path::new(&subject.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    printable(&stem.unwrap_or_else(|| "scenario".to_owned()))
}
