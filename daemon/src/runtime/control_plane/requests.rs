//! Sends each request to the current server, with a time limit and metrics. The layer around `kube::Client`.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::header::ACCEPT;
use http::response::Parts;
use http::{Method, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tower::{BoxError, Service};
use tracing::warn;

use super::restore::{Versions, began, one_of, version};
use super::retry_after::in_status;
use super::words::Page;
use super::{Bounds, Current, Listed, Reader, Server, redacted};
use crate::runtime::clock;
use crate::runtime::metrics::{Code, RequestMetrics, Verb};

/// Most bytes of a response; a page of a list has far fewer.
const ANSWER: usize = 256 << 20;

/// The API server did not respond in time. It may or may not have processed the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer from the API server within {} s", .0.as_secs_f64())]
pub struct TimedOut(pub Duration);

/// Extension of a request whose response is read as it arrives, within a time limit of the caller.
#[derive(Clone, Copy, Debug)]
pub struct Streamed;

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// Sends requests.
#[derive(Clone)]
pub(super) struct Requests {
    current: Current,
    bounds: Bounds,
    metrics: Arc<RequestMetrics>,
    versions: Arc<Mutex<Versions>>,
}

impl Requests {
    pub(super) fn new(current: Current, bounds: Bounds, metrics: Arc<RequestMetrics>) -> Self {
        Self { current, bounds, metrics, versions: Arc::default() }
    }

    async fn send(self, request: Request<Body>) -> Result<Answer, BoxError> {
        let verb = verb(request.method(), request.uri());
        let metrics = Arc::clone(&self.metrics);
        let mut counted = Counted { metrics, verb, begun: clock::steady(), code: Code::Canceled };
        let result = timeout(self.bounds.request, self.ask(verb, request)).await;
        counted.code = match &result {
            Ok(Ok(answer)) => Code::Status(answer.status().as_u16()),
            Ok(Err(_)) => Code::Error,
            Err(_) => Code::Timeout,
        };
        result.unwrap_or_else(|_| Err(TimedOut(self.bounds.request).into()))
    }

    async fn ask(&self, verb: Verb, request: Request<Body>) -> Result<Answer, BoxError> {
        let exchanged = self.current.subscribe();
        let server = Arc::clone(&self.current.borrow());
        let streamed = request.extensions().get::<Streamed>().is_some();
        let path = request.uri().path().to_owned();
        let reader = request.extensions().get().map_or_else(|| Reader::Path(path.clone()), |id| Reader::Watch(*id));
        if verb == Verb::Watch
            && (server.is_foreign(request.uri(), &reader) || self.is_ahead(&server, request.uri(), &reader).await)
        {
            return Ok(Response::new(whole(Bytes::from_static(EXPIRED))));
        }
        let (mut head, body) = server.client.send(request).await.map_err(redacted)?.into_parts();
        if let Some(page) = page(&server.url, &path, &head) {
            return Err(page.into());
        }
        if head.status.is_client_error() || head.status.is_server_error() {
            let bytes = Limited::new(body, ANSWER).collect().await?.to_bytes();
            let bytes = in_status(&mut head, bytes);
            return Ok(Response::from_parts(head, whole(bytes)));
        }
        if verb == Verb::Watch {
            let (silence, begun) = (self.bounds.silence, clock::steady());
            let events = Events { body, exchanged, silence, between: true, begun, silent: true };
            return Ok(Response::from_parts(head, StreamBody::new(events.stream()).boxed_unsync()));
        }
        if streamed {
            return Ok(Response::from_parts(head, Limited::new(body, ANSWER).boxed_unsync()));
        }
        // The caller collects it anyway; here that is within the time limit.
        let bytes = Limited::new(body, ANSWER).collect().await?.to_bytes();
        if verb == Verb::List && head.status.is_success() {
            self.versions.lock().listed(&reader);
            server.listed(reader);
        } else if head.status.is_success() && self.versions.lock().lease_went_back(&path, &bytes) {
            self.restored(&server);
        }
        Ok(Response::from_parts(head, whole(bytes)))
    }

    /// All watches end, and list everything again.
    fn restored(&self, server: &Arc<Server>) {
        self.current.send_if_modified(|current| {
            let stays = Arc::ptr_eq(current, server);
            if stays {
                warn!("the API server was restored from a backup: everything is listed again");
                *current = Arc::new(server.forgotten());
            }
            stays
        });
    }

    /// Whether a watch would continue from a version that the server has yet to reach. A server that does not say its
    /// version is not known to be restored.
    async fn is_ahead(&self, server: &Arc<Server>, uri: &Uri, reader: &Reader) -> bool {
        let Some(from) = self.versions.lock().goes_on(uri, reader) else { return false };
        let ahead = self.newest(server, uri).await.is_some_and(|newest| newest < from);
        if ahead {
            self.restored(server);
        }
        ahead
    }

    /// The current version of what is watched.
    async fn newest(&self, server: &Server, uri: &Uri) -> Option<u64> {
        let (verb, metrics) = (Verb::List, Arc::clone(&self.metrics));
        let mut counted = Counted { metrics, verb, begun: clock::steady(), code: Code::Error };
        let request = Request::get(one_of(uri)).header(ACCEPT, "application/json").body(Body::empty()).ok()?;
        let answer = server.client.send(request).await.ok()?;
        counted.code = Code::Status(answer.status().as_u16());
        let bytes = Limited::new(answer.into_body(), ANSWER).collect().await.ok()?.to_bytes();
        version(&bytes)
    }
}

/// Counts one request when it ends, even when the caller no longer waits.
struct Counted {
    metrics: Arc<RequestMetrics>,
    verb: Verb,
    begun: Instant,
    code: Code,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.requested(self.verb, self.code, self.begun.elapsed());
    }
}

