//! Objects that meet on a target: two FederatedHPAs on a workload, two rules on a FederatedHPA.

use std::time::Duration;

use fhpa::runtime::clock::{steady, wall};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use kube::api::ListParams;
use serde_json::{Value, json};

use super::day2::VERSION;
use crate::stand::{MEMBERS, Stand, deployment, federated, policy};

/// Replicas that each member runs of either workload.
const EACH: u32 = 2;

/// Workloads that HPAs of a member scale.
async fn scaled(stand: &Stand, member: &str) -> Vec<String> {
    let plane = &stand.lab.member(member).plane;
    let api = plane.api("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Some("prod"));
    let all = api.list(&ListParams::default()).await.unwrap();
    all.items.iter().filter_map(|hpa| hpa.data["spec"]["scaleTargetRef"]["name"].as_str().map(str::to_owned)).collect()
}

/// `to` is the workload that a FederatedHPA scales.
fn target(to: &str) -> Value {
    json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": to}})
}

/// A FederatedHPA goes on to another workload, and a new one comes for what it leaves: no member has two HPAs on one
/// workload at any time, and no pod ends.
pub async fn two_objects_that_swap_places_never_meet(stand: &mut Stand) {
    let (left, next) = ("left", "next");
    for name in [left, next] {
        for member in MEMBERS {
            stand.wants(member, name, EACH);
        }
        stand.apply("deployments", &deployment(name, EACH * 3)).await;
        stand.apply("propagationpolicies", &policy(name, "Deployment", &MEMBERS)).await;
    }
    stand.federated(left, 3, 12, json!({})).await;
    for name in [left, next] {
        stand.runs(name, &MEMBERS.map(|member| (member, 2))).await;
        stand.observer.note(name);
    }
    stand
        .soon("each member has its HPA", async |stand| {
            let mut all = Vec::new();
            for member in MEMBERS {
                all.extend(scaled(stand, member).await);
            }
            all == [left; 3]
        })
        .await;
    stand.edit(VERSION, "FederatedHPA", "federatedhpas", left, json!({"spec": target(next)})).await;
    stand.apply("federatedhpas", &federated("newcomer", 3, 12, target(left))).await;
    let begun = steady();
    let mut settled = None;
    while begun.elapsed() < Duration::from_secs(60) {
        let mut all = Vec::new();
        for member in MEMBERS {
            let mut names = scaled(stand, member).await;
            names.sort();
            assert!(names.windows(2).all(|two| two[0] != two[1]), "{member} has two HPAs on a workload: {names:?}");
            all.push(names);
        }
        if all.iter().all(|names| *names == [left, next]) {
            settled.get_or_insert(begun.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("  both scale what they name after {:.1?}", settled.expect("both scale their workloads"));
    for name in [left, next] {
        let binding = stand.binding(name).await.unwrap();
        assert!(binding["spec"]["suspension"]["scheduling"] == true, "{name}: {}", binding["spec"]["suspension"]);
    }
    for (name, least) in [left, next].map(|name| (name, stand.observer.least(name))) {
        assert_eq!(least, 6, "{name}: no pod was ended");
    }
    stand.delete(VERSION, "FederatedHPA", "federatedhpas", "newcomer").await;
    stand.soon("the newcomer goes", async |stand| stand.hpa("newcomer").await.is_none()).await;
    stand.clear(left).await;
    stand.clear(next).await;
}

/// The runs of two CronFederatedHPAs on one target fall into a time in which nobody leads: the later one stays.
pub async fn late_runs_on_one_target_end_with_the_latest(stand: &mut Stand) {
    let name = "twice";
    stand.workload(name, 3, &MEMBERS).await;
    stand.federated(name, 3, 30, json!({})).await;
    stand.runs(name, &MEMBERS.map(|member| (member, 1))).await;
    // The first whole minute that is far enough for both to be stored before it, and the next one.
    let first = wall().as_second().div_euclid(60) + 1 + i64::from(wall().as_second().rem_euclid(60) > 45);
    let runs = [("first", first, 9), ("second", first + 1, 6)];
    for (rule, minute, min) in runs {
        let at = Timestamp::from_second(minute * 60).unwrap().to_zoned(TimeZone::UTC);
        let schedule = format!("{} {} * * *", at.minute(), at.hour());
        let rule = json!({"name": rule, "schedule": schedule, "timeZone": "UTC", "targetMinReplicas": min});
        let own = rule["name"].as_str().unwrap();
        let cron = json!({"apiVersion": VERSION, "kind": "CronFederatedHPA",
            "metadata": {"name": own, "namespace": "prod"},
            "spec": {"scaleTargetRef": {"apiVersion": VERSION, "kind": "FederatedHPA", "name": name}, "rules": [rule]}});
        stand.apply("cronfederatedhpas", &cron).await;
    }
    let next = async |stand: &Stand, rule: &str| {
        let cron = stand.get(VERSION, "CronFederatedHPA", "cronfederatedhpas", rule).await.unwrap();
        cron["status"]["executionHistories"][0].clone()
    };
    for (rule, ..) in runs {
        let what = format!("{rule} has a next run");
        stand.soon(&what, async |stand| next(stand, rule).await["nextExecutionTime"].is_string()).await;
    }
    stand.fhpa.kill_all();
    let due = Timestamp::from_second((first + 1) * 60).unwrap();
    assert!(wall() < due - SignedDuration::from_secs(60), "nobody leads before the first of them");
    stand.later(Duration::from_secs(150), "both are due", async |_| wall() > due + SignedDuration::from_secs(2)).await;
    stand.fhpa.begin(&[]);
    stand.fhpa.leads(&stand.lab).await;
    let ran = |history: &Value| history["successfulExecutions"].as_array().is_some_and(|runs| !runs.is_empty());
    stand.soon("the later one ran", async |stand| ran(&next(stand, "second").await)).await;
    // What could still undo it does so at once.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(stand.hpa(name).await.unwrap()["spec"]["minReplicas"], 6);
    for (rule, ..) in runs {
        println!("  {rule}: {}", next(stand, rule).await);
        stand.delete(VERSION, "CronFederatedHPA", "cronfederatedhpas", rule).await;
    }
    stand.clear(name).await;
}
