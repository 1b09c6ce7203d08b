//! Customizations of Karmada's interpreter: the reflected status of member HPAs, and the replicas that members keep.
//! Reads the additional scalable kinds from the API server; the rest is without I/O.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kube::Client;
use kube::core::Request;
use serde_json::{Value, json};

use super::permissions::ScaledKind;
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::request::send;
use crate::decision::backoff::ErrorClass;
use crate::decision::kinds::{CORE_GROUP, keeps_by_itself};
use crate::decision::names::RETAIN_REPLICAS;
use crate::decision::plan::HpaVersion;
use crate::reconcile::federated_hpa::manifest;

/// Script for the reflected status of a member's HPA.
const REFLECTION: &str = include_str!("lua/reflect-hpa.lua");
/// Script for the fields that a member keeps of a workload with the label.
const RETENTION: &str = include_str!("lua/retain-replicas.lua");
/// The field that the retention script keeps, where Kubernetes' own kinds have their replicas.
pub const REPLICAS: &str = ".spec.replicas";

/// Where [`RETENTION`] begins to depend on the label.
const LABELS: &str = "  local labels";

/// Kinds of which Karmada itself retains fields in members, by group and resource: a customization would replace that.
const RETAINED: [(&str, &[&str]); 6] = [
    ("batch", &["jobs"]),
    ("apps.kruise.io", &["broadcastjobs", "sidecarsets"]),
    ("argoproj.io", &["workflows"]),
    ("helm.toolkit.fluxcd.io", &["helmreleases"]),
    ("kustomize.toolkit.fluxcd.io", &["kustomizations"]),
    ("source.toolkit.fluxcd.io", &["gitrepositories", "buckets", "helmcharts", "helmrepositories", "ocirepositories"]),
];

/// Fields that Karmada's own customization of a kind retains, and that a customization by fhpa has to retain in its
/// place, by group and kind: what Argo's controller sets in a member.
const ALSO_RETAINED: [(&str, &str, &[&str]); 1] = [("argoproj.io", "Rollout", &[".spec.paused", ".spec.selector"])];

/// A scalable kind, in one of its served versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledType {
    /// `argoproj.io/v1alpha1`
    pub api_version: String,
    /// `Rollout`
    pub kind: String,
    /// Path of the requested replicas in its objects: `.spec.replicas`.
    pub replicas: String,
}

/// The customizations of an installation that scales these kinds in addition to Deployments and StatefulSets.
#[must_use]
pub fn customizations(scaled: &[ScaledType]) -> Vec<Value> {
    let reflections = [HpaVersion::V2, HpaVersion::V1].map(reflection);
    let sets =
        ScaledType { api_version: "apps/v1".to_owned(), kind: "StatefulSet".to_owned(), replicas: REPLICAS.into() };
    let retained = [&sets].into_iter().chain(scaled.iter().filter(|scaled| **scaled != sets));
    let retained = retained.filter(|scaled| !keeps_by_itself(&scaled.api_version, &scaled.kind)).map(retention);
    reflections.into_iter().chain(retained).collect()
}

fn reflection(version: HpaVersion) -> Value {
    let version = manifest::hpa_version(version);
    let operations = json!({"statusReflection": {"luaScript": REFLECTION}});
    let name = format!("fhpa-horizontalpodautoscaler-{version}");
    customization(&name, &format!("autoscaling/{version}"), "HorizontalPodAutoscaler", &operations)
}

fn retention(scaled: &ScaledType) -> Value {
    let ScaledType { api_version, kind, replicas } = scaled;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let also =
        ALSO_RETAINED.iter().filter(|(owner, of, _)| *owner == group && of == kind).flat_map(|(_, _, paths)| *paths);
    let keep =
        |path: &&str| format!("  if observedObj{path} ~= nil then\n    desiredObj{path} = observedObj{path}\n  end\n");
    let script =
        RETENTION.replace(REPLICAS, replicas).replacen(LABELS, &(also.map(keep).collect::<String>() + LABELS), 1);
    let name = format!("fhpa-{}-{}", kind.to_lowercase(), api_version.replace('/', "-"));
    customization(&name, api_version, kind, &json!({"retention": {"luaScript": script}}))
}

