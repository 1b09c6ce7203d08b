//! `fhpa uninstall`: reverts `fhpa install` and the controller, workloads first.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use kube::{Client, Resource as _};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::install::name;
use super::question;
use super::terminal::{Color, printable};
use crate::admission::registration::{Location, NAME, base_url};
use crate::api::FederatedHPA;
use crate::convert;
use crate::decision::validation::Settings;
use crate::install::apply::{each, each_metadata, place};
use crate::install::karmada::{self, Groups};
use crate::install::manifests::{self, Manifest, Part};
use crate::install::members_left::Effect;
use crate::install::remove::{self, Removed};
use crate::install::suspended_bindings;
use crate::run::hand_back::{self, LeaseHold};
use crate::run::{ControlPlaneArgs, LeaseArgs, duration};
use crate::runtime::clock::{self, WallClock};
use crate::runtime::identity;
use crate::runtime::leader::activity::{LeaseLocation, Renewed};

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How long taking the Lease and handing back all workloads may take.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::positive_within_a_day)]
    timeout: Duration,
    /// Delete the definitions of both kinds, too, and with them EVERY FederatedHPA and CronFederatedHPA that is stored.
    #[arg(long)]
    crds: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation where member clusters have HPAs of fhpa.
    #[arg(long)]
    yes: bool,
    /// Do nothing where the webhook is registered with another URL: another installation acts there.
    #[arg(long, value_name = "URL", value_parser = base_url)]
    only_if_url: Option<String>,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    #[command(flatten)]
    lease: LeaseArgs,
}

const EXAMPLES: &str = "\
Uninstall stops the controller by taking its Lease, deletes the webhook registration, and hands every workload \
back to Karmada with its current replicas. Only then it removes the rest. The definitions and all objects stay, \
for Karmada's own controllers and webhooks, and the Lease stays reserved: no process of fhpa acts before `fhpa install`. It first says how many HPAs of member clusters it deletes, and asks. \
The command can be repeated.

Example:
  fhpa uninstall --kubeconfig karmada.config

Exit codes:
  0  everything was removed
  1  something is left: all of it where another installation acts (--only-if-url) or the API server is not that of \
Karmada; the output says what
  2  the arguments or the kubeconfig cannot be used";

/// Something remains.
const LEFT: u8 = 1;
/// Nothing was done.
const UNUSABLE: u8 = 2;
/// Most objects that are listed for fields that Karmada ignores; others are counted.
const TOLD: usize = 100;

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let Self { timeout: patience, crds, dry_run, yes, only_if_url, control_plane, lease } = self;
        let done = super::runtime().and_then(|runtime| {
            runtime.block_on(async {
                let client = control_plane.connect().await?;
                let LeaseArgs { lease_name, lease_namespace } = lease;
                let place = LeaseLocation { namespace: lease_namespace, name: lease_name };
                let (clock, out) = (Arc::new(clock::wall), Box::new(color.stdout()));
                Ok(Removal { client, place, patience, crds, dry_run, yes, only_if_url, clock, out }.run().await)
            })
        });
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(LEFT),
            Err(problem) => {
                super::terminal::complain("uninstall", &problem);
                ExitCode::from(UNUSABLE)
            }
        }
    }
}

/// An uninstallation.
pub struct Removal {
    /// Client of the control plane.
    pub client: Client,
    /// The Lease of the controllers.
    pub place: LeaseLocation,
    /// How long taking the Lease and handing back all workloads may take.
    pub patience: Duration,
    /// Whether to delete the CRDs, too.
    pub crds: bool,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether to continue without a question.
    pub yes: bool,
    /// Where the webhook is registered, `https://HOST:PORT`, for this to do anything; `None`: anywhere.
    pub only_if_url: Option<String>,
    /// The time of day.
    pub clock: WallClock,
    /// Receives the output.
    pub out: Box<dyn Write>,
}

impl Removal {
    fn print_line(&mut self, line: &str) {
        // A reader that exits early has seen enough.
        let _ = writeln!(self.out, "{line}");
    }

    /// Returns whether nothing remains.
    pub async fn run(mut self) -> bool {
        if let Some(refusal) = karmada::refusal(&self.client, Groups::may_have_fhpa).await {
            self.print_line(&format!("Nothing was done: {}", printable(&refusal.to_string())));
            return false;
        }
        match self.other_url().await {
            Ok(None) => {}
            Ok(Some(url)) => {
                self.print_line(&format!(
                    "The webhook is registered with {url}: another installation acts here, and everything is left to it. \
                     To remove what is there all the same, run `fhpa uninstall` without --only-if-url; to remove only \
                     this release of a chart, `helm uninstall --no-hooks`."
                ));
                return false;
            }
            Err(failure) => {
                self.print_line(&format!("It is not known whose installation this is: {failure}"));
                return false;
            }
        }
        if self.leads_elsewhere().await || !self.is_wanted().await {
            return false;
        }
        let deadline = clock::steady() + self.patience;
        let hold = match self.take_lease().await {
            Ok(hold) => hold,
            Err(problem) => {
                self.print_line(&problem);
                return false;
            }
        };
        let whole = self.steps(hold.as_ref(), deadline).await;
        if let Some(hold) = hold
            && let Err(error) = hold.park().await
        {
            self.print_line(&format!("The Lease could not be kept from controllers that still run: {error}"));
        }
        if !whole {
            self.print_line("\nNot everything was removed: see above, and run it again.");
        }
        whole
    }

