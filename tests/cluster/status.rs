//! The largest possible status: written like the controller does, into a real kube-apiserver where there is one, and
//! estimated where there is none.

use fhpa::api::FederatedHPA;
use fhpa::api::federated_hpa::{ClusterCounts, ClusterHPADesired, ClusterHPAStatus, FederatedHPAStatus};
use fhpa::controller::failure::{Asked, Failure};
use fhpa::controller::key::Key;
use fhpa::decision::showing::MOST;
use fhpa::reconcile::federated_hpa::status::shown::TooLarge;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::control_plane::ControlPlane;

/// What etcd takes of one request; of its words around the object little is known, so an eighth is left to them.
const STORED: usize = (3 << 19) / 8 * 7;
/// Bytes that the API server adds beside what it is given: uid, versions, times, and managed fields. Lists with one
/// writer take no more of these when they grow.
const AROUND: usize = 8 << 10;

fn time() -> Option<Time> {
    Some(Time(Timestamp::constant(1_795_000_000, 0)))
}

fn name(index: usize) -> String {
    format!("member-europe-west-{index:05}")
}

/// Bounds alone, as they are for almost all clusters at almost all times.
fn minimal(index: usize) -> ClusterHPADesired {
    ClusterHPADesired {
        cluster_name: name(index),
        min_replicas: Some(10),
        max_replicas: Some(200),
        reason: Some("StaticWeighted".to_owned()),
        ..ClusterHPADesired::default()
    }
}

/// Everything that can be remembered of a cluster.
fn full(index: usize) -> ClusterHPADesired {
    ClusterHPADesired {
        scale_up_blocked_reason: Some("Unschedulable".to_owned()),
        scale_up_blocked_time: time(),
        last_donated_time: time(),
        last_received_time: time(),
        covered_replicas: Some(120),
        assist_replicas: Some(130),
        assist_time: time(),
        scaled_to_zero: Some(true),
        ..minimal(index)
    }
}

/// What the HPA of a cluster reports, with two metrics.
fn part(index: usize) -> ClusterHPAStatus {
    let condition = |type_: &str, reason: &str, message: &str| {
        json!({"type": type_, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-11-20T08:00:00Z"})
    };
    let metric = |name: &str| {
        json!({"type": "Resource", "resource": {"name": name,
            "current": {"averageUtilization": 83, "averageValue": "1234567890"}}})
    };
    let status = json!({
        "observedGeneration": 7, "lastScaleTime": "2026-11-20T08:00:00Z", "currentReplicas": 120, "desiredReplicas": 130,
        "currentMetrics": [metric("cpu"), metric("memory")],
        "conditions": [
            condition("AbleToScale", "ScaleDownStabilized",
                "recent recommendations were higher than current one, applying the highest recent recommendation"),
            condition("ScalingActive", "ValidMetricFound",
                "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)"),
            condition("ScalingLimited", "TooManyReplicas",
                "the desired replica count is more than the maximum replica count"),
        ],
    });
    ClusterHPAStatus { cluster_name: name(index), status: serde_json::from_value(status).unwrap() }
}

/// The status of a fleet of so many clusters.
fn status(clusters: usize, desired: fn(usize) -> ClusterHPADesired) -> FederatedHPAStatus {
    let condition = |type_: &str| {
        json!({"type": type_, "status": "False", "reason": "AmbiguousSelector", "message": "x".repeat(2048),
            "lastTransitionTime": "2026-11-20T08:00:00Z", "observedGeneration": 7})
    };
    let conditions = ["Assigned", "Ready", "ScalingActive", "AbleToScale", "ScalingLimited"].map(condition);
    let shown = clusters.min(MOST);
    FederatedHPAStatus {
        observed_generation: Some(7),
        last_scale_time: time(),
        current_replicas: Some(120_000),
        desired_replicas: 130_000,
        current_metrics: None,
        conditions: serde_json::from_value(json!(conditions)).unwrap(),
        cluster_hpa_desired: Some((0..clusters).map(desired).collect()),
        assignment_hash: Some("0123456789abcdef0123456789abcdef".to_owned()),
        last_rebalance_time: time(),
        idle_start_time: time(),
        last_failover_resume_time: time(),
        hand_back_start_time: time(),
        clusters: Some(ClusterCounts {
            total: 5_000,
            ready: 5_000,
            limited: 5_000,
            unknown: 5_000,
            scaled_to_zero: 5_000,
        }),
        aggregated_status: Some((0..shown).map(part).collect()),
        aggregated_status_omitted: Some(5_000),
    }
}

/// An object with two thousand names in its spec, applied by kubectl, which keeps a second copy of it.
fn object(name: &str) -> Value {
    let names: Vec<String> = (0..2_000).map(self::name).collect();
    let spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 10,
        "mode": "Distributed", "clusterAffinity": {"clusterNames": names},
    });
    let object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec});
    let mut kept = object.clone();
    kept["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = object.to_string().into();
    kept
}

