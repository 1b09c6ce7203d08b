//! One metric -> replicas. Pure. Follows kube-controller-manager's replica calculator, including where it rounds.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::metric::{Current, Metric, Reading, Sample, Source, Target};
use super::pod::{Groups, Pod, Samples, Startup, count_ready, group, requests};

const NO_PODS: &str = "no pods returned by selector while calculating replica count";
const NO_METRICS: &str = "did not receive metrics for any ready pods";
const NO_MATCH: &str = "no metrics returned matched known pods";

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
    fn covers(self, ratio: f64) -> bool {
        (1.0 - ratio).abs() <= if ratio > 1.0 { self.up } else { self.down }
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

fn per_pod(reading: &Reading) -> Result<Samples<'_>, String> {
    match reading {
        Reading::PerPod(samples) => Ok(samples.iter().map(|(key, sample)| (key.as_str(), *sample)).collect()),
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
    mut samples: Samples<'_>,
) -> Result<(i32, Current), String> {
    let groups = counted(workload, &mut samples, name == "cpu")?;
    let requests = requests(workload.pods, container, name)?;
    if samples.is_empty() {
        return Err(NO_METRICS.to_owned());
    }
    let used = Used::of(&samples, &requests)?;
    let ratio_now = f64::from(used.percent) / f64::from(target);
    let current = Current { average_value: Some(used.average), utilization: Some(used.percent), ..Current::default() };
    let fallback = i64::from(target.max(100));
    let missing = |key: &str| requests.get(key).copied().unwrap_or_default().saturating_mul(fallback) / 100;
    let Some(completed) = complete(workload, &groups, samples, ratio_now, missing) else {
        return Ok((unchanged_or(workload, ratio_now, f64::from(groups.ready)), current));
    };
    let ratio_then = f64::from(Used::of(&completed, &requests)?.percent) / f64::from(target);
    Ok((settle(workload, ratio_now, ratio_then, completed.len()), current))
}

fn plain(workload: &Workload<'_>, target: i64, mut samples: Samples<'_>, cpu: bool) -> Result<(i32, Current), String> {
    let groups = counted(workload, &mut samples, cpu)?;
    if samples.is_empty() {
        return Err(NO_METRICS.to_owned());
    }
    let average = average(&samples);
    let ratio_now = ratio(average, target);
    let current = Current { average_value: Some(average), ..Current::default() };
    let Some(completed) = complete(workload, &groups, samples, ratio_now, |_| target) else {
        return Ok((unchanged_or(workload, ratio_now, f64::from(groups.ready)), current));
    };
    let ratio_then = ratio(self::average(&completed), target);
    Ok((settle(workload, ratio_now, ratio_then, completed.len()), current))
}

/// Groups the pods and drops the samples that do not count.
fn counted<'a>(workload: &Workload<'a>, samples: &mut Samples<'_>, cpu: bool) -> Result<Groups<'a>, String> {
    if workload.pods.is_empty() {
        return Err(NO_PODS.to_owned());
    }
    let groups = group(workload.pods, samples, cpu, &workload.startup, workload.now);
    samples.retain(|key, _| !groups.ignored.contains(key) && !groups.unready.contains(key));
    Ok(groups)
}

/// The samples, with an assumed value for pods without one where that is needed: against the direction of the change,
/// so that an assumption never adds to it.
fn complete<'a>(
    workload: &Workload<'_>,
    groups: &Groups<'a>,
    mut samples: Samples<'a>,
    ratio: f64,
    missing: impl Fn(&str) -> i64,
) -> Option<Samples<'a>> {
    let with_unready = !groups.unready.is_empty() && ratio > 1.0;
    if !with_unready && groups.missing.is_empty() {
        return None;
    }
    let guess = |value| Sample { value, at: workload.now, window: jiff::SignedDuration::ZERO };
    for key in &groups.missing {
        if ratio < 1.0 {
            samples.insert(key, guess(missing(key)));
        } else if ratio > 1.0 {
            samples.insert(key, guess(0));
        }
    }
    if with_unready {
        samples.extend(groups.unready.iter().map(|key| (*key, guess(0))));
    }
    Some(samples)
}

pub(super) fn unchanged_or(workload: &Workload<'_>, ratio: f64, pods: f64) -> i32 {
    if workload.tolerance.covers(ratio) {
        workload.spec_replicas
    } else {
        ceil_to_replicas(ratio * pods / workload.calibration)
    }
}

/// The replicas for the completed samples, unless these reverse the direction of the change.
pub(super) fn settle(workload: &Workload<'_>, before: f64, after: f64, pods: usize) -> i32 {
    let current = workload.spec_replicas;
    if workload.tolerance.covers(after) || (before < 1.0 && after > 1.0) || (before > 1.0 && after < 1.0) {
        return current;
    }
    let pods = f64::from(u32::try_from(pods).unwrap_or(u32::MAX));
    let wanted = ceil_to_replicas(after * pods / workload.calibration);
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
    Ok(ceil_to_replicas(ratio * f64::from(ready) / workload.calibration))
}

/// A metric divided by the replicas. The calibration counts once.
fn per_replica(workload: &Workload<'_>, usage: i64, target: i64) -> (i32, Current) {
    let there = f64::from(workload.status_replicas);
    let share = to_f64(usage) / (to_f64(target) * there);
    let wanted = if share.is_nan() || workload.tolerance.covers(share) { there } else { ratio(usage, target) };
    let average = ceil_to_i64(to_f64(usage) / there);
    (ceil_to_replicas(wanted / workload.calibration), Current { average_value: Some(average), ..Current::default() })
}

struct Used {
    percent: i32,
    average: i64,
}

impl Used {
    /// Samples of unknown pods do not count.
    fn of(samples: &Samples<'_>, requests: &BTreeMap<&str, i64>) -> Result<Self, String> {
        let known = samples.iter().filter_map(|(key, sample)| Some((sample.value, requests.get(key)?)));
        let (mut used, mut asked, mut pods) = (0_i64, 0_i64, 0_i64);
        for (value, request) in known {
            used = used.saturating_add(value);
            asked = asked.saturating_add(*request);
            pods = pods.saturating_add(1);
        }
        let percent = (i128::from(used) * 100).checked_div(i128::from(asked)).ok_or(NO_MATCH)?;
        let clamped = percent.clamp(i128::from(i32::MIN), i128::from(i32::MAX));
        let average = used.checked_div(pods).unwrap_or_default();
        Ok(Self { percent: i32::try_from(clamped).unwrap_or(i32::MAX), average })
    }
}

fn average(samples: &Samples<'_>) -> i64 {
    let sum = samples.values().fold(0_i64, |sum, sample| sum.saturating_add(sample.value));
    sum.checked_div(i64::try_from(samples.len()).unwrap_or(i64::MAX)).unwrap_or_default()
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
