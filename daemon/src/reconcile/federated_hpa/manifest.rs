//! The HPA of a member cluster and the Work that contains it (docs/design.md#on-the-wire). No I/O.

use serde_json::{Map, Value, json};

use crate::api::FederatedHPA;
use crate::api::hpa::HorizontalPodAutoscalerBehavior;
use crate::convert::scaling;
use crate::decision::fnv::fnv32;
use crate::decision::names::{execution_space, own_work, work};
use crate::decision::plan::{Bounds, HpaVersion};
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::autoscaling_v1;
use crate::reconcile::federated_hpa::names;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// One write of an HPA.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Name of the cluster.
    pub cluster: &'a str,
    /// Bounds.
    pub bounds: Bounds,
    /// API version.
    pub version: HpaVersion,
    /// The greatest maxReplicas that may be in effect until it is confirmed.
    pub outstanding: Replicas,
    /// Whether it may not scale down.
    pub held: bool,
    /// The write id.
    pub token: &'a str,
}

/// Name that Karmada would give to the Works of a FederatedHPA: that of each that finds it free.
#[must_use]
pub fn work_name(hpa: &FederatedHPA) -> String {
    let metadata = &hpa.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    work("HorizontalPodAutoscaler", namespace, metadata.name.as_deref().unwrap_or_default())
}

/// The names for a new Work of a FederatedHPA, in the order in which they are tried. Which one it has is known from the
/// Work that bears its owner.
#[must_use]
pub fn work_names(hpa: &FederatedHPA) -> [String; 2] {
    let metadata = &hpa.metadata;
    let own = own_work(metadata.name.as_deref().unwrap_or_default(), metadata.uid.as_deref().unwrap_or_default());
    [work_name(hpa), own]
}

/// Digest of all fields of an HPA except its bounds and its write id. While it is unchanged, an HPA is written for its
/// bounds only.
#[must_use]
pub fn content(hpa: &FederatedHPA, version: HpaVersion) -> String {
    let (annotations, spec) = body(hpa, version, false);
    let adopts = adopts(hpa);
    let parts = json!([annotations, spec, adopts, hpa.metadata.uid]);
    format!("{:08x}", fnv32(&parts.to_string()))
}

/// The Work, with this name.
#[must_use]
pub fn work_of(hpa: &FederatedHPA, name: &str, write: Write<'_>) -> Value {
    let Write { cluster, bounds, version, outstanding, held, token } = write;
    let metadata = &hpa.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let own = metadata.name.as_deref().unwrap_or_default();
    let uid = metadata.uid.as_deref().unwrap_or_default();
    let space = execution_space(cluster);
    let resolution = if adopts(hpa) { "overwrite" } else { "abort" };
    let (mut annotations, mut spec) = body(hpa, version, held);
    spec.insert("minReplicas".to_owned(), json!(bounds.min));
    spec.insert("maxReplicas".to_owned(), json!(bounds.max));
    for (key, value) in [
        ("work.karmada.io/name", name),
        ("work.karmada.io/namespace", &*space),
        ("work.karmada.io/conflict-resolution", resolution),
        ("resourcetemplate.karmada.io/uid", uid),
        (names::WRITE_ID, token),
    ] {
        annotations.insert(key.to_owned(), json!(value));
    }
    let manifest = json!({
        "apiVersion": format!("autoscaling/{}", hpa_version(version)),
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": own, "namespace": namespace, "labels": {"karmada.io/managed": "true", MANAGED_BY: OURS},
            "annotations": annotations},
        "spec": spec,
    });
    json!({
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": space,
            "finalizers": [names::EXECUTION_FINALIZER],
            "labels": {MANAGED_BY: OURS, names::OWNER_UID: uid},
            "annotations": {
                names::OWNER: format!("{namespace}/{own}"),
                names::OUTSTANDING: outstanding.to_string(),
                names::CONTENT: content(hpa, version),
                // Always written: an apply does not remove a field that a create set.
                names::HELD: held.to_string(),
                "work.karmada.io/conflict-resolution": resolution,
            },
        },
        "spec": {"workload": {"manifests": [manifest]}},
    })
}

/// The API version as text.
#[must_use]
pub const fn hpa_version(version: HpaVersion) -> &'static str {
    match version {
        HpaVersion::V1 => "v1",
        HpaVersion::V2 => "v2",
    }
}

