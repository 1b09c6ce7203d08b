//! Conformance of admission: the embedded server and a real kube-apiserver call the same webhooks, over TLS, in the
//! same order, and treat their responses alike.
//!
//! Configurations are limited to the namespace of their line, because all lines share the real server.

use http::Method;
use serde_json::{Value, json};

use crate::bed::{
    Bed,
    webhook::{Webhook, allowed, denied, entry, patched},
};

const ROOT: &str = "/apis/admissionregistration.k8s.io/v1";

/// How often the real server is asked until it has seen a registration.
const ATTEMPTS: usize = 2000;

/// A port of this machine where nothing listens.
const NOBODY: &str = "https://127.0.0.1:1/review";

fn map(name: &str, data: &Value) -> Value {
    json!({"metadata": {"name": name}, "data": data})
}

/// Stores a configuration (`mutating` or `validating`) for configmaps of the line's namespace.
async fn register(bed: &Bed, sort: &str, name: &str, mut webhooks: Vec<Value>) {
    for webhook in &mut webhooks {
        let own = json!({"matchLabels": {"kubernetes.io/metadata.name": bed.namespace}});
        webhook["namespaceSelector"] = own;
        webhook["rules"] =
            json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]);
    }
    let name = format!("{name}.{}", bed.namespace);
    let configuration = json!({"metadata": {"name": name}, "webhooks": webhooks});
    let made = bed.post(&format!("{ROOT}/{sort}webhookconfigurations"), &configuration).await;
    assert_eq!(made.code, 201, "{made:?}");
}

/// Sends dry runs until all of `hooks` have been asked; then forgets what they were asked.
async fn until_asked(bed: &Bed, hooks: &[&Webhook]) {
    let path = format!("{}?dryRun=All", bed.path("v1", "configmaps"));
    for _ in 0..ATTEMPTS {
        bed.post(&path, &map("probe", &json!({}))).await;
        if hooks.iter().all(|hook| hook.calls() > 0) {
            hooks.iter().for_each(|hook| hook.seen.lock().unwrap().clear());
            return;
        }
    }
    panic!("the webhooks are never asked");
}

/// A webhook that adds its letter to `data.order`, with a warning.
async fn letter(letter: &'static str) -> Webhook {
    Webhook::start(move |review| {
        let object = &review["request"]["object"];
        let order = object["data"]["order"].as_str().unwrap_or_default();
        let patch = match &object["data"] {
            Value::Null => json!([{"op": "add", "path": "/data", "value": {"order": letter}}]),
            _ => json!([{"op": "add", "path": "/data/order", "value": format!("{order}{letter}")}]),
        };
        let is_deletion = review["request"]["operation"] == "DELETE";
        let mut answer = if is_deletion { (200, allowed(review)) } else { patched(review, patch) };
        answer.1["response"]["warnings"] = json!([format!("{letter} was here")]);
        answer
    })
    .await
}

/// What a webhook was asked, without what differs from run to run.
fn asked(hook: &Webhook) -> Value {
    let one = |review: &Value| {
        let request = &review["request"];
        let [new, old] = ["object", "oldObject"].map(|which| request[which]["data"].clone());
        json!([
            review["apiVersion"],
            review["kind"],
            request["operation"],
            request["name"],
            request["namespace"],
            request["kind"],
            request["resource"],
            request["requestResource"],
            request["subResource"],
            request["dryRun"],
            request["options"],
            request["userInfo"]["username"].is_string(),
            new,
            old
        ])
    };
    hook.seen.lock().unwrap().iter().map(one).collect()
}

