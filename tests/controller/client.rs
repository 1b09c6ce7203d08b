//! The client of the control plane: changes of its kubeconfig, missing responses, request metrics.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::{Moment, Which};
use embedded_apiserver::serve::{Listening, kubeconfig};
use embedded_apiserver::status::StatusError;
use fhpa::runtime::clock;
use fhpa::runtime::control_plane::{self, Bounds, Client, KubeconfigReloader, Origin, TimedOut};
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::reload::Reload;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::Request;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, WatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;

use crate::bed::webhook::certificate;
use crate::bed::within;
use crate::webhook::volume;

/// A server with a namespace by which it is known.
async fn server(name: &str) -> (ApiServer, Listening) {
    let server = ApiServer::builder().build();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    server.create(&space).await.unwrap();
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    (server, listening)
}

pub async fn connect(file: &Path, metrics: &Metrics) -> (Client, KubeconfigReloader) {
    let origin = Origin::find(Some(file.to_owned()), None, None).unwrap();
    control_plane::connect(origin, Bounds::default(), metrics.requests()).await.unwrap()
}

async fn reaches(client: &Client, name: &str) -> bool {
    Api::<Namespace>::all(client.clone()).get_opt(name).await.unwrap().is_some()
}

fn has(metrics: &Metrics, line: &str) -> bool {
    metrics.text().lines().any(|l| l == line)
}

