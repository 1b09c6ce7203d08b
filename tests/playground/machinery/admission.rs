//! Admission webhooks: who is asked, what is sent, and what comes of the answers. Over real TLS on loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fhpa::playground::apiserver::admission::{AdmissionRequest, Chain, Kind, Mutated, Operation, Refused, Resource};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::bed::webhook::{Respond, Webhook, allowed, certificate, denied, entry, patched};

fn configuration(name: &str, webhooks: Vec<Value>) -> Value {
    json!({"metadata": {"name": name}, "webhooks": webhooks})
}

fn chain() -> Chain {
    let next = AtomicUsize::new(0);
    Chain::new(move || format!("uid-{}", next.fetch_add(1, Ordering::Relaxed)))
}

fn request() -> AdmissionRequest {
    let text = str::to_owned;
    AdmissionRequest {
        operation: Operation::Create,
        kind: Kind { group: text("apps"), version: text("v1"), kind: text("Deployment") },
        resource: Resource { group: text("apps"), version: text("v1"), resource: text("deployments") },
        subresource: String::new(),
        equivalents: Vec::new(),
        name: text("web"),
        namespace: text("shop"),
        namespace_labels: Some(json!({"team": "a"})),
        object: Some(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}}, "spec": {"replicas": 1},
        })),
        old_object: None,
        options: Some(json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"})),
        dry_run: false,
        user: json!({"username": "admin", "groups": ["system:masters"]}),
    }
}

async fn mutate(chain: &Chain, request: &AdmissionRequest) -> Result<Mutated, Refused> {
    chain.mutate(request, &|_| {}).await
}

fn message(refused: &Refused) -> &str {
    refused.status["message"].as_str().unwrap()
}

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
async fn a_failed_call_refuses_unless_the_webhook_fails_open() {
    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    let client = json!({"url": format!("https://{closed}/x")});
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![entry("a.e.com", client.clone())])]);
    let refused = chain.validate(&request()).await.unwrap_err();
    let why = format!(
        "failed calling webhook \"a.e.com\": failed to call webhook: Post \"https://{closed}/x?timeout=10s\": dial tcp \
         {closed}: connect: connection refused"
    );
    assert_eq!(
        refused.status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": format!("Internal error occurred: {why}"), "reason": "InternalError",
            "details": {"causes": [{"message": why}]}, "code": 500,
        })
    );
    let mut open = entry("a.e.com", client);
    open["failurePolicy"] = "Ignore".into();
    chain.set_validating(&[configuration("c", vec![open.clone()])]);
    assert_eq!(chain.validate(&request()).await, Ok(Vec::new()));
    chain.set_mutating(&[configuration("c", vec![open])]);
    assert_eq!(mutate(&chain, &request()).await.unwrap().object, request().object);
}

#[tokio::test]
async fn a_denial_holds_even_when_the_webhook_fails_open() {
    let hook = Webhook::start(|review| denied(review, json!({"message": "no"}))).await;
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", json!({"failurePolicy": "Ignore"}))])]);
    assert!(chain.validate(&request()).await.is_err());
}

async fn call_failure(hook: Value) -> String {
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![hook])]);
    let text = message(&chain.validate(&request()).await.unwrap_err()).to_owned();
    let prefix = "Internal error occurred: failed calling webhook \"a.e.com\": ";
    text.strip_prefix(prefix).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_named() {
    let hook = Webhook::start(|review| (200, allowed(review))).await;
    let text = call_failure(entry("a.e.com", json!({"url": hook.url}))).await;
    assert!(
        text.ends_with("tls: failed to verify certificate: x509: certificate signed by unknown authority"),
        "{text}"
    );
    let (config, ca) = certificate("other.example.com");
    let hook = Webhook::with(config, ca, Arc::new(|review| (200, allowed(review)))).await;
    let text = call_failure(hook.entry("a.e.com", json!({}))).await;
    assert!(text.contains("x509: certificate is") && text.contains("other.example.com"), "{text}");
    assert_eq!(hook.calls(), 0);
}

