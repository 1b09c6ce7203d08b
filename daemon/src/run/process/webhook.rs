//! The webhook's part of a process: certificate, listener, shutdown.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tracing::warn;

use super::certificate::ReloadedCertificate;
use super::options::{Drain, Ended, Error, WebhookOptions};
use super::tasks::{Done, Tasks};
use crate::admission::body;
use crate::admission::router::{Clock, Response, ReviewFn, ReviewSlots, WebhookState, answer};
use crate::run::review_log::ReviewLog;
use crate::run::review_metrics::ReviewMetrics;
use crate::runtime::clock;
use crate::runtime::lifecycle::{Condition, Lifecycle, Phase, Readiness};
use crate::runtime::metrics::Metrics;
use crate::runtime::server::{self, Answering, Listener, Security};
use crate::runtime::tls::{self, shared::Latest};

/// A webhook with a certificate, before it is bound.
pub(super) struct Unbound {
    listen: SocketAddr,
    certificate: ReloadedCertificate,
    limits: server::Limits,
    bodies: body::Limits,
    reviews: usize,
}

impl Unbound {
    /// Loads the certificate.
    pub(super) async fn load(options: WebhookOptions, metrics: &Arc<Metrics>) -> Result<Self, Error> {
        let WebhookOptions { listen, certificate, limits, bodies, reviews } = options;
        let certificate = ReloadedCertificate::load(certificate, metrics).await?;
        Ok(Self { listen, certificate, limits, bodies, reviews })
    }

    /// The certificate that all replicas share, if they do.
    pub(super) const fn shared(&self) -> Option<&Latest> {
        self.certificate.shared.as_ref()
    }
}

/// Answers reviews without a router between: the path is compared with six.
#[derive(Clone)]
struct Reviews(Arc<WebhookState>);

impl Answering for Reviews {
    type Body = Full<Bytes>;

    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response> + Send + 'static {
        let state = Arc::clone(&self.0);
        async move { answer(&state, request).await }
    }
}

/// Slots for so many reviews at a time, and large bodies among them.
#[must_use]
pub fn review_slots(reviews: usize, bodies: &body::Limits) -> ReviewSlots {
    let slots = |count| Arc::new(Semaphore::new(count));
    ReviewSlots { reviews: slots(reviews), large_bodies: slots(bodies.large_bodies) }
}

/// A bound webhook before it serves.
pub(super) struct BoundWebhook {
    reviews: Listener<Reviews>,
    pub(super) local: SocketAddr,
    certificate: ReloadedCertificate,
    listening: Condition,
    pub(super) lifecycle: Arc<Lifecycle>,
}

impl BoundWebhook {
    /// Binds the socket.
    pub(super) async fn bind(
        unbound: Unbound,
        judge: ReviewFn,
        metrics: &Arc<Metrics>,
        counted: Arc<ReviewMetrics>,
        readiness: &Readiness,
    ) -> Result<Self, Error> {
        let Unbound { listen, certificate, limits, bodies, reviews } = unbound;
        let current = certificate.reloader.current();
        readiness.check("the certificate is not valid at this time", move |now| current.load().is_valid_at(now));
        let clocks = Clock { wall: clock::wall, monotonic: clock::monotonic };
        let log = Arc::new(ReviewLog::new(counted));
        let slots = review_slots(reviews, &bodies);
        let desk = Arc::new(WebhookState::new(judge, clocks, log, bodies, slots));
        let lifecycle = Arc::new(Lifecycle::default());
        let security = Security::Tls(certificate.reloader.current());
        let (shared, metrics) = (Arc::clone(&lifecycle), Arc::clone(metrics));
        let failed = |source| Error::Bind { address: listen, flag: "--listen", source };
        let reviews = Listener::bind(listen, security, Reviews(desk), limits, shared, metrics).await.map_err(failed)?;
        let local = reviews.local_addr().map_err(failed)?;
        let listening = readiness.condition("the socket is not listening");
        Ok(Self { reviews, local, certificate, listening, lifecycle })
    }

    /// The CA of a certificate that was issued here, as PEM.
    pub(super) fn ca_pem(&self) -> Option<String> {
        self.certificate.reloader.ca_pem()
    }

    /// The TLS configuration of new connections.
    pub(super) fn tls(&self) -> tls::Current {
        self.certificate.reloader.current()
    }

    /// Serves from now on.
    pub(super) fn start(self, tasks: &mut Tasks) -> Served {
        self.certificate.start(tasks);
        let reviews = tasks.spawn("the webhook", self.reviews.run());
        self.listening.met();
        Served { reviews, lifecycle: self.lifecycle }
    }
}

/// A running webhook.
pub(super) struct Served {
    reviews: Done,
    lifecycle: Arc<Lifecycle>,
}

impl Served {
    /// Ends all connections, at first gently.
    pub(super) async fn drain(self, drain: Drain) -> Ended {
        // At first new connections still arrive here; closing the old ones would only move them back.
        let half = drain.keep_serving / 2;
        tokio::time::sleep(half).await;
        self.lifecycle.advance(Phase::Parting);
        tokio::time::sleep(drain.keep_serving.saturating_sub(half)).await;
        self.lifecycle.advance(Phase::Stopping);
        if tokio::time::timeout(drain.finish, self.reviews.wait()).await.is_ok() {
            return Ended::Drained;
        }
        warn!(seconds = drain.finish.as_secs_f64(), "dropping reviews in flight");
        Ended::TimedOut
    }
}
