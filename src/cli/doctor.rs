//! `fhpa doctor`: problems of an installation, as a table or as JSON.

use std::process::ExitCode;

use clap::ValueEnum;

use super::output;
use super::terminal::{Color, aligned, printable};
use crate::install::doctor::{CheckState, Context, Estimators, Finding, examine};
use crate::run::{ControlPlaneArgs, EstimatorAddress, LeaseArgs};
use crate::runtime::clock;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How to print what was found.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Where the karmada-scheduler-estimator of a cluster is.
    #[arg(long, default_value_t = EstimatorAddress::default(), value_name = "HOST:PORT")]
    estimator_address: EstimatorAddress,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    #[command(flatten)]
    lease: LeaseArgs,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: a table, and what to do.
    Text,
    /// For programs: one array.
    Json,
}

const EXAMPLES: &str = "\
Nothing is written. In a pod of the host cluster, names of that cluster resolve, so that the certificate of the \
webhook and the estimators are checked, too.

Example:
  fhpa doctor --kubeconfig karmada.config

Exit codes:
  0  everything that could be checked works
  1  something does not work
  2  the arguments or the kubeconfig cannot be used, or the output could not be written";

/// A check failed.
const FAILED: u8 = 1;
/// No check ran.
const UNUSABLE: u8 = 2;

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let Self { output, estimator_address, control_plane, lease } = self;
        let found = super::runtime().and_then(|runtime| {
            runtime.block_on(async {
                let client = control_plane.connect().await?;
                let LeaseArgs { lease_name, lease_namespace } = lease;
                let estimators = Estimators { address: estimator_address };
                let lease = (lease_namespace, lease_name);
                Ok(examine(&Context { client, now: clock::wall(), lease, estimators }).await)
            })
        });
        let found = match found {
            Ok(found) => found,
            Err(problem) => {
                let problem: String = problem;
                super::terminal::complain("doctor", &problem);
                return ExitCode::from(UNUSABLE);
            }
        };
        let text = match output {
            Output::Text => table(&found),
            Output::Json => serde_json::to_string_pretty(&found).map(|json| json + "\n").unwrap_or_default(),
        };
        let failed = found.iter().any(|finding| finding.state == CheckState::Fail);
        output::print("doctor", &mut color.stdout(), &text, if failed { FAILED } else { 0 })
    }
}

const fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Ok => "ok",
        CheckState::Skipped => "skipped",
        CheckState::Warn => "warn",
        CheckState::Fail => "FAIL",
    }
}

/// One line for each finding, its remedy below it, and a summary.
fn table(found: &[Finding]) -> String {
    let mut lines = Vec::new();
    for Finding { check, state, seen, to_do } in found {
        lines.push(vec![format!("{:<7}", word(*state)), (*check).to_owned(), printable(seen)]);
        if !to_do.is_empty() {
            lines.push(vec![String::new(), String::new(), format!("-> {}", printable(to_do))]);
        }
    }
    let lines = aligned(&lines);
    let count = |state| found.iter().filter(|finding| finding.state == state).count();
    let [failed, warned, skipped] = [CheckState::Fail, CheckState::Warn, CheckState::Skipped].map(count);
    format!("{lines}\n{} checks: {failed} failed, {warned} with warnings, {skipped} skipped\n", found.len())
}
