//! Several metrics -> one proposal: the largest wins, and a failing metric prevents scaling down only. Pure.

use super::metric::{Current, Metric};
use super::replicas::{Workload, replicas};

/// Why metrics gave no proposal, or why some were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricFailure {
    /// Reason of the condition `ScalingActive`, of the first metric that failed.
    pub reason: &'static str,
    /// Error of that metric.
    pub cause: String,
    /// How many of how many failed, and the first error.
    pub message: String,
}

/// Replicas that the metrics ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Replicas; `None` when the metrics give no number.
    pub replicas: Option<i32>,
    /// Name of the metric that asked for them, for messages.
    pub metric: String,
    /// The current value of each metric, in order; absent where it failed.
    pub current: Vec<Option<Current>>,
    /// Set when at least one metric failed.
    pub failure: Option<MetricFailure>,
}

/// The largest number of replicas that one of `metrics` asks for.
#[must_use]
pub fn propose(workload: &Workload<'_>, metrics: &[Metric]) -> Proposal {
    let mut best: Option<(i32, String)> = None;
    let mut current = Vec::with_capacity(metrics.len());
    let mut failed = 0_usize;
    let mut first: Option<(&'static str, String, String)> = None;
    for metric in metrics {
        match replicas(workload, metric) {
            Ok((wanted, value)) => {
                current.push(Some(value));
                if best.as_ref().is_none_or(|(most, _)| *most == 0 || wanted > *most) {
                    best = Some((wanted, metric.source.title(metric.target)));
                }
            }
            Err(why) => {
                current.push(None);
                failed = failed.saturating_add(1);
                let text = format!("{}{why}", metric.source.prefix());
                first.get_or_insert_with(|| (metric.source.failure(), why, text));
            }
        }
    }
    let failure = first.map(|(reason, cause, text)| MetricFailure {
        reason,
        cause,
        message: format!("invalid metrics ({failed} invalid out of {}), first error is: {text}", metrics.len()),
    });
    // A failing metric might have asked for more: the others may only scale up.
    let usable = best.filter(|(wanted, _)| failed == 0 || *wanted >= workload.spec_replicas);
    let (replicas, metric) = usable.map_or_else(Default::default, |(wanted, title)| (Some(wanted), title));
    Proposal { replicas, metric, current, failure }
}
