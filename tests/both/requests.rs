//! Kinds by their names, and how objects are applied.

use std::time::Duration;

use fhpa::playground::objects::Kind;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::Value;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// A kind by its name.
pub fn kind(kind: &str) -> Kind {
    match kind {
        "Pod" | "Namespace" | "Node" | "Secret" => Kind::regular("v1", kind, !matches!(kind, "Node" | "Namespace")),
        "Event" => Kind::regular("events.k8s.io/v1", kind, true),
        "Cluster" => Kind::regular("cluster.karmada.io/v1alpha1", kind, false),
        "ResourceBinding" => Kind::regular("work.karmada.io/v1alpha2", kind, true),
        "Work" => Kind::regular("work.karmada.io/v1alpha1", kind, true),
        "HorizontalPodAutoscaler" => Kind::regular("autoscaling/v2", kind, true),
        "ScaledObject" => Kind::regular("keda.sh/v1alpha1", kind, true),
        "FederatedHPA" | "CronFederatedHPA" => Kind::regular("autoscaling.karmada.io/v1alpha1", kind, true),
        "ResourceInterpreterCustomization" => Kind::regular("config.karmada.io/v1alpha1", kind, false),
        "FederatedResourceQuota" | "PropagationPolicy" | "ClusterTaintPolicy" => {
            let plural = format!("{}s", kind.to_lowercase()).replace("policys", "policies");
            Kind { plural, ..Kind::regular("policy.karmada.io/v1alpha1", kind, kind != "ClusterTaintPolicy") }
        }
        "CustomResourceDefinition" => Kind::regular("apiextensions.k8s.io/v1", kind, false),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            Kind::regular("admissionregistration.k8s.io/v1", kind, false)
        }
        "Rollout" => Kind::regular("argoproj.io/v1alpha1", kind, true),
        "Store" => Kind::regular("shop.example.com/v1", kind, true),
        "Lease" => Kind::regular("coordination.k8s.io/v1", kind, true),
        _ => Kind::regular("apps/v1", kind, true),
    }
}

/// The kind as a client names it.
pub fn resource(kind: &Kind) -> ApiResource {
    let (group, version) = kind.api_version.rsplit_once('/').unwrap_or(("", &kind.api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, &kind.kind), &kind.plural)
}

/// Applies an object; tries again while the server cannot take it yet.
pub async fn apply(client: Client, resource: &ApiResource, object: &Value) {
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client, namespace, resource),
        None => Api::all_with(client, resource),
    };
    let name = object["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply("suite").force();
    let mut said = String::new();
    for _ in 0..200 {
        match api.patch(name, &params, &Patch::Apply(object)).await {
            Ok(_) => return,
            Err(error) => said = error.to_string(),
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("{} {name} cannot be applied: {said}", object["kind"]);
}
