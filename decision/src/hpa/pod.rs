//! The pods of a workload as input of the algorithm, and which of them count. Pure.

use std::collections::BTreeMap;
use std::num::NonZeroI64;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::metric::{Sample, Source};

/// Phase of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not started yet.
    Pending,
    /// Started.
    Running,
    /// Ended with success.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Not known.
    Unknown,
}

/// The status of the condition `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The pod serves.
    Ready,
    /// The pod does not serve.
    NotReady,
    /// Not known.
    Unknown,
}

/// A time of a pod, which Kubernetes has in whole seconds. A hundred thousand pods are kept and copied: where it may be
/// absent it has eight bytes, a third of those of an optional [`Timestamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(NonZeroI64);

/// Added to the seconds since 1970, so that no time is zero: more than the seconds of any [`Timestamp`].
const OFFSET: i64 = 1 << 40;

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(NonZeroI64::new(at.as_second().saturating_add(OFFSET)).unwrap_or(NonZeroI64::MIN))
    }
}

impl From<Moment> for Timestamp {
    fn from(at: Moment) -> Self {
        Self::from_second(at.0.get().saturating_sub(OFFSET)).unwrap_or_default()
    }
}

/// The condition `Ready` of a pod, in the eight bytes of a [`Moment`], also where it may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyCondition(NonZeroI64);

impl ReadyCondition {
    /// Its status, and the time of its last transition.
    #[must_use]
    pub fn new(status: Readiness, since: Timestamp) -> Self {
        let status = match status {
            Readiness::Unknown => 0,
            Readiness::Ready => 1,
            Readiness::NotReady => 2,
        };
        let Moment(since) = since.into();
        Self(NonZeroI64::new(since.get().saturating_mul(STATUSES).saturating_add(status)).unwrap_or(NonZeroI64::MIN))
    }

    /// Its status.
    #[must_use]
    pub const fn status(self) -> Readiness {
        match self.0.get().rem_euclid(STATUSES) {
            1 => Readiness::Ready,
            2 => Readiness::NotReady,
            _ => Readiness::Unknown,
        }
    }

    /// The time of its last transition, in whole seconds.
    #[must_use]
    pub fn since(self) -> Timestamp {
        let since = NonZeroI64::new(self.0.get().div_euclid(STATUSES));
        since.map_or(Timestamp::UNIX_EPOCH, |since| Moment(since).into())
    }
}

/// The number of statuses.
const STATUSES: i64 = 3;

/// Requests of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requests {
    /// Requests of the pod as a whole (`spec.resources`) in thousandths, by name of the resource. They replace those of
    /// its containers.
    pub pod: BTreeMap<String, i64>,
    /// Its containers, including init containers that run beside them.
    pub containers: Vec<Container>,
}

impl Requests {
    /// Adds the request that a metric of `source` is relative to, in thousandths. Metrics that are no resources need
    /// none.
    pub fn add(&mut self, source: &Source, request: i64) {
        match source {
            Source::Resource { name } => {
                self.pod.insert(name.clone(), request);
            }
            Source::ContainerResource { name, container } => {
                let requests = BTreeMap::from([(name.clone(), request)]);
                self.containers.push(Container { name: container.clone(), requests });
            }
            Source::Pods { .. } | Source::Object { .. } | Source::External { .. } => {}
        }
    }
}

/// Requests of one container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Container {
    /// Name of the container.
    pub name: String,
    /// Requests in thousandths, by name of the resource.
    pub requests: BTreeMap<String, i64>,
}

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Name of the pod, for messages.
    pub name: Arc<str>,
    /// Its phase.
    pub phase: Phase,
    /// Whether it is being deleted.
    pub deleted: bool,
    /// The condition `Ready`; absent when the pod has none.
    pub ready: Option<ReadyCondition>,
    /// When the kubelet accepted it; absent before.
    pub started: Option<Moment>,
    /// Its requests; shared by the pods of one template.
    pub requests: Arc<Requests>,
}

