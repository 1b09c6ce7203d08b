//! Checks of the objects of `fhpa install`: CRDs, Karmada's disabled webhooks, customizations, the registration, and a
//! probe. Talks to the API server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::CONTENT_TYPE;
use kube::Resource as _;
use serde_json::{Value, json};

use super::{CheckState, Context, Finding};
use crate::admission::endpoint::Endpoint;
use crate::admission::registration::Location;
use crate::api::{FederatedHPA, served};
use crate::controller::failure::{Failure, reason};
use crate::decision::backoff::ErrorClass;
use crate::install::apply::{self, list, place, wanted};
use crate::install::compare::differences;
use crate::install::manifests::{self, Manifest, Part};
use crate::install::suspended_bindings;
use crate::install::webhooks::{self, FAILURE_POLICY};

/// Most names in one finding.
const MAX_NAMES: usize = 10;
const INSTALL: &str = "run `fhpa install`";
const READER: &str = "ask with an administrator's kubeconfig: the processes read only what they need";

/// The state of an object: `Ok`, or the problem.
async fn standing(context: &Context, manifest: &Manifest) -> Result<(), (CheckState, String)> {
    let failed = |failure: Failure| match failure.reason {
        // The processes may have permission to write but not to read.
        reason::FORBIDDEN => (CheckState::Skipped, failure.message),
        _ => (CheckState::Fail, failure.message),
    };
    let live = place(&manifest.object).get(&context.client).await.map_err(failed)?;
    let wanted = wanted(manifest, live.as_ref()).map_err(failed)?;
    let (name, Some(wanted)) = (name(manifest), wanted) else { return Ok(()) };
    let Some(live) = live else { return Err((CheckState::Fail, format!("{name} does not exist"))) };
    let places = differences(&wanted, &live);
    if places.is_empty() { Ok(()) } else { Err((CheckState::Fail, format!("{name} differs in {}", places.join(", ")))) }
}

fn name(manifest: &Manifest) -> String {
    let text = |pointer| manifest.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

async fn all(context: &Context, check: &'static str, manifests: &[Manifest], fine: &str, to_do: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for manifest in manifests {
        match standing(context, manifest).await {
            Ok(()) => {}
            Err((CheckState::Skipped, seen)) => found.push(Finding::new(check, CheckState::Skipped, seen, READER)),
            Err((state, seen)) => found.push(Finding::new(check, state, seen, to_do)),
        }
    }
    if found.is_empty() {
        found.push(Finding::ok(check, fine));
    }
    found
}

fn shared(check: &'static str, part: fn(Part) -> bool) -> Result<Vec<Manifest>, Finding> {
    let mut shared = manifests::shared().map_err(|error| Finding::fail(check, error.to_string(), ""))?;
    shared.retain(|manifest| part(manifest.part));
    Ok(shared)
}

/// Whether both CRDs are those of fhpa.
pub(super) async fn definitions(context: &Context) -> Vec<Finding> {
    const CHECK: &str = "definitions";
    let to_do = "run `fhpa install`: Karmada's own definitions drop fields of fhpa";
    match shared(CHECK, |part| part == Part::Definition) {
        Ok(manifests) => all(context, CHECK, &manifests, "both are those of fhpa", to_do).await,
        Err(finding) => vec![finding],
    }
}

/// Whether objects are read and written: only while the CRDs have all fields of fhpa.
pub(super) async fn frozen(context: &Context) -> Vec<Finding> {
    const CHECK: &str = "frozen";
    let manifests = match shared(CHECK, |part| part == Part::Definition) {
        Ok(manifests) => manifests,
        Err(finding) => return vec![finding],
    };
    let to_do = "members keep scaling, nothing else is done until fhpa's definitions are back: the leader puts them back, unless it runs with \
                 --manage-karmada=false; then run `fhpa install`";
    let mut found = Vec::new();
    for manifest in &manifests {
        let lost = match place(&manifest.object).get(&context.client).await {
            Ok(Some(live)) => served::lost(&manifest.object, &live),
            Ok(None) => Vec::new(),
            Err(failure) if failure.reason == reason::FORBIDDEN => {
                found.push(Finding::new(CHECK, CheckState::Skipped, failure.message, READER));
                continue;
            }
            Err(failure) => {
                found.push(Finding::fail(CHECK, failure.message, ""));
                continue;
            }
        };
        if !lost.is_empty() {
            let seen = format!("{} lacks {}", name(manifest), served::shown(&lost));
            found.push(Finding::fail(CHECK, seen, to_do));
        }
    }
    if found.is_empty() {
        found.push(Finding::ok(CHECK, "the definitions have all fields of fhpa"));
    }
    found
}

