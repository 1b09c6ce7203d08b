//! Every right of the roles is used. (That they suffice is told by all stories: their controllers have no others.)

use std::collections::BTreeSet;

use fhpa::install::permissions::{Need, PERMISSIONS, Place};
use fhpa::playground::objects::Objects;
use serde_json::{Value, json};

use super::{Stage, deployment, hpa, kind, policy, weights};

/// All rights but those of the guard and those in members, as they stand in the table.
fn all() -> BTreeSet<(usize, String, String)> {
    let rows = PERMISSIONS.iter().enumerate();
    let rows = rows.filter(|(_, row)| row.need == Need::Always && row.place != Place::Members);
    rows.flat_map(|(at, row)| {
        let verbs = move |resource: &&str| {
            let resource = (*resource).to_owned();
            row.verbs.iter().map(move |verb| (at, (*verb).to_owned(), resource.clone())).collect::<Vec<_>>()
        };
        row.resources.iter().flat_map(verbs)
    })
    .collect()
}

fn cron(name: &str, target: Value, rule: Value) -> Value {
    let mut rule = rule;
    rule["name"] = json!("up");
    rule["schedule"] = json!("* * * * *");
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": name, "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": [rule]}})
}

#[tokio::test(start_paused = true)]
async fn every_right_is_used() {
    let stage = Stage::new(2).await;
    stage.create(policy(weights(&[1, 2]))).await;
    for name in ["web", "plain"] {
        stage.create(deployment(name, 3)).await;
    }
    for name in ["db", "lone"] {
        let mut set = deployment(name, 3);
        set["kind"] = json!("StatefulSet");
        set["spec"]["serviceName"] = json!(name);
        stage.create(set).await;
    }
    let mut sets = policy(weights(&[1, 1]));
    sets["metadata"]["name"] = json!("db");
    sets["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}]);
    stage.create(sets).await;
    stage.pass(20).await;
    let mut one = stage.controller("one");
    one.leads().await;

    stage.create(hpa(2, 8, json!({}))).await;
    let mut other =
        hpa(2, 8, json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}}));
    other["metadata"]["name"] = json!("db");
    stage.create(other).await;
    let bounds = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"});
    stage.create(cron("bounds", bounds, json!({"targetMaxReplicas": 10}))).await;
    for (name, kind) in [("plain", "Deployment"), ("lone", "StatefulSet")] {
        let target = json!({"apiVersion": "apps/v1", "kind": kind, "name": name});
        stage.create(cron(name, target, json!({"targetReplicas": 4}))).await;
    }
    stage.pass(90).await;

    // Somebody puts a member to zero: no HPA wakes it.
    let member = Objects::new(stage.fleet.member("member1").unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    member.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": 0}})).await.unwrap();
    stage.pass(30).await;
    for name in ["web", "db"] {
        stage.delete("FederatedHPA", name).await;
    }
    stage.pass(120).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none() && stage.find("FederatedHPA", "db").await.is_none());

    let used = one.used.lock().unwrap().clone();
    let unused: Vec<_> = all().difference(&used).cloned().collect();
    assert!(unused.is_empty(), "rights that nothing uses: {unused:#?}");
    one.stop().await;
}
