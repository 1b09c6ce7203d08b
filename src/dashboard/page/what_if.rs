//! A form that previews an edit.

use std::collections::BTreeSet;

use maud::{Markup, html};
use serde_json::{Value, json};

use super::table::{columns, table};
use super::{Frame, Tab};
use crate::api::FederatedHPA;
use crate::dashboard::Shared;
use crate::dashboard::preview::{PlannedCluster, PlannedObject, Previewed};
use crate::install::webhooks::FAILURE_POLICY;

/// What the names of annotations of the controller begin with.
const OWN: &str = "fhpa.karmada.io/";

/// The form with the manifest of `object` (`NAMESPACE/NAME`), where there is one.
pub(in crate::dashboard) fn empty(shared: &Shared, object: &str) -> Markup {
    let content = shared.cache.read();
    let key = object.split_once('/').map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
    let hpa = key.and_then(|key| content.federated_hpas.get(&key)?.hpa());
    let manifest = hpa.as_ref().map(manifest).unwrap_or_default();
    page(shared, &manifest, &html! {})
}

/// The form with its result.
pub(in crate::dashboard) fn previewed(shared: &Shared, manifest: &str, previewed: &Previewed) -> Markup {
    let Previewed { findings, plans } = previewed;
    let result = html! {
        section aria-labelledby="result" {
            h2 #result { "What it would do" }
            @if !findings.is_empty() {
                h3 { "Findings" }
                pre.findings tabindex="0" { (findings) }
            }
            @for plan in plans { (object(shared, plan)) }
            @if !plans.is_empty() {
                p { "Nothing was written. To apply it, save the manifest and run" }
                pre tabindex="0" { "kubectl apply --dry-run=server -f FILE\nkubectl apply -f FILE" }
            }
        }
    };
    page(shared, manifest, &result)
}

fn page(shared: &Shared, manifest: &str, result: &Markup) -> Markup {
    let rows = manifest.lines().count().clamp(16, 40);
    let body = html! {
        h1 { "What if" }
        p {
            "Edit the manifest of a FederatedHPA, and see what " code { "fhpa plan" }
            " says of it on the clusters as they are. Nothing is written."
        }
        form.whatif method="post" action="/what-if" {
            input type="hidden" name="form" value=(shared.access.form.expose());
            label for="manifest" { "Manifest, YAML or JSON" }
            textarea #manifest name="manifest" rows=(rows) spellcheck="false" autocomplete="off" required { "\n" (manifest) }
            button { "Show what it would do" }
        }
        (result)
    };
    Frame { title: "What if", tab: Some(Tab::WhatIf), live: false }.around(&body)
}

/// The object as a user would write it.
fn manifest(hpa: &FederatedHPA) -> String {
    let metadata = &hpa.metadata;
    let mut shown = json!({"name": metadata.name, "namespace": metadata.namespace});
    let users = |name: &str| !name.starts_with(OWN) || name == FAILURE_POLICY;
    let annotations = metadata.annotations.iter().flatten().filter(|(name, _)| users(name));
    let annotations: serde_json::Map<String, Value> =
        annotations.map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
    if let (Some(members), false) = (shown.as_object_mut(), annotations.is_empty()) {
        members.insert("annotations".to_owned(), annotations.into());
    }
    if let (Some(members), Some(labels)) = (shown.as_object_mut(), &metadata.labels) {
        members.insert("labels".to_owned(), json!(labels));
    }
    let object = Manifest {
        api_version: "autoscaling.karmada.io/v1alpha1",
        kind: "FederatedHPA",
        metadata: shown,
        spec: serde_json::to_value(&hpa.spec).unwrap_or_default(),
    };
    serde_saphyr::to_string(&object).unwrap_or_default()
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    api_version: &'static str,
    kind: &'static str,
    metadata: Value,
    spec: Value,
}

fn object(shared: &Shared, plan: &PlannedObject) -> Markup {
    let changes = changes(shared, plan);
    let rows = html! {
        @for (name, now, planned) in &changes {
            tr { th scope="row" { (name) } td { (now) } td { strong { (planned) } } }
        }
    };
    html! {
        h3 { (plan.namespace) "/" (plan.name) }
        @if !plan.clusters.is_empty() {
            @if changes.is_empty() { p { "The bounds of all clusters stay as they are." } }
            @else {
                h4 { "Differences from the bounds now" }
                (table("Differences from the bounds now", &columns(&["Cluster", "Now", "Planned"]), &rows))
            }
        }
        pre.plan tabindex="0" { (plan.text) }
    }
}

/// Clusters whose bounds would change: their name, the bounds now, and those planned.
fn changes(shared: &Shared, plan: &PlannedObject) -> Vec<(String, String, String)> {
    let content = shared.cache.read();
    let entry = content.federated_hpas.get(&(plan.namespace.clone(), plan.name.clone()));
    let status = entry.and_then(|entry| entry.hpa()).and_then(|hpa| hpa.status);
    let desired = status.and_then(|status| status.cluster_hpa_desired).unwrap_or_default();
    let now = |name: &str| {
        let desired = desired.iter().find(|desired| desired.cluster_name == name)?;
        let bounds = (desired.min_replicas?, desired.max_replicas?);
        Some((u32::try_from(bounds.0).ok()?, u32::try_from(bounds.1).ok()?))
    };
    let names: BTreeSet<&str> = plan
        .clusters
        .iter()
        .map(|one| one.name.as_str())
        .chain(desired.iter().map(|one| one.cluster_name.as_str()))
        .collect();
    let planned =
        |name: &str| plan.clusters.iter().find(|one| one.name == name).and_then(|one: &PlannedCluster| one.bounds);
    let words =
        |bounds: Option<(u32, u32)>| bounds.map_or_else(|| "–".to_owned(), |(min, max)| format!("{min}..{max}"));
    names
        .into_iter()
        .map(|name| (name, now(name), planned(name)))
        .filter(|(_, now, planned)| now != planned)
        .map(|(name, now, planned)| (name.to_owned(), words(now), words(planned)))
        .collect()
}
