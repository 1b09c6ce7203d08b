//! Metrics, bounds and history -> the replicas to write and the conditions to report. Pure.

use jiff::Timestamp;

use super::behavior::Behavior;
use super::limits::{Bound, Events, Range, limit_plain};
use super::metric::{Current, Metric};
use super::proposal::{MetricFailure, Proposal, propose};
use super::replicas::Workload;
use super::stabilization::{Recommendations, Stabilized};

/// Reason of `ScalingActive` while some clusters do not report all data.
pub const PARTIAL_METRICS: &str = "PartialMetrics";

/// Settings of an HPA, without its metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// `minReplicas` and `maxReplicas`.
    pub range: Range,
    /// How fast it may scale; absent: the rules from before `behavior` existed.
    pub behavior: Option<Behavior>,
    /// The controller's window for scaling down, in seconds. Kubernetes: 300.
    pub downscale_window_seconds: i32,
}

/// State of an HPA between two decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Past recommendations.
    pub recommendations: Recommendations,
    /// Past changes.
    pub events: Events,
}

/// A condition as an HPA reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `AbleToScale`, `ScalingActive` or `ScalingLimited`.
    pub kind: &'static str,
    /// Whether it is true.
    pub status: bool,
    /// Reason in one word.
    pub reason: &'static str,
    /// Message in a sentence.
    pub message: String,
}

/// Result of one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Replicas to write; absent when no write is needed.
    pub write: Option<i32>,
    /// Reason for the event.
    pub why: String,
    /// The conditions that changed, in the order in which they were found.
    pub conditions: Vec<Condition>,
    /// Current value of each metric; empty when the metrics were not evaluated.
    pub current: Vec<Option<Current>>,
    /// Set when a metric failed.
    pub failure: Option<MetricFailure>,
    /// Whether the metrics were evaluated and gave no number.
    pub unknown: bool,
}

/// One pass of an HPA. Records the recommendation in [`History`]; call [`History::scaled`] once the write succeeded.
#[must_use]
pub fn decide(policy: &Policy, workload: &Workload<'_>, metrics: &[Metric], history: &mut History) -> Decision {
    let current = workload.spec_replicas;
    match begin(policy, current, workload.now, history) {
        Begun::Disabled => {
            let message = "scaling is disabled since the replica count of the target is zero";
            Decision { conditions: vec![active(false, "ScalingDisabled", message)], ..Decision::default() }
        }
        Begun::Outside(bound) if current > bound => bounded(bound, "Current number of replicas above Spec.MaxReplicas"),
        Begun::Outside(bound) => bounded(bound, "Current number of replicas below Spec.MinReplicas"),
        Begun::Within => by_metrics(policy, workload, propose(workload, metrics), history),
    }
}

/// The replicas that [`decide`] would write when the metrics ask for `wanted`; without messages.
pub fn follow(
    policy: &Policy,
    current: i32,
    now: Timestamp,
    history: &mut History,
    wanted: impl FnOnce() -> Option<i32>,
) -> Option<i32> {
    match begin(policy, current, now, history) {
        Begun::Disabled => None,
        Begun::Outside(bound) => Some(bound),
        Begun::Within => {
            let desired = history.normalize(policy, current, wanted()?.max(0), now).desired;
            Some(desired).filter(|desired| *desired != current)
        }
    }
}

/// Result of the checks before any metric is evaluated.
enum Begun {
    /// It has no replicas and should have none.
    Disabled,
    /// It is outside its bounds: this number is written.
    Outside(i32),
    /// The metrics decide.
    Within,
}

fn begin(policy: &Policy, current: i32, now: Timestamp, history: &mut History) -> Begun {
    let range = policy.range;
    if history.lies_ahead(now) {
        *history = History::default();
    }
    history.recommendations.begin(current, now);
    if current == 0 && range.min != 0 {
        Begun::Disabled
    } else if current > range.max {
        Begun::Outside(range.max)
    } else if current < range.min {
        Begun::Outside(range.min)
    } else {
        Begun::Within
    }
}

