//! Checks of the stored FederatedHPAs: their modes, and the metrics APIs that Centralized ones need. Talks to the API
//! server, and to members through it.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde_json::Value;

use super::members::{ask, is_ready, name};
use super::{CheckState, Context, Finding, LOOKED_AT};
use crate::controller::failure::{Failure, reason};
use crate::controller::managers;
use crate::decision::defaults::Mode;
use crate::decision::few::Few;
use crate::install::apply::list;
use crate::install::modes::without_mode;
use crate::reconcile::federated_hpa::observe::members::proxied;

/// The modes of all objects: whether each has one, and whether its manifest names it.
pub(super) fn modes(hpas: &[Value]) -> Finding {
    const CHECK: &str = "modes";
    let undecided = without_mode(hpas);
    if !undecided.is_empty() {
        let seen = format!("stored without spec.mode: {}", Few(&undecided));
        let to_do = "set spec.mode, or start the processes with --default-mode: Centralized is what Karmada ran";
        return Finding::new(CHECK, CheckState::Warn, seen, to_do);
    }
    let unnamed: Vec<String> = hpas.iter().filter(|hpa| is_unnamed(hpa)).map(key).collect();
    if unnamed.is_empty() {
        return Finding::ok(CHECK, format!("each of {} FederatedHPAs has one", hpas.len()));
    }
    let seen = format!("of {} FederatedHPAs the manifest names none: {}", unnamed.len(), Few(&unnamed));
    let to_do = "a hint: write spec.mode into them, so that they mean the same in another control plane";
    Finding::new(CHECK, CheckState::Ok, seen, to_do)
}

/// Its namespace and name.
pub(super) fn key(hpa: &Value) -> String {
    let text = |path| hpa.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"))
}

/// Whether the object has a mode that its author did not write. `kubectl apply` keeps what it was given; otherwise the
/// owners of the field tell.
fn is_unnamed(hpa: &Value) -> bool {
    if hpa.pointer("/spec/mode").is_none_or(Value::is_null) {
        return false;
    }
    let annotations = hpa.pointer("/metadata/annotations");
    let applied = annotations.and_then(|all| all.get("kubectl.kubernetes.io/last-applied-configuration")?.as_str());
    if let Some(applied) = applied.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        return applied.pointer("/spec/mode").is_none_or(Value::is_null);
    }
    let Some(shares) = hpa.pointer("/metadata/managedFields").and_then(Value::as_array) else { return false };
    let manager = |share: &Value| share.get("manager").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut owners = shares.iter().filter(|share| share.pointer("/fieldsV1/f:spec/f:mode").is_some()).map(manager);
    owners.all(|manager| managers::ALL.contains(&manager.as_str()))
}

/// An aggregated API of metrics, with its versions from the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MetricsApi {
    group: &'static str,
    versions: &'static [&'static str],
}

const RESOURCE: MetricsApi = MetricsApi { group: "metrics.k8s.io", versions: &["v1beta1"] };
const CUSTOM: MetricsApi = MetricsApi { group: "custom.metrics.k8s.io", versions: &["v1beta2", "v1beta1"] };
const EXTERNAL: MetricsApi = MetricsApi { group: "external.metrics.k8s.io", versions: &["v1beta1"] };

/// The APIs that the metrics of an object need.
fn needed(hpa: &Value) -> BTreeSet<MetricsApi> {
    let metrics = hpa.pointer("/spec/metrics").and_then(Value::as_array);
    let of = |metric: &Value| match metric.get("type").and_then(Value::as_str) {
        Some("Pods" | "Object") => CUSTOM,
        Some("External") => EXTERNAL,
        _ => RESOURCE,
    };
    // Without metrics it is the CPU.
    metrics
        .filter(|metrics| !metrics.is_empty())
        .map_or_else(|| [RESOURCE].into(), |metrics| metrics.iter().map(of).collect())
}

/// What is wrong with an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Missing,
    Refused,
    Unavailable,
}

impl Fault {
    const fn of(code: u16) -> Self {
        match code {
            404 => Self::Missing,
            401 | 403 => Self::Refused,
            _ => Self::Unavailable,
        }
    }

    fn finding(self, check: &'static str, places: &[String]) -> Finding {
        let places = Few(places);
        match self {
            Self::Missing => Finding::fail(
                check,
                format!("not served: {places}"),
                "install metrics-server there (metrics.k8s.io), or an adapter for the other metrics (such as prometheus-adapter)",
            ),
            Self::Refused => Finding::new(
                check,
                CheckState::Warn,
                format!("refused to this user: {places}"),
                "the processes need the roles of `fhpa install --output - --member-rbac` there; doctor asks as the user of this \
                 kubeconfig",
            ),
            Self::Unavailable => Finding::new(
                check,
                CheckState::Warn,
                format!("not available: {places}"),
                "see the APIService and its pods there (`kubectl get apiservice`): until it answers nothing is scaled down",
            ),
        }
    }
}

