//! From a policy to pods and back.

use serde_json::json;

use super::{Stage, condition, deployment, holds, plan, policy, policy_with};

#[tokio::test]
async fn a_workload_is_divided_one_to_two_and_scaled() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 2])).await;
    stage.create(deployment("web", 6, "250m")).await;
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(
        binding["spec"]["clusters"],
        json!([{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 4}])
    );
    assert_eq!(binding["spec"]["replicaRequirements"], json!({"resourceRequest": {"cpu": "250m", "memory": "64Mi"}}));
    assert_eq!(condition(&binding, "Scheduled"), holds("True", "Success"));
    assert_eq!(condition(&binding, "FullyApplied"), holds("True", "FullyAppliedSuccess"));
    assert_eq!(stage.replicas("web").await, [2, 4]);
    stage.advance(2).await;
    assert_eq!((stage.pods("member1").await.len(), stage.pods("member2").await.len()), (2, 4));
    let template = stage.get("Deployment", "web").await;
    assert_eq!((&template["status"]["readyReplicas"], &template["status"]["replicas"]), (&json!(6), &json!(6)));
    assert_eq!(template["status"]["observedGeneration"], template["metadata"]["generation"]);
    let aggregated = &stage.get("ResourceBinding", "web-deployment").await["status"]["aggregatedStatus"];
    assert_eq!((&aggregated[0]["health"], &aggregated[1]["status"]["readyReplicas"]), (&json!("Healthy"), &json!(4)));

    stage.patch("Deployment", "web", json!({"spec": {"replicas": 9}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [3, 6]);
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 1}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [-1, 1]);
}

#[tokio::test]
async fn a_work_carries_what_karmada_writes_there() {
    let stage = Stage::new(plan()).await;
    stage.create(policy_with(json!({}))).await;
    stage.create(deployment("nginx", 2, "100m")).await;
    stage.settle().await;
    let works = stage.list("Work", "karmada-es-member1").await;
    let work = &works[0];
    assert_eq!(work["metadata"]["name"], "nginx-687f7fb96f");
    assert_eq!(work["metadata"]["finalizers"], json!(["karmada.io/execution-controller"]));
    let manifest = &work["spec"]["workload"]["manifests"][0];
    assert_eq!(manifest["spec"]["replicas"], 2);
    assert_eq!(manifest["metadata"]["labels"]["karmada.io/managed"], "true");
    assert_eq!(manifest["metadata"]["annotations"]["work.karmada.io/name"], "nginx-687f7fb96f");
    assert_eq!(condition(work, "Applied"), holds("True", "AppliedSuccessful"));
    let identifier = &work["status"]["manifestStatuses"][0]["identifier"];
    assert_eq!((&identifier["group"], &identifier["kind"]), (&json!("apps"), &json!("Deployment")));
}

#[tokio::test]
async fn a_deleted_workload_takes_its_pods_along() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.settle().await;
    let control = fhpa::playground::objects::Objects::new(super::server(&stage).client());
    control.delete(&super::kind("Deployment"), &stage.get("Deployment", "web").await).await.unwrap();
    stage.settle().await;
    assert!(stage.find("ResourceBinding", "web-deployment").await.is_none());
    assert!(stage.list("Work", "").await.is_empty());
    assert_eq!(stage.replicas("web").await, [-1, -1]);
    assert!(stage.pods("member1").await.iter().all(|pod| pod["metadata"]["deletionTimestamp"].is_string()));
    stage.advance(2).await;
    assert!(stage.pods("member1").await.is_empty());
}

