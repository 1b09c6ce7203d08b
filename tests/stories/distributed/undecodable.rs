//! A Cluster that cannot be decoded, as one of a later Karmada: it is there all the same.

use fhpa::playground::objects::{Kind, Written};
use serde_json::{Value, json};

use super::Stage;
use super::edits::running;

/// A definition of Clusters that takes any value for their zones.
async fn define(stage: &Stage) {
    let kind = Kind::regular("apiextensions.k8s.io/v1", "CustomResourceDefinition", false);
    let mut definition = stage.control.get(&kind, "", "clusters.cluster.karmada.io").await.unwrap().unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    definition.pointer_mut(spec).unwrap()["zones"] = json!({"x-kubernetes-preserve-unknown-fields": true});
    let versions = json!({"spec": {"versions": definition["spec"]["versions"]}});
    assert!(matches!(stage.control.merge(&kind, &definition, "", &versions).await, Ok(Written::Done(_))));
}

async fn is_decodable(stage: &Stage, is: bool) {
    let zones = if is { Value::Null } else { json!({"of": "a later version"}) };
    stage.patch_cluster("member3", json!({"spec": {"zones": zones}})).await;
}

async fn is_as_it_was(stage: &Stage) {
    let found = (stage.bounds().await, stage.entries().await, stage.replicas().await);
    let entries = "member1=1 member2=1 member3=1";
    assert_eq!(found, ("1..1 1..4 1..5".into(), entries.into(), "1 1 1".into()), "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_can_no_longer_be_decoded_stays_as_it_was() {
    let (stage, _one) = running().await;
    define(&stage).await;
    is_decodable(&stage, false).await;
    stage.pass(420).await;
    is_as_it_was(&stage).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    // What is known of it is known after a new list, too.
    stage.fleet.control().faults().drop_watches();
    stage.pass(420).await;
    is_as_it_was(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_a_new_process_cannot_decode_keeps_what_it_has() {
    let (stage, one) = running().await;
    define(&stage).await;
    is_decodable(&stage, false).await;
    one.stop().await;
    let _two = stage.leads("two").await;
    stage.pass(900).await;
    is_as_it_was(&stage).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=False MembersUnreachable"]);
    is_decodable(&stage, true).await;
    stage.pass(120).await;
    is_as_it_was(&stage).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}
