//! Access to the control plane that a test can make fail: for one replica of fhpa only. No sockets.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;
use tower::{BoxError, Service};

use super::operation::Trouble;

/// How the way is.
#[derive(Clone)]
pub struct Way(Arc<State>);

struct State {
    /// Requests are not answered until it is up again.
    hangs: watch::Sender<bool>,
    /// Requests are refused.
    down: AtomicBool,
    /// Watches tell nothing new: those of this resource, or all with an empty name.
    stale: watch::Sender<Option<String>>,
    /// Writes that fail, and how.
    writes: Mutex<Option<Trouble>>,
    left: AtomicU32,
}

impl Default for Way {
    fn default() -> Self {
        Self(Arc::new(State {
            hangs: watch::Sender::new(false),
            down: AtomicBool::new(false),
            stale: watch::Sender::new(None),
            writes: Mutex::default(),
            left: AtomicU32::new(0),
        }))
    }
}

impl Way {
    /// A client that goes this way.
    pub fn over(&self, client: kube::Client) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        kube::Client::new(Flaky { client, way: self.clone() }, namespace)
    }

    pub fn hang(&self, on: bool) {
        self.0.hangs.send_replace(on);
    }

    pub fn down(&self, on: bool) {
        self.0.down.store(on, Ordering::SeqCst);
    }

    /// Watches of this resource tell nothing new until it is called with `None`; empty: all.
    pub fn stale(&self, resource: Option<&str>) {
        self.0.stale.send_replace(resource.map(str::to_owned));
    }

    /// The next writes meet this.
    pub fn trouble(&self, trouble: Trouble, count: u32) {
        *self.0.writes.lock().unwrap() = Some(trouble);
        self.0.left.store(count, Ordering::SeqCst);
    }

    /// All is well again.
    pub fn heal(&self) {
        self.hang(false);
        self.down(false);
        self.stale(None);
        self.0.left.store(0, Ordering::SeqCst);
    }

    pub fn is_well(&self) -> bool {
        !*self.0.hangs.borrow() && self.0.stale.borrow().is_none() && !self.0.down.load(Ordering::SeqCst)
    }

    async fn open(state: &watch::Sender<bool>) {
        let mut state = state.subscribe();
        let _: Result<_, _> = state.wait_for(|shut| !shut).await.map(|_| ());
    }

    fn next_trouble(&self, request: &Request<Body>) -> Option<Trouble> {
        let is_write = !matches!(*request.method(), Method::GET) && !request.uri().path().contains("/leases");
        let taken = is_write
            && self.0.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if taken { *self.0.writes.lock().unwrap() } else { None }
    }
}

#[derive(Clone)]
struct Flaky {
    client: kube::Client,
    way: Way,
}

/// What an answer has in it.
type Answer = UnsyncBoxBody<Bytes, BoxError>;

fn failure(code: StatusCode, reason: &str) -> Response<Answer> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code.as_u16(),
        "message": "the test says so"});
    let body = Body::from(status.to_string().into_bytes());
    Response::builder().status(code).body(boxed(body)).unwrap()
}

fn boxed(body: Body) -> Answer {
    body.map_err(BoxError::from).boxed_unsync()
}

impl Flaky {
    async fn send(self, request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        Way::open(&self.way.0.hangs).await;
        if self.way.0.down.load(Ordering::SeqCst) {
            return Ok(failure(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"));
        }
        let trouble = self.way.next_trouble(&request);
        match trouble {
            Some(Trouble::Conflict) => return Ok(failure(StatusCode::CONFLICT, "Conflict")),
            Some(Trouble::Internal) => return Ok(failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")),
            Some(Trouble::Late) => tokio::time::sleep(Duration::from_secs(8)).await,
            Some(Trouble::Lost) | None => {}
        }
        let watches =
            request.uri().query().is_some_and(|query| query.contains("watch=1") || query.contains("watch=true"));
        let path = request.uri().path().to_owned();
        let response = self.client.send(request).await?;
        if matches!(trouble, Some(Trouble::Lost)) {
            return Ok(failure(StatusCode::GATEWAY_TIMEOUT, "Timeout"));
        }
        Ok(if watches { self.slowed(path, response) } else { response.map(boxed) })
    }

    /// Each event waits while the way is stale.
    fn slowed(&self, path: String, response: Response<Body>) -> Response<Answer> {
        let (way, path) = (self.way.clone(), Arc::<str>::from(path));
        response.map(move |body| {
            let frames = body.into_data_stream().then(move |frame| {
                let (way, path) = (way.clone(), Arc::clone(&path));
                async move {
                    let mut stale = way.0.stale.subscribe();
                    let fresh = |of: &Option<String>| !of.as_deref().is_some_and(|of| path.ends_with(of));
                    let _: Result<_, _> = stale.wait_for(fresh).await.map(|_| ());
                    frame.map(Frame::data).map_err(BoxError::from)
                }
            });
            StreamBody::new(frames).boxed_unsync()
        })
    }
}

impl Service<Request<Body>> for Flaky {
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}
