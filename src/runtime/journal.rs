//! What is counted and logged of each review: uid, object and verdict, never the body.

use std::sync::Arc;

use tracing::{Level, debug, enabled, error, info};

use super::metrics::Metrics;
use crate::admission::response::names;
use crate::admission::router::{Observer, Outcome, Reviewed};
use crate::admission::verdict::{Denial, Verdict};

/// Counts and logs reviews.
pub struct Journal {
    metrics: Arc<Metrics>,
}

impl Journal {
    /// Counts in `metrics`.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }
}

impl Observer for Journal {
    fn reviewed(&self, reviewed: &Reviewed<'_>) {
        self.metrics.reviewed(reviewed.endpoint, reviewed.operation, reviewed.outcome, reviewed.took);
        if reviewed.outcome == Outcome::Allowed {
            if enabled!(Level::DEBUG) {
                log_allowed(reviewed);
            }
            return;
        }
        self.count(reviewed);
        log_remarkable(reviewed);
    }

    fn entered(&self) {
        self.metrics.in_flight.inc();
    }

    fn left(&self) {
        self.metrics.in_flight.dec();
    }
}

impl Journal {
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

fn log_allowed(reviewed: &Reviewed<'_>) {
    debug!(
        uid = reviewed.uid,
        kind = reviewed.endpoint.kind(),
        action = reviewed.endpoint.action(),
        operation = reviewed.operation.as_str(),
        object = %format_args!("{}/{}", reviewed.namespace, reviewed.name),
        verdict = reviewed.outcome.as_str(),
        took_us = micros(reviewed),
        "reviewed"
    );
}

fn log_remarkable(reviewed: &Reviewed<'_>) {
    if reviewed.outcome == Outcome::Failed {
        error!(uid = reviewed.uid, object = %format_args!("{}/{}", reviewed.namespace, reviewed.name), "the rules panicked");
    }
    if !enabled!(Level::INFO) {
        return;
    }
    let rules = reviewed.verdict.map(rules).unwrap_or_default();
    info!(
        uid = reviewed.uid,
        kind = reviewed.endpoint.kind(),
        action = reviewed.endpoint.action(),
        operation = reviewed.operation.as_str(),
        object = %format_args!("{}/{}", reviewed.namespace, reviewed.name),
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
        Some(Denial::Undecodable { path, .. }) => path.clone(),
        None => names(verdict.warnings.iter().map(|w| w.rule)),
    }
}

fn micros(reviewed: &Reviewed<'_>) -> u64 {
    u64::try_from(reviewed.took.as_micros()).unwrap_or(u64::MAX)
}
