//! The model, from objects alone.

use fhpa::decision::cron::zones::Zones;
use fhpa::overview::gather::Objects;
use fhpa::overview::model::Detail;
use fhpa::overview::{Clock, detail, overview};
use fhpa::runtime::zones::ZoneDatabase;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::objects::{binding, event, hours, hpa, member, shop, timeless};

fn clock(zones: &dyn Zones) -> Clock<'_> {
    Clock { now: fhpa::runtime::clock::wall(), zones, zone: "UTC" }
}

fn of(objects: &[Value]) -> Objects {
    let mut all = Objects::default();
    for object in objects {
        let object = object.clone();
        match object["kind"].as_str().unwrap() {
            "FederatedHPA" => all.federated_hpas.push(serde_json::from_value(object).unwrap()),
            "CronFederatedHPA" => all.cron_federated_hpas.push(serde_json::from_value(object).unwrap()),
            "ResourceBinding" => all.binding = Some(serde_json::from_value(object).unwrap()),
            "Cluster" => all.clusters.push(serde_json::from_value(object).unwrap()),
            "Event" => all.events.push(serde_json::from_value(object).unwrap()),
            kind => panic!("{kind}"),
        }
    }
    all
}

fn detailed(objects: &[Value]) -> Detail {
    detail(&of(objects), clock(&ZoneDatabase::bundled())).unwrap()
}

fn status(status: Value) -> Detail {
    detailed(&[hpa("web", json!({}), status)])
}

#[test]
fn equal_decisions_in_a_row_are_counted_and_ten_are_kept_newest_first() {
    let mut objects = vec![hpa("web", json!({}), json!({}))];
    objects.extend((0..15).map(|at| event(&format!("e{at}"), "Reassigned", &format!("note {at}"), 100 - at)));
    objects.push(event("again", "Reassigned", "note 14", 1));
    let decisions = detailed(&objects).decisions;
    assert_eq!((decisions.len(), &*decisions[0].message, decisions[0].count), (10, "note 14", 2));
    assert_eq!((&*decisions[9].message, decisions[9].count), ("note 5", 1));
}

#[test]
fn events_of_another_object_are_no_decisions_of_this_one() {
    let mut web = hpa("web", json!({}), json!({}));
    web["metadata"]["uid"] = "new".into();
    let mut before = event("a", "Assigned", "of an object that was deleted", 9);
    before["regarding"]["uid"] = "old".into();
    let mut other = event("b", "Assigned", "of another object", 9);
    other["regarding"]["name"] = "api".into();
    assert!(detailed(&[web, before, other]).decisions.is_empty());
}