/// Annotations and spec, without bounds.
fn body(hpa: &FederatedHPA, version: HpaVersion, held: bool) -> (Map<String, Value>, Map<String, Value>) {
    let (mut annotations, mut spec) = (Map::new(), Map::new());
    let behavior = if held { Some(holding(hpa.spec.behavior.clone())) } else { hpa.spec.behavior.clone() };
    spec.insert("scaleTargetRef".to_owned(), json!(hpa.spec.scale_target_ref));
    let metrics = hpa.spec.metrics.as_deref().unwrap_or_default();
    match version {
        HpaVersion::V2 => {
            // Without metrics the cluster uses its own default.
            if !metrics.is_empty() {
                spec.insert("metrics".to_owned(), json!(scaling::fitting(metrics)));
            }
            if let Some(behavior) = &behavior {
                spec.insert("behavior".to_owned(), json!(behavior));
            }
        }
        HpaVersion::V1 => autoscaling_v1::express(metrics, behavior.as_ref(), &mut annotations, &mut spec),
    }
    (annotations, spec)
}

/// The user's behavior with scaling down disabled (docs/design.md#scaling-down-under-prioritized).
fn holding(behavior: Option<HorizontalPodAutoscalerBehavior>) -> HorizontalPodAutoscalerBehavior {
    let mut behavior = behavior.unwrap_or_default();
    behavior.scale_down.get_or_insert_default().select_policy = Some("Disabled".to_owned());
    behavior
}

/// Whether HPAs of the workload that exist in members are taken over.
pub fn adopts(hpa: &FederatedHPA) -> bool {
    let annotations = hpa.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(names::ADOPT)).is_some_and(|word| word == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hpa() -> FederatedHPA {
        serde_json::from_value(json!({
            "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": "shop-fhpa", "namespace": "test", "uid": "u"},
            "spec": {"minReplicas": 2, "maxReplicas": 10,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}]},
        }))
        .unwrap()
    }

    fn write(version: HpaVersion) -> Write<'static> {
        Write { cluster: "m1", bounds: Bounds { min: 1, max: 4 }, version, outstanding: 6, held: false, token: "17" }
    }

    #[test]
    fn a_work_carries_the_hpa_as_karmada_wants_it() {
        let work = work_of(&hpa(), &work_name(&hpa()), write(HpaVersion::V2));
        assert_eq!(
            (&work["metadata"]["name"], &work["metadata"]["namespace"]),
            (&json!("shop-fhpa-545689f5"), &json!("karmada-es-m1"))
        );
        assert_eq!(work["metadata"]["annotations"][names::OUTSTANDING], "6");
        let manifest = &work["spec"]["workload"]["manifests"][0];
        assert_eq!(
            (&manifest["apiVersion"], &manifest["metadata"]["name"]),
            (&json!("autoscaling/v2"), &json!("shop-fhpa"))
        );
        assert_eq!(manifest["metadata"]["annotations"]["work.karmada.io/name"], "shop-fhpa-545689f5");
        assert_eq!(manifest["metadata"]["annotations"][names::WRITE_ID], "17");
        assert_eq!((&manifest["spec"]["minReplicas"], &manifest["spec"]["maxReplicas"]), (&json!(1), &json!(4)));
        assert_eq!(manifest["spec"]["metrics"], json!(hpa().spec.metrics));
    }

    #[test]
    fn an_older_cluster_is_told_the_same_in_older_words() {
        let work = work_of(&hpa(), &work_name(&hpa()), write(HpaVersion::V1));
        let manifest = &work["spec"]["workload"]["manifests"][0];
        assert_eq!(
            (&manifest["apiVersion"], &manifest["spec"]["targetCPUUtilizationPercentage"]),
            (&json!("autoscaling/v1"), &json!(50))
        );
        let behavior = manifest["metadata"]["annotations"][autoscaling_v1::BEHAVIOR].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(behavior).unwrap(), json!(hpa().spec.behavior));
    }

    #[test]
    fn bounds_are_no_content_and_everything_else_is() {
        let before = content(&hpa(), HpaVersion::V2);
        let change = |edit: fn(&mut FederatedHPA)| {
            let mut hpa = hpa();
            edit(&mut hpa);
            content(&hpa, HpaVersion::V2) != before
        };
        assert!(!change(|hpa| hpa.spec.max_replicas = 30));
        assert!(change(|hpa| hpa.spec.behavior = None));
        assert!(change(|hpa| hpa.spec.scale_target_ref.name = "other".into()));
        assert!(change(|hpa| hpa.metadata.annotations = Some([(names::ADOPT.into(), "true".into())].into())));
        assert_ne!(content(&hpa(), HpaVersion::V1), before);
    }
}
