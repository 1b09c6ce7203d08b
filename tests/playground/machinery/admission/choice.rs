//! Which webhooks are called: rules, selectors, conditions.

use embedded_apiserver::admission::{AdmissionRequest, Kind, Operation, Resource};
use serde_json::{Value, json};

use super::{chain, configuration, message, request};
use crate::bed::webhook::{Webhook, allowed};

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
