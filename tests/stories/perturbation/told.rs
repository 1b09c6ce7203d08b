//! The stories whose writes are perturbed.

use futures::FutureExt as _;
use serde_json::{Value, json};

use super::{Act, Story, perturb};
use crate::bed::objects::deployment;
use crate::stories::distributed::{Stage, hpa, policy, weights};

/// HPAs that do not scale by themselves, so that replicas do not depend on when somebody looked.
fn steady(more: Value) -> Value {
    let never = json!({"selectPolicy": "Disabled"});
    let mut spec = json!({"behavior": {"scaleUp": never, "scaleDown": never}});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    spec
}

async fn six(stage: &Stage) {
    stage.web(6, weights(&[1, 2, 3])).await;
}

async fn held(stage: &Stage) {
    stage.hpa(3, 12, steady(json!({}))).await;
    stage.pass(30).await;
}

/// A story of an object: how it comes about, and what its HPAs may allow together.
fn story(name: &'static str, budget: i32, act: Act) -> Story {
    Story { name, clusters: 3, budget, begin: |stage| six(stage).boxed_local(), act }
}

/// An object is held, and then somebody edits something.
fn edited(name: &'static str, budget: i32, (kind, object): (&'static str, &'static str), patch: Value) {
    let act: Act = Box::new(move |stage| {
        let patch = patch.clone();
        async move {
            held(stage).await;
            stage.patch(kind, object, patch).await;
            stage.pass(30).await;
        }
        .boxed_local()
    });
    perturb(&story(name, budget, act));
}

/// The user edits the spec of the FederatedHPA.
fn respecified(name: &'static str, budget: i32, spec: Value) {
    edited(name, budget, ("FederatedHPA", "web"), json!({"spec": spec}));
}

#[test]
fn a_new_object_is_taken_over_however_it_is_disturbed() {
    perturb(&story("created", 12, Box::new(|stage| held(stage).boxed_local())));
}

#[test]
fn bounds_are_raised_however_it_is_disturbed() {
    respecified("raised", 24, json!({"maxReplicas": 24}));
}

#[test]
fn bounds_are_lowered_however_it_is_disturbed() {
    respecified("lowered", 12, json!({"maxReplicas": 8}));
}

#[test]
fn another_policy_divides_anew_however_it_is_disturbed() {
    edited("divided", 12, ("PropagationPolicy", "web"), json!({"spec": {"placement": weights(&[3, 2, 1])}}));
}

#[test]
fn an_assignment_of_ones_own_is_followed_however_it_is_disturbed() {
    let weight = |at: i32, weight: i32| json!({"targetCluster": {"clusterNames": [format!("member{at}")]}, "staticWeight": weight});
    let list = [weight(1, 4), weight(2, 1), weight(3, 1)];
    let own = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": list});
    respecified("assigned", 12, json!({"federatedHPAAssignment": own}));
}

#[test]
fn other_metrics_reach_every_member_however_it_is_disturbed() {
    let target = json!({"type": "Utilization", "averageUtilization": 70});
    respecified(
        "measured",
        12,
        json!({"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}),
    );
}

#[test]
fn a_switch_to_centralized_hands_back_however_it_is_disturbed() {
    respecified("centralized", 12, json!({"mode": "Centralized"}));
}

#[test]
fn a_restarted_template_keeps_its_members_however_it_is_disturbed() {
    let edit = json!({"spec": {"replicas": 30}, "metadata": {"annotations": {"a": "b"}}});
    edited("edited", 12, ("Deployment", "web"), edit);
}

#[test]
fn the_word_of_a_scheduler_is_repaired_however_it_is_disturbed() {
    let entry = |(name, replicas): (&str, i32)| json!({"name": name, "replicas": replicas});
    let clusters = [("member1", 3), ("member3", 3), ("member2", 6)].map(entry);
    edited("scheduled", 12, ("ResourceBinding", "web-deployment"), json!({"spec": {"clusters": clusters}}));
}

#[test]
fn a_deleted_object_hands_back_however_it_is_disturbed() {
    let act: Act = Box::new(|stage| {
        async move {
            held(stage).await;
            stage.delete("FederatedHPA", "web").await;
            stage.pass(30).await;
        }
        .boxed_local()
    });
    perturb(&story("deleted", 12, act));
}

#[test]
fn a_switch_to_distributed_takes_over_however_it_is_disturbed() {
    let act: Act = Box::new(|stage| {
        async move {
            stage.hpa(3, 12, steady(json!({"mode": "Centralized"}))).await;
            stage.pass(30).await;
            stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Distributed"}})).await;
            stage.pass(30).await;
        }
        .boxed_local()
    });
    perturb(&story("distributed", 12, act));
}

#[test]
fn a_workload_that_comes_later_is_taken_over_however_it_is_disturbed() {
    let act: Act = Box::new(|stage| {
        async move {
            stage.pass(20).await;
            stage.create(policy(weights(&[1, 2, 3]))).await;
            stage.create(deployment("web", 6)).await;
            stage.pass(30).await;
        }
        .boxed_local()
    });
    let late = Story {
        begin: |stage| async move { stage.create(hpa(3, 12, steady(json!({})))).await }.boxed_local(),
        ..story("late", 12, act)
    };
    perturb(&late);
}

#[test]
fn a_failed_cluster_is_replaced_however_it_is_disturbed() {
    let act: Act = Box::new(|stage| {
        async move {
            held(stage).await;
            stage.fleet.fail("member3", true).unwrap();
            stage.pass(120).await;
        }
        .boxed_local()
    });
    perturb(&story("failed", 0, act));
}

#[test]
fn a_cluster_that_leaves_its_policy_goes_however_it_is_disturbed() {
    let act: Act = Box::new(|stage| {
        async move {
            stage.hpa(3, 24, steady(json!({}))).await;
            stage.pass(30).await;
            let mut placement = weights(&[1, 2]);
            placement["clusterAffinity"] = json!({"clusterNames": ["member1", "member2"]});
            stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement}})).await;
            stage.pass(30).await;
        }
        .boxed_local()
    });
    perturb(&story("left", 24, act));
}