/// Whether applying other CRDs preserves the fields of fhpa.
pub(super) async fn policy(context: &Context) -> Finding {
    const CHECK: &str = "definition guard";
    let manifests = match manifests::policy() {
        Ok(manifests) => manifests,
        Err(error) => return Finding::fail(CHECK, error.to_string(), ""),
    };
    for manifest in &manifests {
        let live = match place(&manifest.object).get(&context.client).await {
            Ok(live) => live,
            Err(failure) if failure.class == ErrorClass::Missing => {
                return Finding::ok(CHECK, "the API server has no MutatingAdmissionPolicy: the webhook does it");
            }
            Err(failure) if failure.reason == reason::FORBIDDEN => {
                return Finding::new(CHECK, CheckState::Skipped, failure.message, READER);
            }
            Err(failure) => return Finding::fail(CHECK, failure.message, ""),
        };
        let differs = live.as_ref().is_none_or(|live| !differences(&manifest.object, live).is_empty());
        if differs {
            let is = if live.is_some() { "is another one" } else { "does not exist" };
            let to_do = "run `fhpa install`; with --guard-definitions=false this is expected";
            return Finding::new(CHECK, CheckState::Warn, format!("{} {is}", name(manifest)), to_do);
        }
    }
    Finding::ok(CHECK, "definitions that are applied over those of fhpa keep its fields")
}

/// Whether Karmada's own webhooks for these kinds are disabled.
pub(super) async fn set_aside(context: &Context) -> Vec<Finding> {
    const CHECK: &str = "karmada's webhooks";
    let to_do = "run `fhpa install`: Karmada's own webhooks drop fields of fhpa, and refuse what it can run";
    match shared(CHECK, |part| matches!(part, Part::SetAside(_))) {
        Ok(manifests) => all(context, CHECK, &manifests, "they are disabled", to_do).await,
        Err(finding) => vec![finding],
    }
}

/// Whether Karmada reflects the status of member HPAs.
pub(super) async fn customizations(context: &Context) -> Vec<Finding> {
    all(context, "customizations", &manifests::customizations(&[]), "Karmada's interpreter knows them", INSTALL).await
}

/// Whether a FederatedHPA acts on each binding that fhpa suspended.
pub(super) async fn suspended(context: &Context) -> Finding {
    const CHECK: &str = "suspended bindings";
    let to_do =
        "a leading controller gives them back: see the check of the lease; `fhpa uninstall` does it without one";
    let failed = |failure: Failure| match failure.reason {
        reason::FORBIDDEN => Finding::new(CHECK, CheckState::Skipped, failure.message, READER),
        _ => Finding::fail(CHECK, failure.message, ""),
    };
    let marked = match suspended_bindings::marked(&context.client).await {
        Ok(marked) => marked,
        Err(failure) => return failed(failure),
    };
    let hpas = match list(
        &context.client,
        &FederatedHPA::url_path(&(), None),
        "autoscaling.karmada.io",
        "federatedhpas",
    )
    .await
    {
        Ok(hpas) => hpas,
        Err(failure) => return failed(failure),
    };
    let count = marked.len();
    let unserved = suspended_bindings::unserved(marked, &hpas);
    if unserved.is_empty() {
        return Finding::ok(CHECK, format!("a FederatedHPA acts on each of {count}"));
    }
    let name = |one: &suspended_bindings::Marked| format!("{}/{} (for {})", one.namespace, one.name, one.owner);
    let names: Vec<String> = unserved.iter().take(MAX_NAMES).map(name).collect();
    let more = unserved.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Finding::fail(
        CHECK,
        format!("no FederatedHPA acts on {}{more}, and karmada-scheduler is suspended for them", names.join(", ")),
        to_do,
    )
}

