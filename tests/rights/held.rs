//! Workloads of both kinds: taken over, divided, and handed back.

use std::sync::Arc;

use fhpa::install::permissions::PermissionScope::{ControlPlane, LeaseNamespace};
use fhpa::playground::json::{items, label, text};
use fhpa::reconcile::federated_hpa::observe::capacity::{Rooms, Unknown};
use serde_json::{Value, json};

use super::{Story, leads, same};
use crate::bed::role::Role;
use crate::stories::Process;
use crate::stories::distributed::{Stage, deployment, hpa, kind, policy, weights};

/// One leads, and goes on to.
pub const LEADS: Story =
    Story { tell: |role| Box::pin(lead(role)), needs: &[(LeaseNamespace, "leases", &["get", "create", "update"])] };

pub const HELD: Story = Story {
    tell: |role| Box::pin(hold(role)),
    needs: &[
        (ControlPlane, "federatedhpas", &["list", "watch", "patch"]),
        (ControlPlane, "federatedhpas/status", &["patch"]),
        (ControlPlane, "resourcebindings", &["list", "watch", "patch"]),
        (ControlPlane, "resourcebindings/status", &["patch"]),
        (ControlPlane, "works", &["list", "watch", "create", "patch", "delete"]),
        (ControlPlane, "resourceinterpretercustomizations", &["list", "watch"]),
        (ControlPlane, "deployments", &["get", "patch"]),
        (ControlPlane, "statefulsets", &["get", "patch"]),
        (ControlPlane, "deployments/scale", &["patch"]),
        (ControlPlane, "statefulsets/scale", &["patch"]),
        (ControlPlane, "events", &["create", "patch"]),
    ],
};

/// A cluster fails.
pub const FAILOVER: Story =
    Story { tell: |role| Box::pin(fail_over(role)), needs: &[(ControlPlane, "clusters", &["list", "watch"])] };

const SETS: &str = "fhpa-statefulset-apps-v1";
const KINDS: [(&str, &str); 2] = [("Deployment", "web"), ("StatefulSet", "db")];

pub fn controller(stage: &Stage, role: Role) -> Process {
    Process::start_as(role, stage.fleet.control(), "one", &stage.wall, Arc::new(Rooms::default()))
}

/// Creates a workload of either kind, and a policy with these weights.
pub async fn workload(stage: &Stage, kind: &str, name: &str, replicas: i32, by: &[i64]) {
    let mut policy = policy(weights(by));
    policy["metadata"]["name"] = json!(name);
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": kind, "name": name}]);
    stage.create(policy).await;
    let mut workload = deployment(name, replicas);
    workload["kind"] = json!(kind);
    if kind == "StatefulSet" {
        workload["spec"]["serviceName"] = json!(name);
    }
    stage.create(workload).await;
    stage.pass(20).await;
}

/// A FederatedHPA of the name of its workload.
pub fn order(kind: &str, name: &str, min: i32, max: i32) -> Value {
    let target = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name}});
    let mut order = hpa(min, max, target);
    order["metadata"]["name"] = json!(name);
    order
}

async fn lead(role: Role) -> Result<(), String> {
    let stage = crate::stories::Stage::at("2026-11-20T08:00:00Z").await;
    let mut one = Process::start_as(role, &stage.server, "one", &stage.wall, Arc::new(Unknown));
    leads(&mut one).await?;
    stage.pass(60).await;
    same("it leads", one.leadership.borrow().is_some(), true)
}

