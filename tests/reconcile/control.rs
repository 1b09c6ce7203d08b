//! A permission to write that a test can revoke, and a client that runs an action just before a request.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use embedded_apiserver::ApiServer;
use fhpa::decision::lease::Timings;
use fhpa::runtime::leader::{Candidate, Leader, compete};
use http::Request;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The leadership of a test, held on a control plane of its own so that no request of it is counted.
pub struct Term {
    pub leader: Leader,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Term {
    pub async fn begin() -> Self {
        let server = ApiServer::builder().build();
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lease"}});
        server.create(&space).await.unwrap();
        let (told, mut leadership) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let candidate =
            Candidate { lease: "fhpa".into(), identity: "test".into(), timings: Timings::default().check().unwrap() };
        let api = Api::namespaced(server.client(), "lease");
        let task = tokio::spawn(compete(api, candidate, told, stopped));
        let leader = leadership.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        Self { leader, stop, task }
    }

    /// Ends it; whoever holds the leader may not write any more.
    pub async fn end(self) -> Leader {
        self.stop.send_replace(true);
        self.task.await.unwrap();
        assert!(self.leader.check().is_err());
        self.leader
    }
}

/// What happens before a request.
type EventKind = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A client that lets `happening` come to pass just before the first request that `which` picks goes out; counts those.
pub fn before(
    client: &Client,
    which: impl Fn(&Request<Body>) -> bool + Send + Sync + 'static,
    happening: impl Future<Output = ()> + Send + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let happening: Arc<Mutex<Option<EventKind>>> = Arc::new(Mutex::new(Some(Box::pin(happening))));
    let (inner, which, met) = (client.clone(), Arc::new(which), Arc::new(AtomicUsize::new(0)));
    let counted = met.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, happening, counted) = (inner.clone(), happening.clone(), counted.clone());
        let picked = which(&request);
        async move {
            if picked {
                counted.fetch_add(1, Ordering::SeqCst);
                let due = happening.lock().unwrap().take();
                if let Some(due) = due {
                    due.await;
                }
            }
            inner.send(request).await
        }
    });
    (Client::new(service, "default"), met)
}

/// A client that acts as somebody else.
pub fn impersonating(client: &Client, user: &'static str) -> Client {
    let inner = client.clone();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let inner = inner.clone();
        request.headers_mut().insert("impersonate-user", http::HeaderValue::from_static(user));
        async move { inner.send(request).await }
    });
    Client::new(service, "default")
}
