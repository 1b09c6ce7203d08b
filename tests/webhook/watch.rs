//! The watches, with a scripted API server. Time is paused: waiting costs nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use embedded_apiserver::ApiServer;
use fhpa::decision::defaults::Mode;
use fhpa::decision::related_objects::{RelatedObjects as _, Target};
use fhpa::run::process::{AdminPort, ControlPlane, Options};
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Index, Readers, Watches};
use futures::{StreamExt as _, channel::mpsc};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::drain::probe;
use super::tls::start;
use crate::bed::within;

type Events = mpsc::UnboundedSender<Bytes>;

/// What the API server answers for one resource.
#[derive(Default)]
struct Script {
    /// Answers to lists, one each; the last is repeated.
    lists: VecDeque<(u16, Value)>,
    /// Answers to watches, one each, before they are open.
    refusals: VecDeque<(u16, Value)>,
    /// Open watches.
    watches: Vec<Events>,
    /// Queries, in order.
    asked: Vec<String>,
}

#[derive(Clone, Default)]
struct Api {
    federated: Arc<Mutex<Script>>,
    cron: Arc<Mutex<Script>>,
    /// Lists of CronFederatedHPAs wait while this is held.
    held: Arc<tokio::sync::Mutex<()>>,
}

impl Api {
    fn router(&self) -> Router {
        Router::new().route("/apis/autoscaling.karmada.io/v1alpha1/{resource}", get(answer)).with_state(self.clone())
    }

    fn script(&self, resource: &str) -> &Mutex<Script> {
        if resource == "federatedhpas" { &self.federated } else { &self.cron }
    }

    /// Waits for a watch to be open and sends an event on it.
    async fn event(&self, resource: &str, event: Value) {
        wait(|| !self.script(resource).lock().unwrap().watches.is_empty()).await;
        let line = Bytes::from(format!("{event}\n"));
        self.script(resource).lock().unwrap().watches.last().unwrap().unbounded_send(line).unwrap();
    }
}

async fn answer(State(api): State<Api>, Path(resource): Path<String>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    if resource == "cronfederatedhpas" {
        drop(api.held.lock().await);
    }
    let mut script = api.script(&resource).lock().unwrap();
    let watching = query.contains("watch=true");
    script.asked.push(if watching { "watch".to_owned() } else { "list".to_owned() });
    let refused = if watching { script.refusals.pop_front() } else { None };
    if let Some((status, body)) = refused {
        return response(status, &body);
    }
    if watching {
        let (sender, receiver) = mpsc::unbounded();
        script.watches.push(sender);
        return Response::new(Body::from_stream(receiver.map(Ok::<_, std::io::Error>)));
    }
    let (status, body) = if script.lists.len() > 1 { script.lists.pop_front() } else { script.lists.front().cloned() }
        .expect("a scripted list");
    response(status, &body)
}

fn response(status: u16, body: &Value) -> Response {
    Response::builder().status(status).header("content-type", "application/json").body(body.to_string().into()).unwrap()
}

async fn wait(mut until: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if until() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never came");
}

fn list(objects: Vec<Value>) -> (u16, Value) {
    (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}, "items": objects}))
}

fn refusal(code: u16, reason: &str) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code}),
    )
}

fn object(kind: &str, name: &str, on: &str) -> Value {
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "prod", "resourceVersion": "11"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": on},
            "minReplicas": 2, "maxReplicas": 7, "mode": "Distributed", "rules": []
        }
    })
}

fn fhpa(name: &str, on: &str) -> Value {
    object("FederatedHPA", name, on)
}

struct Watching {
    api: Api,
    index: Arc<Index>,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
}

impl Watching {
    fn start(federated: Vec<(u16, Value)>, cron: Vec<(u16, Value)>) -> Self {
        let api = Api::default();
        api.federated.lock().unwrap().lists = federated.into();
        api.cron.lock().unwrap().lists = cron.into();
        let (index, readiness, metrics) =
            (Arc::<Index>::default(), Arc::<Readiness>::default(), Arc::new(Metrics::new()));
        let client = kube::Client::new(api.router(), "default");
        let readers = Readers::default().with_index(&index, Some(Mode::Distributed));
        tokio::spawn(Watches::new(readers, &readiness).run(client, metrics.clone()));
        Self { api, index, readiness, metrics }
    }

