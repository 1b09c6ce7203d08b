//! What a placement, a binding and other features of the scheduler do (docs/placement.md), where no other story has it.

use std::time::Duration;

use fhpa::decision::validation::Settings;
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, label, text};
use fhpa::playground::karmada::Timing;
use fhpa::playground::objects::Objects;
use fhpa::run::hand_back::LeaseHold;
use fhpa::runtime::leader::activity::LeaseLocation;
use serde_json::{Value, json};

use super::departures::{ALL, least};
use super::help::work;
use super::{Stage, deployment, kind, plan, policy, weights};

#[tokio::test(start_paused = true)]
async fn a_taint_against_scheduling_keeps_away_what_a_cluster_does_not_have_and_keeps_what_it_has() {
    let taint = |effect: &str| json!({"spec": {"taints": [{"key": "busy", "effect": effect}]}});
    let stage = Stage::new(3).await;
    stage.patch_cluster("member3", taint("NoSchedule")).await;
    stage.patch_cluster("member2", taint("PreferNoSchedule")).await;
    stage.web(3, weights(&[1, 1, 1])).await;
    let _one = stage.leads("one").await;
    stage.hpa(3, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "2..6 1..6 -", "{:?}", stage.messages().await);
    let replicas = stage.replicas().await;
    stage.patch_cluster("member1", taint("NoSchedule")).await;
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("2..6 1..6 -".to_owned(), replicas));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_serve_the_kind_gets_no_share_and_what_it_ran_is_run_elsewhere_first() {
    let stage = Stage::new(3).await;
    stage.fleet.unlist("member3", "Deployment", true).unwrap();
    stage.pass(20).await;
    stage.web(4, weights(&[1, 1, 1])).await;
    let _one = stage.leads("one").await;
    stage.hpa(4, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "2..6 2..6 -", "{:?}", stage.messages().await);
    stage.fleet.unlist("member1", "Deployment", true).unwrap();
    assert_eq!(least(&stage, &ALL, 120).await, 4, "{:?}", stage.messages().await);
    assert_eq!((stage.bounds().await, stage.entries().await), ("- 4..12 -".to_owned(), "member2=4".to_owned()));
    for cluster in ["member1", "member3"] {
        stage.fleet.unlist(cluster, "Deployment", false).unwrap();
    }
    assert_eq!(least(&stage, &ALL, 300).await, 4, "{:?}", stage.messages().await);
    assert_eq!(stage.bounds().await, "1..4 2..4 1..4", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_workload_of_a_scheduler_of_another_name_is_divided_too() {
    let stage = Stage::new(2).await;
    let mut policy = policy(weights(&[1, 3]));
    policy["spec"]["schedulerName"] = json!("steering");
    stage.create(policy).await;
    stage.create(deployment("web", 4)).await;
    let _one = stage.leads("one").await;
    stage.hpa(4, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.get("ResourceBinding", "web-deployment").await["spec"]["schedulerName"], "steering");
    assert_eq!(stage.bounds().await, "1..3 3..9", "{:?}", stage.messages().await);
    assert_eq!(stage.replicas().await, "1 3");
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_preempts_another_makes_a_new_division() {
    let (stage, _one) = Stage::divided(4, &[1, 1]).await;
    stage.hpa(4, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "2..6 2..6");
    let mut second = policy(weights(&[1, 3]));
    second["metadata"]["name"] = json!("first-in-line");
    second["spec"]["priority"] = json!(10);
    second["spec"]["preemption"] = json!("Always");
    stage.create(second).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..3 3..9", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn bounds_reach_the_members_while_karmada_dispatches_nothing_of_the_workload() {
    let stage = Stage::new(2).await;
    let only = |name: &str, others: &[i64]| {
        let mut placement = weights(others);
        placement["clusterAffinity"] = json!({"clusterNames": name.split(' ').collect::<Vec<_>>()});
        placement
    };
    stage.web(4, only("member1", &[1, 1])).await;
    let _one = stage.leads("one").await;
    stage.hpa(4, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "4..12 -");
    let dispatching = async |suspended: bool| {
        let patch = json!({"spec": {"suspension": {"dispatching": suspended}}});
        stage.patch("ResourceBinding", "web-deployment", patch).await;
    };
    dispatching(true).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 20}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "4..20 -", "{:?}", stage.messages().await);
    let placement = only("member1 member2", &[1, 1]);
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement}})).await;
    stage.pass(120).await;
    assert_eq!(stage.bounds().await, "2..10 2..10", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=False MemberTargetNotFound"]);
    assert_eq!(stage.replicas().await, "4 -");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"], json!({"dispatching": true, "scheduling": true}));
    dispatching(false).await;
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "4 2", "{:?}", stage.messages().await);
}