#[tokio::test]
async fn mutating_webhooks_come_in_order_of_their_names_and_validating_ones_see_the_outcome() {
    Bed::same("admission order", "line-admission-order", async |bed| {
        let (a, b, c) = (letter("a").await, letter("b").await, letter("c").await);
        let judge = Webhook::start(|review| {
            let mut answer = allowed(review);
            answer["response"]["warnings"] = json!(["judged"]);
            (200, answer)
        })
        .await;
        register(bed, "validating", "0", vec![judge.entry("judge.e.com", json!({}))]).await;
        register(bed, "mutating", "z", vec![a.entry("a.e.com", json!({})), c.entry("c.e.com", json!({}))]).await;
        register(bed, "mutating", "b", vec![b.entry("z.e.com", json!({}))]).await;
        until_asked(bed, &[&a, &b, &c, &judge]).await;
        let maps = bed.path("v1", "configmaps");
        let path = format!("{maps}/x");
        let said = [
            bed.post(&maps, &map("x", &json!({"own": "1"}))).await,
            bed.post(
                &maps,
                &json!({"metadata": {"name": "y", "labels": {"own": "1"}, "annotations": {}, "finalizers": []}}),
            )
            .await,
            bed.patch("merge", &path, &json!({"data": {"order": null}})).await,
            bed.patch(
                "apply",
                &format!("{path}?fieldManager=one"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "x"}, "data": {"applied": "1"}}),
            )
            .await,
            bed.post(&format!("{maps}?dryRun=All"), &map("dry", &json!({}))).await,
            bed.delete(&path, &Value::Null).await,
            bed.ask(Method::DELETE, &format!("{maps}?labelSelector=own"), &[], "").await,
        ];
        let said: Vec<Value> = said.iter().map(|answer| answer.steady()).collect();
        json!([said, asked(&a), asked(&b), asked(&c), asked(&judge)])
    })
    .await;
}

#[tokio::test]
async fn a_webhook_that_cannot_be_reached_refuses_or_lets_through_as_its_policy_says() {
    Bed::same("failure policies", "line-admission-failure", async |bed| {
        let (before, beside) = (letter("m").await, Webhook::start(|review| (200, allowed(review))).await);
        let broken = Webhook::start(|_| (500, json!("out of order"))).await;
        let silent = |name: &str, policy: &str, label: &str| {
            let mut entry = entry(name, json!({"url": NOBODY}));
            entry["failurePolicy"] = policy.into();
            entry["timeoutSeconds"] = 3.into();
            entry["objectSelector"] = json!({"matchLabels": {"for": label}});
            entry
        };
        let selected = |policy: &str, label: &str| {
            json!({"failurePolicy": policy, "objectSelector": {"matchLabels": {"for": label}}})
        };
        let mutating = vec![
            before.entry("first.e.com", json!({})),
            silent("closed.e.com", "Fail", "mutating-fail"),
            silent("open.e.com", "Ignore", "mutating-ignore"),
        ];
        let validating = vec![
            beside.entry("first.e.com", json!({})),
            silent("closed.e.com", "Fail", "validating-fail"),
            silent("open.e.com", "Ignore", "validating-ignore"),
            broken.entry("broken.e.com", selected("Fail", "broken-fail")),
            broken.entry("broken-open.e.com", selected("Ignore", "broken-ignore")),
        ];
        register(bed, "mutating", "m", mutating).await;
        register(bed, "validating", "v", validating).await;
        until_asked(bed, &[&before, &beside]).await;
        let mut said = Vec::new();
        for label in [
            "mutating-fail",
            "mutating-ignore",
            "validating-fail",
            "validating-ignore",
            "broken-fail",
            "broken-ignore",
            "nobody",
        ] {
            let mut object = map(label, &json!({}));
            object["metadata"]["labels"] = json!({"for": label});
            let answer = bed.post(&bed.path("v1", "configmaps"), &object).await;
            said.push(json!([label, answer.refusal(), answer.warnings, answer.body["data"]]));
        }
        json!([said, broken.calls()])
    })
    .await;
}

