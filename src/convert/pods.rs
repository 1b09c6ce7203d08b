//! Pods and their metrics, wire -> the algorithm of `decision::hpa`. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::api::metrics::{ExternalMetricValue, List, MetricValue, PodMetrics, QUERY_SOURCE};
use crate::api::pod::{Container, Pod};
use crate::api::quantity::Quantity;
use crate::decision::hpa::metric::Sample;
use crate::decision::hpa::pod::{self, Phase, Readiness, Requests};
use crate::decision::quantity::milli;

/// Window of a resource metric without one: that of metrics-server.
const DEFAULT_WINDOW: SignedDuration = SignedDuration::from_mins(1);

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
    // An init container needs its own resources and those of the ones before it that go on.
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

/// The status of its condition `Ready`, and the time of its last change.
#[must_use]
pub fn ready(pod: &Pod) -> Option<(Readiness, Timestamp)> {
    let ready = pod.status.conditions.iter().find(|condition| condition.type_ == "Ready")?;
    let status = match ready.status.as_str() {
        "True" => Readiness::Ready,
        "False" => Readiness::NotReady,
        _ => Readiness::Unknown,
    };
    Some((status, ready.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)))
}

/// Usage in thousandths with the name of each resource.
pub type ByResource = Box<[(Arc<str>, i64)]>;

/// What one pod uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Name of the pod.
    pub pod: Box<str>,
    /// The cluster that karmada-metrics-adapter names; empty in an answer of a member.
    pub cluster: Box<str>,
    /// End of the window.
    pub at: Timestamp,
    /// Its length.
    pub window: SignedDuration,
    /// Each container by its name, with its usage.
    pub containers: Box<[(Arc<str>, ByResource)]>,
}

/// Usage of the pods of a list, whose items may come one by one. Names of containers and resources are stored once.
#[derive(Debug, Default)]
pub struct Usages {
    all: Vec<Usage>,
    names: BTreeSet<Arc<str>>,
}

impl Usages {
    /// Adds a pod. Invalid quantities are left out.
    pub fn push(&mut self, mut metrics: PodMetrics) {
        let names = &mut self.names;
        let mut containers = Vec::with_capacity(metrics.containers.len());
        for container in &metrics.containers {
            let usage = container.usage.iter();
            let usage = usage.filter_map(|(resource, value)| Some((named(names, resource), milli(&value.0)?)));
            let usage: ByResource = usage.collect();
            containers.push((named(names, &container.name), usage));
        }
        self.all.push(Usage {
            cluster: metrics.metadata.annotations.remove(QUERY_SOURCE).unwrap_or_default().into(),
            pod: metrics.metadata.name.into(),
            at: metrics.timestamp.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            window: metrics.window.parse().unwrap_or(DEFAULT_WINDOW),
            containers: containers.into(),
        });
    }

    /// All of them, sorted by pod and cluster.
    #[must_use]
    pub fn sorted(mut self) -> Vec<Usage> {
        self.all.sort_by(|one, other| (&one.pod, &one.cluster).cmp(&(&other.pod, &other.cluster)));
        self.all.shrink_to_fit();
        self.all
    }
}

fn named(names: &mut BTreeSet<Arc<str>>, name: &str) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    let name: Arc<str> = name.into();
    names.insert(Arc::clone(&name));
    name
}

impl Usage {
    /// The usage of a resource over all containers, or of the named one. `None` when a container has no value, as in
    /// Kubernetes.
    ///
    /// # Errors
    /// The pod has no container of that name.
    pub fn sample(&self, resource: &str, container: Option<&str>) -> Result<Option<Sample>, String> {
        let value = match container {
            Some(name) => {
                let found = self.containers.iter().find(|(container, _)| **container == *name);
                let (_, usage) =
                    found.ok_or_else(|| format!("container {name} not present in metrics for pod {}", self.pod))?;
                of_resource(usage, resource)
            }
            None => self
                .containers
                .iter()
                .try_fold(0_i64, |sum, (_, usage)| Some(sum.saturating_add(of_resource(usage, resource)?))),
        };
        Ok(value.map(|value| Sample { value, at: self.at, window: self.window }))
    }
}

fn of_resource(usage: &[(Arc<str>, i64)], resource: &str) -> Option<i64> {
    usage.iter().find(|(name, _)| **name == *resource).map(|(_, value)| *value)
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
        assert_eq!((phase(&pod), ready(&pod).unwrap().0), (Phase::Running, Readiness::NotReady));
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
    fn usage_is_read_as_metrics_server_writes_it() {
        let list = json!({"items": [
            {"metadata": {"name": "web-0"},
             "timestamp": "2026-11-20T08:00:15Z", "window": "15.02s",
             "containers": [{"name": "web", "usage": {"cpu": "123456789n", "memory": "2Ki"}}, {"name": "proxy", "usage": {"cpu": "1m"}}]},
            {"metadata": {"name": "web-1"}, "containers": null},
        ]});
        let list: List<PodMetrics> = serde_json::from_value(list).unwrap();
        let mut usages = Usages::default();
        list.items.into_iter().for_each(|metrics| usages.push(metrics));
        let usages = usages.sorted();
        let [web, other] = &usages[..] else { panic!("{usages:?}") };
        let sample = |resource, container| web.sample(resource, container);
        assert_eq!(sample("cpu", None).unwrap().unwrap().value, 125);
        assert_eq!(sample("cpu", Some("proxy")).unwrap().unwrap().value, 1);
        assert_eq!(sample("memory", None).unwrap(), None, "a container does not say");
        assert!(sample("cpu", Some("other")).unwrap_err().contains("container other not present"));
        assert_eq!(web.window, SignedDuration::new(15, 20_000_000));
        assert_eq!((other.window, other.at), (DEFAULT_WINDOW, Timestamp::UNIX_EPOCH));
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
