//! FederatedHPAs as targets: bounds are set beside other writers.

use std::sync::atomic::Ordering;

use fhpa::reconcile::scale_target::Targets;
use http::Method;
use serde_json::{Value, json};

use super::{KARMADA, bounds, failure, fhpa, make, owners, reference, said, spec};
use crate::bed::Bed;
use crate::reconcile::control::{Term, before};

#[tokio::test]
async fn only_the_named_bounds_change_and_other_writers_keep_their_fields() {
    Bed::same("fields of others", "target-fields", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        let made = make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let path = bed.path(KARMADA, "federatedhpas/web");
        let mut lines = Vec::new();
        for action in [
            bounds(None, Some(9)),
            bounds(Some(3), None),
            bounds(None, Some(8)),
            bounds(Some(1), Some(4)),
            bounds(Some(1), Some(4)),
        ] {
            lines.push(said(&targets.set(&term.leader, &target, action).await));
            let object = bed.get(&path).await.body;
            let mut expected = made["spec"].clone();
            expected["minReplicas"] = object["spec"]["minReplicas"].clone();
            expected["maxReplicas"] = object["spec"]["maxReplicas"].clone();
            assert_eq!(object["spec"], expected);
            assert_eq!(object["metadata"]["labels"], made["metadata"]["labels"]);
            assert_eq!(object["metadata"]["annotations"], made["metadata"]["annotations"]);
            lines.push(json!([expected["minReplicas"], expected["maxReplicas"], owners(&object)]));
        }
        assert_eq!((&lines[5][0], &lines[5][1]), (&json!(3), &json!(8)), "min stays when only max is set");
        assert_eq!(lines[8], "Unchanged");
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn an_absent_minimum_counts_as_one() {
    Bed::same("nil minReplicas", "target-nil", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        make(bed, "federatedhpas", &fhpa("web", None, 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let mut lines = Vec::new();
        for action in [bounds(Some(1), None), bounds(Some(1), Some(5)), bounds(None, Some(6)), bounds(Some(3), None)] {
            let outcome = said(&targets.set(&term.leader, &target, action).await);
            let found = spec(bed, KARMADA, "federatedhpas/web").await;
            lines.push(json!([outcome, found["minReplicas"], found["maxReplicas"]]));
        }
        let expected = json!([["Unchanged", null, 5], ["Unchanged", null, 5], ["Written", null, 6], ["Written", 3, 6]]);
        assert_eq!(Value::from(lines.clone()), expected);
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn bounds_that_contradict_are_named_and_not_sent() {
    Bed::same("contradicting bounds", "target-order", async |bed| {
        let term = Term::begin().await;
        let (client, writes) = before(&bed.client, |request| request.method() == Method::PATCH, async {});
        let targets = Targets::new(client);
        make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let mut lines = Vec::new();
        for action in [bounds(Some(8), None), bounds(None, Some(1)), bounds(Some(4), Some(3))] {
            let outcome = targets.set(&term.leader, &target, action).await;
            lines.push(json!([said(&outcome), failure(&outcome.unwrap_err()).message]));
        }
        assert_eq!(writes.load(Ordering::SeqCst), 0);
        assert_eq!(
            lines[0],
            json!([
                ["refused", "InvalidBounds"],
                "targetMinReplicas 8 of the rule is above the present maxReplicas 5 of FederatedHPA target-order/web; give \
                 the rule targetMaxReplicas too, or raise maxReplicas"
            ])
        );
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn a_bound_edited_between_read_and_write_is_read_again() {
    Bed::same("an edit in between", "target-edit", async |bed| {
        let term = Term::begin().await;
        make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let (other, path) = (bed.client.clone(), bed.path(KARMADA, "federatedhpas/web"));
        let (client, writes) = before(&bed.client, |request| request.method() == Method::PATCH, async move {
            let body = json!({"spec": {"maxReplicas": 7}}).to_string().into_bytes();
            let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
            other.request::<Value>(request.body(body).unwrap()).await.unwrap();
        });
        let outcome = Targets::new(client).set(&term.leader, &target, bounds(Some(6), Some(8))).await;
        let found = spec(bed, KARMADA, "federatedhpas/web").await;
        let line = json!([said(&outcome), found["minReplicas"], found["maxReplicas"], writes.load(Ordering::SeqCst)]);
        assert_eq!(line, json!(["Written", 6, 8, 2]));
        line
    })
    .await;
}
