//! One request about an Event: to create it, or to count its repeats. I/O: the API server.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::{Event, EventSeries, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::time::sleep;
use tracing::warn;

use super::series::{Step, Stored};
use super::{CONTROLLER, Dropped, NAME, Observer, Queued, Record, Reference, Severity, TRIES, cut};
use crate::controller::failure::{Asked, Failure};
use crate::controller::managers;
use crate::controller::request::send;
use crate::decision::backoff::{self, ErrorClass};
use crate::runtime::leader::Leader;

/// How a request ended.
pub(super) struct End {
    /// Of its records.
    pub(super) key: u64,
    /// Number of its records.
    pub(super) records: u32,
    /// The Event that has them; `None`: none has.
    pub(super) event: Option<Stored>,
    /// Why the records were dropped.
    pub(super) dropped: Option<Dropped>,
    /// Whether the API server refuses to count.
    pub(super) refused: bool,
}

/// Why a request had no effect.
enum Unsent {
    LeaseLost,
    Failed(Failure),
}

/// State for posting events.
pub(super) struct Post {
    client: Client,
    instance: Box<str>,
    count: AtomicU64,
    pub(super) observer: Arc<dyn Observer>,
}

impl Post {
    pub(super) fn new(client: Client, instance: &str, observer: Arc<dyn Observer>) -> Self {
        Self { client, instance: instance.into(), count: AtomicU64::new(0), observer }
    }

    /// Sends the request of `step`. Where the Event is gone or `may_count` is false, repeats are a new Event.
    pub(super) async fn send(&self, step: Step<Queued>, may_count: bool) -> End {
        let Step { key, record: Queued { leader, record, room }, records, known } = step;
        drop(room);
        let mut refused = false;
        let ended = |event, dropped, refused| End { key, records, event, dropped, refused };
        if let Some(known) = known.filter(|_| may_count) {
            let count = known.count.saturating_add(records);
            match self.add(&leader, &record, &known.name, count).await {
                Ok(()) => return ended(Some(Stored { count, ..known }), None, false),
                Err(Unsent::LeaseLost) => return ended(Some(known), Some(Dropped::LeaseLost), false),
                Err(Unsent::Failed(failure)) if failure.class == ErrorClass::Transient => {
                    warn!(%failure, reason = &*record.reason, "dropped repeats of an Event");
                    return ended(Some(known), Some(Dropped::Failed), false);
                }
                Err(Unsent::Failed(failure)) => refused = failure.class == ErrorClass::Refused,
            }
        }
        match self.create(&leader, &record, records).await {
            Ok(name) => ended(Some(Stored { name, count: records }), None, refused),
            Err(Unsent::LeaseLost) => ended(None, Some(Dropped::LeaseLost), refused),
            Err(Unsent::Failed(failure)) => {
                warn!(%failure, reason = &*record.reason, "dropped an Event");
                ended(None, Some(Dropped::Failed), refused)
            }
        }
    }

    /// Creates an Event of `records` records, and returns its name.
    async fn create(&self, leader: &Leader, record: &Record, records: u32) -> Result<Box<str>, Unsent> {
        let (name, namespace) = (self.name(record), namespace(record));
        let requests = requests(namespace);
        let parameters = PostParams { field_manager: Some(managers::EVENTS.to_owned()), ..PostParams::default() };
        let body = serde_json::to_vec(&self.event(&name, namespace, record, records)).unwrap_or_default();
        let shown = format!("Event {namespace}/{name}");
        let asked = asked("create", &shown);
        match self.attempt(leader, asked, || requests.create(&parameters, body.clone())).await {
            // Only this Event has the name: an earlier attempt was stored and its response was lost.
            Err(Unsent::Failed(Failure { class: ErrorClass::Conflict, .. })) | Ok(()) => Ok(name.into()),
            Err(unsent) => Err(unsent),
        }
    }

    /// Sets the `count` of the Event of that name; a second attempt does no harm.
    async fn add(&self, leader: &Leader, record: &Record, name: &str, count: u32) -> Result<(), Unsent> {
        let namespace = namespace(record);
        let requests = requests(namespace);
        let last = Time(record.at);
        let series = series(record, count);
        let patch = Patch::Merge(json!({"count": series.count, "lastTimestamp": last, "series": series}));
        let parameters = PatchParams { field_manager: Some(managers::EVENTS.to_owned()), ..PatchParams::default() };
        let shown = format!("Event {namespace}/{name}");
        let added = self.attempt(leader, asked("patch", &shown), || requests.patch(name, &parameters, &patch)).await;
        if let Err(Unsent::Failed(failure)) = &added
            && failure.class == ErrorClass::Refused
        {
            warn!(%failure, "repeats of Events are not counted, but Events of their own");
        }
        added
    }

    async fn attempt(
        &self,
        leader: &Leader,
        asked: Asked<'_>,
        request: impl Fn() -> Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<(), Unsent> {
        let mut failures = 0;
        loop {
            leader.check().map_err(|_| Unsent::LeaseLost)?;
            let Err(failure) = send::<IgnoredAny>(&self.client, request(), asked).await else { return Ok(()) };
            failures += 1;
            if failure.class != ErrorClass::Transient || failures >= TRIES {
                return Err(Unsent::Failed(failure));
            }
            sleep(backoff::wait(failure.class, failures, &asked.object.to_string(), failure.retry_after)).await;
        }
    }

    /// A unique name: that of the object, with a fingerprint of process, time and reconcile.
    fn name(&self, record: &Record) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut hasher = DefaultHasher::new();
        (&self.instance, record.at, count, &record.regarding.uid).hash(&mut hasher);
        let object = cut(&record.regarding.name, NAME).trim_end_matches(['.', '-']);
        format!("{object}.{:016x}", hasher.finish())
    }

    /// An Event of the core group: that of `events.k8s.io` must not have the times that `kubectl get events
    /// --sort-by=.lastTimestamp` sorts by.
    fn event(&self, name: &str, namespace: &str, record: &Record, records: u32) -> Event {
        let severity = match record.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some(severity.to_owned()),
            reason: Some(record.reason.to_string()),
            action: Some(record.action.to_owned()),
            message: Some(record.note.clone()),
            event_time: Some(MicroTime(record.at)),
            first_timestamp: Some(Time(record.at)),
            last_timestamp: Some(Time(record.at)),
            count: Some(i32::try_from(records).unwrap_or(i32::MAX)),
            series: (records > 1).then(|| series(record, records)),
            involved_object: reference(&record.regarding),
            related: record.related.as_ref().map(reference),
            reporting_component: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.to_string()),
            ..Event::default()
        }
    }
}

fn requests(namespace: &str) -> Request {
    Request::new(format!("/api/v1/namespaces/{namespace}/events"))
}

fn asked<'a>(verb: &'a str, object: &'a String) -> Asked<'a> {
    Asked { verb, group: "", resource: "events", object }
}

/// The namespace of its Event.
fn namespace(record: &Record) -> &str {
    if record.regarding.namespace.is_empty() { "default" } else { &record.regarding.namespace }
}

fn series(record: &Record, count: u32) -> EventSeries {
    let count = Some(i32::try_from(count).unwrap_or(i32::MAX));
    EventSeries { count, last_observed_time: Some(MicroTime(record.at)) }
}

fn reference(object: &Reference) -> ObjectReference {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ObjectReference {
        api_version: given(&object.api_version),
        kind: given(&object.kind),
        namespace: given(&object.namespace),
        name: given(&object.name),
        uid: given(&object.uid),
        ..ObjectReference::default()
    }
}
