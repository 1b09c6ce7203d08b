//! One metric -> replicas. Pure. Follows kube-controller-manager's replica calculator, including where it rounds.

use jiff::Timestamp;

use super::metric::{Current, Metric, Reading, Samples, Source, Target};
use super::pod::{Pod, PodState, Startup, count_ready, pod_state, request};

const NO_PODS: &str = "no pods returned by selector while calculating replica count";
const NO_METRICS: &str = "did not receive metrics for any ready pods";
const NO_MATCH: &str = "no metrics returned matched known pods";

/// Parts of one that a tolerance is exact to.
const BILLION: f64 = 1_000_000_000.0;

/// Relative distances from the target that cause no scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Above the target.
    pub up: f64,
    /// Below the target.
    pub down: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { up: 0.1, down: 0.1 }
    }
}

impl Tolerance {
    /// Both edges are within it, as in Kubernetes from 1.33.
    fn covers(self, ratio: f64) -> bool {
        // A difference of doubles may miss the double that is nearest to it, which an equal ratio is: `1.0 - 0.18` is
        // above `0.82`.
        let edge = |ratio: f64| (ratio * BILLION).round() / BILLION;
        (edge(1.0 - self.down)..=edge(1.0 + self.up)).contains(&ratio)
    }
}

/// The workload at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// Replicas requested now; the result is compared with it.
    pub spec_replicas: i32,
    /// Existing replicas.
    pub status_replicas: i32,
    /// Share of `spec_replicas` that `pods` represents: 1 in one cluster, less when clusters do not answer.
    pub calibration: f64,
    /// Its pods.
    pub pods: &'a [Pod],
    /// Whether its pods are in several clusters. A ReplicaSet removes unready pods first; a division over clusters
    /// removes ready pods for unready ones elsewhere. So unready pods count at the target where less is used, and
    /// nothing is removed where more is used: with `a` ready and `u` unready pods and load for `l <= a`, a proportional
    /// division of `l + u` leaves `(l + u) a / (a + u) >= l` ready ones.
    pub spread: bool,
    /// Description of the clusters with missing data; while there are any, the proposed replicas never decrease.
    pub partial: Option<&'a str>,
    /// Distances that cause no scaling.
    pub tolerance: Tolerance,
    /// How the age of a pod counts.
    pub startup: Startup,
    /// The time.
    pub now: Timestamp,
}

/// Replicas for one metric and the metric's current value.
///
/// # Errors
/// The reason in the words of Kubernetes, when the metric gives no number of replicas.
pub fn replicas(workload: &Workload<'_>, metric: &Metric) -> Result<(i32, Current), String> {
    match (&metric.source, metric.target) {
        (Source::Resource { name }, target) => resource(workload, name, None, target, &metric.reading)
            .map_err(|why| format!("failed to get {name} utilization: {why}")),
        (Source::ContainerResource { name, container }, target) => {
            resource(workload, name, Some(container), target, &metric.reading)
                .map_err(|why| format!("failed to get {name} utilization: {why}"))
        }
        (Source::Pods { metric: name }, Target::AverageValue(target)) => {
            let samples = per_pod(&metric.reading).map_err(|why| format!("unable to get metric {name}: {why}"))?;
            plain(workload, target, samples, false)
        }
        (Source::Object { .. } | Source::External { .. }, Target::Value(target)) => {
            let usage = total(metric)?;
            Ok((by_ratio(workload, ratio(usage, target))?, Current { value: Some(usage), ..Current::default() }))
        }
        (Source::Object { .. } | Source::External { .. }, Target::AverageValue(target)) => {
            let usage = total(metric).map_err(|why| match &metric.source {
                Source::Object { metric, .. } => format!("failed to get {metric} object metric: {why}"),
                _ => why,
            })?;
            Ok(per_replica(workload, usage, target))
        }
        _ => Err("invalid metric source: the type of the target does not suit it".to_owned()),
    }
}

fn per_pod(reading: &Reading) -> Result<&Samples, String> {
    match reading {
        Reading::PerPod(samples) => Ok(samples),
        Reading::Total(_) => Err("no metrics for each pod".to_owned()),
        Reading::Unavailable(why) => Err(why.clone()),
    }
}

fn total(metric: &Metric) -> Result<i64, String> {
    let why = match &metric.reading {
        Reading::Total(value) => return Ok(*value),
        Reading::PerPod(_) => "no value for the object",
        Reading::Unavailable(why) => why,
    };
    Err(match &metric.source {
        Source::Object { metric, kind, namespace, name } => {
            format!("unable to get metric {metric}: {kind} on {namespace} {name}/{why}")
        }
        Source::External { metric, namespace } => {
            format!("unable to get external metric {namespace}/{metric}/nil: {why}")
        }
        _ => why.to_owned(),
    })
}