fn customization(name: &str, api_version: &str, kind: &str, operations: &Value) -> Value {
    json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name},
        "spec": {"target": {"apiVersion": api_version, "kind": kind}, "customizations": operations},
    })
}

/// The served versions of a kind, each with the path of its requested replicas.
///
/// # Errors
/// When it is not served, cannot be scaled, is retained by Karmada itself, or the API server is unreachable.
pub async fn versions(client: &Client, kind: &ScaledKind) -> Result<Vec<ScaledType>, Failure> {
    let ScaledKind { group, resource } = kind;
    if RETAINED.iter().any(|(owner, plurals)| owner == group && plurals.contains(&&**resource)) {
        let why = "Karmada retains fields of its objects in members, which a customization would replace";
        return Err(refused(kind, why));
    }
    let core = group.is_empty();
    let served = if core {
        vec!["v1".to_owned()]
    } else {
        let served = read::<APIGroup>(client, &format!("/apis/{group}"), group).await;
        let served = served.map_err(|failure| missing(kind, failure))?;
        served.versions.into_iter().map(|version| version.group_version).collect()
    };
    // No definition adds to the core group.
    let definition = if core { None } else { definition(client, kind).await? };
    let mut found = Vec::new();
    for api_version in served {
        let path = format!("/{}/{}", if core { "api" } else { "apis" }, api_version);
        let listed: APIResourceList = read(client, &path, group).await?;
        let scale = format!("{resource}/scale");
        let own = listed.resources.iter().find(|one| one.name == *resource);
        let Some(own) = own.filter(|_| listed.resources.iter().any(|one| one.name == scale)) else { continue };
        let name = api_version.rsplit('/').next().unwrap_or_default();
        let replicas = replicas_path(definition.as_ref(), name);
        if !is_plain(&replicas) {
            return Err(refused(kind, format!("its replicas are at {replicas:?}, which cannot be retained")));
        }
        found.push(ScaledType { api_version, kind: own.kind.clone(), replicas });
    }
    if found.is_empty() {
        return Err(refused(kind, "the API server serves no such resource with a scale subresource"));
    }
    Ok(found)
}

async fn read<T: serde::de::DeserializeOwned>(client: &Client, path: &str, group: &str) -> Result<T, Failure> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::core::request::Error::BuildRequest);
    send(client, request, Asked { verb: "get", group, resource: path, object: &path }).await
}

