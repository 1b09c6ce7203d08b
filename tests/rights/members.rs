//! Reads and writes in members through the cluster proxy.

use fhpa::install::permissions::PermissionScope::{ControlPlane, Members};
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::int;
use fhpa::playground::objects::Objects;
use serde_json::json;

use super::held::{controller, order, workload};
use super::{Story, leads, same};
use crate::bed::role::Role;
use crate::stories::distributed::capacity::node;
use crate::stories::distributed::{Stage, kind, plan, weights};

pub const DEPLOYMENT: Story = Story {
    tell: |role| Box::pin(narrow(role, "Deployment")),
    needs: &[
        (ControlPlane, "clusters/proxy", &["get", "patch"]),
        (Members, "deployments/scale", &["get", "patch"]),
        (Members, "pods", &["list"]),
    ],
};

pub const STATEFUL_SET: Story = Story {
    tell: |role| Box::pin(narrow(role, "StatefulSet")),
    needs: &[(Members, "statefulsets/scale", &["get", "patch"])],
};

/// Nobody reports what becomes of HPAs.
pub const UNREPORTED: Story = Story {
    tell: |role| Box::pin(unreported(role)),
    needs: &[(ControlPlane, "clusters/proxy", &["get"]), (Members, "horizontalpodautoscalers", &["get"])],
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

#[tokio::test(start_paused = true)]
async fn to_help_members_takes_every_right_on_their_deployments_and_pods() {
    DEPLOYMENT.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_help_members_takes_every_right_on_their_stateful_sets() {
    STATEFUL_SET.holds().await;
}

#[tokio::test(start_paused = true)]
async fn to_ask_members_whether_an_hpa_arrived_takes_the_right_to_read_it() {
    UNREPORTED.holds().await;
}