/// What must be stored: clusters, and what is remembered of each.
type Size = (usize, fn(usize) -> ClusterHPADesired);
const SIZES: [Size; 3] = [(1_000, full), (2_000, full), (5_000, minimal)];

#[test]
fn statuses_of_large_fleets_fit_into_the_store() {
    for (clusters, desired) in SIZES {
        let mut whole = object("web");
        whole["status"] = serde_json::to_value(status(clusters, desired)).unwrap();
        let size = whole.to_string().len() + AROUND;
        assert!(size < STORED, "{clusters} clusters: {size} of {STORED} bytes");
    }
}

#[tokio::test]
async fn a_real_api_server_stores_the_statuses_of_large_fleets_and_says_when_one_is_too_large() {
    let Some(plane) = ControlPlane::shared("the status of 5,000 clusters in a real etcd") else { return };
    let hpas: Api<FederatedHPA> = Api::namespaced(plane.client().await, "default");
    let user = PatchParams::apply("user").force();
    let ours = PatchParams { field_manager: Some("fhpa-status".to_owned()), ..PatchParams::default() };
    for (index, (clusters, desired)) in SIZES.into_iter().enumerate() {
        let name = format!("large-{index}");
        hpas.patch(&name, &user, &Patch::Apply(&object(&name))).await.unwrap();
        let mut status = status(clusters, desired);
        for current in [1, 2] {
            status.current_replicas = Some(current);
            let written = hpas.patch_status(&name, &ours, &Patch::Merge(json!({"status": status}))).await;
            let written =
                serde_json::to_vec(&written.unwrap_or_else(|error| panic!("{clusters} clusters: {error}"))).unwrap();
            let estimated = serde_json::to_vec(&status).unwrap().len() + object(&name).to_string().len() + AROUND;
            assert!(written.len() < estimated, "{} bytes, estimated {estimated}", written.len());
        }
        hpas.delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
    }
    hpas.patch("huge", &user, &Patch::Apply(&object("huge"))).await.unwrap();
    let (too_large, key) = (TooLarge::default(), Key::new("default", "huge"));
    let mut status = status(5_000, full);
    let mut refusals = 0;
    loop {
        let whole = Patch::Merge(json!({"status": status}));
        let Err(refused) = hpas.patch_status("huge", &ours, &whole).await else { break };
        let asked = Asked { verb: "patch", group: "", resource: "", object: &"it" };
        assert_eq!(Failure::of(&refused, asked).reason, "TooLarge", "{refused}");
        refusals += 1;
        too_large.refuse(&key, &status);
        status = too_large.fit(&key, status);
    }
    assert!((2..8).contains(&refusals), "{refusals}");
    let stored = hpas.get("huge").await.unwrap().status.unwrap();
    assert_eq!(stored.cluster_hpa_desired.unwrap().len(), 5_000);
    hpas.delete("huge", &kube::api::DeleteParams::default()).await.unwrap();
}
