//! How fast an HPA may scale. Pure.

/// Which of several policies counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// The one that allows most change.
    #[default]
    Max,
    /// The one that allows least change.
    Min,
    /// None: no change in this direction.
    Disabled,
}

/// What a policy's value counts.
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
    /// What `value` counts.
    pub unit: Unit,
    /// Change that is allowed.
    pub value: i32,
    /// Length of the period in seconds.
    pub period_seconds: i32,
}

/// Rules of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Seconds of past recommendations that are looked at; absent: the controller's own.
    pub window_seconds: Option<i32>,
    /// Which policy counts.
    pub select: Select,
    /// The policies.
    pub policies: Vec<Policy>,
    /// Relative distance from the target that causes no scaling; absent: the controller's own.
    pub tolerance: Option<f64>,
}

/// Rules of both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Behavior {
    /// Adding replicas.
    pub up: Rules,
    /// Removing replicas.
    pub down: Rules,
}

/// Seconds of past recommendations that kube-controller-manager looks at before it removes replicas, where nobody says it.
pub const DOWN_WINDOW_SECONDS: i32 = 300;

impl Rules {
    /// What Kubernetes completes for adding replicas: at once, four pods or all again in 15 seconds.
    #[must_use]
    pub fn default_up() -> Self {
        let pods = Policy { unit: Unit::Pods, value: 4, period_seconds: 15 };
        let percent = Policy { unit: Unit::Percent, value: 100, period_seconds: 15 };
        Self { window_seconds: Some(0), select: Select::Max, policies: vec![pods, percent], tolerance: None }
    }

    /// What Kubernetes completes for removing replicas: all, after the controller's window.
    #[must_use]
    pub fn default_down() -> Self {
        let percent = Policy { unit: Unit::Percent, value: 100, period_seconds: 15 };
        Self { window_seconds: None, select: Select::Max, policies: vec![percent], tolerance: None }
    }

    pub(super) fn longest_period(&self) -> i32 {
        self.policies.iter().map(|policy| policy.period_seconds).max().unwrap_or_default()
    }
}
