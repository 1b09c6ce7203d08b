//! Unschedulable pods, and desired replicas and metrics of HPAs, as input of a plan.

use fhpa::controller::key::Key;
use fhpa::decision::load::Load;
use fhpa::decision::plan::Cluster;
use fhpa::playground::fleet::Plan;
use fhpa::playground::member::nodes;
use fhpa::reconcile::federated_hpa::observe::{PlacementSpec, observe};
use serde_json::json;

use super::{START, Stage, plan, weights};
use crate::stories::Process;

/// Pending and desired replicas and the load, as a plan sees them.
fn seen(stage: &Stage, one: &Process, cluster: &str) -> (u32, Option<u32>, Option<Load>) {
    let view = one.live.cache.view(&Key::new("prod", "web")).unwrap();
    let binding = view.binding.as_deref().unwrap();
    let placement_spec = PlacementSpec::of(&view, binding).unwrap();
    let observed = observe(&view, binding, &placement_spec, &one.live, (stage.wall.clock())());
    let found: Vec<&Cluster<'_>> = observed.request.clusters.iter().filter(|one| one.name == cluster).collect();
    (found[0].pending, found[0].hpa_desired_confirmed(), found[0].load)
}

fn requests(stage: &Stage) -> u64 {
    stage.fleet.control().faults().count("get", "clusters/proxy")
}

/// Two members, 1..4 replicas each; on the node of the first fit two.
async fn narrow() -> (Stage, Process) {
    let stage = Stage::with(Plan { nodes: 0, ..plan(2) }).await;
    for (cluster, fits) in [("member1", 2), ("member2", 10)] {
        let mut node = nodes::node(&format!("{cluster}-node"), 1, "64Gi", START);
        node["status"]["allocatable"]["cpu"] = json!(format!("{}m", fits * 100));
        stage.fleet.member(cluster).unwrap().create(&node).await.unwrap();
    }
    stage.web(2, weights(&[1, 1])).await;
    let one = stage.leads("one").await;
    // Bounds stay as they are, whatever happens to the pods.
    stage.hpa(2, 8, json!({"scaleAssist": false})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..4 1..4");
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn pods_without_a_node_are_counted_while_replicas_are_not_ready_and_nobody_is_asked_else() {
    let (stage, one) = narrow().await;
    let before = requests(&stage);
    stage.pass(300).await;
    assert_eq!(requests(&stage), before, "all is ready");
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(90).await;
    assert_eq!(stage.replicas().await, "4 4");
    let (pending, desired, load) = seen(&stage, &one, "member1");
    assert_eq!((pending, desired), (2, Some(4)));
    assert!(load.is_some_and(Load::is_above), "{load:?}");
    assert_eq!(seen(&stage, &one, "member2").0, 0);
    let asked = requests(&stage);
    stage.pass(100).await;
    // A look is two requests: the selector, the pods.
    let asked = requests(&stage) - asked;
    assert!((10..=24).contains(&asked), "{asked}");
    stage.fleet.load().set("prod", "web", 50);
    stage.pass(600).await;
    assert_eq!(stage.replicas().await, "1 1");
    let (pending, desired, load) = seen(&stage, &one, "member1");
    assert_eq!((pending, desired), (0, Some(1)));
    assert!(load.is_some_and(|load| !load.is_above()), "{load:?}");
    let rest = requests(&stage);
    stage.pass(600).await;
    assert_eq!(requests(&stage), rest);
}

#[tokio::test(start_paused = true)]
async fn a_dead_cluster_is_not_asked_and_says_nothing() {
    let (stage, one) = narrow().await;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(90).await;
    assert_eq!(seen(&stage, &one, "member1").0, 2);
    stage.fleet.fail("member1", true).unwrap();
    stage.pass(60).await;
    assert_eq!(seen(&stage, &one, "member1"), (0, None, None));
    let asked = requests(&stage);
    stage.pass(200).await;
    assert_eq!(requests(&stage), asked);
}

#[tokio::test(start_paused = true)]
async fn measurements_alone_rewrite_the_status_rarely() {
    let (stage, _one) = narrow().await;
    stage.fleet.load().set("prod", "web", 100);
    stage.pass(60).await;
    stage.fleet.control().faults().record();
    for step in 0..40 {
        // About the target, now below it and now not.
        stage.fleet.load().set("prod", "web", 97 + step % 7);
        stage.pass(15).await;
    }
    let seen = stage.fleet.control().faults().recorded();
    let written = seen.iter().filter(|seen| seen.verb == "patch" && seen.resource == "federatedhpas/status").count();
    assert!((5..=21).contains(&written), "{written} in ten minutes");
}