/// Two members under a quota of 400m. Karmada counts the replicas of the binding's entries, each of 100m.
async fn under_a_quota(clusters: u32) -> Stage {
    let karmada = Timing { quota: true, ..Timing::default() };
    let stage = Stage::with(Plan { karmada, ..plan(clusters) }).await;
    let quota = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
        "metadata": {"name": "limit", "namespace": "prod"}, "spec": {"overall": {"cpu": "400m"}}});
    stage.create(quota).await;
    stage
}

const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_entry_a_quota_refuses_holds_no_other_one_back() {
    let stage = under_a_quota(4).await;
    let mut placement = weights(&[1, 1, 1, 1]);
    let only = |clusters: Value| json!({"clusterNames": clusters});
    placement["clusterAffinity"] = only(json!(["member1", "member2", "member3"]));
    stage.web(4, placement).await;
    let _one = stage.leads("one").await;
    stage.hpa(4, 40, json!({})).await;
    work(&stage, 12);
    stage.pass(240).await;
    let entries = stage.entries().await;
    assert_eq!(entries, "member1=2 member2=1 member3=1");
    // A fourth cluster is one replica too many.
    let all = only(json!(["member1", "member2", "member3", "member4"]));
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": all}}})).await;
    stage.pass(120).await;
    assert_eq!(stage.entries().await, entries, "{:?}", stage.messages().await);
    assert_ne!(stage.autoscaler("member4").await, None, "it has its HPA, and its entry is refused");
    let said = stage.messages().await;
    assert!(said.iter().any(|one| one.contains("FederatedResourceQuota(prod/limit) exceeded")), "{said:?}");
    // What stands at zero begins again.
    let member = Objects::new(stage.fleet.member("member2").unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    member.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": 0}})).await.unwrap();
    stage.pass(60).await;
    assert_ne!(stage.replicas().await.split(' ').nth(1), Some("0"), "{:?}", stage.messages().await);
    // A cluster that failed keeps its HPA as long as its entry, and is back with both.
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(420).await;
    assert_eq!(stage.entries().await, entries, "{:?}", stage.messages().await);
    stage.fleet.fail("member3", false).unwrap();
    let all = ["member1", "member2", "member3", "member4"];
    assert!(least(&stage, &all, 120).await >= 12, "{:?}", stage.messages().await);
    assert_ne!(stage.autoscaler("member3").await, None, "{:?}", stage.messages().await);
    stage.patch("FederatedResourceQuota", "limit", json!({"spec": {"overall": {"cpu": "4"}}})).await;
    assert!(least(&stage, &all, 300).await >= 12, "{:?}", stage.messages().await);
    assert!(stage.entries().await.contains("member4"), "{:?}", stage.messages().await);
}

/// Members keep the replicas of a StatefulSet by a customization, which goes with the installation.
#[tokio::test(start_paused = true)]
async fn an_uninstallation_does_not_let_go_of_replicas_that_a_quota_refuses_and_only_a_customization_keeps() {
    let stage = under_a_quota(2).await;
    let mut policy = policy(weights(&[1, 1]));
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet"}]);
    stage.create(policy).await;
    let mut web = deployment("web", 4);
    web["kind"] = json!("StatefulSet");
    stage.create(web).await;
    stage.pass(20).await;
    let _one = stage.leads_by_room("one").await;
    let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
    let steady = json!({"scaleDown": {"selectPolicy": "Disabled"}});
    stage.hpa(4, 12, json!({"scaleTargetRef": target, "behavior": steady})).await;
    stage.pass(30).await;
    for cluster in ["member1", "member2"] {
        let member = Objects::new(stage.fleet.member(cluster).unwrap().client());
        let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
        member.merge(&kind("StatefulSet"), &about, "", &json!({"spec": {"replicas": 5}})).await.unwrap();
    }
    stage.pass(10).await;
    let given = async || {
        let binding = stage.get("ResourceBinding", "web-statefulset").await;
        items(&binding, "/spec/clusters").iter().map(|entry| entry["replicas"].clone()).collect::<Vec<_>>()
    };
    let asked = async || {
        let mut asked = Vec::new();
        for cluster in ["member1", "member2"] {
            asked.push(stage.member(cluster, "StatefulSet", "web").await.unwrap()["spec"]["replicas"].clone());
        }
        asked
    };
    assert_eq!((given().await, asked().await), (vec![json!(2); 2], vec![json!(5); 2]), "{:?}", stage.messages().await);
    let place = LeaseLocation { namespace: "karmada-system".into(), name: "fhpa".into() };
    let (client, clock) = (stage.fleet.control().client(), stage.wall.clock());
    let hold = LeaseHold::take(client, place, "uninstall".into(), clock, Duration::from_mins(5), |_| {}).await.unwrap();
    let back = hold.hand_back(Settings::default(), Duration::from_secs(600)).await.unwrap();
    let [(left, why)] = &back.left[..] else { panic!("{back:?}") };
    assert_eq!(left, "prod/web");
    assert!(why.contains("not settled in the ResourceBinding"), "{why}");
    let more = json!({"spec": {"overall": {"cpu": "4"}}});
    stage.patch("FederatedResourceQuota", "limit", more).await;
    let back = hold.hand_back(Settings::default(), Duration::from_secs(600)).await.unwrap();
    assert_eq!((&*back.done, &*back.left), (&["prod/web".to_owned()][..], &[][..]));
    stage.pass(60).await;
    assert_eq!(label(&stage.get("StatefulSet", "web").await, LABEL), "");
    assert_eq!((given().await, asked().await), (vec![json!(5); 2], vec![json!(5); 2]));
}

/// A workload that is not Karmada's where the placement brings one of that name: Karmada leaves it alone.
#[tokio::test(start_paused = true)]
async fn a_workload_that_karmada_left_alone_is_left_alone() {
    let stage = Stage::new(2).await;
    let _one = stage.leads("one").await;
    let member = stage.fleet.member("member2").unwrap();
    member.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})).await.unwrap();
    member.create(&deployment("web", 20)).await.unwrap();
    stage.web(4, weights(&[1, 1])).await;
    assert_eq!(stage.replicas().await, "2 20");
    stage.hpa(2, 8, json!({})).await;
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("2..8 -".to_owned(), "2 20".to_owned()));
    assert_eq!(stage.conditions().await[1], "Ready=False NotApplied", "{:?}", stage.messages().await);
    let said = stage.messages().await;
    assert!(
        said.iter().any(|one| one.contains("member2") && one.contains("will not manage this resource")),
        "{said:?}"
    );
    let told = stage.event("NotApplied").await;
    assert!(text(&told, "/note").contains("will not manage this resource"), "{told}");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    let web = stage.get("Deployment", "web").await;
    // One is left in its entry for the cluster that runs none of it.
    assert_eq!((&web["spec"]["replicas"], stage.replicas().await), (&json!(3), "2 20".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_karmada_takes_in_later_gets_its_hpa_then() {
    let stage = Stage::new(2).await;
    let _one = stage.leads("one").await;
    let member = stage.fleet.member("member2").unwrap();
    member.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})).await.unwrap();
    member.create(&deployment("web", 3)).await.unwrap();
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "2..8 -");
    stage.patch("PropagationPolicy", "web", json!({"spec": {"conflictResolution": "Overwrite"}})).await;
    stage.pass(120).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..4 1..4".to_owned(), "2 3".to_owned()));
    assert_eq!(stage.conditions().await[1], "Ready=True MemberHPAsReady", "{:?}", stage.messages().await);
}
