//! `fhpa recover`: corrects a control plane that was restored from a backup to what the members run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use kube::Client;

use super::question;
use super::terminal::{Color, printable};
use crate::install::karmada::{self, Groups};
use crate::recovery::{Plan, Planned, Recovery};
use crate::run::{ControlPlaneArgs, LeaseArgs};
use crate::runtime::clock;
use crate::runtime::control_plane::{self, Origin};
use crate::runtime::leader::activity::LeaseLocation;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Read this member with a kubeconfig of its own, as the cluster proxy does not reach it: one that pulls its work.
    /// May be given several times.
    #[arg(long, value_name = "CLUSTER=KUBECONFIG", value_parser = member)]
    member: Vec<(String, PathBuf)>,
    /// Leave this cluster out: what the backup says of it is applied there. May be given several times.
    #[arg(long, value_name = "CLUSTER")]
    without: Vec<String>,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    #[command(flatten)]
    lease: LeaseArgs,
}

const EXAMPLES: &str = "\
A backup says what members ran when it was made. Karmada would apply that, and end pods. This command reads \
    what each member runs now and writes it into the Works, ResourceBindings and bounds of the workloads that \
    fhpa scales, so that nothing changes when Karmada's controllers start. It refuses to write while they run, \
    or a controller of fhpa that is not frozen. It says first what it writes, and asks. It can be repeated.

karmada-apiserver, karmada-aggregated-apiserver, karmada-webhook and the webhook of fhpa must answer. \
    Apply manifests that are newer than the backup before.

Examples:
  fhpa recover --kubeconfig karmada.config --dry-run
  fhpa recover --kubeconfig karmada.config --member edge7=edge7.config --without edge9

Exit codes:
  0  the control plane says what the members run
  1  something is left: all of it where the API server is not that of Karmada; the output says what
  2  the arguments or a kubeconfig cannot be used";

/// Something remains.
const LEFT: u8 = 1;
/// Nothing was done.
const UNUSABLE: u8 = 2;

fn member(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((cluster, file)) if !cluster.is_empty() && !file.is_empty() => Ok((cluster.to_owned(), file.into())),
        _ => Err("it is the name of a cluster, =, and a file".to_owned()),
    }
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let Self { member, without, dry_run, yes, control_plane, lease } = self;
        let done = super::runtime().and_then(|runtime| {
            runtime.block_on(async {
                let client = control_plane.connect().await?;
                let mut members = BTreeMap::new();
                for (cluster, file) in member {
                    members.insert(cluster.clone(), own_client(&cluster, file).await?);
                }
                let LeaseArgs { lease_name, lease_namespace } = lease;
                let lease = LeaseLocation { namespace: lease_namespace, name: lease_name };
                let without: BTreeSet<String> = without.into_iter().collect();
                let recovery = Recovery { client, members, without, lease, clock: Arc::new(clock::wall) };
                Ok(Run { recovery, dry_run, yes, out: Box::new(color.stdout()) }.run().await)
            })
        });
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(LEFT),
            Err(problem) => {
                let problem: String = problem;
                super::terminal::complain("recover", &problem);
                ExitCode::from(UNUSABLE)
            }
        }
    }
}

async fn own_client(cluster: &str, file: PathBuf) -> Result<Client, String> {
    let origin = Origin::find(Some(file), None, None).ok_or_else(|| format!("--member {cluster}: no kubeconfig"))?;
    control_plane::connect_once(origin).await.map_err(|error| format!("--member {cluster}: {error}"))
}

/// One run of the command.
pub struct Run {
    /// What is read and written.
    pub recovery: Recovery,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether to write without a question.
    pub yes: bool,
    /// Receives the output.
    pub out: Box<dyn Write>,
}

impl Run {
    fn say(&mut self, line: &str) {
        // A reader that exits early has seen enough.
        let _ = writeln!(self.out, "{line}");
    }

    /// Returns whether the control plane says what the members run.
    pub async fn run(mut self) -> bool {
        if let Some(refusal) = karmada::refusal(&self.recovery.client, Groups::is_karmada).await {
            self.say(&format!("Nothing was written: {}", printable(&refusal.to_string())));
            return false;
        }
        if !self.dry_run && !self.is_still().await {
            return false;
        }
        let plan = match self.recovery.plan().await {
            Ok(plan) => plan,
            Err(error) => {
                let text = format!("Nothing was written: {error}");
                text.lines().for_each(|line| self.say(&printable(line)));
                if matches!(error, crate::recovery::Error::Members(_)) {
                    self.say("Read a member with --member CLUSTER=KUBECONFIG, or leave it out with --without CLUSTER.");
                }
                return false;
            }
        };
        self.print_plan(&plan);
        if plan.is_done() || self.dry_run {
            return plan.left.is_empty();
        }
        if !self.is_wanted() {
            return false;
        }
        let failed = self.recovery.perform(&plan).await;
        for (object, why) in &failed {
            self.say(&format!("{object}  {}", printable(why)));
        }
        self.say(match (failed.is_empty(), plan.left.is_empty()) {
            (true, true) => "Written. Karmada's controllers can start, then the controllers of fhpa.",
            (true, false) => {
                "Written, but for the workloads that stay as the backup has them: see above, and run it again."
            }
            (false, _) => "Not everything was written: see above, and run it again.",
        });
        failed.is_empty() && plan.left.is_empty()
    }

    /// Whether nobody writes meanwhile.
    async fn is_still(&mut self) -> bool {
        match self.recovery.writers().await {
            Ok(writers) if writers.is_empty() => true,
            Ok(writers) => {
                self.say(&format!("Nothing was written: {}. Stop it first.", writers.join("; ")));
                false
            }
            Err(why) => {
                self.say(&format!("Nothing was written: {why}"));
                false
            }
        }
    }

    fn print_plan(&mut self, plan: &Plan) {
        for note in &plan.notes {
            self.say(&printable(note));
        }
        for Planned { object, corrections } in plan.planned() {
            self.say(&printable(object));
            for correction in corrections {
                self.say(&format!("  {}", printable(&correction.to_string())));
            }
        }
        for left in &plan.left {
            self.say(&printable(left));
        }
        let (count, workloads, clusters) = (plan.planned().count(), plan.workloads, plan.clusters);
        let left = match plan.left.len() {
            0 => String::new(),
            left => format!("; {left} cannot be corrected"),
        };
        self.say(&format!("{count} of {workloads} workloads differ from what {clusters} clusters run{left}"));
    }

    /// Whether the user wants that.
    fn is_wanted(&mut self) -> bool {
        self.yes || question::is_agreed(&mut self.out, "Write this?", "Nothing was written.")
    }
}
