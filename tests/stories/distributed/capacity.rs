//! Stories of policies that go by the room in clusters.

use std::sync::Arc;

use fhpa::reconcile::distributed::capacity::Rooms;
use serde_json::json;

use super::{Stage, weights};
use crate::stories::Process;

#[tokio::test(start_paused = true)]
async fn what_clusters_say_of_themselves_is_the_room_they_have() {
    let stage = Stage::new(2).await;
    let mut one = Process::start_with(stage.fleet.control(), "one", &stage.wall, Arc::new(Rooms::default()));
    one.leads().await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MembersScale"]);
    one.stop().await;
}
