//! Leaders that die at any write, and those that follow them.

use embedded_apiserver::faults::{Hold, Moment, Which};
use embedded_apiserver::status::StatusError;
use fhpa::playground::json::name;
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, hpa, weights};
use crate::stories::which;

/// Holds the `nth` request of a kind; those before it go through.
async fn nth(stage: &Stage, which: Which, moment: Moment, nth: usize) -> Hold {
    let faults = stage.fleet.control().faults();
    let mut held = faults.hold(which.clone(), moment);
    held.reached().await;
    for _ in 1..nth {
        let next = faults.hold(which.clone(), moment);
        drop(std::mem::replace(&mut held, next));
        held.reached().await;
    }
    held
}

/// The leader is killed at one of its requests after `act`; another one ends what was begun.
async fn killed(which: Which, moment: Moment, count: usize, act: Act) -> Stage {
    let (stage, one) = Stage::divided(3, &[1, 2, 3]).await;
    if act != Act::Create {
        stage.hpa(2, 10, json!({})).await;
        stage.pass(10).await;
    }
    let mut two = stage.controller("two");
    stage.pass(1).await;
    let kill = async {
        let held = nth(&stage, which.clone(), moment, count).await;
        one.kill().await;
        drop(held);
    };
    let begin = async {
        match act {
            Act::Create => stage.hpa(2, 10, json!({})).await,
            Act::Lower => stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 6}})).await,
            Act::Turn => {
                let policy = json!({"federatedHPAAssignmentType": "StaticWeighted"});
                stage.patch("FederatedHPA", "web", json!({"spec": {"federatedHPAAssignment": policy}})).await;
            }
            Act::Delete => stage.delete("FederatedHPA", "web").await,
        }
    };
    let (reached, ()) = tokio::join!(tokio::time::timeout(std::time::Duration::from_secs(60), kill), begin);
    assert!(reached.is_ok(), "{which:?} was never asked {count} times");
    two.leads().await;
    stage.pass(100).await;
    let what = format!("{which:?} {moment:?} {count} {act:?}");
    if act == Act::Delete {
        assert!(stage.find("FederatedHPA", "web").await.is_none(), "{what}");
        let binding = stage.get("ResourceBinding", "web-deployment").await;
        assert_eq!(
            (&binding["spec"]["suspension"]["scheduling"], &*stage.bounds().await),
            (&Value::Null, "- - -"),
            "{what}"
        );
        assert_eq!(stage.replicas().await, "1 1 1", "{what}");
    } else {
        let bounds = match act {
            Act::Create => "1..1 1..4 1..5",
            Act::Lower => "1..1 1..2 1..3",
            _ => "1..4 1..3 1..3",
        };
        assert_eq!(stage.bounds().await, bounds, "{what}: {:?}", stage.messages().await);
        assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"], "{what}");
    }
    assert!(stage.budget.most() <= 10, "{what}: {}", stage.budget.history());
    two.stop().await;
    stage
}

/// A write that is stored and that no watch tells of yet.
#[tokio::test(start_paused = true)]
async fn a_new_leader_knows_what_its_predecessor_wrote_last() {
    let (stage, one) = running().await;
    let mut two = stage.controller("two");
    stage.pass(1).await;
    let faults = stage.fleet.control().faults();
    let divide = async |by: &[i64]| {
        stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(by)}})).await;
    };
    // The third member is lowered, then the first is raised.
    let (raise, ()) = tokio::join!(nth(&stage, which("patch", "works"), Moment::Arriving, 2), divide(&[3, 2, 1]));
    let mut stalled = [
        faults.hold(which("watch", "works"), Moment::Arriving),
        faults.hold(which("watch", "works"), Moment::Arriving),
    ];
    faults.drop_watches();
    for watch in &mut stalled {
        watch.reached().await;
    }
    let mut answer = faults.hold(which("patch", "works"), Moment::Answered);
    drop(raise);
    answer.reached().await;
    one.kill().await;
    drop(answer);
    divide(&[1, 2, 3]).await;
    two.leads().await;
    stage.pass(3).await;
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    drop(stalled);
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
}

/// A new leader that cannot list: each object would list everything again.
#[tokio::test(start_paused = true)]
async fn a_new_leader_whose_lists_fail_tries_them_again_after_waits_that_all_objects_share() {
    let (stage, one) = running().await;
    for name in (0..40).map(|number| format!("other-{number}")) {
        let mut other = hpa(1, 2, json!({}));
        (other["metadata"]["name"], other["spec"]["scaleTargetRef"]["name"]) = (json!(name), json!(name));
        stage.create(other).await;
    }
    let faults = stage.fleet.control().faults();
    let mut two = stage.controller("two");
    stage.pass(1).await;
    faults.fail(which("list", "clusters"), usize::MAX, StatusError::plain(503, "ServiceUnavailable", "busy"));
    let before = faults.count("list", "federatedhpas");
    one.stop().await;
    two.leads().await;
    stage.pass(30).await;
    let lists = faults.count("list", "federatedhpas") - before;
    assert!((3..=12).contains(&lists), "{lists} lists in 30 s");
    faults.heal();
    stage.pass(30).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Create,
    Lower,
    Turn,
    Delete,
}

const MOMENTS: [Moment; 2] = [Moment::Arriving, Moment::Answered];

#[tokio::test(start_paused = true)]
async fn a_leader_killed_at_any_write_of_a_new_object_is_followed() {
    for (verb, resource, count) in [
        ("patch", "federatedhpas", 1),
        ("patch", "federatedhpas/status", 1),
        ("patch", "resourcebindings", 1),
        ("patch", "deployments", 1),
        ("create", "works", 1),
        ("create", "works", 3),
        ("patch", "resourcebindings/status", 1),
    ] {
        for moment in MOMENTS {
            killed(which(verb, resource), moment, count, Act::Create).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_killed_at_any_write_of_a_change_is_followed() {
    for (resource, count, act) in [
        ("federatedhpas/status", 1, Act::Lower),
        ("works", 1, Act::Lower),
        ("works", 2, Act::Lower),
        ("federatedhpas/status", 1, Act::Turn),
        ("works", 1, Act::Turn),
        ("works", 2, Act::Turn),
        ("works", 3, Act::Turn),
    ] {
        for moment in MOMENTS {
            killed(which("patch", resource), moment, count, act).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_killed_at_any_write_of_a_release_is_followed() {
    for (verb, resource, count) in [
        ("delete", "works", 1),
        ("delete", "works", 3),
        ("patch", "deployments", 1),
        ("patch", "resourcebindings", 1),
        ("patch", "federatedhpas", 1),
    ] {
        for moment in MOMENTS {
            let stage = killed(which(verb, resource), moment, count, Act::Delete).await;
            assert_eq!(name(&stage.get("Deployment", "web").await), "web");
        }
    }
}