fn resource(
    workload: &Workload<'_>,
    name: &str,
    container: Option<&str>,
    target: Target,
    reading: &Reading,
) -> Result<(i32, Current), String> {
    let samples = per_pod(reading).map_err(|why| format!("unable to get metrics for resource {name}: {why}"))?;
    match target {
        Target::AverageValue(target) => plain(workload, target, samples, name == "cpu"),
        Target::Utilization(target) => utilization(workload, name, container, target, samples),
        Target::Value(_) => {
            Err("invalid resource metric source: neither an average utilization target nor an average \
                                 value target was set"
                .to_owned())
        }
    }
}

fn utilization(
    workload: &Workload<'_>,
    name: &str,
    container: Option<&str>,
    target: i32,
    samples: &Samples,
) -> Result<(i32, Current), String> {
    let fallback = i64::from(target.max(100));
    let tally = Tally::of(workload, samples, name == "cpu", |pod| {
        let request = request(pod, container, name)?;
        let of = |percent: i64| request.saturating_mul(percent) / 100;
        Ok(Assumed { request, missing: of(fallback), unready: of(target.into()) })
    })?;
    let used = tally.counted;
    let percent = used.percent()?;
    let ratio_now = f64::from(percent) / f64::from(target);
    let current = Current { average_value: Some(used.average()), utilization: Some(percent), ..Current::default() };
    let Some(assumed) = tally.assumed(ratio_now, workload.spread) else {
        return Ok((unchanged_or(workload, ratio_now, f64::from(used.pods)), current));
    };
    // Samples of unknown pods have no request, and are counted only by their number.
    let completed = used.plus(assumed);
    let ratio_then = f64::from(completed.percent()?) / f64::from(target);
    Ok((settle(workload, ratio_now, ratio_then, completed.plus(tally.unknown).pods), current))
}

fn plain(workload: &Workload<'_>, target: i64, samples: &Samples, cpu: bool) -> Result<(i32, Current), String> {
    let tally = Tally::of(workload, samples, cpu, |_| Ok(Assumed { request: 0, missing: target, unready: target }))?;
    let known = tally.counted.plus(tally.unknown);
    let average = known.average();
    let ratio_now = ratio(average, target);
    let current = Current { average_value: Some(average), ..Current::default() };
    let Some(assumed) = tally.assumed(ratio_now, workload.spread) else {
        return Ok((unchanged_or(workload, ratio_now, f64::from(tally.counted.pods)), current));
    };
    let completed = known.plus(assumed);
    Ok((settle(workload, ratio_now, ratio(completed.average(), target), completed.pods), current))
}

/// Values and requests of several pods.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    pods: u32,
    value: i64,
    request: i64,
}

impl Sum {
    const fn add(&mut self, value: i64, request: i64) {
        *self = self.plus(Self { pods: 1, value, request });
    }

    const fn plus(self, more: Self) -> Self {
        Self {
            pods: self.pods.saturating_add(more.pods),
            value: self.value.saturating_add(more.value),
            request: self.request.saturating_add(more.request),
        }
    }

    /// The values in percent of the requests.
    fn percent(&self) -> Result<i32, String> {
        let percent = (i128::from(self.value) * 100).checked_div(i128::from(self.request)).ok_or(NO_MATCH)?;
        let clamped = percent.clamp(i128::from(i32::MIN), i128::from(i32::MAX));
        Ok(i32::try_from(clamped).unwrap_or(i32::MAX))
    }

    fn average(&self) -> i64 {
        self.value.checked_div(self.pods.into()).unwrap_or_default()
    }
}

/// What is assumed of a pod.
struct Assumed {
    request: i64,
    /// Its value where its sample is missing and less is used than the target.
    missing: i64,
    /// Its value at the target, where it is unready.
    unready: i64,
}

/// The pods of a workload, by how they count.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    counted: Sum,
    /// Samples of pods that are not in the list.
    unknown: Sum,
    /// With the values that are assumed below the target.
    unready: Sum,
    /// With the values that are assumed below the target.
    missing: Sum,
}

impl Tally {
    /// Counts the pods.
    fn of(
        workload: &Workload<'_>,
        samples: &Samples,
        cpu: bool,
        of: impl Fn(&Pod) -> Result<Assumed, String>,
    ) -> Result<Self, String> {
        if workload.pods.is_empty() {
            return Err(NO_PODS.to_owned());
        }
        let mut tally = Self::default();
        let mut samples = samples.iter().peekable();
        for (index, pod) in (0_u32..).zip(workload.pods) {
            let sample = samples.next_if(|(of, _)| *of == index).map(|(_, sample)| sample);
            let Assumed { request, missing, unready } = of(pod)?;
            match pod_state(pod, sample, cpu, &workload.startup, workload.now) {
                PodState::Ignored => {}
                PodState::Unready => tally.unready.add(unready, request),
                PodState::Counted(value) => tally.counted.add(value, request),
                PodState::Missing => tally.missing.add(missing, request),
            }
        }
        samples.for_each(|(_, sample)| tally.unknown.add(sample.value, 0));
        if tally.counted.pods == 0 && tally.unknown.pods == 0 {
            return Err(NO_METRICS.to_owned());
        }
        Ok(tally)
    }

