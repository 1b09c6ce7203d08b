//! Other autoscalers of a Centralized workload.

use serde_json::json;

use super::running;
use crate::stories::distributed::scalers::plain;

#[tokio::test(start_paused = true)]
async fn an_hpa_of_a_member_is_named_while_it_is_there() {
    let (stage, _one) = running(2, json!({})).await;
    let member = stage.fleet.member("member2").unwrap();
    member.create(&plain("old")).await.unwrap();
    stage.pass(330).await;
    let (said, message) = stage.condition("Ready").await;
    assert_eq!(said, "False ConflictingScaler", "{message}");
    assert!(message.ends_with(r#"it is "old" in member2"#), "{message}");
    let objects = fhpa::playground::objects::Objects::new(member.client());
    let hpas = crate::stories::distributed::kind("HorizontalPodAutoscaler");
    let old = objects.get(&hpas, "prod", "old").await.unwrap().unwrap();
    objects.delete(&hpas, &old).await.unwrap();
    stage.pass(330).await;
    assert_eq!(stage.condition("Ready").await.0, "True TargetReady");
}

#[tokio::test(start_paused = true)]
async fn an_hpa_in_the_control_plane_is_named() {
    let (stage, _one) = running(2, json!({})).await;
    stage.create(plain("old")).await;
    stage.pass(30).await;
    let (said, message) = stage.condition("Ready").await;
    assert_eq!(said, "False ConflictingScaler", "{message}");
    assert!(message.contains(r#"HorizontalPodAutoscaler "old" scales this Deployment too"#), "{message}");
}
