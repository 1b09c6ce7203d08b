//! Requests to webhooks, and the effect of their responses.

use embedded_apiserver::admission::{AdmissionRequest, Operation};
use serde_json::{Value, json};

use super::{chain, configuration, message, mutate, request};
use crate::bed::webhook::{Webhook, allowed, denied, patched};

#[tokio::test]
async fn a_review_says_all_that_kubernetes_says() {
    let hook = Webhook::start(|review| (200, allowed(review))).await;
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", json!({}))])]);
    assert_eq!(chain.validate(&request()).await, Ok(Vec::new()));
    let seen = hook.seen.lock().unwrap()[0].clone();
    let deployments = json!({"group": "apps", "version": "v1", "resource": "deployments"});
    let deployment = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(
        seen,
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "uid-0", "kind": deployment, "resource": deployments, "requestKind": deployment,
                "requestResource": deployments, "name": "web", "namespace": "shop", "operation": "CREATE",
                "userInfo": {"username": "admin", "groups": ["system:masters"]},
                "object": request().object, "oldObject": null, "dryRun": false, "options": request().options,
            },
        })
    );
}

#[tokio::test]
async fn mutations_follow_each_other_in_the_order_of_configuration_names() {
    let first = Webhook::start(|review| {
        let mut answer = patched(review, json!([{"op": "add", "path": "/spec/order", "value": ["first"]}]));
        answer.1["response"]["warnings"] = json!(["from first"]);
        answer
    })
    .await;
    let second =
        Webhook::start(|review| patched(review, json!([{"op": "add", "path": "/spec/order/-", "value": "second"}])))
            .await;
    let chain = chain();
    chain.set_mutating(&[
        configuration("z", vec![second.entry("second.e.com", json!({}))]),
        configuration("a", vec![first.entry("first.e.com", json!({}))]),
    ]);
    let normalize = |object: &mut Value| object["spec"]["defaulted"] = true.into();
    let mutated = chain.mutate(&request(), &normalize).await.unwrap();
    assert_eq!(
        mutated.object.unwrap()["spec"],
        json!({"replicas": 1, "order": ["first", "second"], "defaulted": true})
    );
    assert_eq!(mutated.warnings, ["from first"]);
    assert_eq!(second.seen.lock().unwrap()[0]["request"]["object"]["spec"]["defaulted"], true);
}

#[tokio::test]
async fn a_webhook_is_asked_again_when_a_later_one_changed_the_object() {
    let count = |review: &Value| {
        let at = review["request"]["object"]["spec"]["asked"].as_i64().unwrap_or(0) + 1;
        patched(review, json!([{"op": "add", "path": "/spec/asked", "value": at}]))
    };
    let (again, once) = (Webhook::start(count).await, Webhook::start(count).await);
    let chain = chain();
    chain.set_mutating(&[configuration(
        "c",
        vec![
            again.entry("again.e.com", json!({"reinvocationPolicy": "IfNeeded"})),
            once.entry("once.e.com", json!({})),
        ],
    )]);
    let mutated = mutate(&chain, &request()).await.unwrap();
    assert_eq!((again.calls(), once.calls()), (2, 1));
    assert_eq!(mutated.object.unwrap()["spec"]["asked"], 3);
}

#[tokio::test]
async fn nobody_is_asked_again_when_nothing_changed() {
    let quiet = Webhook::start(|review| (200, allowed(review))).await;
    let chain = chain();
    let policy = json!({"reinvocationPolicy": "IfNeeded"});
    chain.set_mutating(&[configuration(
        "c",
        vec![quiet.entry("a.e.com", policy.clone()), quiet.entry("b.e.com", policy)],
    )]);
    assert_eq!(mutate(&chain, &request()).await.unwrap().object, request().object);
    assert_eq!(quiet.calls(), 2);
}

#[tokio::test]
async fn denials_read_as_on_kubernetes() {
    let cases = [
        (json!({"message": "too many"}), "admission webhook \"a.e.com\" denied the request: too many", 400),
        (
            json!({"reason": "Forbidden", "code": 403}),
            "admission webhook \"a.e.com\" denied the request: Forbidden",
            403,
        ),
        (json!({"code": 200}), "admission webhook \"a.e.com\" denied the request without explanation", 400),
        (json!(null), "admission webhook \"a.e.com\" denied the request without explanation", 400),
    ];
    for (status, text, code) in cases {
        let hook = Webhook::start(move |review| denied(review, status.clone())).await;
        let chain = chain();
        chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", json!({}))])]);
        let refused = chain.validate(&request()).await.unwrap_err();
        assert_eq!(message(&refused), text);
        assert_eq!(refused.status["code"], code);
        assert_eq!(refused.status["status"], "Failure");
    }
}

#[tokio::test]
async fn causes_and_warnings_of_a_denial_are_passed_on() {
    let hook = Webhook::start(|review| {
        let causes = json!([{"reason": "FieldValueInvalid", "message": "Invalid value: 1", "field": "spec.x"}]);
        let status = json!({"message": "bad", "reason": "Invalid", "code": 422, "details": {"causes": causes}});
        let mut answer = denied(review, status);
        answer.1["response"]["warnings"] = json!(["careful"]);
        answer
    })
    .await;
    let chain = chain();
    chain.set_mutating(&[configuration("c", vec![hook.entry("a.e.com", json!({}))])]);
    let refused = mutate(&chain, &request()).await.unwrap_err();
    assert_eq!(refused.status["details"]["causes"][0]["field"], "spec.x");
    assert_eq!((refused.status["code"].clone(), refused.status["reason"].clone()), (json!(422), json!("Invalid")));
    assert_eq!(refused.warnings, ["careful"]);
}

#[tokio::test]
async fn a_deletion_cannot_be_patched() {
    let hook = Webhook::start(|review| patched(review, json!([{"op": "add", "path": "/x", "value": 1}]))).await;
    let chain = chain();
    chain.set_mutating(&[configuration("c", vec![hook.entry("a.e.com", json!({}))])]);
    let request =
        AdmissionRequest { operation: Operation::Delete, object: None, old_object: request().object, ..request() };
    let refused = mutate(&chain, &request).await.unwrap_err();
    assert_eq!(
        message(&refused),
        "Internal error occurred: admission webhook \"a.e.com\" attempted to modify the object, which is not supported for \
         this operation"
    );
}

#[tokio::test]
async fn warnings_of_all_validating_webhooks_are_collected() {
    let warn = |text: &'static str| {
        move |review: &Value| {
            let mut answer = allowed(review);
            answer["response"]["warnings"] = json!([text]);
            (200, answer)
        }
    };
    let (a, b) = (Webhook::start(warn("one")).await, Webhook::start(warn("two")).await);
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![a.entry("a.e.com", json!({})), b.entry("b.e.com", json!({}))])]);
    assert_eq!(chain.validate(&request()).await.unwrap(), ["one", "two"]);
}
