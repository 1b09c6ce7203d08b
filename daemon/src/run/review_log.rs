//! Metrics and log line of each review: uid, object and verdict, never the body. Lines of a client that is refused or
//! warned again and again are left out above a rate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{Level, debug, enabled, error, info};

use super::review_metrics::ReviewMetrics;
use crate::admission::response::names;
use crate::admission::router::{Observer, Outcome, Reviewed};
use crate::admission::verdict::{Denial, Verdict};
use crate::decision::excerpt::excerpt;
use crate::runtime::clock::steady;

/// In each period so many reviews that were denied or warned about have a line.
const LINES: u32 = 100;
const PERIOD: Duration = Duration::from_secs(10);

/// Counts and logs reviews.
pub struct ReviewLog {
    metrics: Arc<ReviewMetrics>,
    sample: Mutex<Sample>,
}

/// Which lines are written.
#[derive(Debug)]
struct Sample {
    since: Instant,
    lines: u32,
    omitted: u64,
}

impl Sample {
    /// Whether a line is written now, and how many were left out since the last one.
    fn admits(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.since) >= PERIOD {
            (self.since, self.lines) = (now, 0);
        }
        if self.lines == LINES {
            self.omitted = self.omitted.saturating_add(1);
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.omitted))
    }
}

impl ReviewLog {
    /// Counts in `metrics`.
    #[must_use]
    pub fn new(metrics: Arc<ReviewMetrics>) -> Self {
        Self { metrics, sample: Mutex::new(Sample { since: steady(), lines: 0, omitted: 0 }) }
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
                error!(uid = excerpt(reviewed.uid, NAME_LENGTH), object = %Object(reviewed), "the rules panicked");
            }
            _ if enabled!(Level::INFO) => {
                if let Some(omitted) = self.sample.lock().admits(steady()) {
                    log_remarkable(reviewed, omitted);
                }
            }
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
const NAME_LENGTH: usize = 253;

/// Namespace and name of the object under review.
struct Object<'a>(&'a Reviewed<'a>);

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", excerpt(self.0.namespace, NAME_LENGTH), excerpt(self.0.name, NAME_LENGTH))
    }
}

fn log_allowed(reviewed: &Reviewed<'_>) {
    debug!(
        uid = excerpt(reviewed.uid, NAME_LENGTH),
        kind = reviewed.endpoint.kind(),
        action = reviewed.endpoint.action(),
        operation = reviewed.operation.as_str(),
        object = %Object(reviewed),
        verdict = reviewed.outcome.as_str(),
        took_seconds = reviewed.took.as_secs_f64(),
        "reviewed"
    );
}

fn log_remarkable(reviewed: &Reviewed<'_>, omitted: u64) {
    let rules = reviewed.verdict.map(rules).filter(|rules| !rules.is_empty());
    info!(
        uid = excerpt(reviewed.uid, NAME_LENGTH),
        kind = reviewed.endpoint.kind(),
        action = reviewed.endpoint.action(),
        operation = reviewed.operation.as_str(),
        object = %Object(reviewed),
        verdict = reviewed.outcome.as_str(),
        rules,
        problem = Some(reviewed.problem).filter(|problem| !problem.is_empty()),
        omitted = Some(omitted).filter(|omitted| *omitted > 0),
        took_seconds = reviewed.took.as_secs_f64(),
        "reviewed"
    );
}

fn rules(verdict: &Verdict) -> String {
    match &verdict.denial {
        Some(Denial::Invalid(violations)) => names(violations.iter().map(|v| v.rule)),
        Some(Denial::Undecodable { path, .. }) => format!("undecodable at {:?}", excerpt(path, NAME_LENGTH)),
        None => names(verdict.warnings.iter().map(|w| w.rule)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn above_a_rate_lines_are_counted_and_not_written() {
        let begun = steady();
        let mut sample = Sample { since: begun, lines: 0, omitted: 0 };
        let written = (0..LINES + 7).filter(|_| sample.admits(begun).is_some()).count();
        assert_eq!(written, usize::try_from(LINES).unwrap());
        assert_eq!(sample.admits(begun + PERIOD), Some(7));
        assert_eq!(sample.admits(begun + PERIOD), Some(0));
    }
}