#[tokio::test]
async fn a_changed_kubeconfig_is_used_without_a_restart_and_a_broken_one_is_not() {
    let ((_one, first), (_two, second)) = (server("first").await, server("second").await);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    std::fs::write(&file, first.kubeconfig("karmada")).unwrap();
    let metrics = Metrics::new();
    let (client, mut reloader) = connect(&file, &metrics).await;
    assert!(reaches(&client, "first").await);
    assert!(matches!(reloader.poll().await, Reload::Unchanged));

    std::fs::write(&file, "clusters: nonsense").unwrap();
    assert!(matches!(reloader.poll().await, Reload::Rejected(_)));
    assert!(matches!(reloader.poll().await, Reload::Unchanged), "the same trouble is reported once");
    assert!(reaches(&client, "first").await);
    std::fs::remove_file(&file).unwrap();
    let Reload::Rejected(error) = reloader.poll().await else { panic!("there is no file") };
    assert!(error.to_string().contains("failed to read kubeconfig"), "{error}");

    std::fs::write(&file, second.kubeconfig("karmada")).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    assert!(reaches(&client, "second").await && !reaches(&client, "first").await);
    assert!(has(&metrics, r#"fhpa_kubeconfig_reloads_total{result="failed"} 2"#), "{}", metrics.text());
    assert!(has(&metrics, r#"fhpa_kubeconfig_reloads_total{result="ok"} 1"#));
}

/// A server that accepts one token; the token can change.
async fn guarded(token: &str) -> (String, Arc<Mutex<String>>) {
    let accepted = Arc::new(Mutex::new(format!("Bearer {token}")));
    let of = Arc::clone(&accepted);
    let router = Router::new().fallback(async move |request: Request<Body>| {
        let token = request.headers().get("authorization").map_or("", |value| value.to_str().unwrap());
        let known = *of.lock().unwrap() == token;
        let (code, kind) = if known { (201, "SelfSubjectReview") } else { (401, "Status") };
        let api = if known { "authentication.k8s.io/v1" } else { "v1" };
        let answer = json!({"apiVersion": api, "kind": kind, "metadata": {}, "status": if known { json!({}) } else { json!("Failure") },
            "message": "Unauthorized", "reason": "Unauthorized", "code": code});
        Response::builder().status(code).body(Body::from(answer.to_string())).unwrap()
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router).into_future());
    (url, accepted)
}

#[tokio::test]
async fn credentials_that_the_server_refuses_do_not_replace_those_that_work() {
    let (url, accepted) = guarded("one").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let config = |token: &str| kubeconfig(&[("karmada", &url)]).replace("{}", &format!("{{token: {token}}}"));
    std::fs::write(&file, config("one")).unwrap();
    let metrics = Metrics::new();
    let (_client, mut reloader) = connect(&file, &metrics).await;
    std::fs::write(&file, config("two")).unwrap();
    let Reload::Rejected(error) = reloader.poll().await else { panic!("it was refused") };
    assert!(error.to_string().contains("does not accept it: Unauthorized"), "{error}");
    assert!(matches!(reloader.poll().await, Reload::Unchanged), "the same trouble is reported once");
    assert!(has(&metrics, r#"fhpa_kubeconfig_reloads_total{result="failed"} 1"#), "{}", metrics.text());
    // The server knows them now.
    *accepted.lock().unwrap() = "Bearer two".to_owned();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    assert!(matches!(reloader.poll().await, Reload::Unchanged));
    // Where the earlier ones do not work either, nothing is lost by taking the new ones.
    *accepted.lock().unwrap() = "Bearer none".to_owned();
    std::fs::write(&file, config("three")).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    assert!(has(&metrics, r#"fhpa_kubeconfig_reloads_total{result="ok"} 2"#), "{}", metrics.text());
}

#[tokio::test]
async fn credentials_that_are_still_to_come_are_used_when_they_have_come() {
    let (url, _) = guarded("one").await;
    let directory = tempfile::tempdir().unwrap();
    let (file, token) = (directory.path().join("kubeconfig"), directory.path().join("token"));
    let config = |user: &str| kubeconfig(&[("karmada", &url)]).replace("{}", user);
    std::fs::write(&file, config("{token: one}")).unwrap();
    let metrics = Metrics::new();
    let (_client, mut reloader) = connect(&file, &metrics).await;
    std::fs::write(&file, config(&format!("{{tokenFile: {}}}", token.display()))).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Rejected(_)));
    assert!(matches!(reloader.poll().await, Reload::Unchanged), "the same trouble is reported once");
    std::fs::write(&token, "one").unwrap();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    assert!(has(&metrics, r#"fhpa_kubeconfig_reloads_total{result="failed"} 1"#), "{}", metrics.text());
}

#[tokio::test]
async fn a_bearer_token_is_exchanged_as_the_kubelet_delivers_it() {
    let (url, accepted) = guarded("one").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let deliver = |token: &str| {
        let config = kubeconfig(&[("karmada", &url)]).replace("{}", &format!("{{token: {token}}}"));
        volume::publish(directory.path(), token, &[("kubeconfig", &config)]);
    };
    deliver("one");
    let metrics = Metrics::new();
    let (client, mut reloader) = connect(&file, &metrics).await;
    assert!(matches!(reloader.poll().await, Reload::Unchanged));
    let knows = async || client.request_text(Request::get("/").body(Vec::new()).unwrap()).await.is_ok();
    assert!(knows().await);
    // Only the link `..data` moves.
    *accepted.lock().unwrap() = "Bearer two".to_owned();
    assert!(!knows().await);
    deliver("two");
    assert!(matches!(reloader.poll().await, Reload::Reloaded), "{}", metrics.text());
    assert!(knows().await);
    assert!(matches!(reloader.poll().await, Reload::Unchanged));
}

#[tokio::test]
async fn a_server_that_does_not_answer_does_not_replace_one_that_does() {
    let (url, _accepted) = guarded("one").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let config = |url: &str| kubeconfig(&[("karmada", url)]).replace("{}", "{token: one}");
    std::fs::write(&file, config(&url)).unwrap();
    let metrics = Metrics::new();
    let (_client, mut reloader) = connect(&file, &metrics).await;
    // A port that was free a moment ago.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    std::fs::write(&file, config(&format!("http://{free}"))).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Rejected(_)));
    std::fs::write(&file, config(&url)).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
}

/// The names that a list brings.
async fn listed(
    events: &mut (impl Stream<Item = Result<watcher::Event<Namespace>, watcher::Error>> + Unpin),
) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        match within(events.next()).await.unwrap() {
            Ok(watcher::Event::InitApply(space)) => names.push(space.metadata.name.unwrap()),
            Ok(watcher::Event::InitDone) => return names,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_watch_lists_everything_again_on_another_server() {
    let ((_one, first), (_two, second)) = (server("first").await, server("second").await);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    std::fs::write(&file, first.kubeconfig("karmada")).unwrap();
    let metrics = Metrics::new();
    let (client, mut reloader) = connect(&file, &metrics).await;
    let mut events = watcher(Api::all(client), watcher::Config::default()).default_backoff().boxed();
    assert!(listed(&mut events).await.contains(&"first".to_owned()));
    std::fs::write(&file, second.kubeconfig("karmada")).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    let names = listed(&mut events).await;
    assert!(names.contains(&"second".to_owned()) && !names.contains(&"first".to_owned()), "{names:?}");
}

#[tokio::test]
async fn after_a_restore_a_watch_lists_again_also_where_another_reader_has_listed() {
    let (server, listening) = server("before").await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "fhpa", "namespace": "before"}, "spec": {}});
    server.create(&lease).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    std::fs::write(&file, listening.kubeconfig("karmada")).unwrap();
    let (client, _) = connect(&file, &Metrics::new()).await;
    let leases = Api::<Lease>::namespaced(client.clone(), "before");
    let spaces = Api::<Namespace>::all(control_plane::for_one_watch(&client));
    let mut events = watcher(spaces, watcher::Config::default()).default_backoff().boxed();
    listed(&mut events).await;
    let backup = server.backup();
    server.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})).await.unwrap();
    let patch = Patch::Merge(json!({"spec": {"holderIdentity": "one"}}));
    leases.patch("fhpa", &PatchParams::default(), &patch).await.unwrap();
    assert!(matches!(within(events.next()).await, Some(Ok(watcher::Event::Apply(_)))));

    let watches = Which { verb: "watch".into(), resource: "namespaces".into(), ..Which::default() };
    let mut held = server.faults().hold(watches, Moment::Arriving);
    server.restore(&backup, false);
    let again = tokio::spawn(async move { listed(&mut events).await });
    within(held.reached()).await;
    leases.get("fhpa").await.unwrap();
    Api::<Namespace>::all(client).list(&ListParams::default()).await.unwrap();
    drop(held);
    let names = within(again).await.unwrap();
    assert!(names.contains(&"before".to_owned()) && !names.contains(&"later".to_owned()), "{names:?}");
}

/// What an API server is asked, each with the token that came with it.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    /// Answers lists with nothing, and watches never.
    fn router(&self) -> Router {
        let asked = self.clone();
        Router::new().fallback(async move |request: Request<Body>| {
            let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let token = request.headers().get("authorization").map_or("", |value| value.to_str().unwrap());
            // The reloader asks who it is before it uses new credentials.
            if request.method() == http::Method::GET {
                asked.0.lock().unwrap().push(format!("{} {token}", if watch { "watch" } else { "list" }));
            }
            if watch {
                return Response::new(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()));
            }
            let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": []});
            Response::new(Body::from(list.to_string()))
        })
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn new_credentials_are_used_and_a_watch_goes_on_where_it_was() {
    let asked = Asked::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(axum::serve(listener, asked.router()).into_future());
    let directory = tempfile::tempdir().unwrap();
    let (file, ca) = (directory.path().join("kubeconfig"), directory.path().join("ca.crt"));
    let config = |token: &str| kubeconfig(&[("karmada", &url)]).replace("{}", &format!("{{token: {token}}}"));
    std::fs::write(&file, config("one").replace("}\ncontexts", ", certificate-authority: ca.crt}\ncontexts")).unwrap();
    std::fs::write(&ca, certificate("localhost").1).unwrap();
    let metrics = Metrics::new();
    let (client, mut reloader) = connect(&file, &metrics).await;
    let mut events = watcher(Api::all(client.clone()), watcher::Config::default()).default_backoff().boxed();
    assert_eq!(listed(&mut events).await, [""; 0]);
    let going_on = tokio::spawn(async move { events.next().await.map(|event| event.is_ok()) });
    let seen = |expected: &[&str]| asked.all() == expected;
    while !seen(&["list Bearer one", "watch Bearer one"]) {
        tokio::task::yield_now().await;
    }
    // What the kubeconfig refers to belongs to it.
    assert!(matches!(reloader.poll().await, Reload::Unchanged));
    std::fs::write(&ca, "nonsense").unwrap();
    assert!(matches!(reloader.poll().await, Reload::Rejected(_)));

    std::fs::write(&file, config("two")).unwrap();
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    // In between it asks whether the server was restored.
    while !seen(&["list Bearer one", "watch Bearer one", "list Bearer two", "watch Bearer two"]) {
        tokio::task::yield_now().await;
    }
    going_on.abort();
    serving.abort();
}

#[tokio::test]
async fn what_a_credential_plugin_prints_is_in_no_error() {
    let (_server, listening) = server("first").await;
    let directory = tempfile::tempdir().unwrap();
    let (file, fails) = (directory.path().join("kubeconfig"), directory.path().join("fails"));
    let expired = r#"{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "s3cret", "expirationTimestamp": "2020-01-01T00:00:00Z"}}"#;
    let script = format!("echo '{expired}'; test ! -e {}", fails.display());
    let plugin = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
        "args": ["-c", script], "interactiveMode": "Never"}});
    let config = kubeconfig(&[("karmada", &listening.url())]).replace("{}", &plugin.to_string());
    std::fs::write(&file, config).unwrap();
    let (client, _) = connect(&file, &Metrics::new()).await;
    assert!(reaches(&client, "first").await);
    // The token is asked for again, and there is none.
    std::fs::write(&fails, "").unwrap();
    let refused = Api::<Namespace>::all(client).get_opt("first").await.unwrap_err();
    let origin = Origin::find(Some(file), None, None).unwrap();
    let start = control_plane::connect_once(origin).await.err().unwrap();
    for (shown, debugged) in [(refused.to_string(), format!("{refused:?}")), (start.to_string(), format!("{start:?}"))]
    {
        assert!(shown.contains("the credential plugin of the kubeconfig failed (exit status: 1)"), "{shown}");
        assert!(!shown.contains("s3cret") && !debugged.contains("s3cret"), "{debugged}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_a_timeout_and_requests_are_counted() {
    let router = Router::new().fallback(async |request: Request<Body>| {
        if request.uri().path().ends_with("/slow") {
            return Response::new(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()));
        }
        let missing =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"});
        Response::builder().status(404).body(missing.to_string().into()).unwrap()
    });
    let metrics = Metrics::new();
    let client = control_plane::bounded(Client::new(router, "default"), Bounds::default(), metrics.requests());
    let begun = clock::steady();
    // The head comes at once, the body never.
    let error = Api::<ConfigMap>::default_namespaced(client.clone()).get("slow").await.unwrap_err();
    let kube::Error::Service(error) = error else { panic!("{error:?}") };
    assert_eq!(error.downcast_ref(), Some(&TimedOut(Duration::from_secs(15))));
    assert_eq!(begun.elapsed().as_secs(), 15);
    assert!(Api::<ConfigMap>::default_namespaced(client.clone()).get_opt("other").await.unwrap().is_none());
    assert!(Api::<ConfigMap>::all(client.clone()).list(&ListParams::default()).await.is_err());
    let impatient = Api::<ConfigMap>::default_namespaced(client);
    assert!(tokio::time::timeout(Duration::from_secs(10), impatient.get("slow")).await.is_err());
    for line in [
        r#"fhpa_api_requests_total{verb="get",code="timeout"} 1"#,
        r#"fhpa_api_requests_total{verb="get",code="404"} 1"#,
        r#"fhpa_api_requests_total{verb="list",code="404"} 1"#,
        r#"fhpa_api_requests_total{verb="get",code="canceled"} 1"#,
        r#"fhpa_api_request_duration_seconds_count{verb="get"} 3"#,
    ] {
        assert!(has(&metrics, line), "{line} not in:\n{}", metrics.text());
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_ends_and_may_be_asked_for_again() {
    let asked = Asked::default();
    let client =
        control_plane::bounded(Client::new(asked.router(), "default"), Bounds::default(), Metrics::new().requests());
    let begun = clock::steady();
    let spaces = Api::<Namespace>::all(client);
    let events: Vec<_> = spaces.watch(&WatchParams::default(), "7").await.unwrap().try_collect().await.unwrap();
    assert!(events.is_empty());
    assert_eq!(begun.elapsed().as_secs(), 120);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_has_failed_and_one_that_lasts_has_not() {
    for (seconds, failed) in [(0, true), (2, false)] {
        let router = Router::new().fallback(async move || {
            let end = stream::once(tokio::time::sleep(Duration::from_secs(seconds)));
            let nothing = end.filter_map(async |()| None::<Result<Bytes, Infallible>>);
            Response::new(Body::from_stream(nothing))
        });
        let client =
            control_plane::bounded(Client::new(router, "default"), Bounds::default(), Metrics::new().requests());
        let spaces = Api::<Namespace>::all(client);
        let events: Result<Vec<_>, _> = spaces.watch(&WatchParams::default(), "7").await.unwrap().try_collect().await;
        assert_eq!(events.is_err(), failed, "{events:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_api_server_that_names_its_delay_in_a_header_is_left_alone_for_as_long() {
    let server = ApiServer::builder().build();
    let client = control_plane::bounded(server.client(), Bounds::default(), Metrics::new().requests());
    let all = Which::default();
    server.faults().fail(all, 2, StatusError::too_many_requests_in_text(7.try_into().unwrap()));
    let spaces = Api::<Namespace>::all(client);
    let error = spaces.get("default").await.unwrap_err();
    let kube::Error::Api(status) = &error else { panic!("{error:?}") };
    assert_eq!((status.code, status.message.as_str()), (429, "Too many requests, please try again later."));
    assert_eq!(control_plane::retry_after(status), Some(Duration::from_secs(7)));
    let error = spaces.watch(&WatchParams::default(), "1").await.err().unwrap();
    let kube::Error::Api(status) = &error else { panic!("{error:?}") };
    assert_eq!(control_plane::retry_after(status), Some(Duration::from_secs(7)));
    assert!(spaces.get("default").await.is_ok());
}