fn whole(bytes: Bytes) -> UnsyncBoxBody<Bytes, BoxError> {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

impl Server {
    /// The same server, from which nobody has listed.
    fn forgotten(&self) -> Self {
        let listed = Some(Listed::default());
        Self { client: self.client.clone(), url: self.url.clone(), not_after: self.not_after, listed }
    }

    /// Records that the reader has listed.
    fn listed(&self, reader: Reader) {
        if let Some(listed) = &self.listed {
            listed.lock().insert(reader);
        }
    }

    /// Whether a watch continues from a version of another server, or of this one before it was restored, where it may
    /// now mean another object.
    fn is_foreign(&self, uri: &Uri, reader: &Reader) -> bool {
        let listed = |listed: &Listed| listed.lock().contains(reader);
        began(uri).is_some() && self.listed.as_ref().is_some_and(|all| !listed(all))
    }
}

impl Service<Request<Body>> for Requests {
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

/// The events of a watch, until it is silent for too long or the kubeconfig changes.
struct Events {
    body: Body,
    exchanged: watch::Receiver<Arc<Server>>,
    silence: Duration,
    /// Whether the last event is complete.
    between: bool,
    begun: Instant,
    /// Whether nothing has arrived yet.
    silent: bool,
}

/// A watch that ends sooner, without a byte, has failed.
const BRIEF: Duration = Duration::from_secs(1);

/// The server, or a proxy before it, accepted a watch and ended it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the watch ended at once, without an event")]
struct Brief;

impl Events {
    fn stream(self) -> impl Stream<Item = Result<Frame<Bytes>, BoxError>> {
        futures::stream::unfold(self, async |mut events| events.next().await.map(|frame| (frame, events)))
    }

    /// Ends the watch as if the server had: its reader retries from the last version.
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        let next = tokio::select! {
            biased;
            Ok(()) = self.exchanged.changed(), if self.between => return None,
            next = timeout(self.silence, self.body.frame()) => next,
        };
        if std::mem::replace(&mut self.silent, false) && matches!(next, Ok(None)) && self.begun.elapsed() < BRIEF {
            // As an error it is retried after a pause.
            return Some(Err(Brief.into()));
        }
        let frame = next.ok().flatten()?;
        if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
            self.between = data.ends_with(b"\n");
        }
        Some(frame.map_err(Into::into))
    }
}

/// The response of an API server that does not know the requested version; the reader then lists again.
const EXPIRED: &[u8] = b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\
\"status\":\"Failure\",\"message\":\"the versions are those of another API server, or of before it was restored\",\"reason\":\"Expired\",\"code\":410}}\n";