#[tokio::test]
async fn answers_that_cannot_be_used_are_failed_calls() {
    let cases: [(Respond, &str); 6] = [
        (
            Arc::new(|_| (500, json!("boom"))),
            "an error on the server (\"boom\") has prevented the request from succeeding",
        ),
        (Arc::new(|_| (404, json!("nothing"))), "the server could not find the requested resource"),
        (Arc::new(|_| (403, json!({"kind": "Status", "message": "go away"}))), "go away"),
        (
            Arc::new(|_| (200, json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}))),
            "webhook response was absent",
        ),
        (
            Arc::new(|review| {
                let mut answer = allowed(review);
                answer["response"]["uid"] = "other".into();
                (200, answer)
            }),
            "received invalid webhook response: expected response.uid=\"uid-0\", got \"other\"",
        ),
        (
            Arc::new(|review| patched(review, json!([]))),
            "received invalid webhook response: validating webhook may not return response.patch",
        ),
    ];
    for (respond, expected) in cases {
        let (config, ca) = certificate("127.0.0.1");
        let hook = Webhook::with(config, ca, respond).await;
        let text = call_failure(hook.entry("a.e.com", json!({}))).await;
        assert!(text.ends_with(expected), "{text}");
    }
}

#[tokio::test]
async fn a_webhook_that_does_not_answer_in_time_has_failed() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://{}/x", listener.local_addr().unwrap());
    let mut hook = entry("a.e.com", json!({"url": url}));
    hook["timeoutSeconds"] = 1.into();
    let text = call_failure(hook).await;
    assert_eq!(text, format!("failed to call webhook: Post \"{url}?timeout=1s\": context deadline exceeded"));
}

#[tokio::test]
async fn services_cannot_be_called_and_the_refusal_says_what_can() {
    let text = call_failure(entry("a.e.com", json!({"service": {"name": "s", "namespace": "n"}}))).await;
    assert!(text.contains("service \"s\" in namespace \"n\"") && text.contains("clientConfig.url"), "{text}");
}

/// Whether a webhook with these members is asked about the request.
async fn asked(more: Value, request: &AdmissionRequest) -> bool {
    let hook = Webhook::start(|review| (200, allowed(review))).await;
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", more)])]);
    chain.validate(request).await.unwrap();
    hook.calls() > 0
}

fn rule(groups: &str, versions: &str, operations: &str, resources: &str, scope: &str) -> Value {
    json!({"rules": [{"apiGroups": [groups], "apiVersions": [versions], "operations": [operations],
                      "resources": [resources], "scope": scope}]})
}

#[tokio::test]
async fn rules_choose_by_group_version_operation_resource_and_scope() {
    let cases = [
        (rule("apps", "v1", "CREATE", "deployments", "*"), true),
        (rule("apps", "v1", "*", "*", "Namespaced"), true),
        (rule("apps", "v1", "*", "*/*", "Namespaced"), true),
        (rule("*", "*", "*", "deployments", "Cluster"), false),
        (rule("", "v1", "CREATE", "deployments", "*"), false),
        (rule("apps", "v2", "CREATE", "deployments", "*"), false),
        (rule("apps", "v1", "UPDATE", "deployments", "*"), false),
        (rule("apps", "v1", "CREATE", "deployments/status", "*"), false),
        (rule("apps", "v1", "CREATE", "*/scale", "*"), false),
    ];
    for (more, expected) in cases {
        assert_eq!(asked(more.clone(), &request()).await, expected, "{more}");
    }
    let status = AdmissionRequest { subresource: "status".to_owned(), ..request() };
    assert!(asked(rule("apps", "v1", "*", "deployments/*", "*"), &status).await);
    assert!(asked(rule("apps", "v1", "*", "*/status", "*"), &status).await);
    assert!(!asked(rule("apps", "v1", "*", "deployments", "*"), &status).await);
}

#[tokio::test]
async fn other_versions_of_a_resource_count_when_the_policy_is_equivalent() {
    let old = Resource { group: "apps".into(), version: "v1beta1".into(), resource: "deployments".into() };
    let kind = Kind { group: "apps".into(), version: "v1beta1".into(), kind: "Deployment".into() };
    let request = AdmissionRequest { equivalents: vec![(old, kind)], ..request() };
    let mut more = rule("apps", "v1beta1", "*", "deployments", "*");
    let hook = Webhook::start(|review| (200, allowed(review))).await;
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", more.clone())])]);
    chain.validate(&request).await.unwrap();
    let seen = hook.seen.lock().unwrap()[0]["request"].clone();
    assert_eq!(seen["kind"]["version"], "v1beta1");
    assert_eq!(seen["requestKind"]["version"], "v1");
    assert_eq!(seen["object"]["apiVersion"], "apps/v1beta1");
    more["matchPolicy"] = "Exact".into();
    assert!(!asked(more, &request).await);
}

