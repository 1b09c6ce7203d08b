//! `behavior.scaleUp` of the user bounds the help between clusters over time, in the status as in the members.

use fhpa::playground::json::{int, items, text};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Stage;
use super::help::{fleet, work};

/// What the status remembers of the second member: seconds since then, absent while requested, and replicas.
async fn remembered(stage: &Stage) -> Vec<(Option<i64>, i64)> {
    let hpa = stage.get("FederatedHPA", "web").await;
    let Some(desired) = items(&hpa, "/status/clusterHPADesired").get(1) else { return Vec::new() };
    let age = |time: &str| (stage.wall.now() - time.parse::<Timestamp>().unwrap()).get_seconds();
    let entry = |one: &Value| {
        let time = text(one, "/time");
        ((!time.is_empty()).then(|| age(time)), int(one, "/replicas").unwrap_or_default())
    };
    items(desired, "/recentScaleUps").iter().map(entry).collect()
}

#[tokio::test(start_paused = true)]
async fn help_within_a_period_is_within_the_policies_together_and_is_forgotten_without_further_writes() {
    let stage = fleet(&[(6, 6), (2, 54)]).await;
    let _one = stage.leads_by_room("one").await;
    work(&stage, 8);
    let pods = json!({"type": "Pods", "value": 2, "periodSeconds": 60});
    let behavior = json!({"scaleUp": {"policies": [pods], "stabilizationWindowSeconds": 0},
        "scaleDown": {"stabilizationWindowSeconds": 60}});
    stage.hpa(3, 80, json!({"autoscaleMultiClusterDelay": 5, "behavior": behavior})).await;
    stage.pass(40).await;
    work(&stage, 24);
    let mut helped = 0;
    for _ in 0..240 {
        stage.pass(1).await;
        let now = remembered(&stage).await;
        let recent: i64 = now.iter().filter(|(age, _)| age.is_none_or(|age| age < 60)).map(|(_, more)| more).sum();
        assert!(recent <= 2, "{now:?}");
        helped += now.iter().filter(|(age, _)| *age == Some(1)).map(|(_, more)| more).sum::<i64>();
    }
    // As soon as the policies allow it again, until all that is missing runs: at 0, 60 and 120 seconds.
    assert_eq!(helped, 5, "{}", stage.replicas().await);
    work(&stage, 8);
    stage.pass(600).await;
    assert_eq!(remembered(&stage).await, []);
    let writes = || stage.fleet.control().faults().count("patch", "federatedhpas/status");
    assert!(writes() > 0);
    let before = writes();
    stage.pass(3_600).await;
    assert_eq!(writes(), before);
}
