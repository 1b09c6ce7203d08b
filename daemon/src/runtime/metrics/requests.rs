//! Metrics of the client of the control plane: requests by verb and outcome. No I/O.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{ResultLabels, registered};

/// Verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of Kubernetes")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
}

impl Verb {
    const ALL: [Self; 7] = [Self::Get, Self::List, Self::Watch, Self::Create, Self::Update, Self::Patch, Self::Delete];

    /// The verb as in roles.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A response with this HTTP status.
    Status(u16),
    /// No response.
    Error,
    /// No response in time.
    Timeout,
    /// The caller stopped waiting.
    Canceled,
}

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Self::Status(code) => EncodeLabelValue::encode(code, encoder),
            Self::Error => EncodeLabelValue::encode(&"error", encoder),
            Self::Timeout => EncodeLabelValue::encode(&"timeout", encoder),
            Self::Canceled => EncodeLabelValue::encode(&"canceled", encoder),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    code: Code,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: &'static str,
}

/// Upper bounds of the duration of requests, in seconds.
const DURATION: [f64; 12] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0];

/// The metrics of the client.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    requests: Family<RequestLabels, Counter>,
    durations: [Histogram; Verb::ALL.len()],
    certificate_not_after: Gauge,
    /// New contents of the kubeconfig in use.
    pub reloads_ok: Counter,
    /// New contents of the kubeconfig that were rejected.
    pub reloads_failed: Counter,
}

impl RequestMetrics {
    /// Registers all metrics in `r`, at zero.
    pub(super) fn new(r: &mut Registry) -> Self {
        let requests = Family::<RequestLabels, Counter>::default();
        r.register("api_requests", "Requests to the API server, by verb and HTTP status", requests.clone());
        let durations = Family::<VerbLabels, Histogram>::new_with_constructor(|| Histogram::new(DURATION));
        let help = "Time from a request to the end of its answer; of a watch, to its beginning";
        r.register_with_unit("api_request_duration", help, Unit::Seconds, durations.clone());
        let reloads = Family::<ResultLabels, Counter>::default();
        r.register("kubeconfig_reloads", "New contents of the kubeconfig, by result", reloads.clone());
        let reload = |result| reloads.get_or_create(&ResultLabels { result }).clone();
        Self {
            requests,
            durations: Verb::ALL.map(|verb| durations.get_or_create(&VerbLabels { verb: verb.as_str() }).clone()),
            certificate_not_after: registered(
                r,
                "kubeconfig_certificate_not_after_timestamp_seconds",
                "End of validity of the client certificate in the kubeconfig; 0 without one",
            ),
            reloads_ok: reload("ok"),
            reloads_failed: reload("failed"),
        }
    }

    /// Sets when the client certificate in the kubeconfig expires.
    pub fn credentials_expire(&self, not_after: Option<Timestamp>) {
        self.certificate_not_after.set(not_after.map_or(0, Timestamp::as_second));
    }

    /// Counts a finished request.
    pub fn requested(&self, verb: Verb, code: Code, took: Duration) {
        self.requests.get_or_create(&RequestLabels { verb: verb.as_str(), code }).inc();
        if let Some(histogram) = self.durations.get(verb as usize) {
            histogram.observe(took.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Code, Verb};
    use crate::runtime::metrics::Metrics;

    #[test]
    fn requests_are_counted_by_verb_and_code() {
        let metrics = Metrics::new();
        for code in [Code::Status(200), Code::Status(404), Code::Error, Code::Timeout] {
            metrics.requests().requested(Verb::Patch, code, Duration::from_millis(2));
        }
        let text = metrics.text();
        for line in [
            r#"fhpa_api_requests_total{verb="patch",code="404"} 1"#,
            r#"fhpa_api_requests_total{verb="patch",code="timeout"} 1"#,
            r#"fhpa_api_request_duration_seconds_count{verb="patch"} 4"#,
        ] {
            assert!(text.lines().any(|l| l == line), "{line} not in:\n{text}");
        }
    }
}
