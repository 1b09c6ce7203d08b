//! `fhpa install`: applies the objects that fhpa needs in karmada-apiserver, or prints them.

mod earlier;
mod render;
mod tally;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ArgAction;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

use self::render::render;
use self::tally::Tally;
use super::terminal::{Color, complain};
use crate::admission::registration::{Location, base_url};
use crate::install::apply::{Mode, apply, lacks_namespace};
use crate::install::karmada::{self, Groups, Refusal};
use crate::install::kinds::{self, ScaledType};
use crate::install::manifests::{self, Manifest, Part, RbacSubject, Settings};
use crate::install::modes;
use crate::install::permissions::ScaledKind;
use crate::install::webhooks::FailurePolicy;
use crate::run::{ControlPlaneArgs, LeaseArgs};
use crate::runtime::settings::DefaultMode;
use crate::runtime::tls;
use crate::runtime::tls::shared::{Access, SecretName, Store};

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command")]
pub struct Args {
    /// Where karmada-apiserver reaches the webhook: https://NAME:PORT/, with a host name in its certificate. Without it
    /// the webhook is not registered.
    #[arg(long, value_name = "URL", value_parser = base_url, requires = "authority", display_order = 0)]
    url: Option<String>,
    /// PEM file with the CA of the webhook's certificate; several during a rotation.
    #[arg(long, value_name = "FILE", requires = "url", group = "authority", display_order = 1)]
    ca_file: Option<PathBuf>,
    /// Secret with the CA of the webhook's certificate, in the cluster where the processes run. They create it with their
    /// --cert-secret; the command waits for it.
    #[arg(long, value_name = "NAMESPACE/NAME", requires = "url", group = "authority", display_order = 2)]
    ca_secret: Option<SecretName>,
    /// Kubeconfig of the cluster with that Secret. Default: the service account of the pod.
    #[arg(long, value_name = "FILE", requires = "ca_secret", display_order = 3)]
    cert_kubeconfig: Option<PathBuf>,
    /// What karmada-apiserver does with a write of both kinds while the webhook does not answer. Default: what an
    /// operator has annotated, else Fail.
    #[arg(long, value_enum, ignore_case = true, value_name = "POLICY", requires = "url", display_order = 4)]
    failure_policy: Option<FailurePolicy>,
    #[command(flatten)]
    subject: SubjectArgs,
    /// Whether objects that Karmada has too are changed: its definitions of both kinds, and its own webhooks for them,
    /// which are disabled.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    manage_karmada: bool,
    /// Whether definitions that are applied over those of fhpa keep its fields: by a MutatingAdmissionPolicy where the
    /// API server has them (Kubernetes 1.36), and by the webhook.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    guard_definitions: bool,
    /// Another kind to be scaled beside Deployments and StatefulSets: GROUP/RESOURCE, such as argoproj.io/rollouts. It
    /// must be served already. No other kind is scaled. May be given several times.
    #[arg(long, value_name = "GROUP/RESOURCE")]
    scale_kind: Vec<ScaledKind>,
    /// What FederatedHPAs that are stored without `spec.mode` become. Required where there are such objects; give the
    /// processes the same.
    #[arg(long, value_enum, ignore_case = true, value_name = "MODE")]
    default_mode: Option<DefaultMode>,
    /// Apply the roles and their bindings only, which an administrator does before the processes start. They have all
    /// rights that a registered webhook needs.
    #[arg(long, conflicts_with_all = ["output", "url"])]
    only_roles: bool,
    /// Say what would change, and change nothing.
    #[arg(long, conflicts_with = "output")]
    dry_run: bool,
    /// Write plain manifests instead of applying them: one file each into this directory, or `-` for standard output.
    /// No control plane is asked.
    #[arg(long, short, value_name = "DIR|-")]
    output: Option<PathBuf>,
    /// With --output: what each member cluster needs where the processes are no administrators there.
    #[arg(long, requires = "output")]
    member_rbac: bool,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    #[command(flatten)]
    lease: LeaseArgs,
}

/// Who the processes are. Default: the user of the kubeconfig.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct SubjectArgs {
    /// User of the processes in karmada-apiserver, who gets the roles. Default: that of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A group of users instead.
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// A service account of karmada-apiserver instead.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = service_account)]
    service_account: Option<RbacSubject>,
}

const EXAMPLES: &str = "\
The command can be repeated: objects that are as they should be stay unchanged. Stored objects keep all their \
fields, also those that only a newer Karmada defines.

Examples:
  What would be done?
    fhpa install --kubeconfig karmada.config --dry-run \\
      --url https://fhpa.karmada-system.svc:443/ --ca-file ca.crt
  The roles, by an administrator, before the processes start as the user `fhpa`:
    fhpa install --kubeconfig karmada.config --only-roles --user fhpa
  Plain manifests for a repository; the leader disables Karmada's own webhooks:
    fhpa install --output manifests --user fhpa \\
      --url https://fhpa.karmada-system.svc:443/ --ca-file ca.crt

