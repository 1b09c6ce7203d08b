//! Events are posted beside the reconciles, in a form that the API server accepts; repeats are counted in one, and so
//! are lost ones in a metric.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::controller::events::{Dropped, Events, Observer, Record, Reference, Severity, WAITING};
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::control::{Term, before};
use crate::bed::{Bed, within};

/// How each event ended.
#[derive(Default)]
pub(super) struct Ends(Mutex<BTreeMap<&'static str, usize>>);

impl Ends {
    pub(super) fn of(&self, end: &str) -> usize {
        self.0.lock().unwrap().get(end).copied().unwrap_or_default()
    }

    pub(super) fn all(&self) -> Value {
        json!(*self.0.lock().unwrap())
    }

    fn add(&self, end: &'static str) {
        *self.0.lock().unwrap().entry(end).or_default() += 1;
    }
}

impl Observer for Ends {
    fn posted(&self) {
        self.add("posted");
    }

    fn dropped(&self, why: Dropped) {
        self.add(why.label());
    }
}

pub(super) struct Running {
    pub(super) events: Events,
    pub(super) ends: Arc<Ends>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    pub(super) fn start(client: Client) -> Self {
        let ends = Arc::new(Ends::default());
        let (events, poster) = Events::new(client, "pod-1", ends.clone());
        let (stop, stopped) = watch::channel(false);
        Self { events, ends, stop, task: tokio::spawn(poster.run(stopped)) }
    }

    /// Stops; what waits is posted first.
    pub(super) async fn end(self) -> Arc<Ends> {
        self.stop.send_replace(true);
        self.task.await.unwrap();
        self.ends
    }
}

pub(super) fn record(namespace: &str, note: &str) -> Record {
    Record {
        severity: Severity::Normal,
        reason: "RuleExecuted".into(),
        action: "Scale",
        note: note.into(),
        at: Timestamp::from_second(1_800_000_000).unwrap(),
        regarding: Reference {
            api_version: "autoscaling.karmada.io/v1alpha1".into(),
            kind: "CronFederatedHPA".into(),
            namespace: namespace.into(),
            name: "shop".into(),
            uid: "0f0f".into(),
        },
        related: Some(Reference {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: namespace.into(),
            name: "web".into(),
            ..Reference::default()
        }),
    }
}

pub(super) async fn listed(client: &Client, namespace: &str) -> Vec<Value> {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    let list: Value = client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap();
    list["items"].as_array().cloned().unwrap()
}

#[tokio::test]
async fn an_event_is_as_the_api_server_wants_it() {
    Bed::same("events", "events-shape", async |bed| {
        let term = Term::begin().await;
        let running = Running::start(bed.client.clone());
        let longest = "\u{e9}".repeat(2_000);
        running.events.record(&term.leader, record(&bed.namespace, "set 5 replicas"));
        let mut failed = record(&bed.namespace, &longest);
        failed.severity = Severity::Warning;
        failed.regarding.name = format!("{}.{}", "a".repeat(235), "b".repeat(17)).into();
        running.events.record(&term.leader, failed);
        assert_eq!(within(running.end()).await.all(), json!({"posted": 2}));
        let mut items = listed(&bed.client, &bed.namespace).await;
        items.sort_by_key(|item| item["type"].to_string());
        for item in &mut items {
            let name = item["metadata"]["name"].as_str().unwrap().to_owned();
            let (object, fingerprint) = name.rsplit_once('.').unwrap();
            assert!(item["regarding"]["name"].as_str().unwrap().starts_with(object));
            assert!(name.len() <= 253 && fingerprint.len() == 16, "{name}");
            assert!(item["note"].as_str().unwrap().len() <= 1024);
            // Members of the older version, empty: kube-apiserver shows them.
            item.as_object_mut().unwrap().retain(|key, _| !key.starts_with("deprecated"));
            item["metadata"] = item["metadata"]["managedFields"][0]["manager"].clone();
        }
        items.into()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn runs_of_one_object_have_an_event_each() {
    let server = ApiServer::builder().build();
    let term = Term::begin().await;
    let running = Running::start(server.client());
    for run in 0..100 {
        running.events.record(&term.leader, record("default", &format!("run {run}: set 5 replicas")));
    }
    assert_eq!(running.end().await.all(), json!({"posted": 100}));
    assert_eq!(listed(&server.client(), "default").await.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_busy_api_server_is_tried_again_and_a_refusal_is_not() {
    let server = ApiServer::builder().build();
    let term = Term::begin().await;
    let running = Running::start(server.client());
    let posts = || Which { verb: "create".into(), resource: "events".into(), ..Which::default() };
    server.faults().record();
    server.faults().fail(posts(), 3, StatusError::too_many_requests(1));
    running.events.record(&term.leader, record("default", "after some tries"));
    while running.ends.of("posted") == 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(server.faults().recorded().len(), 4);
    server.faults().fail(posts(), 1, StatusError::plain(403, "Forbidden", "no"));
    running.events.record(&term.leader, record("default", "refused"));
    server.faults().fail(posts(), 4, StatusError::plain(503, "ServiceUnavailable", "down"));
    let ends = {
        tokio::time::sleep(Duration::from_secs(1)).await;
        running.events.record(&term.leader, record("default", "given up"));
        tokio::time::sleep(Duration::from_mins(1)).await;
        running.end().await
    };
    assert_eq!(ends.all(), json!({"failed": 2, "posted": 1}));
    assert_eq!(server.faults().recorded().len(), 9);
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_answer_was_lost_is_not_posted_twice() {
    let server = ApiServer::builder().build();
    let term = Term::begin().await;
    let inner = server.client();
    let lost = Arc::new(Mutex::new(true));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (inner, lost) = (inner.clone(), lost.clone());
        async move {
            let answer = inner.send(request).await;
            let first = std::mem::take(&mut *lost.lock().unwrap());
            if first { Err(std::io::Error::other("connection reset").into()) } else { answer.map_err(Box::from) }
        }
    });
    let service =
        tower::ServiceExt::<http::Request<kube::client::Body>>::map_err(service, |error: tower::BoxError| error);
    let running = Running::start(Client::new(service, "default"));
    running.events.record(&term.leader, record("default", "once"));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(running.end().await.all(), json!({"posted": 1}));
    assert_eq!(listed(&server.client(), "default").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_and_counts_and_never_blocks() {
    let server = ApiServer::builder().build();
    let term = Term::begin().await;
    server.faults().pause(true);
    let running = Running::start(server.client());
    let count = std::sync::atomic::AtomicU32::new(0);
    let many = || {
        let run = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        record("default", &format!("{run:08}{}", "too many".repeat(127)))
    };
    let (room, flown) = (WAITING / many().weight(), 8);
    for _ in 0..room + 100 {
        running.events.record(&term.leader, many());
    }
    // The task had no turn yet, so none is in flight.
    assert_eq!(running.ends.of("queue_full"), 100);
    tokio::time::sleep(Duration::from_millis(1)).await;
    for _ in 0..flown + 1 {
        running.events.record(&term.leader, many());
    }
    assert_eq!(running.ends.of("queue_full"), 101);
    let ends = running.end().await;
    let lost = ends.of("stopped") + ends.of("failed") + ends.of("lease_lost");
    assert_eq!(lost, room + flown, "a stop does not wait for an API server that is silent: {:?}", ends.all());
}

#[tokio::test(start_paused = true)]
async fn without_the_lease_no_event_is_posted() {
    let server = ApiServer::builder().build();
    let term = Term::begin().await;
    let leader = term.leader.clone();
    let (client, posts) = before(&server.client(), |_| true, async move {
        term.end().await;
    });
    let running = Running::start(client);
    for run in 0..20 {
        running.events.record(&leader, record("default", &format!("run {run}: set 5 replicas")));
    }
    let ends = running.end().await;
    assert_eq!((ends.of("posted"), ends.of("lease_lost")), (8, 12), "those in flight end");
    assert_eq!(posts.load(std::sync::atomic::Ordering::SeqCst), 8);
}
