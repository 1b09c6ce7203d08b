//! A FederatedHPA and its related objects -> the bounds that each member cluster would get, and why.

mod centralized;
pub(super) mod fleet;
mod given;
mod live;
mod outline;
mod policy;
mod preview;
mod scenario;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(feature = "playground")]
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;

use super::names;
use super::output;
use super::terminal::Color;
use super::validate::inputs::{self, FilenameArgs, Unreadable};
use super::validate::{File, examine, text as findings};
use crate::decision::defaults::Mode;
use crate::decision::fleet::tolerance::FailureTolerance;
use crate::decision::validation::Settings as RuleSettings;
use crate::run::CentralizedArgs;
use crate::run::estimators::{Address, EstimatorArgs, Settings as EstimatorSettings};
use crate::run::forecast::centralized::Settings as CentralizedSettings;
use crate::runtime::clock;
use crate::runtime::settings::RuleArgs;
use given::{Manifests, PlanInput};
use live::{Connection, LiveSource};
use outline::Outline;

/// Arguments of `fhpa plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Manifests: YAML or JSON files, directories, `-` for standard input; with --kubeconfig also NAMESPACE/NAME of a
    /// stored FederatedHPA.
    #[arg(value_name = "FILE|DIR|-", required_unless_present = "filename")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    more: FilenameArgs,
    /// Namespace of objects that name none. Default: with --kubeconfig that of its context, else `default`.
    #[arg(short, long, value_name = "NAMESPACE", value_parser = names::namespace)]
    namespace: Option<String>,
    /// How to print plans.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Kubeconfig of karmada-apiserver: bindings, clusters and HPAs are read there. Nothing is written.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
    #[command(flatten)]
    planner: PlannerArgs,
}

/// What plans are made with, of each command that makes them.
#[derive(Debug, clap::Args)]
pub(super) struct PlannerArgs {
    #[command(flatten)]
    estimators: EstimatorArgs,
    #[command(flatten)]
    centralized: CentralizedArgs,
    #[command(flatten)]
    rules: RuleArgs,
}

impl PlannerArgs {
    /// Where the estimator of a cluster is.
    pub(super) fn estimators(&self) -> Address {
        self.estimators.address()
    }

    /// The time zone of cron rules that name none.
    pub(super) fn zone(&self) -> String {
        self.rules.clone().settings().default_time_zone
    }
}

/// The output of a plan.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum PlanOutput {
    Distributed(Box<Outline>),
    Centralized(Box<centralized::outline::Outline>),
}

/// What the command prints.
enum Planned {
    Outlines(Vec<PlanOutput>),
    /// Findings that deny an object, as in `fhpa validate`, and their exit code.
    Refused(String, u8),
}

impl PlanOutput {
    fn render(&self) -> String {
        match self {
            Self::Distributed(outline) => text::render(outline),
            Self::Centralized(outline) => centralized::text::render(outline),
        }
    }
}

/// How plans are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: a table, the steps, remarks.
    Text,
    /// For programs: one array.
    Json,
    /// The same as YAML.
    Yaml,
}

const EXAMPLES: &str = "\
The controller's own decision, computed here from a FederatedHPA, the PropagationPolicy or ResourceBinding of \
its workload, and the member clusters. The workload, for what a replica requests, and Works, for HPAs that \
exist, may be left out. The defaults of the webhook are set first.

Instead of clusters and placement a file may hold a scenario; all members are optional:
    kind: PlanScenario
    placement: {replicaScheduling: {replicaSchedulingType: Divided}}
    clusters:
      member1: {available: 5, current: 2, labels: {site: own}, hpa: {min: 1, max: 4}}
      member2: {available: 9, state: NotReady}
A cluster has: available (replicas that would still fit), total (that would fit were it empty), current (that \
run), ready (of these), hpa (its bounds now), labels, provider, region, zone, kubernetesVersion, taints, state \
(Ready, NotReady, Unknown).

In mode Centralized the plan shows the metrics of each cluster, what each metric asks for and the replicas that \
would be written. Such a scenario has further members:
    kind: PlanScenario
    replicas: 6
    clusters:
      member1: {current: 4, metrics: {cpu: 90%, queue: 30}}
      member2: {current: 2, ready: 1, metrics: {cpu: [40%, 60%]}}
replicas are those of the workload (else the sum of its clusters), metrics the values by name:
cpu of a pod, app/cpu of its container app, a metric of pods, or one as a whole; of each pod where a list is \
given. A cluster without a value does not answer for that metric. External metrics of karmada-apiserver are in \
metrics of the scenario itself.

Examples:
  From manifests, and clusters as kubectl prints them:
    kubectl get clusters -o yaml > clusters.yaml
    fhpa plan shop.yaml policy.yaml clusters.yaml
  From a scenario:
    fhpa plan examples/plan/g3-weights.yaml
  The replicas of a Centralized object, with a cluster that does not answer:
    fhpa plan examples/plan/one-computation.yaml
  A stored object, or an edited file, on the clusters as they are:
    fhpa plan --kubeconfig karmada.config shop/web
    fhpa plan --kubeconfig karmada.config shop.yaml
    fhpa plan --kubeconfig karmada.config --estimators auto shop/web

