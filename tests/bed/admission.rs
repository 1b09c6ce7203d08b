//! fhpa's webhook within the API server: suspends Karmada's scheduler for new bindings, with its own watches.

use std::borrow::Cow;
use std::sync::Arc;

use embedded_apiserver::admission::{AdmissionRequest, Operation as Done};
use embedded_apiserver::{ApiServer, Plugin};
use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::{Operation, Request};
use fhpa::admission::object::Object;
use fhpa::admission::review::{Idle, Reviewer};
use fhpa::admission::verdict::PatchOperation;
use fhpa::decision::defaults::Mode;
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
    let plugin: Plugin = Arc::new(move |_: &ApiServer, request: &AdmissionRequest, object: &mut Value| {
        if request.operation == Done::Create {
            suspend(&reviewer, object);
        }
        Ok(())
    });
    server.admit_by("resourcebindings", &plugin);
    tasks
}

fn suspend(reviewer: &Reviewer, object: &mut Value) {
    let text = object.to_string();
    let request = Request {
        uid: Cow::Borrowed("u"),
        operation: Operation::Create,
        namespace: Cow::Borrowed("prod"),
        name: Cow::Borrowed("web"),
        sub_resource: Cow::Borrowed(""),
        dry_run: false,
        object: Some(Object::new(&text)),
        old_object: None,
    };
    let verdict = reviewer.review(Endpoint::MutateResourceBinding, &request, Timestamp::UNIX_EPOCH);
    for operation in verdict.patch {
        let PatchOperation::Add { path, value } = operation;
        let keys: Vec<String> = path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
        json::set(object, &keys.iter().map(String::as_str).collect::<Vec<_>>(), value);
    }
}