/// Whether each member has the metrics APIs that its Centralized workloads need.
pub(super) async fn metrics(context: &Context, hpas: &[Value], clusters: &[Value]) -> Vec<Finding> {
    const CHECK: &str = "member metrics";
    const BINDINGS: &str = "/apis/work.karmada.io/v1alpha2/resourcebindings";
    let mode = |hpa: &&Value| hpa.pointer("/spec/mode").and_then(Value::as_str) == Some(Mode::Centralized.name());
    let centralized: Vec<&Value> = hpas.iter().filter(mode).collect();
    if centralized.is_empty() {
        return Vec::new();
    }
    let bindings = match list(&context.client, BINDINGS, "work.karmada.io", "resourcebindings").await {
        Ok(bindings) => bindings,
        Err(failure) => return vec![unread(CHECK, failure)],
    };
    let ready: BTreeSet<&str> = clusters.iter().filter(|cluster| is_ready(cluster)).map(name).collect();
    let mut asked: BTreeSet<(MetricsApi, &str)> = BTreeSet::new();
    let external = served(context, None, EXTERNAL).await;
    for hpa in centralized {
        let members = members_of(hpa, &bindings);
        // An External metric comes from the control plane, where it serves that API.
        let apis = needed(hpa).into_iter().filter(|api| *api != EXTERNAL || external.is_err());
        asked.extend(apis.flat_map(|api| members.iter().map(move |member| (api, *member))));
    }
    asked.retain(|(_, member)| ready.contains(member));
    let answers = asked.iter().take(LOOKED_AT.saturating_mul(2)).map(|(api, member)| async move {
        let fault = served(context, Some(member), *api).await.err()?;
        Some((fault, format!("{} in {member}", api.group)))
    });
    let mut faults: BTreeMap<Fault, Vec<String>> = BTreeMap::new();
    for (fault, place) in join_all(answers).await.into_iter().flatten() {
        faults.entry(fault).or_default().push(place);
    }
    if faults.is_empty() {
        let seen = format!("{} metrics APIs answer, for the Centralized FederatedHPAs", asked.len());
        return vec![Finding::ok(CHECK, seen)];
    }
    faults.iter().map(|(fault, places)| fault.finding(CHECK, places)).collect()
}

/// All objects cannot be read.
pub(super) fn unread(check: &'static str, failure: Failure) -> Finding {
    match failure.reason {
        reason::FORBIDDEN => {
            Finding::new(check, CheckState::Skipped, failure.message, "ask with an administrator's kubeconfig")
        }
        _ => Finding::fail(check, failure.message, ""),
    }
}

/// The clusters of the workload of `hpa`.
fn members_of<'a>(hpa: &Value, bindings: &'a [Value]) -> Vec<&'a str> {
    let text = |object: &'a Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let target = |field: &str| hpa.pointer(&format!("/spec/scaleTargetRef/{field}")).and_then(Value::as_str);
    let namespace = hpa.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    let binding = bindings.iter().find(|binding| {
        let is = |field: &str| target(field) == Some(text(binding, &format!("/spec/resource/{field}")));
        text(binding, "/metadata/namespace") == namespace && is("kind") && is("name")
    });
    let clusters = binding.and_then(|binding| binding.pointer("/spec/clusters")?.as_array());
    clusters.into_iter().flatten().map(|cluster| text(cluster, "/name")).collect()
}

/// Whether a member, or the control plane, serves an API.
async fn served(context: &Context, member: Option<&str>, api: MetricsApi) -> Result<(), Fault> {
    let mut fault = Fault::Missing;
    for version in api.versions {
        let path = format!("/apis/{}/{version}", api.group);
        let path = member.map_or_else(|| path.clone(), |member| proxied(member, &path));
        match ask(context, path).await {
            Ok(()) => return Ok(()),
            Err((code, _)) => fault = Fault::of(code),
        }
        if fault != Fault::Missing {
            break;
        }
    }
    Err(fault)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mode_is_named_by_what_was_applied_or_by_an_owner_that_is_not_fhpa() {
        let hpa = |applied: Option<&str>, owners: &[&str]| {
            let shares: Vec<Value> = owners
                .iter()
                .map(|owner| json!({"manager": owner, "fieldsV1": {"f:spec": {"f:mode": {}, "f:maxReplicas": {}}}}))
                .collect();
            let mut hpa = json!({"metadata": {"managedFields": shares}, "spec": {"mode": "Distributed"}});
            if let Some(applied) = applied {
                hpa["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
            }
            hpa
        };
        assert!(is_unnamed(&hpa(Some(r#"{"spec":{"maxReplicas":3}}"#), &["kubectl-client-side-apply"])));
        assert!(!is_unnamed(&hpa(Some(r#"{"spec":{"mode":"Distributed"}}"#), &["fhpa-mirror"])));
        assert!(is_unnamed(&hpa(None, &["fhpa-mirror"])) && is_unnamed(&hpa(None, &[])));
        assert!(!is_unnamed(&hpa(None, &["fhpa-mirror", "argocd-controller"])));
        let mut bare = hpa(None, &[]);
        bare["metadata"] = json!({});
        assert!(!is_unnamed(&bare), "nobody knows");
    }
}
