//! Webhooks that cannot be called, or respond with invalid data.

use std::sync::Arc;

use embedded_apiserver::admission::Chain;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{chain, configuration, message, mutate, request};
use crate::bed::webhook::{Respond, Webhook, allowed, certificate, denied, entry, patched};

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

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let bad = configuration("c", vec![entry("a.e.com", json!({"url": "https://x", "caBundle": "%%%"}))]);
    assert!(Chain::unreadable(&bad).is_some());
    assert_eq!(Chain::unreadable(&configuration("c", vec![entry("a.e.com", json!({"url": "https://x"}))])), None);
}