fn by_metrics(policy: &Policy, workload: &Workload<'_>, proposal: Proposal, history: &mut History) -> Decision {
    let Proposal { replicas, metric, current, failure } = proposal;
    let Some(wanted) = replicas else {
        let (reason, cause) = failure.as_ref().map_or(("FailedGetMetric", "no metrics"), |f| (f.reason, &f.cause));
        let message = format!("the HPA was unable to compute the replica count: {cause}");
        let conditions = vec![active(false, reason, &message)];
        return Decision { conditions, current, failure, unknown: true, ..Decision::default() };
    };
    let found = format!("the HPA was able to successfully calculate a replica count from {metric}");
    let (wanted, condition) = match workload.partial {
        None => (wanted, active(true, "ValidMetricFound", &found)),
        Some(silent) => {
            let message =
                format!("{found}, without what is missing: {silent}; until it is there replicas are not reduced");
            (wanted.max(workload.spec_replicas), active(true, PARTIAL_METRICS, &message))
        }
    };
    let mut conditions = vec![condition];
    let normalized = history.normalize(policy, workload.spec_replicas, wanted.max(0), workload.now);
    conditions.extend(normalized.conditions());
    let why = if wanted > workload.spec_replicas {
        format!("{metric} above target")
    } else {
        "All metrics below target".to_owned()
    };
    let write = Some(normalized.desired).filter(|desired| *desired != workload.spec_replicas);
    Decision { write, why, conditions, current, failure, unknown: false }
}

fn bounded(replicas: i32, why: &str) -> Decision {
    Decision { write: Some(replicas), why: why.to_owned(), ..Decision::default() }
}

fn active(status: bool, reason: &'static str, message: &str) -> Condition {
    Condition { kind: "ScalingActive", status, reason, message: message.to_owned() }
}

/// A recommendation after windows and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalized {
    /// Replicas to request.
    pub desired: i32,
    /// Effect of the windows.
    pub stabilized: Stabilized,
    /// The limit that applies.
    pub bound: Bound,
    /// Whether the limit changed the number.
    pub limited: bool,
}

impl Normalized {
    fn conditions(self) -> [Condition; 2] {
        let (able, bound) = (self.stabilized, self.bound);
        [
            Condition { kind: "AbleToScale", status: true, reason: able.reason(), message: able.message().to_owned() },
            Condition {
                kind: "ScalingLimited",
                status: self.limited,
                reason: bound.reason(),
                message: bound.message().to_owned(),
            },
        ]
    }
}

impl History {
    /// Whether the clock was set back since: what is later than `now` would stay in every window for as long.
    fn lies_ahead(&self, now: Timestamp) -> bool {
        self.recommendations.lies_ahead(now) || self.events.lies_ahead(now)
    }

    /// Limits a recommendation to the replicas allowed at `now`.
    pub fn normalize(&mut self, policy: &Policy, current: i32, wanted: i32, now: Timestamp) -> Normalized {
        let window = policy.downscale_window_seconds;
        let Some(Behavior { up, down }) = &policy.behavior else {
            let (held, stabilized) = self.recommendations.highest(wanted, window, now);
            let (desired, bound) = limit_plain(current, held, policy.range);
            return Normalized { desired, stabilized, bound, limited: desired != held };
        };
        let windows = (up.window_seconds.unwrap_or(0), down.window_seconds.unwrap_or(window));
        let (held, stabilized) = self.recommendations.nearest(current, wanted, windows.0, windows.1, now);
        let (desired, bound) = self.events.limit(current, held, policy.range, up, down, now);
        Normalized { desired, stabilized, bound, limited: desired != held }
    }

    /// Records that the replicas were changed.
    pub fn scaled(&mut self, policy: &Policy, before: i32, after: i32, now: Timestamp) {
        if let Some(Behavior { up, down }) = &policy.behavior {
            self.events.record(before, after, up.longest_period(), down.longest_period(), now);
        }
    }
}
