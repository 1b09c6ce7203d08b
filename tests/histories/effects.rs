//! Operations of histories have their effect: none is skipped in all histories. No sockets.

use fhpa::playground::json::{int, items};
use fhpa::playground::objects::Objects;
use serde_json::json;

use super::objects::kind;
use super::operation::{Operation, Stall};
use super::scene::Scene;
use crate::laws::Name;

fn run(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(story);
}

/// Two clusters with a FederatedHPA that acts.
async fn scene(guarded: bool) -> Scene {
    let mut scene = Scene::new(2, guarded).await;
    let spec = json!({"minReplicas": 2, "maxReplicas": 12, "mode": "Distributed"});
    happen(&mut scene, Operation::Create { workload: "web".into(), spec }, 45).await;
    scene
}

async fn happen(scene: &mut Scene, what: Operation, then: u64) {
    scene.happen(&what).await;
    scene.pass(then).await;
}

/// Replicas that a cluster is asked for, and those that are ready.
async fn web(scene: &Scene, cluster: &str) -> (i64, i64) {
    let objects = Objects::new(scene.fleet.member(cluster).unwrap().client());
    let web = objects.get(&kind("Deployment"), "prod", "web").await.unwrap().unwrap();
    (int(&web, "/spec/replicas").unwrap(), int(&web, "/status/readyReplicas").unwrap_or_default())
}

async fn end(scene: Scene) {
    assert_eq!(scene.broken(), Vec::<String>::new());
    scene.end().await;
}

#[test]
fn pods_of_a_stalled_cluster_never_start_and_those_that_run_go_on() {
    run(async {
        for how in [Stall::Pending, Stall::Unready] {
            let mut scene = scene(false).await;
            let (_, before) = web(&scene, "member1").await;
            happen(&mut scene, Operation::Stall { cluster: 1, how: Some(how) }, 20).await;
            // A member's own HPA asks for more, and gets nothing.
            happen(&mut scene, Operation::Load { workload: "web".into(), milli: 900 }, 40).await;
            let (asked, ready) = web(&scene, "member1").await;
            assert!(asked > ready, "{how:?}: {asked} {ready}");
            assert!(ready <= before, "{how:?}: {ready} of {before}");
            happen(&mut scene, Operation::Stall { cluster: 1, how: None }, 40).await;
            let (asked, ready) = web(&scene, "member1").await;
            assert_eq!(asked, ready, "{how:?}");
            end(scene).await;
        }
    });
}

#[test]
fn a_plain_hpa_reaches_every_member_and_goes_again() {
    run(async {
        let mut scene = scene(false).await;
        let has = |scene: &Scene| {
            let laws = scene.watched.laws();
            let mut members = laws.world().members.values();
            members.all(|member| member.hpas.contains_key(&Name::new("prod", "web-plain")))
        };
        happen(&mut scene, Operation::PlainHpa { workload: "web".into(), on: true }, 30).await;
        assert!(has(&scene), "{}", scene.show().await);
        happen(&mut scene, Operation::PlainHpa { workload: "web".into(), on: false }, 30).await;
        assert!(!has(&scene));
        end(scene).await;
    });
}

#[test]
fn a_quota_refuses_a_binding_with_more() {
    run(async {
        let mut scene = scene(false).await;
        let given = async |scene: &Scene| {
            let binding = scene.control.get(&kind("ResourceBinding"), "prod", "web-deployment").await.unwrap().unwrap();
            items(&binding, "/spec/clusters").iter().filter_map(|one| int(one, "/replicas")).sum::<i64>()
        };
        let before = given(&scene).await;
        happen(&mut scene, Operation::Quota { cpu: Some(600) }, 5).await;
        let min = |min: i64| Operation::Edit { workload: "web".into(), field: "minReplicas".into(), value: json!(min) };
        happen(&mut scene, min(10), 60).await;
        assert!(given(&scene).await <= 6, "{before}: {}", scene.show().await);
        happen(&mut scene, Operation::Quota { cpu: None }, 400).await;
        assert!(given(&scene).await > 6, "{}", scene.show().await);
        end(scene).await;
    });
}

#[test]
fn definitions_of_karmada_stay_where_nobody_guards_ours() {
    run(async {
        for guarded in [false, true] {
            let mut scene = scene(guarded).await;
            happen(&mut scene, Operation::Upgrade { on: true }, 20).await;
            assert_eq!(scene.is_whole(), guarded);
            end(scene).await;
        }
    });
}
