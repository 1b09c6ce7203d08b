//! Stories of workloads that are in one affinity or anti-affinity group (docs/placement.md#workload-affinity).

use std::collections::BTreeSet;

use fhpa::api::FederatedHPA;
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{int, items, text};
use fhpa::run::forecast::{Forecast, Rooms, live};
use serde_json::{Value, json};

use super::capacity::node;
use super::{Stage, deployment, hpa, plan, policy};

/// Members with room for so many replicas.
async fn fleet(members: &[i64]) -> Stage {
    let stage = Stage::with(Plan { nodes: 0, ..plan(u32::try_from(members.len()).unwrap()) }).await;
    for (at, fits) in members.iter().enumerate() {
        node(&stage, &format!("member{}", at + 1), *fits).await;
    }
    stage
}

/// A placement on these members with the term of `workloadAffinity`, by the label `team`.
fn placement(preference: &str, members: &[&str], term: &str) -> Value {
    json!({"clusterAffinity": {"clusterNames": members}, "workloadAffinity": {term: {"groupByLabelKey": "team"}},
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": preference}})
}

/// A workload of two replicas of the team `x`.
async fn workload(stage: &Stage, name: &str, placement: Value) {
    let mut placed = policy(placement);
    placed["metadata"]["name"] = json!(name);
    placed["spec"]["resourceSelectors"][0]["name"] = json!(name);
    stage.create(placed).await;
    let mut workload = deployment(name, 2);
    workload["metadata"]["labels"]["team"] = json!("x");
    stage.create(workload).await;
}

async fn scaled(stage: &Stage, name: &str) {
    let mut object = hpa(2, 6, json!({}));
    object["metadata"]["name"] = json!(name);
    object["spec"]["scaleTargetRef"]["name"] = json!(name);
    stage.create(object).await;
}

/// The clusters in the binding of a workload.
async fn clusters(stage: &Stage, name: &str) -> Vec<String> {
    let binding = stage.get("ResourceBinding", &format!("{name}-deployment")).await;
    items(&binding, "/spec/clusters").iter().map(|entry| text(entry, "/name").to_owned()).collect()
}

/// Its ready replicas, and what its conditions say.
async fn state(stage: &Stage, name: &str) -> (i64, String) {
    let mut ready = 0;
    for cluster in stage.fleet.names() {
        let found = stage.member(cluster, "Deployment", name).await;
        ready += found.and_then(|found| int(&found, "/status/readyReplicas")).unwrap_or_default();
    }
    let object = stage.get("FederatedHPA", name).await;
    let said = items(&object, "/status/conditions").iter().map(|one| text(one, "/message"));
    (ready, said.collect::<Vec<_>>().join("; "))
}

/// The clusters that `fhpa plan` would give bounds in.
async fn planned(stage: &Stage, name: &str) -> Vec<String> {
    let object: FederatedHPA = serde_json::from_value(stage.get("FederatedHPA", name).await).unwrap();
    let objects = live::objects(&stage.fleet.control().client(), &object).await.unwrap();
    let bounded = |forecast: &Forecast<'_>| {
        let shares = forecast.plan.shares.iter().filter(|share| share.target.is_some());
        shares.map(|share| share.cluster.to_owned()).collect()
    };
    objects.forecast(&object, Rooms::default(), stage.wall.now(), bounded).unwrap()
}

#[tokio::test(start_paused = true)]
async fn workloads_of_an_anti_affinity_group_that_move_at_once_meet_in_no_cluster_and_keep_their_pods() {
    let names = ["a", "b", "c"];
    let stage = fleet(&[60, 30, 20, 10]).await;
    for name in names {
        let mut first = placement("Aggregated", &["member1"], "affinity");
        first["workloadAffinity"] = Value::Null;
        workload(&stage, name, first).await;
    }
    stage.pass(30).await;
    let _one = stage.leads_by_room("one").await;
    for name in names {
        scaled(&stage, name).await;
    }
    stage.pass(60).await;
    // The group begins where all are in one cluster: who has it stays.
    for name in names {
        let apart = placement("Aggregated", &["member1", "member2", "member3", "member4"], "antiAffinity");
        stage.patch("PropagationPolicy", name, json!({"spec": {"placement": apart}})).await;
    }
    stage.pass(60).await;
    for name in names {
        assert_eq!(clusters(&stage, name).await, ["member1"], "{name}: {:?}", state(&stage, name).await);
    }
    // All leave it in one moment.
    for name in names {
        let others = placement("Aggregated", &["member2", "member3", "member4"], "antiAffinity");
        stage.patch("PropagationPolicy", name, json!({"spec": {"placement": others}})).await;
    }
    for _ in 0..180 {
        stage.pass(1).await;
        for name in names {
            let (ready, said) = state(&stage, name).await;
            assert!(ready >= 2, "{name}: {said}");
        }
    }
    let mut met = BTreeSet::new();
    for name in names {
        let has = clusters(&stage, name).await;
        assert!(!has.is_empty() && !has.contains(&"member1".to_owned()), "{name}: {has:?}");
        assert!(has.into_iter().all(|cluster| met.insert(cluster)), "{name}: {:?}", state(&stage, name).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_of_an_anti_affinity_group_fails_over_to_a_cluster_that_no_other_one_has() {
    let names = ["a", "b", "c"];
    let stage = fleet(&[40, 30, 20, 4]).await;
    let all = ["member1", "member2", "member3", "member4"];
    for name in names {
        workload(&stage, name, placement("Aggregated", &all, "antiAffinity")).await;
        // Karmada's scheduler goes by the group, too.
        stage.pass(30).await;
    }
    let _one = stage.leads_by_room("one").await;
    for name in names {
        scaled(&stage, name).await;
    }
    stage.pass(60).await;
    let has = [clusters(&stage, "a").await, clusters(&stage, "b").await, clusters(&stage, "c").await];
    assert_eq!(has, [["member1"], ["member2"], ["member3"]]);
    stage.fleet.fail("member1", true).unwrap();
    stage.pass(420).await;
    let (ready, said) = state(&stage, "a").await;
    assert_eq!(clusters(&stage, "a").await, ["member4"], "{ready}: {said}");
    assert_eq!(clusters(&stage, "b").await, ["member2"]);
}

#[tokio::test(start_paused = true)]
async fn workloads_of_an_affinity_group_are_where_all_of_it_are_and_fail_over_together() {
    let stage = fleet(&[60, 30, 20]).await;
    let two = ["member2", "member3"];
    workload(&stage, "a", placement("Aggregated", &two, "affinity")).await;
    stage.pass(30).await;
    let _one = stage.leads_by_room("one").await;
    scaled(&stage, "a").await;
    stage.pass(60).await;
    assert_eq!(clusters(&stage, "a").await, ["member2"]);
    // By itself it would be in both.
    scaled(&stage, "b").await;
    workload(&stage, "b", placement("Weighted", &two, "affinity")).await;
    stage.pass(60).await;
    let (ready, said) = state(&stage, "b").await;
    assert_eq!((clusters(&stage, "b").await, ready), (vec!["member2".to_owned()], 2), "{said}");
    assert_eq!(planned(&stage, "b").await, ["member2"], "a plan of the command line");
    stage.fleet.fail("member2", true).unwrap();
    stage.pass(420).await;
    for name in ["a", "b"] {
        let (ready, said) = state(&stage, name).await;
        assert_eq!(clusters(&stage, name).await, ["member3"], "{name} {ready}: {said}");
    }
    // One that is back takes nothing from where the group is now.
    stage.fleet.fail("member2", false).unwrap();
    stage.pass(120).await;
    for name in ["a", "b"] {
        let (ready, said) = state(&stage, name).await;
        assert_eq!((clusters(&stage, name).await, ready), (vec!["member3".to_owned()], 2), "{name}: {said}");
    }
}
