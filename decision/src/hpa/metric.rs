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
pub struct Samples(Vec<PodSample>);

/// The sample of a pod in 32 bytes: a workload may have a hundred thousand pods. Times are nanoseconds, which reach from
/// 1677 to 2262.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PodSample {
    pod: u32,
    value: i64,
    at: i64,
    window: i64,
}

impl PodSample {
    fn new((pod, sample): (u32, Sample)) -> Self {
        let nanoseconds = |time: i128| {
            let clamped = time.clamp(i64::MIN.into(), i64::MAX.into());
            i64::try_from(clamped).unwrap_or_default()
        };
        let Sample { value, at, window } = sample;
        Self { pod, value, at: nanoseconds(at.as_nanosecond()), window: nanoseconds(window.as_nanos()) }
    }

    fn sample(&self) -> Sample {
        let at = Timestamp::from_nanosecond(self.at.into()).unwrap_or_default();
        Sample { value: self.value, at, window: SignedDuration::from_nanos(self.window) }
    }
}

impl Samples {
    /// In the order of the pods.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Sample)> {
        self.0.iter().map(|of| (of.pod, of.sample()))
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
        self.0.extend(of.0.into_iter().map(|of| PodSample { pod: of.pod.saturating_add(first), ..of }));
    }
}

impl FromIterator<(u32, Sample)> for Samples {
    /// Of several samples of one pod the last counts.
    fn from_iter<I: IntoIterator<Item = (u32, Sample)>>(samples: I) -> Self {
        let samples = samples.into_iter();
        // Mostly all pods have one: a list that grows would be copied again and again.
        let mut all = Vec::with_capacity(samples.size_hint().1.unwrap_or_default());
        all.extend(samples.map(PodSample::new));
        if !all.is_sorted_by(|one, other| one.pod < other.pod) {
            all.reverse();
            all.sort_by_key(|of| of.pod);
            all.dedup_by_key(|of| of.pod);
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

/// The types of a target of which autoscalers take the one value that is set, whatever its type says: those of the
/// values of pods. None for a metric of another `type`, of which the type of the target chooses.
#[must_use]
pub fn types_by_value(type_: &str) -> &'static [&'static str] {
    match type_ {
        "Resource" | "ContainerResource" => &["AverageValue", "Utilization"],
        "Pods" => &["AverageValue"],
        _ => &[],
    }
}

impl Source {
    /// Whether it does not come from the pods, so that it is there without pods.
    #[must_use]
    pub const fn is_outer(&self) -> bool {
        matches!(self, Self::Object { .. } | Self::External { .. })
    }

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

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{PodSample, Sample, Samples};

    #[test]
    fn a_sample_keeps_its_value_and_its_times_to_the_nanosecond() {
        let at: Timestamp = "2026-11-20T08:00:15.123456789Z".parse().unwrap();
        let sample = Sample { value: -5, at, window: SignedDuration::new(15, 20_000_001) };
        let of = |pod, value| (pod, Sample { value, ..sample });
        let samples: Samples = [of(4, -5), of(1, 7), of(4, 9)].into_iter().collect();
        assert_eq!(samples.iter().collect::<Vec<_>>(), [of(1, 7), of(4, 9)], "the last of a pod counts");
        let early = Sample { at: Timestamp::MIN, window: SignedDuration::MAX, ..sample };
        let kept = PodSample::new((0, early)).sample();
        assert!(kept.at.as_second() < -9_000_000_000 && kept.window.as_secs() > 9_000_000_000, "{kept:?}");
        assert_eq!(size_of::<PodSample>(), 32);
    }
}
