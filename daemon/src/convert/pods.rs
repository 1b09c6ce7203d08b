//! Pods and their metrics, wire -> the algorithm of `decision::hpa`. No I/O.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::api::metrics::{ExternalMetricValue, List, MetricValue};
use crate::api::pod::{Container, Pod};
use crate::api::quantity::Quantity;
use crate::decision::hpa::metric::Sample;
use crate::decision::hpa::pod::{self, Moment, Phase, Readiness, ReadyCondition, Requests};
use crate::decision::quantity::milli;

/// Thousandths by name of the resource.
type Requested = BTreeMap<String, i64>;

/// Requests of a pod. An init container that runs beside the others counts as one of them.
#[must_use]
pub fn requests(pod: &Pod) -> Requests {
    let beside = pod.spec.init_containers.iter().filter(|container| runs_beside(container));
    let container =
        |from: &Container| pod::Container { name: from.name.clone(), requests: quantities(&from.resources.requests) };
    Requests { pod: whole(pod), containers: pod.spec.containers.iter().chain(beside).map(container).collect() }
}

/// Requests of a pod whose `spec.resources` has some (Kubernetes 1.34): these, for other resources those of its
/// containers, and its overhead. Empty for other pods, whose overhead does not count, as in Kubernetes.
fn whole(pod: &Pod) -> Requested {
    let mut own = quantities(&pod.spec.resources.requests);
    own.retain(|name, _| matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-"));
    if own.is_empty() {
        return own;
    }
    let (mut requests, mut beside, mut start) = (Requested::new(), Requested::new(), Requested::new());
    for container in &pod.spec.containers {
        add(&mut requests, quantities(&container.resources.requests));
    }
    // An init container needs its own resources and those of the ones before it that keep running.
    for container in &pod.spec.init_containers {
        let own = quantities(&container.resources.requests);
        let mut needs = beside.clone();
        add(&mut needs, own.clone());
        if runs_beside(container) {
            add(&mut requests, own);
            beside.clone_from(&needs);
        }
        at_least(&mut start, needs);
    }
    at_least(&mut requests, start);
    requests.extend(own);
    add(&mut requests, quantities(&pod.spec.overhead));
    requests
}

fn runs_beside(container: &Container) -> bool {
    container.restart_policy == "Always"
}

fn add(sum: &mut Requested, more: Requested) {
    for (name, milli) in more {
        let whole = sum.entry(name).or_default();
        *whole = whole.saturating_add(milli);
    }
}

fn at_least(most: &mut Requested, other: Requested) {
    for (name, milli) in other {
        let known = most.entry(name).or_default();
        *known = milli.max(*known);
    }
}

fn quantities(of: &BTreeMap<String, Quantity>) -> Requested {
    of.iter().filter_map(|(name, quantity)| Some((name.clone(), milli(&quantity.0)?))).collect()
}

/// Phase of a pod.
#[must_use]
pub fn phase(pod: &Pod) -> Phase {
    match pod.status.phase.as_str() {
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        "Unknown" => Phase::Unknown,
        _ => Phase::Pending,
    }
}

/// Its condition `Ready`.
#[must_use]
pub fn ready(pod: &Pod) -> Option<ReadyCondition> {
    let ready = pod.status.conditions.iter().find(|condition| condition.type_ == "Ready")?;
    let status = match ready.status.as_str() {
        "True" => Readiness::Ready,
        "False" => Readiness::NotReady,
        _ => Readiness::Unknown,
    };
    let since = ready.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    Some(ReadyCondition::new(status, since))
}

/// When the kubelet accepted a pod.
#[must_use]
pub fn started(pod: &Pod) -> Option<Moment> {
    Some(pod.status.start_time.as_ref()?.0.into())
}

/// The names of the objects of a list with their samples, sorted by name. Objects with an invalid quantity are left
/// out.
#[must_use]
pub fn values(list: List<MetricValue>) -> Vec<(Box<str>, Sample)> {
    let value = |of: MetricValue| {
        let sample = Sample {
            value: milli(&of.value.0)?,
            at: of.timestamp.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            window: of.window_seconds.map_or(SignedDuration::ZERO, SignedDuration::from_secs),
        };
        Some((of.described_object.name.into(), sample))
    };
    let mut values: Vec<(Box<str>, Sample)> = list.items.into_iter().filter_map(value).collect();
    values.sort_by(|(one, _), (other, _)| one.cmp(other));
    values
}

/// The sum of a list of external values.
///
/// # Errors
/// The list has no value, or an invalid one.
pub fn total(list: &List<ExternalMetricValue>) -> Result<i64, String> {
    if list.items.is_empty() {
        return Err("no metrics returned from external metrics API".to_owned());
    }
    list.items.iter().try_fold(0_i64, |sum, item| {
        let value = milli(&item.value.0).ok_or_else(|| format!("{:?} is not a quantity", item.value.0))?;
        Ok(sum.saturating_add(value))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_asks_for_what_its_containers_and_those_beside_them_ask_for() {
        let pod: Pod = serde_json::from_value(json!({
            "spec": {
                "containers": [{"name": "web", "resources": {"requests": {"cpu": "250m", "memory": "1Ki"}}}, {"name": "idle", "resources": null}],
                "initContainers": [{"name": "setup", "resources": {"requests": {"cpu": 4}}},
                    {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "0.1"}}}],
                "resources": {"requests": {"cpu": "1"}},
            },
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T08:00:00Z"}]},
        }))
        .unwrap();
        let asked = requests(&pod);
        let of =
            |name: &str| asked.containers.iter().find(|container| container.name == name).unwrap().requests.clone();
        assert_eq!(asked.pod, BTreeMap::from([("cpu".to_owned(), 1000), ("memory".to_owned(), 1_024_000)]));
        assert_eq!(asked.containers.len(), 3, "one that ends before the others start does not count");
        assert_eq!(of("web"), BTreeMap::from([("cpu".to_owned(), 250), ("memory".to_owned(), 1_024_000)]));
        assert_eq!((of("idle"), of("proxy")), (BTreeMap::new(), BTreeMap::from([("cpu".to_owned(), 100)])));
        assert_eq!((phase(&pod), ready(&pod).unwrap().status()), (Phase::Running, Readiness::NotReady));
        assert_eq!(ready(&Pod::default()), None);
    }

    #[test]
    fn a_pod_with_requests_of_its_own_counts_them_its_overhead_and_what_starting_needs() {
        let pod = |spec| whole(&serde_json::from_value(json!({"spec": spec})).unwrap());
        let asks = |cpu: &str, memory: &str| json!({"requests": {"cpu": cpu, "memory": memory}});
        let mut spec = json!({
            "containers": [{"name": "web", "resources": asks("1", "1")}, {"name": "log", "resources": {"requests": {"example.com/gpu": 2}}}],
            "initContainers": [{"name": "first", "resources": asks("1", "9")},
                {"name": "proxy", "restartPolicy": "Always", "resources": asks("1", "2")},
                {"name": "last", "resources": asks("1", "3")}],
            "resources": {"requests": {"cpu": "4", "example.com/gpu": 1}},
            "overhead": {"cpu": "250m", "memory": "1"},
        });
        let named = |cpu, memory, gpu| {
            BTreeMap::from([("cpu".into(), cpu), ("memory".into(), memory), ("example.com/gpu".into(), gpu)])
        };
        assert_eq!(pod(spec.clone()), named(4_250, 10_000, 2_000), "the first init container needs most memory");
        spec["initContainers"][0]["resources"] = asks("1", "1");
        assert_eq!(pod(spec.clone()), named(4_250, 6_000, 2_000), "the last one runs beside the proxy");
        spec["resources"] = json!({"requests": {"example.com/gpu": 1}});
        assert_eq!(pod(spec), BTreeMap::new(), "only CPU, memory and huge pages can be asked for by a pod");
    }

    #[test]
    fn values_of_objects_are_read_and_those_from_outside_summed() {
        let list = json!({"items": [
            {"describedObject": {"name": "web-0"}, "timestamp": "2026-11-20T08:00:15Z", "windowSeconds": 30, "value": "1500m"},
            {"describedObject": {"name": "web-1"}, "value": "what"},
        ]});
        let values = values(serde_json::from_value(list).unwrap());
        assert_eq!(values.len(), 1);
        assert_eq!((values[0].1.value, values[0].1.window), (1500, SignedDuration::from_secs(30)));
        let total = |list| super::total(&serde_json::from_value(list).unwrap());
        assert_eq!(total(json!({"items": [{"value": "2"}, {"value": "500m"}]})), Ok(2500));
        assert!(total(json!({"items": []})).is_err() && total(json!({"items": [{"value": "x"}]})).is_err());
    }
}
