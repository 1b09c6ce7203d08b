//! A scenario -> a simulated fleet in virtual time: its behavior under load, as a table, for programs, and as a chart.

mod assembly;
mod axes;
mod chart;
mod clusters;
mod comparison;
mod document;
mod export;
mod fleet;
mod given;
mod load;
mod reader;
mod table;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;

use super::names;
use super::output;
use super::picture::Picture;
use super::terminal::{Color, printable};
use super::validate::inputs::FilenameArgs;
use crate::decision::plan::Policy;
use crate::runtime::settings::RuleArgs;
use crate::simulation::{Figures, Record, Scenario, Second, Workload, run};
use assembly::SimulatedSpec;
use fleet::FleetOutcome;

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
    /// once. With several workloads: without what they know of each other, under Karmada, with plain HPAs, and at its
    /// best.
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
Several workloads share clusters where the scenario lists them, the oldest first. A cluster then has \
allocatable resources, and nodes with allocatable, step and delay:
    clusters:
      own: {allocatable: {cpu: 16, memory: 64Gi}}
    workloads:
      - {name: shop, federatedHPA: web, requests: {cpu: 500m}, replicas: {own: 2},
         schedulePriority: 10, load: {points: [{at: 0s, replicas: 4}]}}
A workload has: name, federatedHPA (its name; else that of the workload, or the only one), requests, load, \
replicas (at the start, by cluster), schedulePriority, count (that many alike).
With `mode: Centralized` no cluster has an HPA: one computation over the pods of all clusters sets the replicas \
of the workload, each hpaSync, and they are divided as karmada-scheduler does for the placement: Duplicated, by \
static weights, by the replicas that fit, or aggregated.
Further: sample, placement, workload (podStart, saturationPercent), timing (hpaSync, apply, report, detect, \
downscaleWindow, metricsWindow, rebalancePeriod, settle; of several workloads capacityReport, failoverInterval).

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
        let Self { inputs, more, namespace, output, chart, compare, rules } = self;
        let subject = given::subject(&more.all(inputs), &namespace, &rules.settings())?;
        let specs = SimulatedSpec::all(&subject);
        let scenario = assembly::scenario(&subject, &specs)?;
        let presentation =
            Presentation { title: title(&subject), sample: subject.document.sample, output, chart, compare };
        match (scenario.workloads.first(), specs.first()) {
            (Some(workload), Some(spec)) if !subject.document.is_shared => {
                presentation.single(&scenario, workload, spec.policy())
            }
            _ => presentation.fleet(&scenario),
        }
    }
}

/// What to show of a scenario, and how.
struct Presentation {
    title: String,
    /// Seconds between two samples of a table.
    sample: Second,
    output: Output,
    chart: Option<Picture>,
    compare: bool,
}

impl Presentation {
    fn draw(&self, drawn: impl FnOnce() -> Result<String, String>) -> Result<(), SimulateError> {
        let Some(file) = &self.chart else { return Ok(()) };
        file.write(&drawn().map_err(SimulateError::unreadable)?).map_err(SimulateError::unreadable)
    }

    /// One workload.
    fn single(
        &self,
        scenario: &Scenario<'_>,
        workload: &Workload<'_>,
        policy: Policy,
    ) -> Result<String, SimulateError> {
        let (title, about) = (&*self.title, (scenario, workload));
        if self.compare {
            let runs = comparison::runs(scenario, workload, policy, self.sample);
            self.draw(|| chart::compared(title, about, &runs))?;
            return Ok(match self.output {
                Output::Table => comparison::table(title, &runs),
                Output::Csv => comparison::csv(&runs),
                Output::Json => comparison::json(&runs),
            });
        }
        let outcome = Outcome::of(scenario, self.sample);
        self.draw(|| chart::single(title, about, &outcome))?;
        Ok(match self.output {
            Output::Table => table::render(title, policy, about, &outcome),
            Output::Csv => export::csv(scenario, &outcome.table),
            Output::Json => export::json(title, policy, about, &outcome),
        })
    }

    /// Several workloads.
    fn fleet(&self, scenario: &Scenario<'_>) -> Result<String, SimulateError> {
        let title = &*self.title;
        if self.compare {
            let runs = fleet::comparison::runs(scenario, self.sample);
            self.draw(|| fleet::chart::compared(title, scenario, &runs))?;
            return Ok(match self.output {
                Output::Table => fleet::comparison::table(title, scenario, &runs),
                Output::Csv => fleet::comparison::csv(scenario, &runs),
                Output::Json => fleet::comparison::json(scenario, &runs),
            });
        }
        let outcome = FleetOutcome::of(scenario, self.sample);
        self.draw(|| fleet::chart::single(title, scenario, &outcome))?;
        Ok(match self.output {
            Output::Table => fleet::table::render(title, scenario, &outcome),
            Output::Csv => fleet::export::csv(scenario, &outcome.table),
            Output::Json => fleet::export::json(title, scenario, &outcome),
        })
    }
}

/// The file name without folders and extension.
fn title(subject: &given::SimulationInput) -> String {
    let stem = Path::new(&subject.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    printable(&stem.unwrap_or_else(|| "scenario".to_owned()))
}
