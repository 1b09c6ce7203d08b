//! A control plane for tests, with two backings: the embedded server, and a real kube-apiserver where one is present.
//! Responses of a real one are recorded, so that the embedded one is compared with them everywhere.
//!
//! ```ignore
//! Bed::same("what the line shows", "namespace", async |bed| { ...; bed.said() }).await;
//! ```

pub mod admission;
pub mod objects;
mod recording;
pub mod role;
pub mod upstream;
pub mod webhook;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use embedded_apiserver::serve::Listening;
use embedded_apiserver::{ApiServer, Builder};
use fhpa::api;
use fhpa::playground::karmada;
use futures::StreamExt;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use crate::cluster::control_plane::ControlPlane;

/// How long a line waits for events that do not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer without what differs from run to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// HTTP status code.
    pub code: u16,
    /// `Warning` headers.
    pub warnings: Vec<String>,
    /// Body; text that is not JSON is a string.
    pub body: Value,
}

impl Answer {
    /// The body without uids, versions, times and field managers.
    pub fn steady(&self) -> Value {
        let mut body = self.body.clone();
        steady(&mut body);
        json!({"code": self.code, "warnings": self.warnings, "body": body})
    }

    /// Code, reason and message only.
    pub fn refusal(&self) -> Value {
        json!([self.code, self.body["reason"], self.body["message"], self.body["details"]])
    }

    /// The resource version.
    pub fn version(&self) -> String {
        self.body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
    }

    /// Names of a list's items.
    pub fn names(&self) -> Vec<String> {
        let items = self.body["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn steady(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for key in ["uid", "resourceVersion", "managedFields", "selfLink"] {
                map.remove(key);
            }
            map.retain(|key, value| !(key == "creationTimestamp" && value.is_null()));
            for (key, value) in map.iter_mut() {
                if matches!(key.as_str(), "creationTimestamp" | "deletionTimestamp" | "time" | "lastTransitionTime") {
                    *value = json!("<time>");
                }
                steady(value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(steady),
        _ => {}
    }
}

/// A control plane.
pub struct Bed {
    /// Speaks to it.
    pub client: kube::Client,
    /// The namespace of this test.
    pub namespace: String,
    server: Option<ApiServer>,
}

impl Bed {
    /// The embedded server.
    pub fn embedded() -> Self {
        Self::of(ApiServer::builder())
    }

    /// An embedded server of one's own making.
    pub fn of(builder: Builder) -> Self {
        let server = builder.seed(7).build();
        Self { client: server.client(), namespace: "default".into(), server: Some(server) }
    }

    /// The embedded server.
    pub fn server(&self) -> &ApiServer {
        self.server.as_ref().expect("an embedded server")
    }

    /// Serves Karmada's kinds.
    pub async fn with_karmada(self) -> Self {
        for definition in karmada::definitions().unwrap() {
            self.server().create(definition).await.unwrap();
        }
        self
    }

    /// Listens for programs such as kubectl.
    pub async fn listen(&self) -> Listening {
        self.server().listen("127.0.0.1:0".parse().unwrap()).await.unwrap()
    }

    /// Runs a line on the embedded server and, where one is present, on a real kube-apiserver, in a namespace of its
    /// own. Each has to say what the recording of that name says. The real one has no controllers, so the embedded one
    /// runs without its garbage collector.
    pub async fn same<F>(shows: &str, name: &str, line: F)
    where
        F: AsyncFn(&Bed) -> Value,
    {
        let mut embedded = Self::of(ApiServer::builder().garbage_collection(false));
        for definition in api::crd::all().unwrap() {
            embedded.server().create(definition).await.unwrap();
        }
        embedded.make_namespace(name).await;
        let ours = line(&embedded).await;
        if let Some(plane) = ControlPlane::beside_a_recording(shows) {
            let client = plane.client().await;
            let version = client.apiserver_version().await.unwrap().git_version;
            let mut real = Self { client, namespace: "default".into(), server: None };
            real.make_namespace(name).await;
            let theirs = line(&real).await;
            if recording::is_updated() {
                recording::write(name, shows, &version, &theirs);
            }
            recording::compare(name, shows, &format!("kube-apiserver {version}"), &theirs);
        } else {
            assert!(!recording::is_updated(), "{shows}: only a real kube-apiserver can be recorded");
        }
        recording::compare(name, shows, "the embedded server", &ours);
    }

    async fn make_namespace(&mut self, name: &str) {
        let made = self.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await;
        assert_eq!(made.code, 201, "{made:?}");
        self.namespace = name.to_owned();
    }

    /// `/api/v1/namespaces/<own>/<rest>`, or with a group `/apis/<group>/namespaces/<own>/<rest>`.
    pub fn path(&self, group_version: &str, rest: &str) -> String {
        let root = if group_version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{group_version}/namespaces/{}/{rest}", self.namespace)
    }

    /// Sends one request.
    pub async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.as_bytes().to_vec())).unwrap();
        let (head, body) = self.client.send(request).await.unwrap().into_parts();
        let warnings = head.headers.get_all("warning");
        let warnings = warnings.iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
        Answer { code: head.status.as_u16(), warnings, body }
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], "").await
    }

    /// GET of a table.
    pub async fn table(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")], "").await
    }

    /// POST.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::POST, path, &[("content-type", "application/json")], &body.to_string()).await
    }

    /// PUT.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::PUT, path, &[("content-type", "application/json")], &body.to_string()).await
    }

    /// PATCH: `json`, `merge`, `strategic-merge` or `apply`.
    pub async fn patch(&self, kind: &str, path: &str, body: &Value) -> Answer {
        let kind = match kind {
            "apply" => "application/apply-patch+yaml".to_owned(),
            kind => format!("application/{kind}-patch+json"),
        };
        self.ask(Method::PATCH, path, &[("content-type", &kind)], &body.to_string()).await
    }

    /// DELETE with options.
    pub async fn delete(&self, path: &str, options: &Value) -> Answer {
        let body = if options.is_null() { String::new() } else { options.to_string() };
        self.ask(Method::DELETE, path, &[("content-type", "application/json")], &body).await
    }

    /// The next `count` events of a watch.
    pub async fn events(&self, path: &str, count: usize) -> Vec<Value> {
        self.watch(path).await.next(count).await
    }

    /// Starts a watch.
    pub async fn watch(&self, path: &str) -> Events {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = self.client.send(request).await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let frames = response.into_body().into_data_stream().map(|frame| frame.unwrap_or_default());
        Events { frames: frames.boxed(), rest: Vec::new() }
    }
}

/// A running watch.
pub struct Events {
    frames: futures::stream::BoxStream<'static, Bytes>,
    rest: Vec<u8>,
}

impl Events {
    /// The next events; fewer when the watch ends.
    pub async fn next(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                events.push(serde_json::from_slice(&line).unwrap());
                continue;
            }
            match within(self.frames.next()).await {
                Some(frame) => self.rest.extend_from_slice(&frame),
                None => break,
            }
        }
        events
    }
}

/// Fails a test that would wait for ever.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it comes within the test's patience")
}

/// `TYPE name` of events; for an error its message.
pub fn brief(events: &[Value]) -> Vec<String> {
    let one = |event: &Value| {
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().or(object["message"].as_str()).unwrap_or_default();
        format!("{} {name}", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(one).collect()
}