/// The CRD of a custom kind; `None` for a kind of Kubernetes.
async fn definition(client: &Client, kind: &ScaledKind) -> Result<Option<Value>, Failure> {
    let name = format!("{}.{}", kind.resource, kind.group);
    let request = Request::new("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        .get(&name, &kube::api::GetParams::default());
    let object = format!("CustomResourceDefinition {name}");
    let asked =
        Asked { verb: "get", group: "apiextensions.k8s.io", resource: "customresourcedefinitions", object: &object };
    match send(client, request, asked).await {
        Ok(definition) => Ok(Some(definition)),
        Err(failure) if failure.class == ErrorClass::Missing => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Name of each version of a definition, and the path of the requested replicas in its objects.
fn replicas_paths(definition: &Value) -> impl Iterator<Item = (&str, &str)> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    versions.into_iter().flatten().filter_map(|one| {
        Some((one.get("name")?.as_str()?, one.pointer("/subresources/scale/specReplicasPath")?.as_str()?))
    })
}

fn replicas_path(definition: Option<&Value>, version: &str) -> String {
    let own = definition.and_then(|definition| replicas_paths(definition).find(|(name, _)| *name == version));
    own.map_or(REPLICAS, |(_, path)| path).to_owned()
}

/// The path of the requested replicas by API version, as the CRD of a custom kind has it; none where there is no CRD,
/// or this user must not read it.
///
/// # Errors
/// When the API server is unreachable or rejects the request for another reason.
pub async fn defined_paths(client: &Client, kind: &ScaledKind) -> Result<Vec<(String, String)>, Failure> {
    match definition(client, kind).await {
        Ok(definition) => {
            let paths = definition.iter().flat_map(replicas_paths).filter(|(_, path)| is_plain(path));
            Ok(paths.map(|(version, path)| (format!("{}/{version}", kind.group), path.to_owned())).collect())
        }
        Err(failure) if failure.reason == reason::FORBIDDEN => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// The path of the requested replicas that a script of [`customizations`] keeps of objects with the label; `None` for
/// other scripts.
#[must_use]
pub fn kept_path(script: &str) -> Option<&str> {
    let (_, labelled) = script.split_once(RETAIN_REPLICAS)?;
    let mut copies = labelled.lines().filter_map(|line| {
        let (to, from) = line.trim().strip_prefix("desiredObj")?.split_once(" = observedObj")?;
        (to == from && is_plain(to)).then_some(to)
    });
    copies.next_back()
}

/// Whether the path consists of plain words only: it becomes part of a script.
fn is_plain(path: &str) -> bool {
    let word = |word: &str| {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !word.is_empty() && word.chars().all(letters) && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    path.strip_prefix('.').is_some_and(|path| path.split('.').all(word))
}

fn refused(kind: &ScaledKind, why: impl fmt::Display) -> Failure {
    let group = if kind.group.is_empty() { CORE_GROUP } else { &kind.group };
    let message = format!("{group}/{} cannot be scaled: {why}", kind.resource);
    Failure::new(ErrorClass::Refused, reason::TARGET_NOT_SCALABLE, message)
}

fn missing(kind: &ScaledKind, failure: Failure) -> Failure {
    if failure.class == ErrorClass::Missing {
        return refused(kind, "the API server does not serve its group: install its definition, and run this again");
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_keeps_the_replicas_where_its_objects_have_them() {
        let scaled = |api_version: &str, kind: &str, replicas: &str| ScaledType {
            api_version: api_version.into(),
            kind: kind.into(),
            replicas: replicas.into(),
        };
        let given = [
            scaled("apps/v1", "StatefulSet", ".spec.replicas"),
            scaled("apps/v1", "Deployment", ".spec.replicas"),
            scaled("shop.example.com/v1", "Store", ".spec.size.count"),
        ];
        let all = customizations(&given);
        let names: Vec<_> = all.iter().map(|one| one["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "fhpa-horizontalpodautoscaler-v2",
                "fhpa-horizontalpodautoscaler-v1",
                "fhpa-statefulset-apps-v1",
                "fhpa-store-shop.example.com-v1"
            ]
        );
        let script = all[3]["spec"]["customizations"]["retention"]["luaScript"].as_str().unwrap();
        assert!(script.contains("desiredObj.spec.size.count = observedObj.spec.size.count"), "{script}");
        assert_eq!(kept_path(script), Some(".spec.size.count"));
        assert_eq!(kept_path("function Retain(d, o) return d end"), None);
    }

    #[test]
    fn what_karmada_retains_of_a_rollout_stays_retained_with_and_without_the_label() {
        let rollout = ScaledType {
            api_version: "argoproj.io/v1alpha1".into(),
            kind: "Rollout".into(),
            replicas: ".spec.replicas".into(),
        };
        let script =
            retention(&rollout)["spec"]["customizations"]["retention"]["luaScript"].as_str().unwrap().to_owned();
        let at = |text: &str| script.find(text).unwrap_or_else(|| panic!("no {text} in {script}"));
        let label = at("retain-replicas");
        assert!(at("desiredObj.spec.paused = observedObj.spec.paused") < label);
        assert!(at("desiredObj.spec.selector = observedObj.spec.selector") < label);
        assert!(label < at("desiredObj.spec.replicas = observedObj.spec.replicas"));
        assert_eq!(kept_path(&script), Some(".spec.replicas"));
    }

    #[test]
    fn a_path_of_other_than_words_does_not_become_part_of_a_script() {
        assert!(is_plain(".spec.replicas") && is_plain(".spec.a_b.c1"));
        for path in ["", ".", "spec.replicas", ".spec.re plicas", ".spec['a']", ".spec.1a", ".spec.a\nos.exit()"] {
            assert!(!is_plain(path), "{path:?}");
        }
    }
}
