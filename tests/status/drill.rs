//! `fhpa drill`: what would not run if clusters were lost.

use serde_json::{Value, json};

use super::Desk;
use super::objects::{binding, cluster, hpa};
use crate::cli::command::{Outcome, fhpa};

/// Three clusters in two zones; the workload of two CPUs each runs in the first, and others have room for `free` CPUs.
pub async fn desk(free: &str) -> Desk {
    let desk = Desk::new().await;
    let share = json!({"clusterName": "member1", "minReplicas": 2, "maxReplicas": 9, "reason": "Aggregated"});
    let status = json!({"currentReplicas": 4, "desiredReplicas": 4, "clusterHPADesired": [share]});
    let spec = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}, "minReplicas": 2});
    desk.bring(&hpa("web", spec, status)).await;
    let mut bound = binding("web", &[("member1", 4, 4)]);
    bound["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "2"}});
    bound["spec"]["placement"] = json!({"replicaScheduling": {"replicaSchedulingType": "Divided"}});
    bound["status"]["aggregatedStatus"][0]["status"]["observedGeneration"] = json!(1);
    desk.bring(&bound).await;
    for (name, zone, cpus) in [("member1", "eu-1", "8"), ("member2", "eu-1", free), ("member3", "eu-2", free)] {
        let mut one = cluster(name, "True");
        one["spec"]["zone"] = json!(zone);
        one["status"]["resourceSummary"] = json!({"allocatable": {"cpu": cpus, "pods": "110"}});
        one["status"]["apiEnablements"] =
            json!([{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]);
        desk.bring(&one).await;
    }
    desk
}

async fn drill(desk: &Desk, more: &[&str]) -> Outcome {
    let mut arguments = vec!["drill".to_owned(), "--kubeconfig".to_owned(), desk.kubeconfig()];
    arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
    let run = move || fhpa(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_run_nowhere_is_told_with_what_would_let_it_run() {
    let desk = desk("4").await;
    let one = drill(&desk, &["--lose", "member1"]).await;
    assert_eq!((one.code, &*one.stderr), (0, ""), "{}", one.stdout);
    assert_eq!(one.stdout, "If cluster member1 is lost: all 4 replicas run elsewhere\n");
    let each = drill(&desk, &[]).await;
    assert_eq!(each.code, 1, "{}", each.stderr);
    let expected = "\
If cluster member1 is lost: all 4 replicas run elsewhere
If cluster member2 is lost: nothing of any FederatedHPA runs there
If cluster member3 is lost: nothing of any FederatedHPA runs there
If zone eu-1 (member1, member2) is lost: 4 of 4 replicas run nowhere
OBJECT    REPLICAS  SHORT  WHAT WOULD LET THEM RUN
shop/web  4         4      failover pauses while so many clusters are away
If zone eu-2 (member3) is lost: nothing of any FederatedHPA runs there
";
    assert_eq!(each.stdout, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_get_each_loss_with_its_objects() {
    let desk = desk("3").await;
    let outcome = drill(&desk, &["--lose", "member1", "-o", "json"]).await;
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let losses: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let expected = json!([{"lost": {"kind": "Cluster", "names": ["member1"], "clusters": ["member1"]},
        "failoverPaused": false, "replicas": 4, "short": 2, "objects": [{"namespace": "shop", "name": "web",
            "replicas": 4, "short": 2, "reason": "RoomMissing", "remedy": "room for 2 more pods (cpu 2) in a candidate"}]}]);
    assert_eq!(losses, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_that_does_not_exist_is_told_with_those_that_do() {
    let desk = desk("4").await;
    for (arguments, said) in [
        (["--lose", "member9"], "there is no cluster member9: there are member1, member2, member3"),
        (["--lose-zone", "eu-9"], "no cluster is in zone eu-9: there are eu-1, eu-2"),
        (["--lose-region", "eu"], "no cluster is in region eu: there are none"),
    ] {
        let outcome = drill(&desk, &arguments).await;
        assert_eq!(outcome.code, 2, "{}", outcome.stdout);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_of_one_region_is_lost_as_a_whole_only_where_somebody_names_it() {
    let desk = desk("8").await;
    for name in ["member1", "member2", "member3"] {
        let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{name}");
        let region = json!({"spec": {"region": "eu", "zone": ""}});
        assert_eq!(desk.bed.patch("merge", &path, &region).await.code, 200);
    }
    let each = drill(&desk, &[]).await;
    assert_eq!(each.code, 0, "{} {}", each.stdout, each.stderr);
    assert!(!each.stdout.contains("region"), "{}", each.stdout);
    let named = drill(&desk, &["--lose-region", "eu"]).await;
    assert_eq!(named.code, 1, "{}", named.stderr);
    let expected = "If region eu (member1, member2, member3) is lost: 4 of 4 replicas run nowhere\n";
    assert!(named.stdout.starts_with(expected), "{}", named.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_threshold_of_the_leader_is_that_of_the_drill() {
    let desk = desk("8").await;
    let zone = |more: &'static [&'static str]| drill(&desk, more);
    let paused = zone(&["--lose-zone", "eu-1"]).await;
    assert!(paused.stdout.contains("failover pauses"), "{}", paused.stdout);
    let fails_over = zone(&["--lose-zone", "eu-1", "--unhealthy-cluster-threshold", "0.9"]).await;
    assert_eq!((fails_over.code, &*fails_over.stderr), (0, ""), "{}", fails_over.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_scaled_to_zero_is_woken_for_what_those_that_run_have_no_room_for() {
    let desk = Desk::new().await;
    let share = |name, more: Value| {
        let mut share = json!({"clusterName": name, "minReplicas": 1, "maxReplicas": 6, "reason": "Aggregated"});
        share.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        share
    };
    let shares = json!([
        share("member1", json!({})),
        share("member2", json!({})),
        share("member3", json!({"scaledToZero": true}))
    ]);
    let whole = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}, "minReplicas": 1,
        "maxReplicas": 18, "scalingToZero": true});
    let status = json!({"currentReplicas": 6, "desiredReplicas": 6, "clusterHPADesired": shares});
    desk.bring(&hpa("web", whole, status)).await;
    let mut bound = binding("web", &[("member1", 4, 4), ("member2", 2, 2), ("member3", 0, 0)]);
    bound["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "1"}});
    bound["spec"]["placement"] = json!({"replicaScheduling": {"replicaSchedulingType": "Divided"}});
    for report in bound["status"]["aggregatedStatus"].as_array_mut().unwrap() {
        report["status"]["observedGeneration"] = json!(1);
    }
    desk.bring(&bound).await;
    for (name, cpus, taken) in [("member1", "8", "4"), ("member2", "3", "2"), ("member3", "4", "0")] {
        let mut one = cluster(name, "True");
        one["status"]["resourceSummary"] =
            json!({"allocatable": {"cpu": cpus, "pods": "110"}, "allocated": {"cpu": taken, "pods": "4"}});
        desk.bring(&one).await;
    }
    let outcome = drill(&desk, &["--lose", "member1"]).await;
    assert_eq!(outcome.stdout, "If cluster member1 is lost: all 4 replicas run elsewhere\n", "{}", outcome.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fail_over_runs_nowhere() {
    let desk = desk("4").await;
    let suspended = json!({"spec": {"suspend": true}});
    let path = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/federatedhpas/web";
    assert_eq!(desk.bed.patch("merge", path, &suspended).await.code, 200);
    let outcome = drill(&desk, &["--lose", "member1"]).await;
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("4         4      it is suspended: nothing fails over"), "{}", outcome.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_are_at_their_max_take_over_nothing() {
    let desk = Desk::new().await;
    let names = ["member1", "member2", "member3"];
    let share = |name| json!({"clusterName": name, "minReplicas": 2, "maxReplicas": 4, "reason": "Duplicated"});
    let status = json!({"currentReplicas": 12, "desiredReplicas": 12, "clusterHPADesired": names.map(share)});
    let whole = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Duplicated"}, "minReplicas": 2,
        "maxReplicas": 4});
    desk.bring(&hpa("web", whole, status)).await;
    let mut bound = binding("web", &names.map(|name| (name, 4, 4)));
    bound["spec"]["placement"] = json!({});
    for report in bound["status"]["aggregatedStatus"].as_array_mut().unwrap() {
        report["status"]["observedGeneration"] = json!(1);
    }
    desk.bring(&bound).await;
    for name in names {
        desk.bring(&cluster(name, "True")).await;
    }
    let outcome = drill(&desk, &["--lose", "member1"]).await;
    assert_eq!(outcome.code, 1, "{} {}", outcome.stdout, outcome.stderr);
    assert!(
        outcome.stdout.contains("4         4      maxReplicas leaves no headroom: raise it by 4"),
        "{}",
        outcome.stdout
    );
}

/// A FederatedHPA in three clusters of a scenario, with room for so many replicas in each of the others.
fn scenario(current: &str, room: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let manifest = format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {{name: web, namespace: shop}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  mode: Distributed
  minReplicas: 3
  maxReplicas: 12
  federatedHPAAssignment: {{federatedHPAAssignmentType: DynamicWeighted}}
---
kind: PlanScenario
placement: {{replicaScheduling: {{replicaSchedulingType: Divided}}}}
clusters:
  member1: {{available: 9{current}, zone: eu-1}}
  member2: {{available: {room}, zone: eu-2}}
  member3: {{available: {room}, zone: eu-2}}
"
    );
    std::fs::write(directory.path().join("web.yaml"), manifest).unwrap();
    directory
}

fn on_manifests(directory: &tempfile::TempDir, more: &[&str]) -> Outcome {
    let path = directory.path().display().to_string();
    fhpa(&[&["drill", &path], more].concat())
}

#[test]
fn manifests_are_drilled_without_a_control_plane() {
    let outcome = on_manifests(&scenario(", current: 4", 3), &["--lose", "member1"]);
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{}", outcome.stdout);
    assert_eq!(outcome.stdout, "If cluster member1 is lost: all 4 replicas run elsewhere\n");
    let outcome = on_manifests(&scenario(", current: 4", 1), &["--lose", "member1"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("shop/web  4         2      room for 2 more pods"), "{}", outcome.stdout);
}

#[test]
fn a_workload_that_runs_nowhere_yet_runs_what_its_first_plan_gives() {
    let outcome = on_manifests(&scenario("", 3), &["--lose-zone", "eu-2", "--unhealthy-cluster-threshold", "0.9"]);
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{}", outcome.stdout);
    assert_eq!(outcome.stdout, "If zone eu-2 (member2, member3) is lost: all 2 replicas run elsewhere\n");
}

#[test]
fn what_cannot_be_drilled_is_told() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("web.yaml"), "kind: FederatedHPA\n").unwrap();
    let outcome = on_manifests(&directory, &[]);
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("the manifests cannot be used:"), "{}", outcome.stderr);
    for (load, said) in [("30%", "no change of load"), ("+x", "no change of load")] {
        let outcome = on_manifests(&scenario("", 3), &["--load", load]);
        assert_eq!(outcome.code, 2, "{}", outcome.stdout);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}