    /// Whether a controller goes on whose Lease this does not take.
    async fn leads_elsewhere(&mut self) -> bool {
        let line = match hand_back::leads_elsewhere(&self.client, &self.place).await {
            Ok(None) => return false,
            Ok(Some(Renewed { place: LeaseLocation { namespace, name }, holder, .. })) => format!(
                "Nothing was done: a controller of fhpa ({holder}) leads by the Lease {namespace}/{name}: \
                 give --lease-name {name} --lease-namespace {namespace}."
            ),
            Err(failure) => format!("Nothing was done: {failure}"),
        };
        self.print_line(&line);
        true
    }

    /// The URL of a registration by another installation than the wanted one.
    async fn other_url(&self) -> Result<Option<String>, String> {
        let Some(wanted) = &self.only_if_url else { return Ok(None) };
        let own = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": NAME}});
        let stored = place(&own).get(&self.client).await.map_err(|failure| failure.to_string())?;
        let url = stored.as_ref().and_then(|stored| stored.pointer("/webhooks/0/clientConfig/url")?.as_str());
        let is_own = |url: &&str| url.strip_prefix(wanted.as_str()).is_some_and(|path| path.starts_with('/'));
        Ok(url.filter(|url| !is_own(url)).map(str::to_owned))
    }

    /// Says what ends in member clusters, and asks whether that is wanted.
    async fn is_wanted(&mut self) -> bool {
        let effect = match Effect::read(&self.client).await {
            Ok(effect) if effect.is_none() => return true,
            Ok(effect) => effect.to_string(),
            Err(failure) => {
                self.print_line(&format!("It is not known how many HPAs of member clusters this deletes: {failure}"));
                return self.yes || self.dry_run;
            }
        };
        self.print_line(&effect);
        if self.yes || self.dry_run {
            return true;
        }
        question::is_agreed(&mut self.out, "Is that wanted?", "Nothing was done.")
    }

    async fn take_lease(&mut self) -> Result<Option<LeaseHold>, String> {
        if self.dry_run {
            return Ok(None);
        }
        let (client, place, clock) = (self.client.clone(), self.place.clone(), Arc::clone(&self.clock));
        let out = &mut self.out;
        let report = |acquired: &crate::runtime::leader::handover::Acquired| {
            let (name, seconds) = (&place.name, acquired.wait.as_secs());
            let _ = match &acquired.from {
                Some(holder) => writeln!(out, "Lease {name}  taken from {holder}, which may still act for {seconds} s"),
                None if seconds > 0 => {
                    writeln!(out, "Lease {name}  was missing; a controller that held it may still act for {seconds} s")
                }
                None => Ok(()),
            };
        };
        let identity = format!("uninstall_{}", identity::unique());
        let taken = LeaseHold::take(client, place.clone(), identity, clock, self.patience, report).await;
        taken.map(Some).map_err(|failure| format!("Lease {}  could not be taken: {failure}", place.name))
    }

    /// Runs the steps in order; later ones depend on earlier ones.
    async fn steps(&mut self, hold: Option<&LeaseHold>, deadline: Instant) -> bool {
        let everything = match everything(&self.place.namespace) {
            Ok(everything) => everything,
            Err(error) => {
                self.print_line(&error.to_string());
                return false;
            }
        };
        let of = |part: fn(Part) -> bool| everything.iter().filter(move |manifest| part(manifest.part));
        // From then on Karmada's own CRDs can be applied again.
        let mut whole = self.remove(of(|part| part == Part::Policy)).await;
        self.tell_ignored().await;
        if !self.remove(of(|part| part == Part::Webhook)).await || !self.hand_back(hold, deadline).await {
            return false;
        }
        let customizations = match remove::customizations(&self.client).await {
            Ok(found) => found,
            Err(failure) => {
                self.print_line(&format!("ResourceInterpreterCustomizations  failed: {failure}"));
                return false;
            }
        };
        whole &= self.remove(customizations.iter()).await;
        whole &= self.remove(of(|part| matches!(part, Part::SetAside(_)))).await;
        whole &= self.remove(of(|part| part == Part::Role)).await;
        if !self.crds {
            self.print_line(
                "The definitions of FederatedHPA and CronFederatedHPA stay, with all objects; --crds deletes them. Karmada's own \
                 come back with its next upgrade.",
            );
            return whole;
        }
        whole & self.remove(of(|part| part == Part::Definition)).await
    }

