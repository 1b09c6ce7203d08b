//! Metrics of reviews. No I/O.

use std::array;
use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::admission::endpoint::Endpoint;
use crate::admission::envelope::Operation;
use crate::admission::router::Outcome;
use crate::runtime::metrics::registered;

/// Upper bounds of the latency histogram, in seconds.
const LATENCY: [f64; 12] =
    [0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0];

const OUTCOMES: usize = Outcome::ALL.len();
const OPERATIONS: usize = Operation::ALL.len();
const ENDPOINTS: usize = Endpoint::ALL.len();

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewLabels {
    kind: &'static str,
    action: &'static str,
    operation: &'static str,
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndpointLabels {
    kind: &'static str,
    action: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    rule: &'static str,
}

/// The metrics of the webhook, with handles for those of each review.
pub struct ReviewMetrics {
    reviews: Family<ReviewLabels, Counter>,
    review_handles: [OnceLock<Counter>; OUTCOMES * OPERATIONS * ENDPOINTS],
    durations: [Histogram; ENDPOINTS],
    denials: Family<RuleLabels, Counter>,
    /// Reviews in flight.
    pub in_flight: Gauge,
    /// Panics caught in reviews.
    pub panics: Counter,
}

impl ReviewMetrics {
    /// Registers all metrics in `registry`, at zero.
    #[must_use]
    pub fn new(registry: &mut Registry) -> Self {
        Self {
            durations: durations(registry),
            reviews: registered(registry, "reviews", "Reviews answered"),
            review_handles: array::from_fn(|_| OnceLock::new()),
            denials: registered(registry, "denials", "Denials by rule; a denial by several rules counts for each"),
            in_flight: registered(registry, "reviews_in_flight", "Reviews being answered"),
            panics: registered(registry, "webhook_panics", "Panics caught while reviewing"),
        }
    }

    /// Counts a review.
    pub fn reviewed(&self, endpoint: Endpoint, operation: Operation, outcome: Outcome, took: Duration) {
        let (e, o, v) = (endpoint as usize, operation as usize, outcome as usize);
        if let Some(handle) = self.review_handles.get((e * OPERATIONS + o) * OUTCOMES + v) {
            let labels = || ReviewLabels {
                kind: endpoint.kind(),
                action: endpoint.action(),
                operation: operation.as_str(),
                verdict: outcome.as_str(),
            };
            handle.get_or_init(|| self.reviews.get_or_create(&labels()).clone()).inc();
        }
        if let Some(histogram) = self.durations.get(e) {
            histogram.observe(took.as_secs_f64());
        }
    }

    /// Counts a denial by `rule`.
    pub fn denied(&self, rule: &'static str) {
        self.denials.get_or_create(&RuleLabels { rule }).inc();
    }
}

/// Histograms of the duration of reviews, in the order of [`Endpoint::ALL`].
fn durations<const N: usize>(registry: &mut Registry) -> [Histogram; N] {
    let family = Family::<EndpointLabels, Histogram>::new_with_constructor(|| Histogram::new(LATENCY));
    let help = "Time from the head of a request to its answer";
    registry.register_with_unit("review_duration", help, Unit::Seconds, family.clone());
    array::from_fn(|index| {
        let endpoint = Endpoint::ALL.get(index).copied().unwrap_or(Endpoint::ValidateFederatedHPA);
        let labels = EndpointLabels { kind: endpoint.kind(), action: endpoint.action() };
        family.get_or_create(&labels).clone()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::ReviewMetrics;
    use crate::admission::endpoint::Endpoint;
    use crate::admission::envelope::Operation;
    use crate::admission::router::Outcome;
    use crate::runtime::metrics::Metrics;

    #[test]
    fn every_review_has_its_own_series() {
        let (metrics, reviews) = Metrics::with(ReviewMetrics::new);
        for endpoint in Endpoint::ALL {
            for operation in Operation::ALL {
                for outcome in Outcome::ALL {
                    reviews.reviewed(endpoint, operation, outcome, Duration::from_micros(30));
                }
            }
        }
        reviews.denied("schedule");
        let [begin, end] = [1_700_000_000, 1_800_000_000].map(|second| Timestamp::from_second(second).unwrap());
        metrics.certificate_is_valid(begin, end);
        let text = metrics.text();
        let ones = text.lines().filter(|line| line.starts_with("fhpa_reviews_total{") && line.ends_with(" 1"));
        assert_eq!(ones.count(), 7 * 5 * 6);
        for line in [
            r#"fhpa_reviews_total{kind="FederatedHPA",action="validate",operation="UPDATE",verdict="denied"} 1"#,
            r#"fhpa_denials_total{rule="schedule"} 1"#,
            "fhpa_certificate_not_after_timestamp_seconds 1800000000",
            r#"fhpa_review_duration_seconds_bucket{le="0.00005",kind="FederatedHPA",action="mutate"} 30"#,
        ] {
            assert!(text.lines().any(|l| l == line), "{line} not in:\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