Exit codes:
  0  everything is as it should be
  1  something could not be applied, or a definition that must not be changed lacks fields of fhpa
  2  nothing was done: the arguments or the kubeconfig cannot be used, the API server is not that of Karmada, or \
--default-mode is missing; or the manifests of --output could not be written";

fn service_account(text: &str) -> Result<RbacSubject, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(RbacSubject::ServiceAccount(namespace.to_owned(), name.to_owned()))
        }
        _ => Err(format!("{text:?} is not NAMESPACE/NAME")),
    }
}

impl SubjectArgs {
    fn given(self) -> Option<RbacSubject> {
        let Self { user, group, service_account } = self;
        user.map(RbacSubject::User).or(group.map(RbacSubject::Group)).or(service_account)
    }
}

/// An object could not be brought to its desired state.
const FAILED: u8 = 1;
/// Nothing was done.
const UNUSABLE: u8 = 2;

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        match self.install(color) {
            Ok(code) => code,
            Err(problem) => {
                complain("install", &problem);
                ExitCode::from(UNUSABLE)
            }
        }
    }

    fn install(self, color: Color) -> Result<ExitCode, String> {
        let Self {
            url,
            ca_file,
            ca_secret,
            cert_kubeconfig,
            failure_policy,
            subject,
            manage_karmada,
            guard_definitions,
            scale_kind: scaled,
            default_mode,
            only_roles,
            dry_run,
            output,
            member_rbac,
            control_plane,
            lease,
        } = self;
        let runtime = super::runtime()?;
        let ca_bundle = runtime.block_on(authority(ca_file, ca_secret, cert_kubeconfig))?;
        let location = url.map(|base_url| Location { base_url, ca_bundle });
        let LeaseArgs { lease_name, lease_namespace } = lease;
        let subject = subject.given();
        let types = Vec::new();
        let mut settings = Settings {
            location,
            failure_policy,
            subject,
            lease_namespace,
            manage_karmada,
            guard_definitions,
            scaled,
            types,
        };
        if let Some(output) = output {
            return render(&settings, &output, member_rbac);
        }
        runtime.block_on(async {
            let client = control_plane.connect().await?;
            if let Some(code) = refused(&client).await? {
                return Ok(code);
            }
            if settings.subject.is_none() {
                settings.subject = own_name(&client).await;
            }
            if only_roles {
                let order = Order { manifests: roles(&settings), unknown: Vec::new(), lease: None, dry_run };
                return Ok(install(&client, &settings, order, color).await);
            }
            if default_mode.is_none() {
                decided(&client, &settings, (&lease_name, dry_run), color).await?;
            }
            let order = whole(&client, &mut settings, &lease_name, dry_run).await?;
            Ok(install(&client, &settings, order, color).await)
        })
    }
}

/// The exit code where no API server answers.
///
/// # Errors
/// Another one than karmada-apiserver answers.
async fn refused(client: &Client) -> Result<Option<ExitCode>, String> {
    let Some(refusal) = karmada::refusal(client, Groups::is_karmada).await else { return Ok(None) };
    let said = format!("nothing was done: {refusal}");
    if refusal == Refusal::Foreign {
        return Err(said);
    }
    complain("install", &said);
    Ok(Some(ExitCode::from(FAILED)))
}

/// The CAs to register.
async fn authority(
    file: Option<PathBuf>,
    secret: Option<SecretName>,
    kubeconfig: Option<PathBuf>,
) -> Result<Vec<u8>, String> {
    if let Some(file) = file {
        return tls::authorities(&file).map_err(|error| error.to_string());
    }
    let Some(secret) = secret else { return Ok(Vec::new()) };
    shared(secret, Access::by(kubeconfig)).await
}

/// How long to wait for the Secret with the CA.
const PATIENCE: Duration = Duration::from_mins(2);