#[test]
fn runs_that_move_the_object_are_those_of_its_bounds_and_of_its_workload() {
    let mut on_workload = hours();
    on_workload["metadata"]["name"] = "on-workload".into();
    on_workload["spec"]["scaleTargetRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let mut elsewhere = hours();
    elsewhere["spec"]["scaleTargetRef"]["name"] = "api".into();
    let runs = detailed(&[hpa("web", json!({}), json!({})), hours(), on_workload, elsewhere]).next_runs;
    let names: Vec<(&str, &str)> = runs.iter().map(|run| (&*run.name, &*run.rule)).collect();
    let expected = [("hours", "morning"), ("on-workload", "morning"), ("hours", "evening"), ("on-workload", "evening")];
    assert_eq!(names, expected, "in their order, without suspended rules");
}

#[test]
fn the_run_that_the_controller_wrote_counts_while_it_is_about_this_spec() {
    let zones = ZoneDatabase::bundled();
    let mut cron = hours();
    cron["metadata"]["generation"] = 1.into();
    let written = "2999-01-01T00:00:00Z";
    cron["status"]["executionHistories"][0]["nextExecutionTime"] = written.into();
    let next = |cron: &Value| {
        let hpa = hpa("web", json!({}), json!({}));
        let runs = detail(&of(&[hpa, cron.clone()]), clock(&zones)).unwrap().next_runs;
        runs.into_iter().find(|run| run.rule == "evening").unwrap().time.0
    };
    assert_eq!(next(&cron), written.parse::<Timestamp>().unwrap());
    cron["metadata"]["generation"] = 2.into();
    assert_ne!(next(&cron), written.parse::<Timestamp>().unwrap());
}

#[test]
fn a_rule_that_cannot_run_has_no_next_run() {
    let mut cron = hours();
    cron["spec"]["rules"][0]["schedule"] = "61 * * * *".into();
    cron["spec"]["rules"][1]["timeZone"] = "Nowhere/Land".into();
    let zones = ZoneDatabase::bundled();
    let all = overview(&of(&[cron]), clock(&zones));
    let [cron] = &all.cron_federated_hpas[..] else { panic!("{all:?}") };
    assert_eq!((&cron.next_run, cron.rules, cron.suspended_rules), (&None, 3, 1));
    assert!(cron.last_run.as_ref().unwrap().succeeded);
}

#[test]
fn a_cluster_without_a_report_says_so_unless_reports_are_left_out() {
    let share = json!({"clusterName": "m1", "minReplicas": 1, "maxReplicas": 3, "reason": "StaticWeighted"});
    let silent = status(json!({"clusterHPADesired": [share]})).clusters;
    assert_eq!((&*silent[0].reason, silent[0].needs_attention), ("NoStatus", true));
    let large = status(json!({"clusterHPADesired": [share], "aggregatedStatusOmitted": 250})).clusters;
    assert_eq!((&*large[0].reason, large[0].needs_attention), ("StaticWeighted", false));
}

#[test]
fn metrics_of_all_clusters_are_a_mean_unless_some_are_left_out() {
    let all = json!({"aggregatedStatus": [member("m1", 3, 3, 20), member("m2", 1, 1, 60)]});
    assert_eq!(status(all.clone()).metrics[0].current.as_deref(), Some("30%"));
    let mut some = all;
    some["aggregatedStatusOmitted"] = 7.into();
    assert_eq!(status(some).metrics[0].current, None);
}

#[test]
fn a_cluster_that_is_lost_or_leaves_says_what_others_run_for_it() {
    let lost =
        json!({"clusterName": "m1", "lostReplicas": 4, "uncoveredReplicas": 1, "lostTime": "2026-11-20T08:00:00Z"});
    let [cluster] = &status(json!({"clusterHPADesired": [lost]})).clusters[..] else { panic!() };
    assert_eq!((&*cluster.reason, cluster.max_replicas), ("Replaced", None));
    assert_eq!(
        cluster.message,
        "leaves or failed: other clusters should run its 4 replicas, 1 of them are not placed yet"
    );
}

#[test]
fn a_cluster_with_replicas_that_wait_for_room_says_so() {
    let back = json!({"clusterName": "m1", "minReplicas": 1, "maxReplicas": 3, "replacementMinReplicas": 1,
        "replacementTime": "2026-11-20T08:00:00Z", "uncoveredReplicas": 2});
    let [cluster] = &status(json!({"clusterHPADesired": [back]})).clusters[..] else { panic!() };
    assert_eq!((&*cluster.reason, cluster.max_replicas), ("ReplacingOthers", Some(3)));
    assert_eq!(cluster.message, "2 replicas that leaving or failed clusters ran have no room in any cluster yet");
}

#[test]
fn help_that_comes_later_is_waited_for() {
    let blocked = json!({"clusterName": "m1", "minReplicas": 1, "maxReplicas": 3,
        "scaleUpBlockedReason": "Unschedulable", "scaleUpBlockedTime": super::objects::ago(1)});
    let waits = |spec: Value| {
        let status = json!({"clusterHPADesired": [blocked]});
        detailed(&[hpa("web", spec, status)]).waits_for
    };
    let found = waits(json!({"autoscaleMultiClusterDelay": 3600}));
    assert!(found[0].message.starts_with("m1 cannot scale up; others help in 35"), "{found:?}");
    assert!(
        waits(json!({})).is_empty()
            && waits(json!({"autoscaleMultiClusterDelay": 3600, "scaleAssist": false})).is_empty()
    );
}

#[test]
fn the_clusters_of_a_centralized_workload_are_those_of_its_binding() {
    let web = hpa("web", json!({"mode": "Centralized"}), json!({}));
    let clusters = detailed(&[web, binding("web", &[("m1", 3, 3), ("m2", 4, 1)])]).clusters;
    let shown: Vec<_> = clusters.iter().map(|one| (one.replicas, one.pending_replicas, one.needs_attention)).collect();
    assert_eq!(shown, [(Some(3), Some(0), false), (Some(4), Some(3), true)]);
    assert!(clusters.iter().all(|one| one.max_replicas.is_none()));
}

#[test]
fn the_shop_as_a_model() {
    let mut detail = serde_json::to_value(detailed(&shop())).unwrap();
    for list in ["clusters", "unread"] {
        detail.as_object_mut().unwrap().remove(list);
    }
    insta::assert_snapshot!(timeless(detail));
}