#[tokio::test]
async fn selectors_choose_by_labels_of_the_namespace_and_of_the_object() {
    let select = |key: &str, labels: Value| json!({key: {"matchLabels": labels}});
    assert!(asked(select("namespaceSelector", json!({"team": "a"})), &request()).await);
    assert!(!asked(select("namespaceSelector", json!({"team": "b"})), &request()).await);
    assert!(asked(select("objectSelector", json!({"app": "web"})), &request()).await);
    assert!(!asked(select("objectSelector", json!({"app": "db"})), &request()).await);
    let express = |operator: &str, values: Value| json!({"objectSelector": {"matchExpressions": [{"key": "app", "operator": operator, "values": values}]}});
    assert!(asked(express("In", json!(["web", "db"])), &request()).await);
    assert!(!asked(express("NotIn", json!(["web"])), &request()).await);
    assert!(asked(express("Exists", json!([])), &request()).await);
    assert!(!asked(express("DoesNotExist", json!([])), &request()).await);
    let gone =
        AdmissionRequest { object: None, old_object: request().object, operation: Operation::Delete, ..request() };
    assert!(asked(select("objectSelector", json!({"app": "web"})), &gone).await);
    let cluster_wide = AdmissionRequest { namespace: String::new(), namespace_labels: None, ..request() };
    assert!(asked(select("namespaceSelector", json!({"team": "b"})), &cluster_wide).await);
}

#[tokio::test]
async fn a_new_namespace_is_selected_by_its_own_labels() {
    let request = AdmissionRequest {
        kind: Kind { group: String::new(), version: "v1".into(), kind: "Namespace".into() },
        resource: Resource { group: String::new(), version: "v1".into(), resource: "namespaces".into() },
        name: "new".into(),
        namespace: "new".into(),
        namespace_labels: None,
        object: Some(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": {"team": "b"}}}),
        ),
        ..request()
    };
    assert!(asked(json!({"namespaceSelector": {"matchLabels": {"team": "b"}}}), &request).await);
    assert!(!asked(json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}), &request).await);
}

fn condition(expression: &str) -> Value {
    json!({"matchConditions": [{"name": "c", "expression": expression}]})
}

#[tokio::test]
async fn conditions_spare_a_webhook_the_requests_they_are_false_for() {
    let cases = [
        ("object.spec.replicas > 0", true),
        ("object.spec.replicas > 5", false),
        ("request.operation == 'CREATE' && request.userInfo.username == 'admin'", true),
        ("!('system:masters' in request.userInfo.groups)", false),
        ("oldObject == null", true),
        ("has(object.spec.paused)", false),
        ("request.subResource == '' && request.resource.resource == 'deployments'", true),
    ];
    for (expression, expected) in cases {
        assert_eq!(asked(condition(expression), &request()).await, expected, "{expression}");
    }
}

#[tokio::test]
async fn a_condition_that_cannot_be_evaluated_forbids_unless_the_webhook_fails_open() {
    let hook = Webhook::start(|review| (200, allowed(review))).await;
    let chain = chain();
    let mut more = condition("object.spec.missing == 1");
    chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", more.clone())])]);
    let refused = chain.validate(&request()).await.unwrap_err();
    assert_eq!(
        message(&refused),
        "deployments.apps \"web\" is forbidden: expression 'object.spec.missing == 1' resulted in error: no such key: missing"
    );
    assert_eq!(refused.status["code"], 403);
    more["failurePolicy"] = "Ignore".into();
    assert!(!asked(more, &request()).await);
    assert_eq!(hook.calls(), 0);
}

#[tokio::test]
async fn a_dry_run_asks_only_webhooks_without_side_effects() {
    let dry = AdmissionRequest { dry_run: true, ..request() };
    assert!(asked(json!({"sideEffects": "NoneOnDryRun"}), &dry).await);
    let hook = Webhook::start(|review| (200, allowed(review))).await;
    let chain = chain();
    chain.set_validating(&[configuration("c", vec![hook.entry("a.e.com", json!({"sideEffects": "Some"}))])]);
    let refused = chain.validate(&dry).await.unwrap_err();
    assert_eq!(message(&refused), "admission webhook \"a.e.com\" does not support dry run");
    assert_eq!((refused.status["code"].clone(), hook.calls()), (json!(400), 0));
}

#[tokio::test]
async fn configurations_of_webhooks_are_never_judged_by_webhooks() {
    let request = AdmissionRequest {
        kind: Kind {
            group: "admissionregistration.k8s.io".into(),
            version: "v1".into(),
            kind: "MutatingWebhookConfiguration".into(),
        },
        ..request()
    };
    assert!(!asked(json!({}), &request).await);
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

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let bad = configuration("c", vec![entry("a.e.com", json!({"url": "https://x", "caBundle": "%%%"}))]);
    assert!(Chain::unreadable(&bad).is_some());
    assert_eq!(Chain::unreadable(&configuration("c", vec![entry("a.e.com", json!({"url": "https://x"}))])), None);
}