#[tokio::test]
async fn match_conditions_choose_what_a_webhook_is_asked() {
    Bed::same("match conditions", "line-admission-conditions", async |bed| {
        let (sentinel, some, strict, lax) = (letter("s").await, letter("n").await, letter("x").await, letter("y").await);
        let condition = |expression: &str| json!([{"name": "chosen", "expression": expression}]);
        let broken = "object.data.absent == 'x' || object.metadata.name == 'probe'";
        let entries = vec![
            sentinel.entry("sentinel.e.com", json!({})),
            some.entry("some.e.com", json!({"matchConditions": [
                {"name": "named", "expression": "object == null || object.metadata.name.startsWith('pro') || object.metadata.name == 'yes'"},
                {"name": "told", "expression": "request.operation != 'DELETE'"}]})),
            lax.entry("lax.e.com", json!({"failurePolicy": "Ignore", "matchConditions": condition(broken),
                "objectSelector": {"matchExpressions": [{"key": "strict", "operator": "DoesNotExist"}]}})),
            strict.entry("strict.e.com", json!({"matchConditions": condition(broken),
                "objectSelector": {"matchLabels": {"strict": "yes"}}})),
        ];
        register(bed, "mutating", "c", entries).await;
        until_asked(bed, &[&sentinel, &some]).await;
        let maps = bed.path("v1", "configmaps");
        let mut said = Vec::new();
        for (name, strict) in [("yes", false), ("no", false), ("broken", true)] {
            let mut object = map(name, &json!({"own": "1"}));
            if strict {
                object["metadata"]["labels"] = json!({"strict": "yes"});
            }
            let answer = bed.post(&maps, &object).await;
            said.push(json!([answer.refusal(), answer.warnings, answer.body["data"]]));
        }
        said.push(json!(bed.delete(&format!("{maps}/yes"), &Value::Null).await.code));
        json!([said, asked(&some), asked(&strict), asked(&lax)])
    })
    .await;
}

#[tokio::test]
async fn a_webhook_is_asked_again_when_it_wishes_and_a_later_one_made_a_change() {
    Bed::same("reinvocation", "line-admission-again", async |bed| {
        let (again, once, last) = (letter("a").await, letter("b").await, letter("c").await);
        let quiet = Webhook::start(|review| (200, allowed(review))).await;
        let policy = json!({"reinvocationPolicy": "IfNeeded"});
        let entries = vec![
            again.entry("again.e.com", policy.clone()),
            once.entry("once.e.com", json!({"reinvocationPolicy": "Never"})),
            quiet.entry("quiet.e.com", policy.clone()),
        ];
        register(bed, "mutating", "a", entries).await;
        register(bed, "mutating", "b", vec![last.entry("last.e.com", policy)]).await;
        until_asked(bed, &[&again, &once, &quiet, &last]).await;
        let made = bed.post(&bed.path("v1", "configmaps"), &map("x", &json!({}))).await;
        json!([made.steady(), asked(&again), asked(&once), asked(&quiet), asked(&last)])
    })
    .await;
}

#[tokio::test]
async fn denials_and_warnings_reach_the_client() {
    Bed::same("denials", "line-admission-denials", async |bed| {
        let judge = Webhook::start(|review| {
            let name = review["request"]["name"].as_str().unwrap_or_default();
            let cause = json!({"reason": "FieldValueInvalid", "message": "Invalid value: 1", "field": "data.x"});
            let mut answer = match name {
                "plain" => denied(review, json!({"message": "too many"})),
                "forbidden" => denied(review, json!({"reason": "Forbidden", "code": 403})),
                "causes" => denied(
                    review,
                    json!({"message": "bad", "reason": "Invalid", "code": 422, "details": {"causes": [cause]}}),
                ),
                "silent" => denied(review, Value::Null),
                "patching" => patched(review, json!([{"op": "add", "path": "/data", "value": {}}])),
                _ => (200, allowed(review)),
            };
            answer.1["response"]["warnings"] = json!([format!("careful with {name}"), "\"quoted\" \\ text"]);
            answer
        })
        .await;
        register(bed, "validating", "d", vec![judge.entry("judge.e.com", json!({}))]).await;
        until_asked(bed, &[&judge]).await;
        let mut said = Vec::new();
        for name in ["plain", "forbidden", "causes", "silent", "patching", "good"] {
            let answer = bed.post(&bed.path("v1", "configmaps"), &map(name, &json!({}))).await;
            said.push(json!([name, answer.refusal(), answer.warnings]));
        }
        Value::Array(said)
    })
    .await;
}
