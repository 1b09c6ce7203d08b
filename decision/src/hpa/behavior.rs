//! How fast an HPA may scale. Pure.

use super::replicas::Tolerance;

/// Which of several policies applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// The policy that allows the most change.
    #[default]
    Max,
    /// The policy that allows the least change.
    Min,
    /// No change in this direction.
    Disabled,
}

/// Unit of a policy's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pods.
    Pods,
    /// Percent of the replicas at the start of the period.
    Percent,
}

/// At most `value` in `period_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Unit of `value`.
    pub unit: Unit,
    /// Allowed change.
    pub value: i32,
    /// Length of the period in seconds.
    pub period_seconds: i32,
}

/// Rules of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Seconds of past recommendations to consider; absent: the controller's default.
    pub window_seconds: Option<i32>,
    /// Which policy applies.
    pub select: Select,
    /// The policies.
    pub policies: Vec<Policy>,
    /// Relative distance from the target that causes no scaling; absent: the controller's default.
    pub tolerance: Option<f64>,
}

/// Rules of both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Behavior {
    /// Rules for adding replicas.
    pub up: Rules,
    /// Rules for removing replicas.
    pub down: Rules,
}

/// Seconds of past recommendations that kube-controller-manager considers before it removes replicas, by default.
pub const DOWN_WINDOW_SECONDS: i32 = 300;

impl Behavior {
    /// The distances of its rules; `usual` where a direction sets none.
    #[must_use]
    pub fn tolerance(&self, usual: Tolerance) -> Tolerance {
        let Self { up, down } = self;
        Tolerance { up: up.tolerance.unwrap_or(usual.up), down: down.tolerance.unwrap_or(usual.down) }
    }
}

impl Rules {
    /// Default of Kubernetes for adding replicas: at once, four pods or 100% in 15 seconds.
    #[must_use]
    pub fn default_up() -> Self {
        let pods = Policy { unit: Unit::Pods, value: 4, period_seconds: 15 };
        let percent = Policy { unit: Unit::Percent, value: 100, period_seconds: 15 };
        Self { window_seconds: Some(0), select: Select::Max, policies: vec![pods, percent], tolerance: None }
    }

    /// Default of Kubernetes for removing replicas: all, after the controller's window.
    #[must_use]
    pub fn default_down() -> Self {
        let percent = Policy { unit: Unit::Percent, value: 100, period_seconds: 15 };
        Self { window_seconds: None, select: Select::Max, policies: vec![percent], tolerance: None }
    }

    /// The longest period of its policies, in seconds; 0 without any.
    #[must_use]
    pub fn longest_period(&self) -> i32 {
        self.policies.iter().map(|policy| policy.period_seconds).max().unwrap_or_default()
    }
}
