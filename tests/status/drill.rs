//! `fhpa drill`: what would not run if clusters were lost.

use serde_json::{Value, json};

use super::Desk;
use super::objects::{binding, cluster, hpa};
use crate::cli::command::{Outcome, fhpa};

/// Three clusters in two zones; the workload of two CPUs each runs in the first, and others have room for `free` CPUs.
async fn desk(free: &str) -> Desk {
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
    let expected = json!([{"lost": {"name": "cluster member1", "clusters": ["member1"]}, "failoverPaused": false,
        "replicas": 4, "short": 2, "objects": [{"namespace": "shop", "name": "web", "replicas": 4, "short": 2,
            "remedy": "room for 2 more pods (cpu 2) in a candidate"}]}]);
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
