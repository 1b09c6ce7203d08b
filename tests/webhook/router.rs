//! The router, called in-process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use fhpa::admission::body::Limits;
use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::admission::router::{Clock, Observer, Outcome, ReviewFn, Reviewed, WebhookState, router};
use fhpa::admission::verdict::{Denial, PatchOperation, Verdict};
use fhpa::decision::finding::{Cause, Violation, Warning};
use fhpa::decision::path::Path;
use fhpa::run::process::review_slots;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::client::review;

/// Notes what it is told.
#[derive(Default)]
pub struct Notes(pub Mutex<Vec<(Endpoint, Operation, Outcome, String)>>);

impl Observer for Notes {
    fn reviewed(&self, r: &Reviewed<'_>) {
        let object = format!("{}/{} {}", r.namespace, r.name, r.uid);
        self.0.lock().unwrap().push((r.endpoint, r.operation, r.outcome, object));
    }
    fn entered(&self) {}
    fn left(&self) {}
}

pub fn desk(judge: ReviewFn, notes: Arc<Notes>) -> axum::Router {
    #[allow(clippy::disallowed_methods)]
    let clock = Clock { wall: || Timestamp::UNIX_EPOCH, monotonic: Instant::now };
    let limits = Limits { timeout: Duration::from_secs(5), ..Limits::default() };
    router(&Arc::new(WebhookState::new(judge, clock, notes, limits, review_slots(8, &limits))))
}

pub fn allowing() -> ReviewFn {
    Arc::new(|_, _, _| Verdict::allowed())
}

pub async fn ask(router: axum::Router, request: Request<Body>) -> (StatusCode, http::HeaderMap, Vec<u8>) {
    let response = router.oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    (head.status, head.headers, body.collect().await.unwrap().to_bytes().to_vec())
}

fn post(path: &str, body: Vec<u8>) -> Request<Body> {
    Request::post(path).header("content-type", "application/json").body(body.into()).unwrap()
}

#[tokio::test]
async fn every_path_hands_its_endpoint_to_the_judge() {
    for endpoint in Endpoint::ALL {
        let notes = Arc::new(Notes::default());
        let (status, headers, body) =
            ask(desk(allowing(), notes.clone()), post(&format!("{}?timeout=3s", endpoint.path()), review("u"))).await;
        assert_eq!((status, &headers["content-type"]), (StatusCode::OK, &"application/json".parse().unwrap()));
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["response"], json!({"uid": "u", "allowed": true}));
        let expected = (endpoint, Operation::Create, Outcome::Allowed, "prod/web u".to_owned());
        assert_eq!(*notes.0.lock().unwrap(), [expected]);
    }
}

#[tokio::test]
async fn a_denial_carries_its_causes_and_a_patch_its_operations() {
    let judge: ReviewFn = Arc::new(|endpoint, request, _| match endpoint {
        Endpoint::ValidateFederatedHPA => Verdict {
            denial: Some(Denial::Invalid(vec![
                Violation::new("max", &Path::Root("spec").field("maxReplicas"), Cause::Required, ""),
                Violation::new("min", &Path::Root("spec").field("minReplicas"), Cause::Invalid(0.into()), "at least 1"),
            ])),
            warnings: vec![Warning::new("zone", &Path::Root(""), "look here")],
            ..Verdict::default()
        },
        _ => Verdict {
            patch: vec![PatchOperation::Add { path: "/spec/mode".into(), value: json!(request.name) }],
            ..Verdict::default()
        },
    });
    let notes = Arc::new(Notes::default());
    let router = desk(judge, notes.clone());
    let (_, _, body) = ask(router.clone(), post("/validate-federatedhpa", review("u"))).await;
    let denied: Value = serde_json::from_slice(&body).unwrap();
    let denied = &denied["response"];
    assert_eq!((&denied["allowed"], &denied["status"]["code"]), (&json!(false), &json!(422)));
    assert_eq!(
        denied["status"]["message"],
        "FederatedHPA.autoscaling.karmada.io \"web\" is invalid: \
         [spec.maxReplicas: Required value, spec.minReplicas: Invalid value: 0: at least 1]"
    );
    let causes = denied["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(
        causes[1],
        json!({"reason": "FieldValueInvalid", "message": "Invalid value: 0: at least 1", "field": "spec.minReplicas"})
    );
    assert_eq!(denied["auditAnnotations"], json!({"denied-by": "max,min", "warned-by": "zone"}));
    assert_eq!(denied["warnings"], json!(["look here"]));
    let (_, _, body) = ask(router, post("/mutate-federatedhpa", review("u"))).await;
    let patched: Value = serde_json::from_slice(&body).unwrap();
    // [{"op":"add","path":"/spec/mode","value":"web"}]
    assert_eq!(patched["response"]["patch"], "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvbW9kZSIsInZhbHVlIjoid2ViIn1d");
    let outcomes: Vec<_> = notes.0.lock().unwrap().iter().map(|note| note.2).collect();
    assert_eq!(outcomes, [Outcome::Denied, Outcome::Allowed]);
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_in_http() {
    let router = desk(allowing(), Arc::new(Notes::default()));
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let request = Request::builder().method(method).uri("/validate-federatedhpa").body(Body::empty()).unwrap();
        let (status, headers, _) = ask(router.clone(), request).await;
        assert_eq!((status, headers["allow"].to_str().unwrap()), (StatusCode::METHOD_NOT_ALLOWED, "POST"), "{method}");
    }
    for path in ["/", "/validate", "/validate-federatedhpa/", "/Validate-FederatedHPA", "/healthz"] {
        assert_eq!(ask(router.clone(), post(path, review("u"))).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn only_plain_utf8_json_is_read() {
    let router = desk(allowing(), Arc::new(Notes::default()));
    let send = |content_type: &str, encoding: Option<&str>| {
        let mut request = Request::post("/validate-federatedhpa").header("content-type", content_type);
        if let Some(encoding) = encoding {
            request = request.header("content-encoding", encoding);
        }
        ask(router.clone(), request.body(Body::from(review("u"))).unwrap())
    };
    for good in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\"; q=1"] {
        let body: Value = serde_json::from_slice(&send(good, None).await.2).unwrap();
        assert_eq!(body["response"]["allowed"], true, "{good}");
    }
    for (bad, encoding) in
        [("text/plain", None), ("application/json; charset=utf-16", None), ("application/json", Some("gzip"))]
    {
        assert_eq!(send(bad, encoding).await.0, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{bad}");
    }
}

#[tokio::test]
async fn a_panic_is_a_denial_with_its_uid() {
    let notes = Arc::new(Notes::default());
    let judge: ReviewFn = Arc::new(|_, _, _| panic!("boom"));
    let (status, _, body) = ask(desk(judge, notes.clone()), post("/validate-federatedhpa", review("u-1"))).await;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (status, &body["response"]["uid"], &body["response"]["allowed"]),
        (StatusCode::OK, &json!("u-1"), &json!(false))
    );
    assert_eq!(body["response"]["status"]["code"], 500);
    assert!(!body["response"].to_string().contains("boom"));
    assert_eq!(notes.0.lock().unwrap()[0].2, Outcome::Failed);
}
