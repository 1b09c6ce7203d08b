//! The normal case: from one object to member HPAs that scale.

use fhpa::playground::json::{label, text};
use serde_json::json;

use super::Stage;

#[tokio::test(start_paused = true)]
async fn one_object_becomes_an_hpa_in_every_member() {
    let (stage, _one) = Stage::divided(3, &[1, 2, 3]).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?} {:?}", stage.conditions().await, stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], json!(true));
    assert_eq!(binding["status"]["schedulerObservedGeneration"], binding["metadata"]["generation"]);
    let web = stage.get("Deployment", "web").await;
    assert_eq!(label(&web, "resourcetemplate.karmada.io/retain-replicas"), "true");
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(text(&hpa, "/metadata/finalizers/0"), "fhpa.karmada.io/finalizer");
    assert_eq!(stage.budget.most(), 10, "{}", stage.budget.history());
}
