//! Reads and writes in members through the cluster proxy.

use fhpa::install::permissions::PermissionScope::{ControlPlane, Members};
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::int;
use fhpa::playground::member::node_events::NodeAutoscaler;
use fhpa::playground::objects::Objects;
use serde_json::json;

use super::held::{controller, order, workload};
use super::{Story, leads, same};
use crate::bed::role::Role;
use crate::stories::distributed::capacity::node;
use crate::stories::distributed::scalers::{keda, plain, scaled_object};
use crate::stories::distributed::{Stage, kind, plan, weights};

pub const DEPLOYMENT: Story = Story {
    tell: |role| Box::pin(narrow(role, "Deployment")),
    needs: &[
        (ControlPlane, "clusters/proxy", &["get", "patch"]),
        (Members, "deployments/scale", &["get", "patch"]),
        (Members, "pods", &["list"]),
    ],
};

/// A member whose autoscaler adds no nodes is helped at once.
pub const NODES: Story = Story { tell: |role| Box::pin(without_nodes(role)), needs: &[(Members, "events", &["list"])] };

pub const STATEFUL_SET: Story = Story {
    tell: |role| Box::pin(narrow(role, "StatefulSet")),
    needs: &[(Members, "statefulsets/scale", &["get", "patch"])],
};

/// Nobody reports what becomes of HPAs.
pub const UNREPORTED: Story = Story {
    tell: |role| Box::pin(unreported(role)),
    needs: &[(ControlPlane, "clusters/proxy", &["get"]), (Members, "horizontalpodautoscalers", &["get"])],
};

/// A member has another HPA on the workload.
pub const FOREIGN: Story = Story {
    tell: |role| Box::pin(foreign(role)),
    needs: &[
        (ControlPlane, "clusters/proxy", &["get", "delete"]),
        (Members, "horizontalpodautoscalers", &["list", "delete"]),
    ],
};

/// The control plane has other autoscalers of the workload.
pub const BESIDE: Story = Story {
    tell: |role| Box::pin(beside(role)),
    needs: &[
        (ControlPlane, "horizontalpodautoscalers", &["list", "watch"]),
        (ControlPlane, "scaledobjects", &["list", "watch"]),
    ],
};

/// A member that was put to zero is woken, and one whose pods find no node gives its headroom away.
async fn narrow(role: Role, of: &'static str) -> Result<(), String> {
    let stage = Stage::with(Plan { nodes: 0, ..plan(2) }).await;
    for (cluster, fits) in [("member1", 2), ("member2", 10)] {
        node(&stage, cluster, fits).await;
    }
    workload(&stage, of, "web", 2, &[1, 1]).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    stage.create(order(of, "web", 2, 8)).await;
    stage.pass(20).await;
    same("bounds", stage.bounds().await, "1..4 1..4".to_owned())?;

    let member = Objects::new(stage.fleet.member("member1").unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    member.merge(&kind(of), &about, "", &json!({"spec": {"replicas": 0}})).await.unwrap();
    stage.pass(30).await;
    let replicas = stage.member("member1", of, "web").await.and_then(|found| int(&found, "/spec/replicas"));
    same("woken", replicas, Some(1))?;

    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(120).await;
    same("bounds", stage.bounds().await, "1..2 1..6".to_owned())
}

async fn without_nodes(role: Role) -> Result<(), String> {
    let stage = Stage::with(Plan { nodes: 0, ..plan(2) }).await;
    for (cluster, fits) in [("member1", 2), ("member2", 10)] {
        node(&stage, cluster, fits).await;
    }
    stage.fleet.autoscale_nodes("member1", NodeAutoscaler::AtLimit).unwrap();
    workload(&stage, "Deployment", "web", 2, &[1, 1]).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    let mut order = order("Deployment", "web", 2, 8);
    order["spec"]["autoscaleMultiClusterDelay"] = json!(600);
    stage.create(order).await;
    stage.pass(20).await;
    same("bounds", stage.bounds().await, "1..4 1..4".to_owned())?;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(180).await;
    same("bounds", stage.bounds().await, "1..2 1..6".to_owned())
}

async fn unreported(role: Role) -> Result<(), String> {
    let stage = Stage::new(2).await;
    workload(&stage, "Deployment", "web", 3, &[1, 2]).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    stage.create(order("Deployment", "web", 2, 9)).await;
    stage.pass(20).await;
    same("bounds", stage.bounds().await, "1..3 2..6".to_owned())?;
    stage.delete("ResourceInterpreterCustomization", "fhpa-horizontalpodautoscaler-v2").await;
    stage.pass(30).await;
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[2, 1])}})).await;
    stage.pass(60).await;
    same("bounds", stage.bounds().await, "2..6 1..3".to_owned())?;
    same(
        "conditions",
        stage.conditions().await.join(" "),
        "Assigned=True Assigned Ready=True MemberHPAsReady".to_owned(),
    )
}

async fn foreign(role: Role) -> Result<(), String> {
    let stage = Stage::new(2).await;
    workload(&stage, "Deployment", "web", 2, &[1, 1]).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    stage.fleet.member("member2").unwrap().create(&plain("old")).await.unwrap();
    let mut order = order("Deployment", "web", 2, 9);
    order["metadata"]["annotations"] = json!({"fhpa.karmada.io/adopt-hpa": "true"});
    stage.create(order).await;
    stage.pass(180).await;
    let found = stage.member("member2", "HorizontalPodAutoscaler", "old").await;
    same("the other HPA", found.is_none(), true)?;
    let conditions = stage.conditions().await.join(" ");
    same("conditions", conditions, "Assigned=True Assigned Ready=True MemberHPAsReady".to_owned())
}

async fn beside(role: Role) -> Result<(), String> {
    let stage = Stage::new(2).await;
    stage.create(keda()).await;
    workload(&stage, "Deployment", "web", 2, &[1, 1]).await;
    let mut one = controller(&stage, role);
    leads(&mut one).await?;
    stage.create(order("Deployment", "web", 2, 9)).await;
    stage.pass(20).await;
    for (other, kind) in [(plain("old"), "HorizontalPodAutoscaler"), (scaled_object("old"), "ScaledObject")] {
        stage.create(other).await;
        stage.pass(10).await;
        same(kind, stage.conditions().await[1].clone(), "Ready=False ConflictingScaler".to_owned())?;
        stage.delete(kind, "old").await;
        stage.pass(10).await;
        same(kind, stage.conditions().await[1].clone(), "Ready=True MemberHPAsReady".to_owned())?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn to_take_over_hpas_of_other_names_takes_every_right_on_the_hpas_of_members() {
    FOREIGN.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_report_other_autoscalers_takes_every_right_on_them() {
    BESIDE.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_help_members_takes_every_right_on_their_deployments_and_pods() {
    DEPLOYMENT.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_help_at_once_where_no_nodes_come_takes_the_right_to_list_events() {
    NODES.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_help_members_takes_every_right_on_their_stateful_sets() {
    STATEFUL_SET.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_ask_members_whether_an_hpa_arrived_takes_the_right_to_read_it() {
    UNREPORTED.holds().await;
}
