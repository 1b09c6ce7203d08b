//! Events of the controller: a bounded queue and a task that posts them, so that no reconcile waits. I/O: the API
//! server.
//!
//! The recorder of `kube` searches and keeps every event of the last six minutes at each post, and adds to the count of
//! an old event where the run is a new one; here each run has its own event, and nothing is kept after the post.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::PostParams;
use kube::core::Request;
use serde::de::IgnoredAny;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::failure::{Asked, Failure};
use super::managers;
use super::request::send;
use crate::decision::backoff::{self, ErrorClass};
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;

/// `reportingController` of every event.
pub const CONTROLLER: &str = "fhpa.karmada.io/controller";

/// Most bytes of queued events: those of some hundred thousand runs of one minute.
pub const WAITING: usize = 64 << 20;

/// Most posts in flight.
const IN_FLIGHT: usize = 8;

/// Number of attempts before an event is dropped.
const TRIES: u32 = 4;

/// How long a stop waits for queued events.
const DRAIN: Duration = Duration::from_secs(5);

/// Longest `note` that the API server accepts, in bytes.
pub const NOTE: usize = 1024;

/// Longest `reportingInstance` that the API server accepts, in bytes.
const INSTANCE: usize = 128;

/// Longest part of an event's name that comes from its object: 253 minus a dot and 16 digits.
const NAME: usize = 236;

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// An expected change.
    Normal,
    /// A problem that a user should look at.
    Warning,
}

/// The object of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// `autoscaling.karmada.io/v1alpha1`
    pub api_version: Cow<'static, str>,
    /// `CronFederatedHPA`
    pub kind: Cow<'static, str>,
    /// Namespace.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
    /// uid; empty when it is not known.
    pub uid: Box<str>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Record {
    /// Type of the event.
    pub severity: Severity,
    /// Reason, in CamelCase.
    pub reason: Cow<'static, str>,
    /// Action, in CamelCase.
    pub action: &'static str,
    /// A sentence; truncated at 1024 bytes.
    pub note: String,
    /// Time of the event.
    pub at: Timestamp,
    /// The object that the event is about. The event is in its namespace.
    pub regarding: Reference,
    /// The object that was changed.
    pub related: Option<Reference>,
}

impl Record {
    /// Bytes that it uses while queued.
    #[must_use]
    pub fn weight(&self) -> usize {
        let about = |object: &Reference| {
            let texts = [&*object.api_version, &*object.kind, &*object.namespace, &*object.name, &*object.uid];
            texts.map(str::len).iter().sum::<usize>()
        };
        let objects = about(&self.regarding).saturating_add(self.related.as_ref().map_or(0, about));
        size_of::<Queued>().saturating_add(self.note.len()).saturating_add(objects)
    }
}

/// Why an event was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// The queue was full.
    QueueFull,
    /// This process no longer leads.
    LeaseLost,
    /// The API server rejected it, or every attempt failed.
    Failed,
    /// The process stopped first.
    Stopped,
}

impl Dropped {
    /// Label of metrics and logs.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::LeaseLost => "lease_lost",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Counts the result of each event.
pub trait Observer: Send + Sync {
    /// The event was stored.
    fn posted(&self);
    /// The event was dropped.
    fn dropped(&self, why: Dropped);
}

impl Observer for ControllerMetrics {
    fn posted(&self) {
        self.events_posted.inc();
    }

    fn dropped(&self, _: Dropped) {
        self.events_dropped.inc();
    }
}

/// Accepts events; clones feed the same queue.
#[derive(Clone)]
pub struct Events {
    queue: mpsc::UnboundedSender<Queued>,
    /// Free bytes; each event holds its own until it is posted.
    room: Arc<Semaphore>,
    observer: Arc<dyn Observer>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("free", &self.room.available_permits()).finish_non_exhaustive()
    }
}

struct Queued {
    leader: Leader,
    record: Record,
    room: OwnedSemaphorePermit,
}