    /// Reports objects with fields that restrict where a workload runs and that Karmada does not know.
    async fn tell_ignored(&mut self) {
        let mut count = 0_usize;
        for (kind, plural) in [("FederatedHPA", "federatedhpas"), ("CronFederatedHPA", "cronfederatedhpas")] {
            let path = format!("/apis/autoscaling.karmada.io/v1alpha1/{plural}");
            // A read error is reported when the workload is handed back.
            let mut lines = Vec::new();
            let _ = each(&self.client, &path, "autoscaling.karmada.io", plural, |object| {
                let fields = convert::own::restricting(&object);
                if fields.is_empty() {
                    return;
                }
                count = count.saturating_add(1);
                if count <= TOLD {
                    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
                    let fields = fields.join(", ");
                    lines.push(format!("{kind} {namespace}/{name}  has fields that Karmada ignores: {fields}"));
                }
            })
            .await;
            for line in &lines {
                self.print_line(line);
            }
        }
        if count > TOLD {
            self.print_line(&format!("{} more objects have fields that Karmada ignores", count.saturating_sub(TOLD)));
        }
    }

    async fn remove(&mut self, manifests: impl Iterator<Item = &Manifest>) -> bool {
        let mut whole = true;
        for manifest in manifests {
            let removed = remove::remove(&self.client, manifest, self.dry_run).await;
            whole &= removed.is_ok();
            let line = result_line(&removed, self.dry_run);
            self.print_line(&format!("{}  {line}", name(manifest)));
        }
        whole
    }

    async fn hand_back(&mut self, hold: Option<&LeaseHold>, deadline: Instant) -> bool {
        let mut stored = 0_usize;
        let place = ("autoscaling.karmada.io", "federatedhpas");
        let count = |_| stored = stored.saturating_add(1);
        if let Err(failure) =
            each_metadata(&self.client, &FederatedHPA::url_path(&(), None), ListParams::default(), place, count).await
        {
            self.print_line(&format!("FederatedHPAs  failed: {failure}"));
            return false;
        }
        let suspended = match suspended_bindings::marked(&self.client).await {
            Ok(suspended) => suspended.len(),
            Err(failure) => {
                self.print_line(&format!("ResourceBindings  failed: {failure}"));
                return false;
            }
        };
        let Some(hold) = hold.filter(|_| stored > 0 || suspended > 0) else {
            self.print_line(&format!(
                "FederatedHPAs  {stored} stored{}",
                if stored > 0 { ", would be handed back" } else { "" }
            ));
            if suspended > 0 {
                self.print_line(&format!("ResourceBindings  {suspended} suspended here, would be given back"));
            }
            return true;
        };
        match hold.hand_back(Settings::default(), deadline.saturating_duration_since(clock::steady())).await {
            Ok(back) => {
                for key in &back.done {
                    self.print_line(&format!("FederatedHPA {key}  handed back: the workload keeps its replicas"));
                }
                for (key, cluster) in &back.behind {
                    self.print_line(&format!(
                        "FederatedHPA {key}  its HPA in {cluster} goes when that cluster answers"
                    ));
                }
                for (key, missing) in &back.left {
                    self.print_line(&format!("FederatedHPA {key}  left: {missing}"));
                }
                back.left.is_empty()
            }
            Err(stuck) => {
                self.print_line(&format!("FederatedHPAs  failed: {stuck}"));
                false
            }
        }
    }
}

fn result_line(removed: &Result<Removed, impl Display>, dry_run: bool) -> String {
    match (removed, dry_run) {
        (Ok(Removed::Deleted), false) => "deleted".to_owned(),
        (Ok(Removed::Deleted), true) => "would be deleted".to_owned(),
        (Ok(Removed::GivenBack), false) => {
            "given back: Karmada's own webhooks for these kinds are enabled again".to_owned()
        }
        (Ok(Removed::GivenBack), true) => "would be given back to Karmada".to_owned(),
        (Ok(Removed::Absent), _) => "absent".to_owned(),
        (Err(failure), _) => format!("failed: {failure}"),
    }
}

/// All objects that an installation may have created; only names matter.
fn everything(lease_namespace: &str) -> Result<Vec<Manifest>, manifests::ManifestError> {
    manifests::all(&manifests::Settings {
        location: Some(Location { base_url: String::new(), ca_bundle: Vec::new() }),
        failure_policy: None,
        subject: Some(manifests::RbacSubject::User(String::new())),
        lease_namespace: lease_namespace.to_owned(),
        manage_karmada: true,
        guard_definitions: true,
        scaled: Vec::new(),
        types: Vec::new(),
    })
}