Exit codes:
  0  there is a plan for each FederatedHPA
  1  an object would be refused, something is missing, or the control plane could not be read
  2  a file or the kubeconfig could not be read, or the plan could not be written";

/// Success.
const FINE: u8 = 0;
/// An object is invalid or missing.
const WRONG: u8 = 1;
/// An input could not be read.
const UNREADABLE: u8 = 2;

/// Why there is no plan.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
struct PlanError {
    code: u8,
    message: String,
}

impl PlanError {
    fn wrong(message: impl Into<String>) -> Self {
        Self { code: WRONG, message: message.into() }
    }

    fn unreadable(message: impl Into<String>) -> Self {
        Self { code: UNREADABLE, message: message.into() }
    }
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let output = self.output;
        let (printed, code) = match self.outlines() {
            Ok(Planned::Refused(findings, code)) => (findings, code),
            Ok(Planned::Outlines(outlines)) => {
                let printed = match output {
                    Output::Text => outlines.iter().map(PlanOutput::render).collect::<Vec<_>>().join("\n"),
                    Output::Json => outline::json(&outlines),
                    Output::Yaml => outline::yaml(&outlines),
                };
                (printed, FINE)
            }
            Err(PlanError { code, message }) => {
                super::terminal::complain("plan", &message);
                return ExitCode::from(code);
            }
        };
        output::print("plan", &mut color.stdout(), &printed, code)
    }

    fn outlines(self) -> Result<Planned, PlanError> {
        let Self { inputs, more, namespace, kubeconfig, context, planner, output: _ } = self;
        let planner = Planner::of(planner);
        if kubeconfig.is_none() && planner.estimators.is_some() {
            return Err(PlanError::wrong("estimators need a control plane: give --kubeconfig"));
        }
        let now = clock::wall();
        let connection = kubeconfig.map(|kubeconfig| Connection::open(kubeconfig, context)).transpose()?;
        let own = || connection.as_ref().map_or("default", Connection::namespace).to_owned();
        let namespace = namespace.unwrap_or_else(own);
        let (names, paths): (Vec<_>, Vec<_>) =
            more.all(inputs).into_iter().partition(|input| connection.is_some() && live::is_name(input));
        let sources = inputs::read(&paths).into_iter().map(|source| source.map_err(told_apart)).collect();
        let (files, found) = examine(sources, &namespace, planner.rules.clone(), now);
        let code = found.exit_code(false);
        if code != FINE {
            return Ok(Planned::Refused(findings::render(&found, usize::MAX), code));
        }
        anstream::eprint!("{}", findings::warnings(&found));
        let given = planner.manifests(&files)?;
        let subjects = match connection {
            Some(connection) => connection.subjects(&given, &names, LiveSource::of(&planner, now))?,
            None => given.subjects()?,
        };
        planner.outputs(subjects, now).map(Planned::Outlines)
    }
}

/// The error of what looks like the name of a stored object, with what to do.
fn told_apart(mut unreadable: Unreadable) -> Unreadable {
    if live::is_name(Path::new(&unreadable.name)) {
        unreadable.message.push_str("; a stored object is NAMESPACE/NAME with --kubeconfig");
    }
    unreadable
}

/// Settings of plans.
pub(super) struct Planner {
    /// Settings of the estimators; `None`: they are not queried.
    estimators: Option<EstimatorSettings>,
    /// How Centralized objects are scaled.
    centralized: CentralizedSettings,
    /// Settings of the webhook's operator.
    rules: RuleSettings,
    /// When clusters fail, in drills.
    tolerance: FailureTolerance,
}

impl Planner {
    /// As these arguments have it.
    pub(super) fn of(args: PlannerArgs) -> Self {
        let PlannerArgs { estimators, centralized, rules } = args;
        let (estimators, centralized) = (estimators.settings(false), centralized.settings());
        Self { estimators, centralized, rules: rules.settings(), tolerance: FailureTolerance::default() }
    }

    /// With another tolerance.
    pub(super) fn tolerating(self, tolerance: FailureTolerance) -> Self {
        Self { tolerance, ..self }
    }

    /// As without any argument.
    #[cfg(feature = "playground")]
    pub(super) fn usual() -> Arc<Self> {
        let (centralized, rules) = (CentralizedSettings::default(), RuleSettings::default());
        Arc::new(Self { estimators: None, centralized, rules, tolerance: FailureTolerance::default() })
    }

    /// The objects of files in which nothing is wrong, by kind.
    fn manifests(&self, files: &[File]) -> Result<Manifests, PlanError> {
        Manifests::of(files.iter().flatten().flatten(), self.rules.default_mode)
    }

    /// The plan of each object.
    fn outputs(&self, subjects: Vec<PlanInput>, now: Timestamp) -> Result<Vec<PlanOutput>, PlanError> {
        let mode = self.rules.default_mode;
        subjects.into_iter().map(|subject| subject.outline(mode, &self.centralized, now)).collect()
    }
}

/// Whether the object is in Distributed mode.
fn is_distributed(mode: Option<&str>, default_mode: Mode) -> bool {
    mode.and_then(Mode::parse).unwrap_or(default_mode) == Mode::Distributed
}
