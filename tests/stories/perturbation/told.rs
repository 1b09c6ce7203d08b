//! The stories whose writes are perturbed.

use futures::FutureExt as _;
use serde_json::{Value, json};

use super::{Story, perturb};
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

async fn edit(stage: &Stage, spec: Value) {
    stage.patch("FederatedHPA", "web", json!({"spec": spec})).await;
    stage.pass(30).await;
}

const DEFAULT: Story = Story {
    name: "",
    clusters: 3,
    budget: 12,
    begin: |stage| six(stage).boxed_local(),
    act: |stage| held(stage).boxed_local(),
};

#[test]
fn a_new_object_is_taken_over_however_it_is_disturbed() {
    perturb(&Story { name: "created", ..DEFAULT });
}

#[test]
fn bounds_are_raised_however_it_is_disturbed() {
    perturb(&Story {
        name: "raised",
        budget: 24,
        act: |stage| {
            async move {
                held(stage).await;
                edit(stage, json!({"maxReplicas": 24})).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn bounds_are_lowered_however_it_is_disturbed() {
    perturb(&Story {
        name: "lowered",
        act: |stage| {
            async move {
                held(stage).await;
                edit(stage, json!({"maxReplicas": 8})).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn another_policy_divides_anew_however_it_is_disturbed() {
    perturb(&Story {
        name: "divided",
        act: |stage| {
            async move {
                held(stage).await;
                let placement = json!({"spec": {"placement": weights(&[3, 2, 1])}});
                stage.patch("PropagationPolicy", "web", placement).await;
                stage.pass(30).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn an_assignment_of_ones_own_is_followed_however_it_is_disturbed() {
    perturb(&Story {
        name: "assigned",
        act: |stage| {
            async move {
                held(stage).await;
                let list = json!([{"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 4},
                    {"targetCluster": {"clusterNames": ["member2"]}, "staticWeight": 1},
                    {"targetCluster": {"clusterNames": ["member3"]}, "staticWeight": 1}]);
                let own = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": list});
                edit(stage, json!({"federatedHPAAssignment": own})).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn other_metrics_reach_every_member_however_it_is_disturbed() {
    perturb(&Story {
        name: "measured",
        act: |stage| {
            async move {
                held(stage).await;
                let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target":
                    {"type": "Utilization", "averageUtilization": 70}}}]);
                edit(stage, json!({"metrics": metric})).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_deleted_object_hands_back_however_it_is_disturbed() {
    perturb(&Story {
        name: "deleted",
        act: |stage| {
            async move {
                held(stage).await;
                stage.delete("FederatedHPA", "web").await;
                stage.pass(30).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_switch_to_centralized_hands_back_however_it_is_disturbed() {
    perturb(&Story {
        name: "centralized",
        act: |stage| {
            async move {
                held(stage).await;
                edit(stage, json!({"mode": "Centralized"})).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_switch_to_distributed_takes_over_however_it_is_disturbed() {
    perturb(&Story {
        name: "distributed",
        act: |stage| {
            async move {
                stage.hpa(3, 12, steady(json!({"mode": "Centralized"}))).await;
                stage.pass(30).await;
                edit(stage, json!({"mode": "Distributed"})).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_workload_that_comes_later_is_taken_over_however_it_is_disturbed() {
    perturb(&Story {
        name: "late",
        begin: |stage| async move { stage.create(hpa(3, 12, steady(json!({})))).await }.boxed_local(),
        act: |stage| {
            async move {
                stage.pass(20).await;
                stage.create(policy(weights(&[1, 2, 3]))).await;
                stage.create(deployment("web", 6)).await;
                stage.pass(30).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_restarted_template_keeps_its_members_however_it_is_disturbed() {
    perturb(&Story {
        name: "edited",
        act: |stage| {
            async move {
                held(stage).await;
                let edit = json!({"spec": {"replicas": 30}, "metadata": {"annotations": {"a": "b"}}});
                stage.patch("Deployment", "web", edit).await;
                stage.pass(30).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn the_word_of_a_scheduler_is_repaired_however_it_is_disturbed() {
    perturb(&Story {
        name: "scheduled",
        act: |stage| {
            async move {
                held(stage).await;
                let clusters = json!([{"name": "member1", "replicas": 3}, {"name": "member3", "replicas": 3}, {"name": "member2", "replicas": 6}]);
                stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"clusters": clusters}})).await;
                stage.pass(30).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_failed_cluster_is_replaced_however_it_is_disturbed() {
    perturb(&Story {
        name: "failed",
        budget: 0,
        act: |stage| {
            async move {
                held(stage).await;
                stage.fleet.fail("member3", true).unwrap();
                stage.pass(120).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}

#[test]
fn a_cluster_that_leaves_its_policy_goes_however_it_is_disturbed() {
    perturb(&Story {
        name: "left",
        budget: 24,
        act: |stage| {
            async move {
                stage.hpa(3, 24, steady(json!({}))).await;
                stage.pass(30).await;
                let mut placement = weights(&[1, 2]);
                placement["clusterAffinity"] = json!({"clusterNames": ["member1", "member2"]});
                stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement}})).await;
                stage.pass(30).await;
            }
            .boxed_local()
        },
        ..DEFAULT
    });
}
