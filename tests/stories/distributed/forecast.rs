//! The preview matches the later assignment, and afterwards nothing is left to do.

use fhpa::api::FederatedHPA;
use fhpa::decision::plan::Share;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::run::forecast::centralized::Settings;
use fhpa::run::forecast::{Forecast, live};
use serde_json::json;

use super::edits::running;
use super::{Stage, hpa, weights};
use crate::forecast::preview::Judged;

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
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, bounds);
    let stored: FederatedHPA = serde_json::from_value(stage.get("FederatedHPA", "web").await).unwrap();
    assert_eq!(told(&stage, &stored).await, (bounds, 0));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_mode_is_told_with_what_members_run() {
    let (stage, _one) = running().await;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "1 4 5");
    let asked = stage.get("Deployment", "web").await["spec"]["replicas"].clone();
    assert_eq!(asked, json!(3), "the template asks for others");
    let mut wanted = stage.get("FederatedHPA", "web").await;
    wanted["spec"]["mode"] = json!("Centralized");
    let judged = Judged::by(stage.fleet.control()).await;
    let told = judged.told(&wanted, true).await;
    assert!(told[0].starts_with("Centralized: Deployment web has 10 replicas in 3 clusters"), "{told:?}");
    let wanted: FederatedHPA = serde_json::from_value(wanted).unwrap();
    let client = stage.fleet.control().client();
    let objects = live::objects(&client, &wanted).await.unwrap();
    let now = stage.wall.clock()();
    let current = objects.compute_on(&client, &wanted, &Settings::default(), now, |of| of.current).await.unwrap();
    assert_eq!(current, Some(10));
}
