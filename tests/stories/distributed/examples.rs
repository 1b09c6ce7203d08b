//! The worked examples (docs/design.md#worked-examples) through the whole controller, and edits of the spec.

use serde_json::{Value, json};

use super::{Stage, weights};

fn only(name: &str) -> Value {
    json!({"clusterNames": [name]})
}

/// Deployments that run with these replicas, then the FederatedHPA; what the members have in the end.
async fn assigned(replicas: &[i64], min: i32, max: i32, more: Value) -> (Stage, String, String) {
    let stage = Stage::new(u32::try_from(replicas.len()).unwrap()).await;
    let sum: i64 = replicas.iter().sum();
    let placed: Vec<i64> = replicas.to_vec();
    stage.web(i32::try_from(sum).unwrap(), weights(&placed)).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.hpa(min, max, more).await;
    // Before the members' HPAs and those that help them look at it.
    stage.pass(10).await;
    one.stop().await;
    let (bounds, entries) = (stage.bounds().await, stage.entries().await);
    (stage, bounds, entries)
}

fn by_type(type_: &str, preferences: Value) -> Value {
    json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": type_, "clusterAutoscalingPreference": preferences}})
}

#[tokio::test(start_paused = true)]
async fn g1_duplicated_bounds_every_cluster() {
    let (stage, bounds, entries) = assigned(&[11, 11], 3, 10, by_type("Duplicated", json!([]))).await;
    assert_eq!((&*bounds, &*entries), ("3..10 3..10", "member1=10 member2=10"), "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn g2_duplicated_follows_the_candidates() {
    let mut more = by_type("Duplicated", json!([]));
    more["clusterAffinity"] = json!({"exclude": ["member4"]});
    let (stage, bounds, entries) = assigned(&[1, 4, 20, 5, 0], 3, 10, more).await;
    // member1 runs what member4 ran, until the HPAs measure its load.
    assert_eq!(bounds, "6..10 3..10 3..10 - 3..10", "{:?}", stage.messages().await);
    assert_eq!(entries, "member1=6 member2=4 member3=10 member5=3");
}

#[tokio::test(start_paused = true)]
async fn g3_and_g4_static_weights() {
    let list: Vec<Value> =
        [1, 2, 3].iter().map(|at| json!({"targetCluster": only(&format!("member{at}")), "staticWeight": at})).collect();
    for (replicas, zero, expected) in [
        ([0, 1, 2], false, "member1=1 member2=1 member3=2"),
        ([0, 1, 2], true, "member1=0 member2=1 member3=2"),
        ([1, 4, 0], false, "member1=1 member2=4 member3=1"),
        ([1, 4, 0], true, "member1=1 member2=4 member3=0"),
    ] {
        let mut more = by_type("StaticWeighted", json!(list));
        more["scalingToZero"] = json!(zero);
        let (stage, bounds, entries) = assigned(&replicas, 2, 10, more).await;
        assert_eq!((&*bounds, &*entries), ("1..1 1..4 1..5", expected), "{:?}", stage.messages().await);
        assert_eq!(stage.budget.most(), 10);
    }
}
