//! HTTP request -> review -> HTTP response, for each admission path. Sockets, clocks and counters are passed in.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request as HttpRequest;
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::body::{self, Limits, Unread};
use super::endpoint::Endpoint;
use super::envelope::{self, Malformed, Operation, Request};
use super::response;
use super::verdict::{Denial, Verdict};
use crate::decision::excerpt::excerpt;

/// Returns the verdict on one request, at the given time.
pub type ReviewFn = Arc<dyn Fn(Endpoint, &Request, Timestamp) -> Verdict + Send + Sync>;

/// Reads the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The wall clock.
    pub wall: fn() -> Timestamp,
    /// A clock that never goes back.
    pub monotonic: fn() -> Instant,
}

/// Result of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Admitted without findings.
    Allowed,
    /// Admitted with warnings.
    Warned,
    /// Denied by rules.
    Denied,
    /// Rejected, because the review or its object could not be decoded.
    Undecodable,
    /// The rules panicked.
    Failed,
    /// Too many reviews at a time.
    Overloaded,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Allowed, Self::Warned, Self::Denied, Self::Undecodable, Self::Failed, Self::Overloaded];

    /// A metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Denied => "denied",
            Self::Undecodable => "undecodable",
            Self::Failed => "failed",
            Self::Overloaded => "overloaded",
        }
    }

    fn of(verdict: &Verdict) -> Self {
        match &verdict.denial {
            Some(Denial::Invalid(_)) => Self::Denied,
            Some(Denial::Undecodable { .. }) => Self::Undecodable,
            None if verdict.warnings.is_empty() => Self::Allowed,
            None => Self::Warned,
        }
    }
}

/// A finished review.
#[derive(Clone, Copy, Debug)]
pub struct Reviewed<'a> {
    /// The path.
    pub endpoint: Endpoint,
    /// The operation; [`Operation::Unknown`] when it could not be read.
    pub operation: Operation,
    /// The uid; empty when there was none.
    pub uid: &'a str,
    /// Namespace of the object.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
    /// The result.
    pub outcome: Outcome,
    /// The verdict, when the rules gave one.
    pub verdict: Option<&'a Verdict>,
    /// The error, when there is no verdict.
    pub problem: &'a str,
    /// Time from the head of the request to the response.
    pub took: Duration,
}

/// Observes every review.
pub trait Observer: Send + Sync {
    /// A review was finished.
    fn reviewed(&self, reviewed: &Reviewed<'_>);
    /// A review begins.
    fn entered(&self);
    /// A review has ended.
    fn left(&self);
}

/// Slots, so that bodies that do not arrive use a bounded amount of memory.
#[derive(Clone)]
pub struct ReviewSlots {
    /// Those of reviews in flight.
    pub reviews: Arc<Semaphore>,
    /// Those of large bodies.
    pub large_bodies: Arc<Semaphore>,
}

/// State that the handlers share.
pub struct WebhookState {
    judge: ReviewFn,
    clock: Clock,
    observer: Arc<dyn Observer>,
    limits: Limits,
    slots: ReviewSlots,
}

impl WebhookState {
    /// Decides with `judge`; a review takes one of `slots` before its body arrives.
    #[must_use]
    pub fn new(judge: ReviewFn, clock: Clock, observer: Arc<dyn Observer>, limits: Limits, slots: ReviewSlots) -> Self {
        Self { judge, clock, observer, limits, slots }
    }

    fn admit(&self) -> Option<InFlight<'_>> {
        self.observer.entered();
        let review = InFlight { state: self, permit: self.slots.reviews.try_acquire().ok() };
        review.permit.is_some().then_some(review)
    }
}

/// One review in flight.
struct InFlight<'a> {
    state: &'a WebhookState,
    permit: Option<SemaphorePermit<'a>>,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.state.observer.left();
    }
}

/// What is sent back: the head, and a body that is written whole.
pub type Response = http::Response<Full<Bytes>>;

/// The router of all admission paths.
pub fn router(state: &Arc<WebhookState>) -> Router {
    let state = Arc::clone(state);
    Router::new().fallback(move |request: HttpRequest| {
        let state = Arc::clone(&state);
        async move { answer(&state, request).await.map(Body::new) }
    })
}

/// Answers a request on any path.
pub async fn answer<B>(state: &WebhookState, request: http::Request<B>) -> Response
where
    B: hyper::body::Body<Data = Bytes, Error: fmt::Display> + Unpin,
{
    let path = request.uri().path();
    let Some(endpoint) = Endpoint::ALL.into_iter().find(|endpoint| endpoint.path() == path) else {
        return not_found();
    };
    if request.method() != Method::POST {
        return method_not_allowed();
    }
    handle(state, endpoint, request).await
}

fn method_not_allowed() -> Response {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "reviews are sent with POST\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(Method::POST.as_str()));
    response
}

fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "no such path; reviews are answered under /validate-... and /mutate-...\n")
}