    /// What is assumed of pods that do not count by a sample, where that is needed: against the direction of the
    /// change, so that an assumption never adds to it.
    fn assumed(&self, ratio: f64, spread: bool) -> Option<Sum> {
        let with_unready = self.unready.pods > 0 && (ratio > 1.0 || spread && ratio < 1.0);
        if !with_unready && self.missing.pods == 0 {
            return None;
        }
        let all = if with_unready { self.missing.plus(self.unready) } else { self.missing };
        Some(if ratio < 1.0 {
            all
        } else if ratio > 1.0 {
            Sum { value: 0, ..all }
        } else {
            Sum::default()
        })
    }
}

pub(super) fn unchanged_or(workload: &Workload<'_>, ratio: f64, pods: f64) -> i32 {
    if workload.tolerance.covers(ratio) { workload.spec_replicas } else { unless_spread(workload, ratio, ratio * pods) }
}

/// The replicas for so many pods. Those of [`Workload::spread`] that are not ready are no reason to remove others: none
/// is removed above the target, and below it those that are not ready stay.
fn unless_spread(workload: &Workload<'_>, ratio: f64, pods: f64) -> i32 {
    let current = workload.spec_replicas;
    let wanted = ceil_to_replicas(pods / workload.calibration);
    if !workload.spread || wanted >= current {
        wanted
    } else if ratio > 1.0 {
        current
    } else {
        let unready = workload.pods.iter().filter(|pod| pod.is_alive() && !pod.is_ready()).count();
        let unready = f64::from(u32::try_from(unready).unwrap_or(u32::MAX));
        current.min(ceil_to_replicas((pods + unready) / workload.calibration))
    }
}

/// The replicas for the completed samples, unless these reverse the direction of the change.
pub(super) fn settle(workload: &Workload<'_>, before: f64, after: f64, pods: u32) -> i32 {
    let current = workload.spec_replicas;
    if workload.tolerance.covers(after) || (before < 1.0 && after > 1.0) || (before > 1.0 && after < 1.0) {
        return current;
    }
    let wanted = ceil_to_replicas(after * f64::from(pods) / workload.calibration);
    if (after < 1.0 && wanted > current) || (after > 1.0 && wanted < current) { current } else { wanted }
}

/// A metric with a target for the whole: multiplies the ready pods. At zero replicas only the ratio counts.
fn by_ratio(workload: &Workload<'_>, ratio: f64) -> Result<i32, String> {
    if workload.spec_replicas == 0 {
        return Ok(ceil_to_replicas(ratio));
    }
    if workload.tolerance.covers(ratio) {
        return Ok(workload.spec_replicas);
    }
    let ready = count_ready(workload.pods).ok_or_else(|| format!("unable to calculate ready pods: {NO_PODS}"))?;
    Ok(unless_spread(workload, ratio, ratio * f64::from(ready)))
}

/// A metric divided by the replicas that exist. Within the tolerance it asks for those that are requested: during a
/// rollout more exist. The calibration counts once.
fn per_replica(workload: &Workload<'_>, usage: i64, target: i64) -> (i32, Current) {
    let there = f64::from(workload.status_replicas);
    let share = to_f64(usage) / (to_f64(target) * there);
    let replicas = if workload.tolerance.covers(share) {
        workload.spec_replicas
    } else {
        unless_spread(workload, share, ratio(usage, target))
    };
    // Without replicas there is no average.
    let average = (workload.status_replicas > 0).then(|| ceil_to_i64(to_f64(usage) / there));
    let value = if average.is_none() { Some(usage) } else { None };
    (replicas, Current { value, average_value: average, ..Current::default() })
}

fn ratio(usage: i64, target: i64) -> f64 {
    to_f64(usage) / to_f64(target)
}

#[expect(clippy::cast_precision_loss, reason = "the algorithm is defined on doubles")]
const fn to_f64(value: i64) -> f64 {
    value as f64
}

/// Rounds up and clamps to the range of the type.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
pub(super) fn ceil_to_replicas(value: f64) -> i32 {
    value.ceil() as i32
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn ceil_to_i64(value: f64) -> i64 {
    value.ceil() as i64
}