async fn hold(role: Role) -> Result<(), String> {
    let stage = Stage::new(2).await;
    stage.delete("ResourceInterpreterCustomization", SETS).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    stage.pass(2).await;
    // The installation learns of a kind while the controller runs.
    let sets = fhpa::install::kinds::customizations(&[]);
    stage.create(sets.into_iter().find(|one| text(one, "/metadata/name") == SETS).expect("one of StatefulSets")).await;
    for (kind, name) in KINDS {
        workload(&stage, kind, name, 3, &[1, 2]).await;
        stage.create(order(kind, name, 2, 9)).await;
    }
    stage.pass(30).await;
    for (kind, name) in KINDS {
        is_held(&stage, kind, name).await?;
    }
    let events = stage.control.list(&kind("Event"), "prod").await.unwrap();
    same("Events", events.iter().filter(|event| text(event, "/reason") == "Assigned").count(), 2)?;
    for (_, name) in KINDS {
        stage.patch("FederatedHPA", name, json!({"spec": {"maxReplicas": 12}})).await;
        stage.fleet.load().set("prod", name, 3_000);
    }
    stage.pass(90).await;
    same("bounds", stage.bounds().await, "1..4 2..8".to_owned())?;
    repeats_are_counted(&stage).await?;
    for (_, name) in KINDS {
        stage.delete("FederatedHPA", name).await;
    }
    stage.pass(60).await;
    for (kind, name) in KINDS {
        is_handed_back(&stage, kind, name).await?;
    }
    Ok(())
}

/// Bounds go to and fro: each assignment has one Event, however often it is made.
async fn repeats_are_counted(stage: &Stage) -> Result<(), String> {
    for max in [15, 12, 15, 12] {
        for (_, name) in KINDS {
            stage.patch("FederatedHPA", name, json!({"spec": {"maxReplicas": max}})).await;
        }
        stage.pass(30).await;
    }
    let events = stage.control.list(&kind("Event"), "prod").await.unwrap();
    let of_web = events.iter().filter(|event| text(event, "/regarding/name") == "web");
    let mut notes: Vec<&str> =
        of_web.filter(|one| text(one, "/reason") == "Reassigned").map(|one| text(one, "/note")).collect();
    let all = notes.len();
    notes.sort_unstable();
    notes.dedup();
    same("Events of the same note", all - notes.len(), 0)
}

async fn is_held(stage: &Stage, kind: &str, name: &str) -> Result<(), String> {
    let hpa = stage.get("FederatedHPA", name).await;
    // The others say what the HPAs of the members do.
    let conditions = items(&hpa, "/status/conditions").iter().take(2);
    let conditions: Vec<String> =
        conditions.map(|one| format!("{}={}", text(one, "/type"), text(one, "/status"))).collect();
    same("conditions", conditions, vec!["Assigned=True".to_owned(), "Ready=True".to_owned()])?;
    let binding = stage.get("ResourceBinding", &format!("{name}-{}", kind.to_lowercase())).await;
    same("suspension", binding["spec"]["suspension"]["scheduling"].clone(), json!(true))?;
    let observed = binding["status"]["schedulerObservedGeneration"].clone();
    same("observed", observed, binding["metadata"]["generation"].clone())?;
    let template = stage.get(kind, name).await;
    same("label", label(&template, "resourcetemplate.karmada.io/retain-replicas"), "true")?;
    Ok(())
}

async fn is_handed_back(stage: &Stage, kind: &str, name: &str) -> Result<(), String> {
    same("the FederatedHPA", stage.find("FederatedHPA", name).await.is_none(), true)?;
    let template = stage.get(kind, name).await;
    same("label", label(&template, "resourcetemplate.karmada.io/retain-replicas"), "")?;
    same("replicas", template["spec"]["replicas"].clone(), json!(12))?;
    for cluster in stage.fleet.names() {
        let hpa = stage.member(cluster, "HorizontalPodAutoscaler", name).await;
        same("the HPA of a member", hpa.is_none(), true)?;
    }
    Ok(())
}

async fn fail_over(role: Role) -> Result<(), String> {
    let stage = Stage::new(2).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    workload(&stage, "Deployment", "web", 3, &[1, 2]).await;
    stage.create(order("Deployment", "web", 2, 9)).await;
    stage.pass(20).await;
    same("bounds", stage.bounds().await, "1..3 2..6".to_owned())?;
    stage.fleet.fail("member2", true).unwrap();
    stage.pass(400).await;
    same("bounds", stage.bounds().await, "3..9 2..6".to_owned())
}

#[tokio::test(start_paused = true)]
async fn to_lead_takes_every_right_on_the_lease() {
    LEADS.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_hold_workloads_and_hand_them_back_takes_every_right_for_it() {
    HELD.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_fail_over_takes_every_right_on_clusters() {
    FAILOVER.holds().await;
}
