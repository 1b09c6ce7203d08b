//! The plain HTTP port for probes and metrics: `/livez`, `/readyz`, `/metrics`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::clock;
use super::lifecycle::Readiness;
use super::metrics::{Format, Metrics};

const TEXT: &str = "text/plain; charset=utf-8";

/// The router of the port.
pub fn router(readiness: Arc<Readiness>, metrics: Arc<Metrics>) -> Router {
    let asked = Arc::clone(&readiness);
    let scrape = async move |headers: HeaderMap| {
        metrics.ready.set(asked.missing(clock::wall()).is_empty().into());
        let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let format = Format::accepted(accept);
        answer(StatusCode::OK, format.content_type(), metrics.scrape(format))
    };
    Router::new()
        .route("/livez", get(async || answer(StatusCode::OK, TEXT, "ok\n".to_owned())))
        .route("/readyz", get(async move || ready(&readiness)))
        .route("/metrics", get(scrape))
}

fn ready(readiness: &Readiness) -> Response {
    let missing = readiness.missing(clock::wall());
    if missing.is_empty() {
        return answer(StatusCode::OK, TEXT, "ok\n".to_owned());
    }
    let text = format!("not ready: {}\n", missing.join("\nnot ready: "));
    answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, text)
}

fn answer(code: StatusCode, content_type: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