#[tokio::test]
async fn a_member_is_put_back_unless_it_keeps_its_replicas() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.settle().await;
    stage.patch_member("member1", "Deployment", "web", json!({"spec": {"replicas": 5}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [2, 2]);

    let label = json!({"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}});
    stage.patch("Deployment", "web", label).await;
    stage.settle().await;
    stage.patch_member("member1", "Deployment", "web", json!({"spec": {"replicas": 5}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [5, 2]);
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 2}})).await;
    stage.settle().await;
    assert_eq!(stage.split("web").await, [("member1".into(), 1), ("member2".into(), 1)]);
    assert_eq!(stage.replicas("web").await, [5, 2]);

    let label = json!({"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": null}}});
    stage.patch("Deployment", "web", label).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [1, 1]);
}

#[tokio::test]
async fn the_scheduler_reverts_a_split_that_does_not_add_up_after_it_reached_a_member() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 6, "100m")).await;
    stage.settle().await;
    let split = |a: i32, b: i32| json!({"spec": {"clusters": [{"name": "member1", "replicas": a}, {"name": "member2", "replicas": b}]}});
    stage.patch("ResourceBinding", "web-deployment", split(5, 1)).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [5, 1], "a foreign split that adds up is kept");
    stage.patch("ResourceBinding", "web-deployment", split(1, 1)).await;
    stage.fleet.round().await.unwrap();
    assert_eq!(stage.replicas("web").await, [1, 1], "the wrong split reaches the members first");
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [3, 3]);
}

#[tokio::test]
async fn a_suspended_binding_is_nobodys_but_its_owners() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 6, "100m")).await;
    stage.settle().await;
    let mine = json!({"spec": {"suspension": {"scheduling": true},
        "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 1}]}});
    stage.patch("ResourceBinding", "web-deployment", mine).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 12}})).await;
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(
        (&binding["spec"]["replicas"], &binding["spec"]["suspension"]),
        (&json!(12), &json!({"scheduling": true}))
    );
    assert_eq!(stage.replicas("web").await, [1, 1]);
    assert!(binding["status"]["schedulerObservedGeneration"].as_i64() < binding["metadata"]["generation"].as_i64());
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": null}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [6, 6]);
}

#[tokio::test]
async fn another_schedulers_binding_is_left_alone() {
    let stage = Stage::new(plan()).await;
    let mut policy = policy(&[1, 1]);
    policy["spec"]["schedulerName"] = json!("steering");
    stage.create(policy).await;
    stage.create(deployment("web", 6, "100m")).await;
    stage.settle().await;
    assert!(stage.split("web").await.is_empty());
    let mine = json!({"spec": {"clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}]}});
    stage.patch("ResourceBinding", "web-deployment", mine).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [1, 2]);
}

#[tokio::test]
async fn a_work_edited_by_hand_stays_until_its_binding_changes() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 0])).await;
    stage.create(deployment("web", 2, "100m")).await;
    stage.settle().await;
    let mut work = stage.list("Work", "karmada-es-member1").await.remove(0);
    work["spec"]["workload"]["manifests"][0]["spec"]["replicas"] = json!(4);
    let control = fhpa::playground::objects::Objects::new(super::server(&stage).client());
    control.replace(&super::kind("Work"), &work).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [4, -1]);
    stage.patch("Deployment", "web", json!({"metadata": {"annotations": {"touched": "1"}}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [2, -1]);
}

#[tokio::test]
async fn an_object_that_karmada_did_not_bring_is_not_taken_over() {
    let stage = Stage::new(plan()).await;
    stage.fleet.member("member1").unwrap().create(&deployment("web", 1, "100m")).await.unwrap();
    stage.create(policy_with(json!({}))).await;
    stage.create(deployment("web", 3, "100m")).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [1, 3]);
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(condition(&binding, "FullyApplied"), holds("False", "FullyAppliedFailed"));
    assert_eq!(binding["status"]["aggregatedStatus"][0]["applied"], false);
    assert_eq!(binding["status"]["aggregatedStatus"][0]["health"], "Unknown");
}

fn divided(preference: serde_json::Value) -> serde_json::Value {
    let mut scheduling = json!({"replicaSchedulingType": "Divided"});
    scheduling.as_object_mut().unwrap().extend(preference.as_object().unwrap().clone());
    policy_with(json!({"replicaScheduling": scheduling}))
}

