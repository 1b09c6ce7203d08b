//! The webhook of a scene. No sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use fhpa::admission::body::Limits;
use fhpa::admission::registration::Location;
use fhpa::admission::review::Reviewer;
use fhpa::admission::router::{Clock as Clocks, Observer, Reviewed, WebhookState, router};
use fhpa::decision::validation::Settings;
use fhpa::playground::fleet::Fleet;
use fhpa::run::process::review_slots;
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Index, Readers, Watches};
use fhpa::runtime::zones::ZoneDatabase;
use futures::FutureExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use crate::stories::distributed::START;

/// Where the webhook is, as far as the API server knows.
const BASE: &str = "https://fhpa.test:443";

/// Is told of reviews and says nothing.
struct Silent;

impl Observer for Silent {
    fn reviewed(&self, _: &Reviewed<'_>) {}
    fn entered(&self) {}
    fn left(&self) {}
}

/// Where the webhook is.
pub fn location() -> Location {
    Location { base_url: BASE.to_owned(), ca_bundle: Vec::new() }
}

/// The webhook, served without a socket while it is not `silent`.
pub fn review(fleet: &Fleet, runs: &mut JoinSet<()>, silent: &Arc<AtomicBool>) {
    let index = Arc::new(Index::default());
    let settings = Settings::default();
    let readers = Readers::default().with_index(&index, settings.stored_mode());
    let watches = Watches::new(readers, &Readiness::default());
    let client = fleet.control().client();
    runs.spawn(watches.run(client, Arc::new(Metrics::new())));
    let zones = Arc::new(ZoneDatabase::bundled());
    let reviewer = Reviewer { related_objects: index, zones, settings, preview: None, frozen: None, idle: None };
    let judge: fhpa::admission::router::ReviewFn =
        Arc::new(move |endpoint, request, now| reviewer.review(endpoint, request, now));
    #[allow(clippy::disallowed_methods)]
    let clocks = Clocks { wall: || START.parse().unwrap(), monotonic: std::time::Instant::now };
    let router = router(&Arc::new(WebhookState::new(
        judge,
        clocks,
        Arc::new(Silent),
        Limits::default(),
        review_slots(64, &Limits::default()),
    )));
    let silent = Arc::clone(silent);
    let answer: embedded_apiserver::admission::Inside = Arc::new(move |path, review| {
        if silent.load(Ordering::SeqCst) {
            return async { Err("connection refused".to_owned()) }.boxed();
        }
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).unwrap();
        let router = router.clone();
        async move {
            let response = router.oneshot(request).await.map_err(|error| error.to_string())?;
            let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
            serde_json::from_slice(&body).map_err(|error| error.to_string())
        }
        .boxed()
    });
    fleet.control().answer_webhooks(BASE, &answer);
}