    fn on(&self, name: &str) -> Vec<String> {
        let target =
            Target { namespace: "prod".into(), group: "apps".into(), kind: "Deployment".into(), name: name.into() };
        self.index.federated_hpas_on(&target).into_iter().map(|known| known.name).collect()
    }

    fn missing(&self) -> Vec<&'static str> {
        self.readiness.missing(Timestamp::UNIX_EPOCH)
    }
}

#[tokio::test(start_paused = true)]
async fn the_lists_fill_the_index_and_readiness_waits_for_both() {
    let watching = Watching::start(
        vec![list(vec![fhpa("b", "web"), fhpa("a", "web"), fhpa("c", "shop")])],
        vec![
            refusal(404, "NotFound"),
            refusal(403, "Forbidden"),
            list(vec![object("CronFederatedHPA", "night", "web")]),
        ],
    );
    assert_eq!(watching.missing().len(), 2);
    wait(|| watching.missing() == ["CronFederatedHPAs are not listed yet"]).await;
    assert_eq!(watching.on("web"), ["a", "b"]);
    let known = watching.index.federated_hpa("prod", "c").unwrap();
    assert_eq!((known.min_replicas, known.max_replicas, known.distributed, known.deleting), (Some(2), 7, true, false));
    // Missing definitions and missing rights are waited out.
    wait(|| watching.missing().is_empty()).await;
    let target = known.target;
    let target = Target { name: "web".into(), ..target };
    assert_eq!(watching.index.cron_federated_hpas_on(&target)[0].name, "night");
    assert!(watching.metrics.text().contains("fhpa_watch_errors_total{kind=\"CronFederatedHPA\"} 2"));
    assert!(watching.metrics.text().contains("fhpa_known_objects{kind=\"FederatedHPA\"} 3"));
}

