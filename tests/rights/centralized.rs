//! What Centralized workloads are scaled by, and where their replicas are set.

use std::sync::Arc;

use fhpa::install::permissions::PermissionScope::{ControlPlane, Members};
use fhpa::playground::json::{int, items, text};
use fhpa::reconcile::federated_hpa::centralized::MetricsSource;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use serde_json::{Value, json};

use super::held::{controller, order, workload};
use super::{Story, leads, same};
use crate::bed::role::{Role, limited};
use crate::stories::Process;
use crate::stories::distributed::Stage;

pub const DEPLOYMENT: Story = Story {
    tell: |role| Box::pin(scaled(role, "Deployment")),
    needs: &[
        (ControlPlane, "deployments/scale", &["get", "patch"]),
        (ControlPlane, "clusters/proxy", &["get"]),
        (ControlPlane, "*", &["list"]),
        (Members, "pods", &["list", "watch"]),
        (Members, "*", &["get", "list"]),
    ],
};

pub const STATEFUL_SET: Story = Story {
    tell: |role| Box::pin(scaled(role, "StatefulSet")),
    needs: &[(ControlPlane, "statefulsets/scale", &["get", "patch"])],
};

pub const ADAPTER: Story = Story {
    tell: |role| Box::pin(adapted(role)),
    needs: &[(ControlPlane, "pods", &["list"]), (ControlPlane, "*", &["get"])],
};

/// A workload is scaled by what karmada-metrics-adapter collects.
async fn adapted(role: Role) -> Result<(), String> {
    let stage = Stage::new(2).await;
    stage.fleet.adapt_metrics();
    workload(&stage, "Deployment", "web", 3, &[1, 1]).await;
    let client = limited(stage.fleet.control().client(), role);
    let rooms = Arc::new(Rooms::default());
    let mut one = Process::start_reading(MetricsSource::Adapter, client, "one", &stage.wall, rooms);
    leads(&mut one).await?;
    stage.fleet.load().set("prod", "web", 500);
    let mut order = order("Deployment", "web", 1, 20);
    let average = json!({"type": "AverageValue", "averageValue": "50m"});
    order["spec"]["mode"] = json!("Centralized");
    order["spec"]["metrics"] = json!([
        {"type": "Resource", "resource": {"name": "cpu", "target": average}},
        {"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": average}},
    ]);
    stage.create(order).await;
    stage.pass(180).await;
    same("replicas", int(&stage.get("Deployment", "web").await, "/spec/replicas"), Some(10))?;
    let hpa = stage.get("FederatedHPA", "web").await;
    same("metrics", items(&hpa, "/status/currentMetrics").len(), 2)
}

/// A workload is scaled by a metric of each kind, which all ask for 10 replicas, and follows its pods.
async fn scaled(role: Role, of: &'static str) -> Result<(), String> {
    let stage = Stage::new(2).await;
    workload(&stage, of, "web", 3, &[1, 1]).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    stage.fleet.load().set("prod", "web", 500);
    let mut order = order(of, "web", 1, 20);
    let average = json!({"type": "AverageValue", "averageValue": "50m"});
    let object = json!({"apiVersion": "apps/v1", "kind": of, "name": "web"});
    order["spec"]["mode"] = json!("Centralized");
    order["spec"]["metrics"] = json!([
        {"type": "Resource", "resource": {"name": "cpu", "target": average}},
        {"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": average}},
        {"type": "Object", "object": {"describedObject": object, "metric": {"name": "load"}, "target": average}},
        {"type": "External", "external": {"metric": {"name": "web"}, "target": average}},
        {"type": "External", "external": {"metric": {"name": "web-orders"}, "target": average}},
    ]);
    stage.create(order).await;
    stage.pass(180).await;
    let replicas = int(&stage.get(of, "web").await, "/spec/replicas");
    same("replicas", replicas, Some(10))?;
    let hpa = stage.get("FederatedHPA", "web").await;
    same("metrics", items(&hpa, "/status/currentMetrics").len(), 5)?;
    let said = |hpa: &Value| {
        let active = items(hpa, "/status/conditions").iter().find(|one| text(one, "/type") == "ScalingActive");
        active.map(|active| text(active, "/reason").to_owned())
    };
    same("said", said(&hpa), Some("ValidMetricFound".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn to_scale_a_centralized_deployment_takes_every_right_on_metrics_and_pods() {
    DEPLOYMENT.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_scale_a_centralized_stateful_set_takes_every_right_on_its_scale() {
    STATEFUL_SET.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_read_metrics_of_the_adapter_takes_every_right_on_them() {
    ADAPTER.holds().await;
}
