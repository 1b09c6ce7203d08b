//! Admission webhooks: which are called, the requests, and the effect of responses. Over real TLS on the loopback
//! interface.

mod answers;
mod choice;
mod failures;

use std::sync::atomic::{AtomicUsize, Ordering};

use embedded_apiserver::admission::{AdmissionRequest, Chain, Kind, Mutated, Operation, Refused, Resource};
use serde_json::{Value, json};

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
