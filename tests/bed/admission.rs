//! fhpa's webhook within the API server, as far as it mutates objects: it suspends Karmada's scheduler for new bindings,
//! keeps the label of workloads, and completes FederatedHPAs. It has its own watches.

use std::sync::Arc;

use embedded_apiserver::admission::{AdmissionRequest, Operation as Done};
use embedded_apiserver::{ApiServer, Plugin};
use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::{Operation, Request};
use fhpa::admission::review::{Idle, Reviewer};
use fhpa::admission::verdict::PatchOperation;
use fhpa::decision::defaults::Mode;
use fhpa::decision::names::{RETAIN_REPLICAS, RETENTION_MANAGER};
use fhpa::decision::validation::Settings;
use fhpa::playground::json;
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Index, Readers, Watches};
use fhpa::runtime::zones::ZoneDatabase;
use jiff::Timestamp;
use serde_json::Value;
use tokio::task::JoinSet;

/// Starts it; it lasts as long as what is returned.
pub fn webhook(server: &ApiServer) -> JoinSet<()> {
    webhook_beside(server, None)
}

/// As [`webhook`], in the process of a controller, which knows whether any acts.
pub fn webhook_beside(server: &ApiServer, idle: Option<Idle>) -> JoinSet<()> {
    let index = Arc::new(Index::default());
    let readers = Readers::default().with_index(&index, Some(Mode::Distributed));
    let mut tasks = JoinSet::new();
    tasks.spawn(Watches::new(readers, &Readiness::default()).run(server.client(), Arc::new(Metrics::new())));
    let zones = Arc::new(ZoneDatabase::bundled());
    let reviewer =
        Reviewer { related_objects: index, zones, settings: Settings::default(), preview: None, frozen: None, idle };
    let reviewer = Arc::new(reviewer);
    let bindings: Plugin = {
        let reviewer = Arc::clone(&reviewer);
        Arc::new(move |_: &ApiServer, request: &AdmissionRequest, object: &mut Value| {
            if request.operation == Done::Create {
                mutate(&reviewer, Endpoint::MutateResourceBinding, request, object);
            }
            Ok(())
        })
    };
    server.admit_by("resourcebindings", &bindings);
    let federated: Plugin = {
        let reviewer = Arc::clone(&reviewer);
        Arc::new(move |_: &ApiServer, request: &AdmissionRequest, object: &mut Value| {
            if lives(request) {
                mutate(&reviewer, Endpoint::MutateFederatedHPA, request, object);
            }
            Ok(())
        })
    };
    server.admit_by("federatedhpas", &federated);
    let workloads: Plugin = Arc::new(move |_: &ApiServer, request: &AdmissionRequest, object: &mut Value| {
        if loses_label(request, object) {
            mutate(&reviewer, Endpoint::MutateWorkload, request, object);
        }
        Ok(())
    });
    for plural in ["deployments", "statefulsets"] {
        server.admit_by(plural, &workloads);
    }
    tasks
}

/// What the registration asks the webhook about FederatedHPAs, but for changes of the spec of one that is deleted.
fn lives(request: &AdmissionRequest) -> bool {
    let deleted = |old: &Value| old["metadata"]["deletionTimestamp"].is_string();
    request.subresource.is_empty()
        && matches!(request.operation, Done::Create | Done::Update)
        && !request.old_object.as_ref().is_some_and(deleted)
}

/// What the registration asks the webhook about workloads.
fn loses_label(request: &AdmissionRequest, object: &Value) -> bool {
    let labelled = |object: &Value| json::label(object, RETAIN_REPLICAS) == "true";
    let manager = request.options.as_ref().and_then(|options| options["fieldManager"].as_str());
    request.operation == Done::Update
        && request.old_object.as_ref().is_some_and(labelled)
        && !labelled(object)
        && manager != Some(RETENTION_MANAGER)
}

fn mutate(reviewer: &Reviewer, endpoint: Endpoint, asked: &AdmissionRequest, object: &mut Value) {
    let operation = if asked.old_object.is_some() { Operation::Update } else { Operation::Create };
    let manager = asked.options.as_ref().and_then(|options| options["fieldManager"].as_str()).unwrap_or_default();
    let request = Request {
        uid: "u".to_owned(),
        operation,
        namespace: asked.namespace.clone(),
        name: asked.name.clone(),
        dry_run: false,
        field_manager: manager.to_owned(),
        object: Some(object.clone()),
        old_object: asked.old_object.clone(),
    };
    let verdict = reviewer.review(endpoint, &request, Timestamp::UNIX_EPOCH);
    for operation in verdict.patch {
        let PatchOperation::Add { path, value } = operation;
        let keys: Vec<String> = path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
        json::set(object, &keys.iter().map(String::as_str).collect::<Vec<_>>(), value);
    }
}