/// Whether the webhook is registered, and its URL.
pub(super) async fn registration(context: &Context) -> (Finding, Option<Location>) {
    const CHECK: &str = "registration";
    let to_do = "run `fhpa install --url https://NAME:PORT/ --ca-file FILE`";
    let empty = Location { base_url: String::new(), ca_bundle: Vec::new() };
    let manifests = match manifests::registration(&empty, true) {
        Ok(manifests) => manifests,
        Err(error) => return (Finding::fail(CHECK, error.to_string(), ""), None),
    };
    let (mut location, mut optional) = (None, false);
    for manifest in &manifests {
        let live = match place(&manifest.object).get(&context.client).await {
            Ok(Some(live)) => live,
            Ok(None) => return (Finding::fail(CHECK, format!("{} does not exist", name(manifest)), to_do), None),
            Err(failure) => return (Finding::fail(CHECK, failure.message, ""), None),
        };
        let text = |pointer: &str| live.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let url = text("/webhooks/0/clientConfig/url");
        let path = Endpoint::ALL.iter().map(|endpoint| endpoint.path()).find(|path| url.ends_with(path));
        let base_url = path.and_then(|path| url.strip_suffix(path)).unwrap_or(url).to_owned();
        let ca_bundle = STANDARD.decode(text("/webhooks/0/clientConfig/caBundle")).unwrap_or_default();
        let here = Location { base_url, ca_bundle };
        // With the current URL, the rest must be as fhpa writes it.
        let guard_definitions = live.to_string().contains(Endpoint::MutateDefinition.path());
        let wanted = manifests::registration(&here, guard_definitions).unwrap_or_default();
        let of_kind = |wanted: &&Manifest| wanted.object.get("kind") == manifest.object.get("kind");
        let wanted = wanted.iter().find(of_kind).and_then(|manifest| apply::wanted(manifest, Some(&live)).ok()?);
        let places = wanted.map(|wanted| differences(&wanted, &live)).unwrap_or_default();
        optional |= webhooks::are_optional(&live);
        if !places.is_empty() {
            let seen = format!("{} differs in {}", name(manifest), places.join(", "));
            return (Finding::fail(CHECK, seen, to_do), Some(here));
        }
        location = Some(here);
    }
    let url = location.as_ref().map(|location| location.base_url.clone()).unwrap_or_default();
    if optional {
        let seen = format!("the webhook is registered at {url}, and writes pass unreviewed while it does not answer");
        let to_do = format!("remove the annotation {FAILURE_POLICY} of both configurations once it answers again");
        return (Finding::new(CHECK, CheckState::Warn, seen, to_do), location);
    }
    (Finding::ok(CHECK, format!("the webhook is registered at {url}")), location)
}

/// Whether an invalid object is rejected, by the webhook and through the API server.
pub(super) async fn probe(context: &Context) -> Finding {
    const CHECK: &str = "probe";
    const PATH: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/cronfederatedhpas?dryRun=All";
    const DENIAL: [&str; 3] = ["fhpa.karmada.io", "denied", "spec.rules[0].schedule"];
    let object = json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "fhpa-doctor", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "fhpa-doctor"},
            "rules": [{"name": "never", "schedule": "0 0 30 2 *", "targetReplicas": 1}],
        },
    });
    let request =
        http::Request::post(PATH).header(CONTENT_TYPE, "application/json").body(object.to_string().into_bytes());
    let answer = match request {
        Ok(request) => context.client.request::<Value>(request).await,
        Err(error) => return Finding::fail(CHECK, error.to_string(), ""),
    };
    match answer {
        Err(kube::Error::Api(status)) if DENIAL.iter().all(|part| status.message.contains(part)) => {
            Finding::ok(CHECK, "a schedule that never fires is refused by the webhook (dry run)")
        }
        Err(kube::Error::Api(status)) if status.message.contains("failed calling webhook") => {
            let to_do = "the API server does not reach the webhook: see the line above, and whether its pods are ready";
            Finding::fail(CHECK, status.message, to_do)
        }
        Err(kube::Error::Api(status)) if status.code == 403 => {
            Finding::new(CHECK, CheckState::Skipped, status.message, "this user may not create a CronFederatedHPA")
        }
        Err(error) => Finding::fail(CHECK, error.to_string(), ""),
        Ok(_) => Finding::fail(CHECK, "a schedule that never fires is accepted (dry run)", INSTALL),
    }
}