async fn handle<B>(state: &WebhookState, endpoint: Endpoint, request: http::Request<B>) -> Response
where
    B: hyper::body::Body<Data = Bytes, Error: fmt::Display> + Unpin,
{
    let exchange = Exchange { state, endpoint, started: (state.clock.monotonic)() };
    let Some(_in_flight) = state.admit() else { return exchange.overloaded("too many reviews at a time") };
    let (head, body) = request.into_parts();
    let (body, _large) = match body::collect(body, &state.limits, &state.slots.large_bodies).await {
        Ok(collected) => collected,
        Err(unread) => return exchange.unread(&unread),
    };
    if let Err(problem) = check_media_type(&head.headers) {
        return exchange.unjudged(StatusCode::UNSUPPORTED_MEDIA_TYPE, &problem);
    }
    exchange.review(&body)
}

/// One request in progress.
struct Exchange<'a> {
    state: &'a WebhookState,
    endpoint: Endpoint,
    started: Instant,
}

impl Exchange<'_> {
    fn review(&self, body: &[u8]) -> Response {
        let request = match envelope::decode(body) {
            Ok(request) => request,
            Err(malformed) => return self.malformed(malformed),
        };
        let now = (self.state.clock.wall)();
        // The judge holds no state that a panic could leave inconsistent.
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let verdict = (self.state.judge)(self.endpoint, &request, now);
            let answer = response::write(self.endpoint, &request.uid, &request.name, &verdict);
            (verdict, answer)
        }));
        let (outcome, verdict, answer) = if let Ok((verdict, answer)) = judged {
            (Outcome::of(&verdict), Some(verdict), answer)
        } else {
            let answer = response::refuse(&request.uid, 500, "InternalError", "the webhook failed on this object");
            (Outcome::Failed, None, answer)
        };
        self.notify_observer(&Reviewed {
            endpoint: self.endpoint,
            operation: request.operation,
            uid: &request.uid,
            namespace: &request.namespace,
            name: &request.name,
            outcome,
            verdict: verdict.as_ref(),
            problem: if verdict.is_some() { "" } else { "the rules panicked" },
            took: Duration::ZERO,
        });
        json(answer)
    }

    /// With a uid: a denial that repeats it. Without: a plain error response. The client gets the whole error; the log
    /// only its path, because the rest may repeat the body.
    fn malformed(&self, malformed: Malformed) -> Response {
        let place = format!("undecodable at {:?}", malformed.path);
        let uid = malformed.uid.as_deref().unwrap_or_default();
        self.notify_unjudged(uid, Outcome::Undecodable, &place);
        let (code, problem) = (StatusCode::BAD_REQUEST, malformed.to_string());
        match malformed.uid {
            Some(uid) => json(response::refuse(&uid, code.as_u16(), "BadRequest", &problem)),
            None => plain(code, format!("{problem}\n")),
        }
    }

    fn unread(&self, unread: &Unread) -> Response {
        let code = match unread {
            Unread::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Unread::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Unread::Broken { .. } => StatusCode::BAD_REQUEST,
            Unread::Overloaded => return self.overloaded(&unread.to_string()),
        };
        self.unjudged(code, &unread.to_string())
    }

    /// An error response to what is not decoded at all.
    fn unjudged(&self, code: StatusCode, problem: &str) -> Response {
        self.notify_unjudged("", Outcome::Undecodable, problem);
        plain(code, format!("{problem}\n"))
    }

    /// The API server retries a request with this response.
    fn overloaded(&self, problem: &str) -> Response {
        self.notify_unjudged("", Outcome::Overloaded, problem);
        let mut response = plain(StatusCode::TOO_MANY_REQUESTS, format!("{problem}\n"));
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        response
    }

    fn notify_unjudged(&self, uid: &str, outcome: Outcome, problem: &str) {
        let (endpoint, operation, took) = (self.endpoint, Operation::Unknown, Duration::ZERO);
        self.notify_observer(&Reviewed {
            endpoint,
            operation,
            uid,
            namespace: "",
            name: "",
            outcome,
            verdict: None,
            problem,
            took,
        });
    }

    fn notify_observer(&self, reviewed: &Reviewed<'_>) {
        let took = (self.state.clock.monotonic)().saturating_duration_since(self.started);
        self.state.observer.reviewed(&Reviewed { took, ..*reviewed });
    }
}

/// Characters of an invalid content type that a message repeats.
const CONTENT_TYPE_LENGTH: usize = 64;

/// Checks that a review is `application/json`, in UTF-8 and not compressed.
fn check_media_type(headers: &HeaderMap) -> Result<(), String> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err("the body has a content encoding; send it as it is".to_owned());
    }
    let Some(given) = headers.get(CONTENT_TYPE) else {
        return Err("no content type; send application/json".to_owned());
    };
    if given == "application/json" {
        return Ok(());
    }
    let text = given.to_str().unwrap_or_default();
    let refuse =
        || Err(format!("content type {:?} is not served; send application/json", excerpt(text, CONTENT_TYPE_LENGTH)));
    let mut parts = text.split(';').map(str::trim);
    if !parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return refuse();
    }
    let utf8 = |value: &str| value.trim_matches('"').eq_ignore_ascii_case("utf-8");
    for parameter in parts {
        match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") && !utf8(value.trim()) => {
                return refuse();
            }
            _ => {}
        }
    }
    Ok(())
}

fn json(answer: Bytes) -> Response {
    let mut response = Response::new(Full::new(answer));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn plain(code: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
