//! The targets of an HPA and their measurements. Pure. All values are in thousandths.

use jiff::{SignedDuration, Timestamp};

/// Source of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A resource of each pod, summed over its containers.
    Resource {
        /// `cpu`, `memory`, ...
        name: String,
    },
    /// A resource of one container of each pod.
    ContainerResource {
        /// `cpu`, `memory`, ...
        name: String,
        /// Name of the container.
        container: String,
    },
    /// A metric of each pod.
    Pods {
        /// Name of the metric.
        metric: String,
    },
    /// A metric of one object.
    Object {
        /// Name of the metric.
        metric: String,
        /// Kind of the object.
        kind: String,
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
    },
    /// A metric from outside the cluster.
    External {
        /// Name of the metric.
        metric: String,
        /// Namespace of the metric.
        namespace: String,
    },
}

/// Target of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Percent of the requests.
    Utilization(i32),
    /// Value for each pod.
    AverageValue(i64),
    /// Value as a whole.
    Value(i64),
}

/// One pod's measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The value.
    pub value: i64,
    /// End of the window it was taken over.
    pub at: Timestamp,
    /// Length of that window.
    pub window: SignedDuration,
}

/// Samples of pods, each by the index of its pod in the list of the pods. One beyond the list is of an unknown pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples(Vec<(u32, Sample)>);

impl Samples {
    /// In the order of the pods.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Sample)> {
        self.0.iter().map(|(index, sample)| (*index, sample))
    }

    /// Whether no pod has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds those of further pods, which are in the list of all pods from `first` on.
    pub(super) fn append(&mut self, first: u32, of: Self) {
        if self.is_empty() && first == 0 {
            *self = of;
            return;
        }
        self.0.reserve_exact(of.0.len());
        self.0.extend(of.0.into_iter().map(|(index, sample)| (index.saturating_add(first), sample)));
    }
}

impl FromIterator<(u32, Sample)> for Samples {
    /// Of several samples of one pod the last counts.
    fn from_iter<I: IntoIterator<Item = (u32, Sample)>>(samples: I) -> Self {
        let mut all: Vec<(u32, Sample)> = samples.into_iter().collect();
        if !all.is_sorted_by(|(one, _), (other, _)| one < other) {
            all.reverse();
            all.sort_by_key(|(index, _)| *index);
            all.dedup_by_key(|(index, _)| *index);
        }
        all.shrink_to_fit();
        Self(all)
    }
}

/// Measurement of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A value for each pod.
    PerPod(Samples),
    /// One value; the sum where the source gives several.
    Total(i64),
    /// No measurement, with the reason.
    Unavailable(String),
}

/// One metric of an HPA with its measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Source of the metric.
    pub source: Source,
    /// Target of the metric.
    pub target: Target,
    /// Measurement of the metric.
    pub reading: Reading,
}

/// The current value of a metric, as an HPA reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Current {
    /// The metric as a whole.
    pub value: Option<i64>,
    /// For each pod.
    pub average_value: Option<i64>,
    /// Percent of the requests.
    pub utilization: Option<i32>,
}

/// Whether a metric of this `type` does not come from the pods, so that there is one without pods.
#[must_use]
pub fn is_outer(type_: &str) -> bool {
    matches!(type_, "Object" | "External")
}

impl Source {
    /// The reason of the condition `ScalingActive` when this metric fails.
    #[must_use]
    pub const fn failure(&self) -> &'static str {
        match self {
            Self::Resource { .. } => "FailedGetResourceMetric",
            Self::ContainerResource { .. } => "FailedGetContainerResourceMetric",
            Self::Pods { .. } => "FailedGetPodsMetric",
            Self::Object { .. } => "FailedGetObjectMetric",
            Self::External { .. } => "FailedGetExternalMetric",
        }
    }

    /// Name of the metric in messages.
    #[must_use]
    pub fn title(&self, target: Target) -> String {
        let utilization = matches!(target, Target::Utilization(_));
        match self {
            Self::Resource { name } if utilization => format!("{name} resource utilization (percentage of request)"),
            Self::ContainerResource { name, .. } if utilization => {
                format!("{name} container resource utilization (percentage of request)")
            }
            Self::Resource { name } | Self::ContainerResource { name, .. } => format!("{name} resource"),
            Self::Pods { metric } => format!("pods metric {metric}"),
            Self::Object { metric, kind, .. } if matches!(target, Target::Value(_)) => {
                format!("{kind} metric {metric}")
            }
            Self::Object { metric, .. } | Self::External { metric, .. } => format!("external metric {metric}(nil)"),
        }
    }

    /// Text before the reason in the error of this metric.
    pub(super) fn prefix(&self) -> String {
        match self {
            Self::Resource { name } => format!("failed to get {name} resource metric value: "),
            Self::ContainerResource { container, .. } => format!("failed to get {container} container metric value: "),
            Self::Pods { .. } => "failed to get pods metric value: ".to_owned(),
            Self::Object { .. } => "failed to get object metric value: ".to_owned(),
            Self::External { .. } => "failed to get external metric value: ".to_owned(),
        }
    }
}