impl Pod {
    /// Whether it has not ended, and is not about to.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        !self.deleted && !matches!(self.phase, Phase::Failed | Phase::Succeeded)
    }

    /// Whether it is ready, and not about to end.
    #[must_use]
    pub fn serves(&self) -> bool {
        !self.deleted && self.is_ready()
    }

    /// Whether it runs and is ready. Kubernetes counts it so until it has ended.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let ready = self.ready.map(ReadyCondition::status);
        self.phase == Phase::Running && ready == Some(Readiness::Ready)
    }
}

/// How the age of a pod decides whether its CPU sample counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Startup {
    /// A pod younger than this counts only when it is ready and its sample began after that. Kubernetes: 5 minutes.
    pub cpu_initialization: SignedDuration,
    /// A pod that became unready within this time of its start was never ready. Kubernetes: 30 seconds.
    pub initial_readiness: SignedDuration,
}

impl Default for Startup {
    fn default() -> Self {
        Self { cpu_initialization: SignedDuration::from_secs(300), initial_readiness: SignedDuration::from_secs(30) }
    }
}

/// How a pod counts for a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodState {
    /// It has ended, or is about to.
    Ignored,
    /// It does not serve yet: its sample misleads.
    Unready,
    /// By this value.
    Counted(i64),
    /// It has no sample.
    Missing,
}

/// How `pod` counts. `cpu` is whether the sample is of the CPU, which misleads while a pod starts.
pub(super) fn pod_state(pod: &Pod, sample: Option<Sample>, cpu: bool, startup: &Startup, now: Timestamp) -> PodState {
    if pod.deleted || pod.phase == Phase::Failed {
        return PodState::Ignored;
    }
    match sample {
        _ if pod.phase == Phase::Pending => PodState::Unready,
        Some(sample) if cpu && starting(pod, &sample, startup, now) => PodState::Unready,
        Some(sample) => PodState::Counted(sample.value),
        None => PodState::Missing,
    }
}

fn starting(pod: &Pod, sample: &Sample, startup: &Startup, now: Timestamp) -> bool {
    let (Some(ready), Some(started)) = (pod.ready, pod.started) else { return true };
    let (since, started) = (ready.since(), Timestamp::from(started));
    let unready = ready.status() == Readiness::NotReady;
    if now.duration_since(started) < startup.cpu_initialization {
        unready || sample.at.duration_since(since) < sample.window
    } else {
        unready && since.duration_since(started) < startup.initial_readiness
    }
}

/// The number of pods that run and are ready; `None` when there is no pod.
pub(super) fn count_ready(pods: &[Pod]) -> Option<u32> {
    if pods.is_empty() {
        return None;
    }
    let ready = pods.iter().filter(|pod| pod.is_ready()).count();
    Some(u32::try_from(ready).unwrap_or(u32::MAX))
}

/// The request of a pod in thousandths, of all its containers or of the named one.
pub(super) fn request(pod: &Pod, container: Option<&str>, resource: &str) -> Result<i64, String> {
    // A request of the pod as a whole replaces those of its containers (Kubernetes 1.34).
    if let Some(request) = pod.requests.pod.get(resource).filter(|_| container.is_none()) {
        return Ok(*request);
    }
    let mut asked = pod.requests.containers.iter().filter(|asked| container.is_none_or(|name| name == asked.name));
    asked.try_fold(0_i64, |sum, asked| match asked.requests.get(resource) {
        Some(request) => Ok(sum.saturating_add(*request)),
        None => Err(format!("missing request for {resource} in container {} of Pod {}", asked.name, pod.name)),
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Pod, Readiness, ReadyCondition};

    #[test]
    fn a_ready_condition_tells_its_status_and_the_second_of_its_transition() {
        for status in [Readiness::Ready, Readiness::NotReady, Readiness::Unknown] {
            for second in [Timestamp::MIN.as_second(), -4, -1, 0, 1, 1_774_000_000, Timestamp::MAX.as_second()] {
                let since = Timestamp::from_second(second).unwrap();
                let condition = ReadyCondition::new(status, since);
                assert_eq!((condition.status(), condition.since()), (status, since));
            }
        }
    }

    #[test]
    fn absent_times_need_no_room() {
        assert_eq!([size_of::<Option<ReadyCondition>>(), size_of::<Pod>()], [8, 48]);
    }
}
