//! Metrics and log line of each review: uid, object and verdict, never the body.

use std::fmt;
use std::sync::Arc;

use tracing::{Level, debug, enabled, error, info};

use super::review_metrics::ReviewMetrics;
use crate::admission::response::names;
use crate::admission::router::{Observer, Outcome, Reviewed};
use crate::admission::verdict::{Denial, Verdict};
use crate::decision::excerpt::excerpt;

/// Counts and logs reviews.
pub struct ReviewLog {
    metrics: Arc<ReviewMetrics>,
}

impl ReviewLog {
    /// Counts in `metrics`.
    #[must_use]
    pub fn new(metrics: Arc<ReviewMetrics>) -> Self {
        Self { metrics }
    }
}

impl Observer for ReviewLog {
    fn reviewed(&self, reviewed: &Reviewed<'_>) {
        self.metrics.reviewed(reviewed.endpoint, reviewed.operation, reviewed.outcome, reviewed.took);
        if reviewed.outcome == Outcome::Allowed {
            if enabled!(Level::DEBUG) {
                log_allowed(reviewed);
            }
            return;
        }
        self.count(reviewed);
        match reviewed.outcome {
            // A client that sends too much must not fill the log too.
            Outcome::Overloaded => debug!(problem = reviewed.problem, "refused"),
            Outcome::Failed => {
                error!(uid = excerpt(reviewed.uid, SHOWN), object = %Object(reviewed), "the rules panicked");
            }
            _ if enabled!(Level::INFO) => log_remarkable(reviewed),
            _ => {}
        }
    }

    fn entered(&self) {
        self.metrics.in_flight.inc();
    }

    fn left(&self) {
        self.metrics.in_flight.dec();
    }
}

impl ReviewLog {
    fn count(&self, reviewed: &Reviewed<'_>) {
        if reviewed.outcome == Outcome::Failed {
            self.metrics.panics.inc();
        }
        if let Some(Denial::Invalid(violations)) = reviewed.verdict.and_then(|verdict| verdict.denial.as_ref()) {
            let mut seen: Vec<&'static str> = Vec::new();
            for violation in violations {
                if !seen.contains(&violation.rule) {
                    seen.push(violation.rule);
                    self.metrics.denied(violation.rule);
                }
            }
        }
    }
}

/// Characters of a uid or a name that are logged.
const SHOWN: usize = 253;

/// Namespace and name of the object under review.
struct Object<'a>(&'a Reviewed<'a>);

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", excerpt(self.0.namespace, SHOWN), excerpt(self.0.name, SHOWN))
    }
}

fn log_allowed(reviewed: &Reviewed<'_>) {
    debug!(
        uid = excerpt(reviewed.uid, SHOWN),
        kind = reviewed.endpoint.kind(),
        action = reviewed.endpoint.action(),
        operation = reviewed.operation.as_str(),
        object = %Object(reviewed),
        verdict = reviewed.outcome.as_str(),
        took_us = micros(reviewed),
        "reviewed"
    );
}

fn log_remarkable(reviewed: &Reviewed<'_>) {
    let rules = reviewed.verdict.map(rules).unwrap_or_default();
    info!(
        uid = excerpt(reviewed.uid, SHOWN),
        kind = reviewed.endpoint.kind(),
        action = reviewed.endpoint.action(),
        operation = reviewed.operation.as_str(),
        object = %Object(reviewed),
        verdict = reviewed.outcome.as_str(),
        rules,
        problem = reviewed.problem,
        took_us = micros(reviewed),
        "reviewed"
    );
}

fn rules(verdict: &Verdict) -> String {
    match &verdict.denial {
        Some(Denial::Invalid(violations)) => names(violations.iter().map(|v| v.rule)),
        Some(Denial::Undecodable { path, .. }) => format!("undecodable at {:?}", excerpt(path, SHOWN)),
        None => names(verdict.warnings.iter().map(|w| w.rule)),
    }
}

fn micros(reviewed: &Reviewed<'_>) -> u64 {
    u64::try_from(reviewed.took.as_micros()).unwrap_or(u64::MAX)
}