/// The verb of a request, as in a role, of a proxied request as in a role of the member; also for deletion of a
/// collection.
fn verb(method: &Method, uri: &Uri) -> Verb {
    match *method {
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ if watches(uri.query().unwrap_or_default()) => Verb::Watch,
        _ if names_a_resource(uri.path()) => Verb::List,
        _ => Verb::Get,
    }
}

fn watches(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

/// Whether the path ends with a resource, not with an object, a subresource or a discovery document.
fn names_a_resource(path: &str) -> bool {
    let parts: Vec<&str> = of_member(path).unwrap_or(path).split('/').filter(|part| !part.is_empty()).collect();
    matches!(
        parts.as_slice(),
        ["api", _, _] | ["api", _, "namespaces", _, _] | ["apis", _, _, _] | ["apis", _, _, "namespaces", _, _]
    )
}

/// What a request asks of a member, behind its proxy in karmada-apiserver; `None`: it asks karmada-apiserver itself.
fn of_member(path: &str) -> Option<&str> {
    let (_cluster, rest) = path.strip_prefix("/apis/cluster.karmada.io/v1alpha1/clusters/")?.split_once('/')?;
    rest.strip_prefix("proxy/")
}

/// The page that answers in place of karmada-apiserver. Behind its proxy to a member the page may be the member's, which
/// is passed on.
fn page(url: &str, path: &str, head: &Parts) -> Option<Page> {
    if of_member(path).is_some() { None } else { Page::of(url, head.status, &head.headers) }
}

#[cfg(test)]
mod tests {
    use http::{Method, Response};

    use super::{of_member, page, verb};

    #[test]
    fn only_the_proxy_of_a_cluster_leads_to_a_member() {
        let clusters = "/apis/cluster.karmada.io/v1alpha1/clusters";
        for (path, expected) in [
            (format!("{clusters}/member1/proxy/api/v1/pods"), Some("api/v1/pods")),
            (format!("{clusters}/member1/proxy/"), Some("")),
            (format!("{clusters}/proxy/proxy/version"), Some("version")),
            (format!("{clusters}/member1/proxy"), None),
            (format!("{clusters}/proxy/status"), None),
            ("/apis/apps/v1/namespaces/proxy/deployments".to_owned(), None),
            ("/api/v1/namespaces/prod/services/proxy/proxy/".to_owned(), None),
        ] {
            assert_eq!(of_member(&path), expected, "{path}");
        }
    }

    #[test]
    fn a_page_of_a_member_is_its_answer_and_any_other_is_told() {
        let answer =
            Response::builder().status(502).header("content-type", "text/html; charset=utf-8").body(()).unwrap();
        let (head, ()) = answer.into_parts();
        let told = |path: &str| page("https://karmada:5443", path, &head).is_some();
        assert!(!told("/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1/namespaces/prod/pods"));
        assert!(told("/api/v1/namespaces/proxy/pods"));
        assert!(told("/apis/apps/v1/namespaces/proxy/deployments/web"));
    }

    #[test]
    fn a_request_says_its_verb() {
        let cases = [
            ("GET", "/api/v1/namespaces", "list"),
            ("GET", "/api/v1/namespaces/prod", "get"),
            ("GET", "/api/v1/namespaces/prod/pods?limit=500", "list"),
            ("GET", "/api/v1/namespaces/prod/pods/web", "get"),
            ("GET", "/apis/apps/v1/deployments?watch=true&resourceVersion=5", "watch"),
            ("GET", "/apis/apps/v1/deployments", "list"),
            ("GET", "/apis/apps/v1/namespaces/prod/deployments/web/scale", "get"),
            ("GET", "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1/pods", "list"),
            ("GET", "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1/namespaces/prod/pods/web", "get"),
            ("GET", "/apis/apps/v1/namespaces/proxy/deployments", "list"),
            ("GET", "/apis/apps/v1", "get"),
            ("GET", "/version", "get"),
            ("PATCH", "/apis/apps/v1/namespaces/prod/deployments/web/scale", "patch"),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/fhpa", "update"),
            ("POST", "/apis/events.k8s.io/v1/namespaces/prod/events", "create"),
            ("DELETE", "/api/v1/namespaces/prod", "delete"),
        ];
        for (method, uri, expected) in cases {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(verb(&method, &uri.parse().unwrap()).as_str(), expected, "{method} {uri}");
        }
    }
}
