//! The preview matches the later assignment, and afterwards nothing is left to do.

use fhpa::api::FederatedHPA;
use fhpa::decision::plan::Share;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::run::forecast::{Forecast, live};
use serde_json::json;

use super::{Stage, hpa, weights};

/// Bounds by cluster and the number of steps, as told now.
async fn told(stage: &Stage, hpa: &FederatedHPA) -> (String, usize) {
    let objects = live::objects(&stage.fleet.control().client(), hpa).await.unwrap();
    let bounds = |share: &Share<'_>| share.target.to_string();
    let tell = |forecast: &Forecast<'_>| {
        let all: Vec<_> = forecast.plan.shares.iter().map(bounds).collect();
        (all.join(" "), forecast.plan.steps.len())
    };
    objects.forecast(hpa, Rooms::default(), stage.wall.clock()(), tell).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_is_told_beforehand_is_what_then_happens() {
    let stage = Stage::new(3).await;
    stage.web(3, weights(&[1, 2, 3])).await;
    let wanted: FederatedHPA = serde_json::from_value(hpa(2, 10, json!({}))).unwrap();
    let (bounds, steps) = told(&stage, &wanted).await;
    assert_eq!((bounds.as_str(), steps > 0), ("1..1 1..4 1..5", true));
    let mut one = stage.controller("one");
    one.leads().await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, bounds);
    let stored: FederatedHPA = serde_json::from_value(stage.get("FederatedHPA", "web").await).unwrap();
    assert_eq!(told(&stage, &stored).await, (bounds, 0));
    one.stop().await;
}
