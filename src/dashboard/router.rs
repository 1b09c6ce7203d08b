//! Requests -> pages. All of them are read with GET; the one form only computes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use http_body_util::{BodyExt as _, Limited};
use maud::{Markup, PreEscaped};

use super::access::Verdict;
use super::preview::Previewed;
use super::query::Query;
use super::{Shared, live, page};

type App = State<Arc<Shared>>;

/// What a page may load and do: only what comes from this server.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);
/// Largest body of the form, in bytes: an object may have 1 MiB, and grows when it is encoded.
const BODY: usize = 3 << 20;
/// Time for the body of the form.
const ARRIVAL: Duration = Duration::from_secs(10);
/// Longest preview.
const PATIENCE: Duration = Duration::from_secs(30);

/// All pages of a dashboard.
pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(fleet))
        .route("/objects/{namespace}/{name}", get(object))
        .route("/clusters", get(clusters))
        .route("/clusters/{name}", get(cluster))
        .route("/cron", get(crons))
        .route("/cron/{namespace}/{name}", get(cron))
        .route("/doctor", get(doctor))
        .route("/drill", get(drill))
        .route("/what-if", get(form).post(what_if))
        .route("/events", get(events))
        .route("/style.css", asset("text/css; charset=utf-8", include_str!("assets/style.css")))
        .route("/script.js", asset("text/javascript; charset=utf-8", include_str!("assets/script.js")))
        .route("/icon.svg", asset("image/svg+xml", include_str!("assets/icon.svg")))
        .fallback(missing)
        .layer(from_fn_with_state(Arc::clone(shared), guard))
        .with_state(Arc::clone(shared))
}

