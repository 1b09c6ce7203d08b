//! Cron rules on all kinds of targets.

use std::sync::Arc;

use fhpa::install::permissions::PermissionScope::ControlPlane;
use fhpa::playground::objects::Objects;
use fhpa::reconcile::federated_hpa::observe::capacity::Unknown;
use serde_json::{Value, json};

use super::{Story, leads, same};
use crate::bed::role::Role;
use crate::stories::distributed::{deployment, kind};
use crate::stories::{Process, Stage};

pub const RUNS: Story = Story {
    tell: |role| Box::pin(run(role)),
    needs: &[
        (ControlPlane, "cronfederatedhpas", &["list", "watch", "patch"]),
        (ControlPlane, "cronfederatedhpas/status", &["patch"]),
        (ControlPlane, "federatedhpas", &["get", "patch"]),
        (ControlPlane, "deployments/scale", &["patch"]),
        (ControlPlane, "statefulsets/scale", &["patch"]),
        (ControlPlane, "events", &["create"]),
    ],
};

fn rules(mut rule: Value) -> Value {
    rule["name"] = json!("up");
    rule["schedule"] = json!("30 8 * * *");
    json!([rule])
}

fn target(kind: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"})
}

async fn run(role: Role) -> Result<(), String> {
    let stage = Stage::with_web("2026-11-20T08:29:40Z").await;
    let mut set = deployment("web", 2);
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("web");
    stage.server.create(&set).await.unwrap();
    stage.federated_hpa(Some(2), 10).await;
    let objects = Objects::new(stage.server.client());
    let mut one = Process::start_as(role, &stage.server, "one", &stage.wall, Arc::new(Unknown));
    leads(&mut one).await?;
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"});
    stage.cron_on("hpa", hpa, rules(json!({"targetMaxReplicas": 12}))).await;
    stage
        .cron_on("deployment", target("Deployment"), rules(json!({"targetReplicas": 5, "maxDelaySeconds": 600})))
        .await;
    stage.cron_on("set", target("StatefulSet"), rules(json!({"targetReplicas": 6}))).await;
    stage.until("2026-11-20T08:30:10Z").await;
    same("maxReplicas", stage.hpas().get("web").await.unwrap().spec.max_replicas, 12)?;
    for (of, replicas) in [("Deployment", 5), ("StatefulSet", 6)] {
        let found = objects.get(&kind(of), "prod", "web").await.unwrap().unwrap();
        same(of, found["spec"]["replicas"].clone(), json!(replicas))?;
    }
    for name in ["hpa", "deployment", "set"] {
        let status = stage.crons().get(name).await.unwrap().status.unwrap_or_default();
        let histories = status.execution_histories.unwrap_or_default();
        let runs = histories.iter().flat_map(|history| history.successful_executions.iter().flatten()).count();
        same("runs", runs, 1)?;
    }
    let annotations = stage.crons().get("deployment").await.unwrap().metadata.annotations.unwrap_or_default();
    same("the copy", annotations.contains_key("fhpa.karmada.io/spec"), true)?;
    let executed = stage.events().await.iter().filter(|event| event.starts_with("Normal RuleExecuted")).count();
    same("Events", executed, 3)
}

#[tokio::test(start_paused = true)]
async fn to_run_rules_takes_every_right_on_their_targets() {
    RUNS.holds().await;
}
