//! The task that posts queued events. I/O: the API server.

use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::iter::repeat_n;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::{Event, EventSeries, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::warn;

use super::repeats::{Posting, Repeats};
use super::{CONTROLLER, DRAIN, Dropped, IN_FLIGHT, IN_FLIGHT_BUSY, NAME, Observer, Queued, Record, Reference};
use super::{Severity, TRIES, cut};
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::managers;
use crate::controller::request::send;
use crate::decision::backoff::{self, ErrorClass};
use crate::runtime::clock::steady;
use crate::runtime::leader::Leader;

/// Posts queued events.
pub struct Poster {
    records: mpsc::UnboundedReceiver<Queued>,
    post: Post,
    lately: Lately,
}

impl std::fmt::Debug for Poster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").field("waiting", &self.records.len()).finish_non_exhaustive()
    }
}

impl Poster {
    pub(super) fn new(
        records: mpsc::UnboundedReceiver<Queued>,
        client: Client,
        instance: &str,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let lately = Lately {
            repeats: Repeats::default(),
            hasher: RandomState::new(),
            instance: instance.into(),
            named: 0,
            open: 0,
        };
        Self { records, post: Post { client, instance: instance.into(), observer }, lately }
    }

    /// Posts until `stop` is true or all [`Events`](super::Events) are dropped, and then the queued events for a few
    /// seconds. The lease must be held until this returns, or the rest is dropped.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let Self { mut records, post, mut lately } = self;
        let mut posts = FuturesUnordered::new();
        loop {
            let most = if post.observer.is_busy() { IN_FLIGHT_BUSY } else { IN_FLIGHT };
            let (room, due) = (posts.len() < most, lately.repeats.next());
            let next = tokio::select! {
                Some(ended) = posts.next() => {
                    lately.end(ended);
                    None
                }
                queued = records.recv(), if room => match queued {
                    Some(queued) => lately.add(queued),
                    None => break,
                },
                () = until(due), if room => lately.repeats.pop(steady()),
                _ = stop.wait_for(|stop| *stop) => break,
            };
            posts.extend(next.map(|posting| post.send(posting)));
        }
        records.close();
        let drained = timeout(DRAIN, async {
            loop {
                while posts.len() < IN_FLIGHT {
                    let next = match records.try_recv() {
                        Ok(queued) => lately.add(queued),
                        Err(_) if lately.repeats.next().is_none() => break,
                        Err(_) => lately.repeats.pop(steady()),
                    };
                    posts.extend(next.map(|posting| post.send(posting)));
                }
                let Some(ended) = posts.next().await else { break };
                lately.end(ended);
            }
        });
        if drained.await.is_err() {
            let lost = lately.open.saturating_add(records.len());
            repeat_n(Dropped::Stopped, lost).for_each(|why| post.observer.dropped(why));
            warn!(lost, "Events were lost because the process stopped");
        }
    }
}

/// Returns at `due`; never without one.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What was recorded lately.
struct Lately {
    repeats: Repeats<Queued>,
    hasher: RandomState,
    instance: Box<str>,
    /// Number of Events that were named.
    named: u64,
    /// Number of records that are in flight or wait for a request.
    open: usize,
}

impl Lately {
    /// Adds a record: the request to send now, if any.
    fn add(&mut self, queued: Queued) -> Option<Posting<Queued>> {
        self.open = self.open.saturating_add(1);
        self.named = self.named.wrapping_add(1);
        let record = &queued.record;
        let Record { severity, reason, action, note, at, regarding, related } = record;
        let key = self.hasher.hash_one((severity, reason, action, note, regarding, related));
        // A unique name: that of the object, with a fingerprint of process, time and number.
        let mut hasher = DefaultHasher::new();
        (&self.instance, at, self.named, &regarding.uid).hash(&mut hasher);
        let object = cut(&regarding.name, NAME).trim_end_matches(['.', '-']);
        let name = format!("{object}.{:016x}", hasher.finish());
        self.repeats.add(key, queued, &name, steady())
    }

    /// Takes in that requests about so many records ended.
    fn end(&mut self, records: usize) {
        self.open = self.open.saturating_sub(records);
    }
}

/// Why a request had no effect.
enum Unsent {
    LeaseLost,
    Failed(Failure),
}