/// Refuses all but the user's own requests, and marks all responses.
async fn guard(State(shared): App, request: Request, next: Next) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let mut response = match shared.access.judge(method, request.uri(), request.headers()) {
        Verdict::Refused(why) => (StatusCode::FORBIDDEN, format!("forbidden: {why}\n")).into_response(),
        Verdict::Entered { cookie, path } => entered(&cookie, &path),
        Verdict::Admitted => match (method, path) {
            (&Method::GET | &Method::HEAD, _) | (&Method::POST, "/what-if") => next.run(request).await,
            (_, "/what-if") => not_allowed("GET, HEAD, POST"),
            _ => not_allowed("GET, HEAD"),
        },
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With `no-referrer` browsers send `Origin: null` with the form.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn entered(cookie: &str, path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let (Ok(cookie), Ok(path)) = (HeaderValue::from_str(cookie), HeaderValue::from_str(path)) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    response.headers_mut().insert(SET_COOKIE, cookie);
    response.headers_mut().insert(LOCATION, path);
    response
}

fn not_allowed(allowed: &'static str) -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, allowed)], "method not allowed\n").into_response()
}

fn asset(kind: &'static str, text: &'static str) -> MethodRouter<Arc<Shared>> {
    get(move || async move { ([(CONTENT_TYPE, kind)], text) })
}

fn html(code: StatusCode, PreEscaped(text): Markup) -> Response {
    (code, [(CONTENT_TYPE, "text/html; charset=utf-8")], Body::from(text)).into_response()
}

fn shown(shared: &Shared, page: impl FnOnce() -> Option<Markup>, what: &str) -> Response {
    // Asked before the page: lists that end meanwhile are not on it.
    let is_loading = shared.cache.read().is_loading();
    match page() {
        Some(page) => html(StatusCode::OK, page),
        None => html(StatusCode::NOT_FOUND, page::missing(shared, is_loading, what)),
    }
}

async fn fleet(State(shared): App, RawQuery(query): RawQuery) -> Response {
    html(StatusCode::OK, page::fleet::page(&shared, &Query::read(query.as_deref())))
}

async fn object(State(shared): App, Path(key): Path<(String, String)>) -> Response {
    let page = || page::object::page(&shared, &key);
    shown(&shared, page, &format!("There is no FederatedHPA {}/{}, or it cannot be read.", key.0, key.1))
}

async fn clusters(State(shared): App) -> Response {
    html(StatusCode::OK, page::cluster::all(&shared))
}

async fn cluster(State(shared): App, Path(name): Path<String>, RawQuery(query): RawQuery) -> Response {
    let page = || page::cluster::page(&shared, &name, &Query::read(query.as_deref()));
    shown(&shared, page, &format!("There is no cluster {name}, or it cannot be read."))
}

async fn crons(State(shared): App, RawQuery(query): RawQuery) -> Response {
    html(StatusCode::OK, page::cron::all(&shared, &Query::read(query.as_deref())))
}

async fn cron(State(shared): App, Path(key): Path<(String, String)>) -> Response {
    let page = || page::cron::page(&shared, &key);
    shown(&shared, page, &format!("There is no CronFederatedHPA {}/{}, or it cannot be read.", key.0, key.1))
}

async fn doctor(State(shared): App, RawQuery(query): RawQuery) -> Response {
    if query.as_deref() != Some("run=now") {
        return html(StatusCode::OK, page::doctor::page(&shared));
    }
    shared.checks.run(&shared.client, || shared.cache.now()).await;
    // A reload of the page does not run them again.
    (StatusCode::SEE_OTHER, [(LOCATION, "/doctor")]).into_response()
}

async fn drill(State(shared): App, RawQuery(query): RawQuery) -> Response {
    if query.as_deref() != Some("run=now") {
        return html(StatusCode::OK, page::drill::page(&shared));
    }
    shared.drills.run(&shared.client, &shared.preview, || shared.cache.now()).await;
    (StatusCode::SEE_OTHER, [(LOCATION, "/drill")]).into_response()
}

async fn form(State(shared): App, RawQuery(query): RawQuery) -> Response {
    let mut pairs = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let object = pairs.find(|(name, _)| name == "object").map(|(_, value)| value.into_owned()).unwrap_or_default();
    html(StatusCode::OK, page::what_if::empty(&shared, &object))
}

async fn what_if(State(shared): App, request: Request) -> Response {
    let body = Limited::new(request.into_body(), BODY).collect();
    let body = match tokio::time::timeout(ARRIVAL, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return (StatusCode::PAYLOAD_TOO_LARGE, "the manifest is too large\n").into_response(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the manifest did not arrive in time\n").into_response(),
    };
    let field = |wanted: &str| {
        form_urlencoded::parse(&body).find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    if !field("form").is_some_and(|given| shared.access.form.is(&given)) {
        return (StatusCode::FORBIDDEN, "forbidden: the form is not of this dashboard; reload the page\n")
            .into_response();
    }
    let manifest = field("manifest").unwrap_or_default();
    match previewed(&shared, &manifest).await {
        Ok(previewed) => html(StatusCode::OK, page::what_if::previewed(&shared, &manifest, &previewed)),
        Err(why) => {
            let previewed = Previewed { findings: why.to_owned(), ..Previewed::default() };
            html(StatusCode::SERVICE_UNAVAILABLE, page::what_if::previewed(&shared, &manifest, &previewed))
        }
    }
}

async fn previewed(shared: &Arc<Shared>, manifest: &str) -> Result<Previewed, &'static str> {
    let permit = Arc::clone(&shared.previews).try_acquire_owned();
    let permit = permit.map_err(|_| "other previews are being computed: try again in a moment")?;
    let (work, manifest) = (Arc::clone(shared), manifest.to_owned());
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work.preview.preview(&work.client, &manifest)
    });
    match tokio::time::timeout(PATIENCE, task).await {
        Ok(Ok(previewed)) => Ok(previewed),
        Ok(Err(_)) => Err("the preview failed"),
        Err(_) => Err("the control plane took too long to answer"),
    }
}

async fn events(State(shared): App) -> Response {
    match live::stream(&shared) {
        Some(stream) => stream.into_response(),
        None => no_place(),
    }
}

/// The connection ends, so that it takes no place of a page.
fn no_place() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(CONNECTION, "close")], "too many pages are open\n").into_response()
}

async fn missing(State(shared): App) -> Response {
    html(StatusCode::NOT_FOUND, page::missing(&shared, false, "There is no such page."))
}