/// The CAs in the Secret that the processes share, once it has some.
async fn shared(secret: SecretName, access: Access) -> Result<Vec<u8>, String> {
    let shown = secret.to_string();
    let (store, _) = Store::open(access, secret).await.map_err(|error| error.to_string())?;
    anstream::eprintln!("Waiting for the CA in the Secret {shown}, at most {} s.", PATIENCE.as_secs());
    match store.wait(PATIENCE).await {
        Ok(Some(content)) => Ok(content.bundle()),
        Ok(None) => {
            Err(format!("no process has made the Secret {shown}; see the logs of those with --cert-secret {shown}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Fails while it is open what stored objects become. After half an uninstallation nobody acts: the others go on then.
async fn decided(client: &Client, settings: &Settings, lease: (&str, bool), color: Color) -> Result<(), String> {
    let question = match modes::question(client).await {
        Ok(None) => return Ok(()),
        Ok(Some(question)) => question,
        Err(failure) => format!("{failure}; with --default-mode MODE it is not asked for"),
    };
    earlier::free(client, settings, lease, &mut color.stdout()).await;
    Err(question)
}

/// The identity of this client in the API server; `None` for an administrator, or when it is unknown.
async fn own_name(client: &Client) -> Option<RbacSubject> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok()?;
    let user = review.status?.user_info?;
    let administrator = user.groups.iter().flatten().any(|group| group == "system:masters");
    user.username.filter(|_| !administrator).map(RbacSubject::User)
}

/// The served versions of the kinds to scale, and the errors of kinds for which they are unknown.
async fn scaled_types(client: &Client, settings: &Settings) -> (Vec<ScaledType>, Vec<String>) {
    let (mut types, mut unknown) = (Vec::new(), Vec::new());
    for kind in &settings.scaled {
        match kinds::versions(client, kind).await {
            Ok(found) => types.extend(found),
            Err(failure) => unknown.push(failure.message),
        }
    }
    (types, unknown)
}

/// Everything, once it is known what the API server serves.
async fn whole<'a>(
    client: &Client,
    settings: &mut Settings,
    lease: &'a str,
    dry_run: bool,
) -> Result<Order<'a>, String> {
    let (found, unknown) = scaled_types(client, settings).await;
    settings.types = found;
    let manifests = manifests::all(settings).map_err(|error| error.to_string())?;
    Ok(Order { manifests, unknown, lease: Some(lease), dry_run })
}

/// The roles alone. The webhook is registered later, and with it come rights of its own.
fn roles(settings: &Settings) -> Vec<Manifest> {
    manifests::roles(&Settings { manage_karmada: true, ..settings.clone() })
}

/// What is applied.
struct Order<'a> {
    manifests: Vec<Manifest>,
    /// The errors of kinds to scale that are unknown.
    unknown: Vec<String>,
    /// The Lease to free; `None`: only the roles are applied.
    lease: Option<&'a str>,
    dry_run: bool,
}

/// Applies all objects, and prints the result of each.
async fn install(client: &Client, settings: &Settings, order: Order<'_>, color: Color) -> ExitCode {
    let Order { manifests, unknown, lease, dry_run } = order;
    let mut out = color.stdout();
    let mode = Mode { dry_run, manage_karmada: settings.manage_karmada };
    let mut tally = Tally::default();
    for manifest in manifests {
        // A webhook that rejects every review would be worse than none.
        if matches!(manifest.part, Part::Webhook | Part::Policy) && tally.broken {
            tally.failed += 1;
            let _ = writeln!(out, "{}  not applied: something before it failed", name(&manifest));
            continue;
        }
        let line = match apply(client, &manifest, mode).await {
            Ok(outcome) => tally.count(&manifest, outcome),
            Err(failure) => {
                tally.failed += 1;
                // Without a customization members are queried one by one; reviews still work.
                tally.broken |= manifest.part != Part::Customization;
                let other = if lacks_namespace(&manifest, &failure) { OTHER } else { "" };
                format!("failed: {failure}{other}")
            }
        };
        // A reader that exits early has seen enough.
        let _ = writeln!(out, "{}  {line}", name(&manifest));
    }
    for problem in unknown {
        tally.failed += 1;
        let _ = writeln!(out, "--scale-kind  failed: {problem}");
    }
    if lease.is_some() && !settings.guard_definitions {
        tally.failed += earlier::withdraw_policy(client, dry_run, &mut out).await;
    }
    if let Some(lease) = lease {
        earlier::free(client, settings, (lease, dry_run), &mut out).await;
    }
    let _ = writeln!(out, "\n{}", tally.summary(dry_run));
    for note in notes(settings).into_iter().filter(|note| lease.is_some() || *note == NO_SUBJECT) {
        let _ = writeln!(out, "{note}");
    }
    if tally.failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}

/// Ends the failure of an object whose namespace is missing.
const OTHER: &str = ", or choose another one with --lease-namespace";
const NO_SUBJECT: &str =
    "The roles have no subject: the user of the kubeconfig is an administrator, or unknown; --user names another.";

fn notes(settings: &Settings) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if settings.location.is_none() {
        notes.push("The webhook is not registered: give --url, and --ca-file or --ca-secret.");
    }
    if !settings.scaled.is_empty() && settings.types.is_empty() {
        notes.push(
            "What members keep of the kinds of --scale-kind is not in here: only `fhpa install` on a control plane that serves \
             these kinds can tell.",
        );
    }
    if settings.subject.is_none() {
        notes.push(NO_SUBJECT);
    }
    notes
}

/// Kind and name.
pub(super) fn name(manifest: &Manifest) -> String {
    let text = |pointer| manifest.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("/kind"), text("/metadata/name"))
}