/// Sends requests.
struct Post {
    client: Client,
    instance: Box<str>,
    observer: Arc<dyn Observer>,
}

impl Post {
    /// Sends one request, and counts how its records ended. Returns their number.
    async fn send(&self, posting: Posting<Queued>) -> usize {
        let Posting { record: Queued { leader, record, room }, name, count, records } = posting;
        drop(room);
        let dropped = match self.write(&leader, &record, &name, (count, records)).await {
            Ok(()) => None,
            Err(Unsent::LeaseLost) => Some(Dropped::LeaseLost),
            Err(Unsent::Failed(failure)) => {
                warn!(%failure, reason = &*record.reason, lost = records, "dropped an Event");
                Some(Dropped::Failed)
            }
        };
        let records = usize::try_from(records).unwrap_or(usize::MAX);
        repeat_n(dropped, records).for_each(|dropped| match dropped {
            None => self.observer.posted(),
            Some(why) => self.observer.dropped(why),
        });
        records
    }

    /// Creates the Event, or sets its count. Where it is gone it is created again; where repeats may not be counted, they
    /// are an Event of their own.
    async fn write(
        &self,
        leader: &Leader,
        record: &Record,
        name: &str,
        (count, records): (u32, u32),
    ) -> Result<(), Unsent> {
        if count == 1 {
            return self.create(leader, record, name, count).await;
        }
        match self.count(leader, record, name, count).await {
            Err(Unsent::Failed(failure)) if failure.reason == reason::NOT_FOUND => {
                self.create(leader, record, name, count).await
            }
            Err(Unsent::Failed(failure)) if failure.class == ErrorClass::Refused => {
                warn!(%failure, "repeats of Events are not counted, but Events of their own");
                self.create(leader, record, &format!("{name}-{count}"), records).await
            }
            ended => ended,
        }
    }

    async fn create(&self, leader: &Leader, record: &Record, name: &str, count: u32) -> Result<(), Unsent> {
        let namespace = namespace(record);
        let requests = requests(namespace);
        let parameters = PostParams { field_manager: Some(managers::EVENTS.to_owned()), ..PostParams::default() };
        let body = serde_json::to_vec(&self.event(name, record, count)).unwrap_or_default();
        let shown = format!("Event {namespace}/{name}");
        match self.attempt(leader, asked("create", &shown), || requests.create(&parameters, body.clone())).await {
            // Only this Event has the name: an earlier attempt was stored and its response was lost.
            Err(Unsent::Failed(Failure { class: ErrorClass::Conflict, .. })) => Ok(()),
            ended => ended,
        }
    }

    /// Sets the `count` of the Event of that name; a second attempt does no harm.
    async fn count(&self, leader: &Leader, record: &Record, name: &str, count: u32) -> Result<(), Unsent> {
        let namespace = namespace(record);
        let requests = requests(namespace);
        let series = series(record, count);
        let patch = Patch::Merge(json!({"count": series.count, "lastTimestamp": Time(record.at), "series": series}));
        let parameters = PatchParams { field_manager: Some(managers::EVENTS.to_owned()), ..PatchParams::default() };
        let shown = format!("Event {namespace}/{name}");
        self.attempt(leader, asked("patch", &shown), || requests.patch(name, &parameters, &patch)).await
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

    /// An Event of the core group: that of `events.k8s.io` must not have the times that `kubectl get events
    /// --sort-by=.lastTimestamp` sorts by.
    fn event(&self, name: &str, record: &Record, count: u32) -> Event {
        let severity = match record.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        };
        let (name, namespace) = (Some(name.to_owned()), Some(namespace(record).to_owned()));
        Event {
            metadata: ObjectMeta { name, namespace, ..ObjectMeta::default() },
            type_: Some(severity.to_owned()),
            reason: Some(record.reason.to_string()),
            action: Some(record.action.to_owned()),
            message: Some(record.note.clone()),
            event_time: Some(MicroTime(record.at)),
            first_timestamp: Some(Time(record.at)),
            last_timestamp: Some(Time(record.at)),
            count: Some(i32::try_from(count).unwrap_or(i32::MAX)),
            series: (count > 1).then(|| series(record, count)),
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