impl Events {
    /// Creates a queue and the task that empties it: spawn [`Poster::run`]. `instance` is the name of this process.
    pub fn new(client: Client, instance: &str, observer: Arc<dyn Observer>) -> (Self, Poster) {
        let (queue, records) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(WAITING));
        let instance = if instance.is_empty() { "fhpa" } else { cut(instance, INSTANCE) };
        let post = Post { client, instance: instance.into(), count: AtomicU64::new(0), observer: observer.clone() };
        (Self { queue, room, observer }, Poster { records, post })
    }

    /// Queues an event; drops and counts it when the queue is full. Never blocks.
    pub fn record(&self, leader: &Leader, mut record: Record) {
        let end = cut(&record.note, NOTE).len();
        record.note.truncate(end);
        record.note.shrink_to_fit();
        let weight = u32::try_from(record.weight()).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(weight) else {
            return self.observer.dropped(Dropped::QueueFull);
        };
        if self.queue.send(Queued { leader: leader.clone(), record, room }).is_err() {
            self.observer.dropped(Dropped::Stopped);
        }
    }
}

/// Posts queued events.
pub struct Poster {
    records: mpsc::UnboundedReceiver<Queued>,
    post: Post,
}

impl std::fmt::Debug for Poster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").field("waiting", &self.records.len()).finish_non_exhaustive()
    }
}

impl Poster {
    /// Posts until `stop` is true or all [`Events`] are dropped, and then the queued events for a few seconds. The
    /// lease must be held until this returns, or the rest is dropped.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let Self { mut records, post } = self;
        let mut posts = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(()) = posts.next() => {}
                queued = records.recv(), if posts.len() < IN_FLIGHT => match queued {
                    Some(queued) => posts.push(post.post(queued)),
                    None => break,
                },
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        records.close();
        let drained = timeout(DRAIN, async {
            loop {
                while posts.len() < IN_FLIGHT
                    && let Ok(queued) = records.try_recv()
                {
                    posts.push(post.post(queued));
                }
                if posts.next().await.is_none() {
                    break;
                }
            }
        });
        if drained.await.is_err() {
            let lost = posts.len().saturating_add(records.len());
            (0..lost).for_each(|_| post.observer.dropped(Dropped::Stopped));
            warn!(lost, "Events were lost because the process stopped");
        }
    }
}

/// State for posting one event.
struct Post {
    client: Client,
    instance: Box<str>,
    count: AtomicU64,
    observer: Arc<dyn Observer>,
}

impl Post {
    async fn post(&self, Queued { leader, record, room }: Queued) {
        drop(room);
        let namespace = if record.regarding.namespace.is_empty() { "default" } else { &record.regarding.namespace };
        let requests = Request::new(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
        let name = self.name(&record);
        let shown = format!("Event {namespace}/{name}");
        let body = serde_json::to_vec(&self.event(name, namespace, &record)).unwrap_or_default();
        let parameters = PostParams { field_manager: Some(managers::EVENTS.to_owned()), ..PostParams::default() };
        let asked = Asked { verb: "create", group: "events.k8s.io", resource: "events", object: &shown };
        for failures in 1..=TRIES {
            if leader.check().is_err() {
                return self.observer.dropped(Dropped::LeaseLost);
            }
            match send::<IgnoredAny>(&self.client, requests.create(&parameters, body.clone()), asked).await {
                // A conflict: only this event has the name, so an earlier attempt was stored and its response was lost.
                Ok(_) | Err(Failure { class: ErrorClass::Conflict, .. }) => return self.observer.posted(),
                Err(failure) if failure.class == ErrorClass::Transient && failures < TRIES => {
                    sleep(backoff::wait(failure.class, failures, &shown, failure.retry_after)).await;
                }
                Err(failure) => {
                    warn!(%failure, reason = &*record.reason, "dropped an Event");
                    break;
                }
            }
        }
        self.observer.dropped(Dropped::Failed);
    }

    /// A unique name: that of the object, with a fingerprint of process, time and reconcile.
    fn name(&self, record: &Record) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut hasher = DefaultHasher::new();
        (&self.instance, record.at, count, &record.regarding.uid).hash(&mut hasher);
        let object = cut(&record.regarding.name, NAME).trim_end_matches(['.', '-']);
        format!("{object}.{:016x}", hasher.finish())
    }

    fn event(&self, name: String, namespace: &str, record: &Record) -> Event {
        let severity = match record.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        Event {
            metadata: ObjectMeta { name: Some(name), namespace: Some(namespace.to_owned()), ..ObjectMeta::default() },
            type_: Some(severity.to_owned()),
            reason: Some(record.reason.to_string()),
            action: Some(record.action.to_owned()),
            note: Some(record.note.clone()),
            event_time: Some(MicroTime(record.at)),
            regarding: Some(reference(&record.regarding)),
            related: record.related.as_ref().map(reference),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.to_string()),
            ..Event::default()
        }
    }
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

/// The first `bytes` of `text`, cut at a character boundary.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