#[tokio::test(start_paused = true)]
async fn events_add_move_and_remove_entries() {
    let watching = Watching::start(vec![list(vec![fhpa("a", "web")])], vec![list(vec![])]);
    wait(|| watching.missing().is_empty()).await;
    let event = async |kind: &str, object: Value| {
        watching.api.event("federatedhpas", json!({"type": kind, "object": object})).await;
    };
    event("ADDED", fhpa("b", "web")).await;
    wait(|| watching.on("web") == ["a", "b"]).await;
    event("MODIFIED", fhpa("a", "shop")).await;
    wait(|| watching.on("web") == ["b"] && watching.on("shop") == ["a"]).await;
    event("DELETED", fhpa("a", "shop")).await;
    wait(|| watching.on("shop").is_empty()).await;
    let mut going = fhpa("b", "web");
    going["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z".into();
    event("MODIFIED", going).await;
    wait(|| watching.index.federated_hpa("prod", "b").unwrap().deleting).await;
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_lists_again_and_serves_the_old_index_meanwhile() {
    let lists = vec![
        list(vec![fhpa("old", "web"), fhpa("gone", "web")]),
        refusal(500, "InternalError"),
        list(vec![fhpa("old", "web"), fhpa("new", "web")]),
    ];
    let watching = Watching::start(lists, vec![list(vec![])]);
    wait(|| watching.on("web") == ["gone", "old"]).await;
    let gone = refusal(410, "Expired").1;
    watching.api.event("federatedhpas", json!({"type": "ERROR", "object": gone})).await;
    let failed = "fhpa_watch_errors_total{kind=\"FederatedHPA\"} 2";
    wait(|| watching.metrics.text().contains(failed) || watching.on("web") == ["new", "old"]).await;
    wait(|| watching.on("web") == ["new", "old"]).await;
    let asked = watching.api.federated.lock().unwrap().asked.clone();
    assert_eq!(asked[..5], ["list", "watch", "list", "list", "watch"]);
    assert!(watching.missing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_just_started_and_does_not_serve_all_kinds_yet_is_asked_again_soon() {
    let down = std::iter::repeat_n(refusal(503, "ServiceUnavailable"), 6);
    let lists = down.chain([refusal(404, "NotFound"), list(vec![fhpa("a", "web")])]).collect();
    let begun = fhpa::runtime::clock::steady();
    let watching = Watching::start(lists, vec![list(vec![])]);
    wait(|| watching.missing().is_empty()).await;
    // Pauses of 200 ms to 6.4 s while it is down, and then one of two seconds.
    let waited = begun.elapsed();
    assert!(waited < Duration::from_secs(15), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_open_again_does_not_fail_also_where_it_has_no_events() {
    let watching = Watching::start(vec![list(vec![fhpa("a", "web")])], vec![list(vec![])]);
    wait(|| watching.missing().is_empty()).await;
    wait(|| !watching.api.federated.lock().unwrap().watches.is_empty()).await;
    let fails = |fails: u8| {
        let line = format!("fhpa_watch_failing{{kind=\"FederatedHPA\"}} {fails}");
        watching.metrics.text().lines().any(|one| one == line)
    };
    {
        let mut script = watching.api.federated.lock().unwrap();
        script.refusals = std::iter::repeat_n(refusal(503, "ServiceUnavailable"), 5).collect();
        script.watches.clear();
    }
    wait(|| fails(1)).await;
    wait(|| fails(0)).await;
    let asked = watching.api.federated.lock().unwrap().asked.clone();
    assert_eq!(asked, ["list", "watch", "watch", "watch", "watch", "watch", "watch", "watch"]);
}

#[tokio::test(start_paused = true)]
async fn one_object_that_cannot_be_decoded_hides_no_other() {
    let mut odd = fhpa("odd", "web");
    odd["spec"]["maxReplicas"] = "many".into();
    let watching = Watching::start(vec![list(vec![odd.clone(), fhpa("a", "web")])], vec![list(vec![])]);
    wait(|| watching.missing().is_empty()).await;
    assert_eq!(watching.on("web"), ["a"]);
    odd["metadata"]["name"] = "a".into();
    watching.api.event("federatedhpas", json!({"type": "MODIFIED", "object": odd})).await;
    wait(|| watching.on("web").is_empty()).await;
}

#[tokio::test]
async fn the_process_is_ready_when_both_lists_are_there() {
    let api = Api::default();
    for resource in ["federatedhpas", "cronfederatedhpas"] {
        api.script(resource).lock().unwrap().lists = vec![list(vec![])].into();
    }
    let held = api.held.clone().lock_owned().await;
    let mut options = Options::loopback();
    options.admin = AdminPort::At(([127, 0, 0, 1], 0).into());
    options.control_plane = ControlPlane::Watched(kube::Client::new(api.router(), "default"));
    let admin = start(options).await.admin.unwrap();
    let one = (503, "not ready: CronFederatedHPAs are not listed yet\n".to_owned());
    while probe(admin, "/readyz").await != one {}
    drop(held);
    while probe(admin, "/readyz").await != (200, "ok\n".to_owned()) {}
}

#[tokio::test]
async fn a_webhook_without_a_controller_lists_again_after_a_restore() {
    let server = ApiServer::builder().build();
    for definition in fhpa::api::crd::all().unwrap() {
        server.create(definition).await.unwrap();
    }
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
    server.create(&space).await.unwrap();
    let store = async |name: &str| {
        let mut object = fhpa(name, name);
        object["metadata"] = json!({"name": name, "namespace": "prod"});
        object["spec"].as_object_mut().unwrap().remove("rules");
        server.create(&object).await.unwrap()
    };
    store("before").await;
    let mut options = Options::loopback();
    options.control_plane = ControlPlane::Watched(server.client());
    let metrics = start(options).await.metrics;
    let knows = async |objects: usize| {
        let line = format!("fhpa_known_objects{{kind=\"FederatedHPA\"}} {objects}");
        within(async {
            while !metrics.text().lines().any(|one| one == line) {
                tokio::task::yield_now().await
            }
        })
        .await;
    };
    knows(1).await;
    let backup = server.backup();
    for name in ["later", "latest"] {
        store(name).await;
    }
    knows(3).await;
    server.restore(&backup, false);
    knows(1).await;
    // It goes on from the versions of the backup.
    store("afterwards").await;
    knows(2).await;
}