#[tokio::test]
async fn a_dynamic_weight_follows_the_room() {
    let stage = Stage::new(plan()).await;
    stage.fleet.change_nodes("member2", 2).await.unwrap();
    stage.advance(10).await;
    let preference = json!({"dynamicWeight": "AvailableReplicas"});
    stage.create(divided(json!({"replicaDivisionPreference": "Weighted", "weightPreference": preference}))).await;
    stage.create(deployment("web", 6, "1")).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [2, 4]);
    stage.advance(15).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 30}})).await;
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(condition(&binding, "Scheduled"), holds("False", "Unschedulable"));
    assert_eq!(stage.replicas("web").await, [2, 4]);
}

#[tokio::test]
async fn an_aggregated_workload_stays_together_while_it_fits() {
    let stage = Stage::new(plan()).await;
    stage.advance(10).await;
    stage.create(divided(json!({"replicaDivisionPreference": "Aggregated"}))).await;
    stage.create(deployment("web", 6, "1")).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [6, -1]);
    stage.advance(15).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 10}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await.iter().sum::<i64>(), 10);
}

#[tokio::test]
async fn a_stateful_set_keeps_its_replicas_by_a_customization() {
    let stage = Stage::new(plan()).await;
    let script = "function Retain(desiredObj, observedObj)\n  desiredObj.spec.replicas = observedObj.spec.replicas\n  return desiredObj\nend";
    stage
        .create(json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "sets"}, "spec": {"target": {"apiVersion": "apps/v1", "kind": "StatefulSet"},
            "customizations": {"retention": {"luaScript": script}}}}))
        .await;
    let mut policy = policy_with(json!({}));
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet"}]);
    stage.create(policy).await;
    let mut set = deployment("db", 2, "100m");
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("db");
    stage.create(set).await;
    stage.settle().await;
    stage.patch_member("member1", "StatefulSet", "db", json!({"spec": {"replicas": 4}})).await;
    stage.settle().await;
    let kept = stage.member("member1", "StatefulSet", "db").await.unwrap();
    assert_eq!(kept["spec"]["replicas"], 4);
    assert_eq!(stage.get("StatefulSet", "db").await["status"]["replicas"], 6);
}

#[tokio::test]
async fn replicas_that_are_none_are_left_out_of_a_binding() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 0, "100m")).await;
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"].get("replicas"), None);
    let mine = json!({"spec": {"suspension": {"scheduling": true},
        "clusters": [{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 0}]}});
    stage.patch("ResourceBinding", "web-deployment", mine).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 2}})).await;
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["replicas"], 2);
    assert_eq!(binding["spec"]["clusters"], json!([{"name": "member1", "replicas": 2}, {"name": "member2"}]));
    assert_eq!(stage.replicas("web").await, [2, 0]);
}

#[tokio::test]
async fn of_two_customizations_for_one_kind_no_two_may_do_the_same() {
    let stage = Stage::new(plan()).await;
    let custom = |name: &str, kind: &str, does: &str| {
        json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": name}, "spec": {"target": {"apiVersion": "apps/v1", "kind": kind},
            "customizations": {does: {"luaScript": "function F(a, b) return b end"}}}})
    };
    stage.create(custom("sets", "StatefulSet", "retention")).await;
    stage.create(custom("health", "StatefulSet", "healthInterpretation")).await;
    stage.create(custom("other", "Deployment", "retention")).await;
    let refused = stage.fleet.control().create(&custom("more", "StatefulSet", "retention")).await.unwrap_err();
    let said = "admission webhook \"resourceinterpretercustomization.karmada.io\" denied the request: conflicting with \
                InterpreterOperation(Retain) of existing ResourceInterpreterCustomization(sets)";
    assert_eq!((refused.code, &*refused.message), (403, said));
}
