//! Decisions of Karmada's own controller, recorded, through the whole controller: pods and metrics are what a member's
//! API server lists, replicas are what is written to the workload. Where it differs, the class says why; the tolerance is
//! understood as in tests/hpa.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::Aggregated;
use embedded_apiserver::status::StatusError;
use fhpa::decision::quantity::{from_milli, milli};
use fhpa::playground::json::{int, text};
use fhpa::playground::member::discovery;
use fhpa::playground::objects::{Objects, Written};
use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::distributed::{Stage, kind};
use crate::hpa::agreement::{expected, propose_for, propose_in};
use crate::hpa::vectors::lines;

/// Between a computation, which all objects have at multiples of the period, and the decision that is tested.
const OFF: i64 = 4;
/// Clusters that a duplicated workload has at most here.
const MEMBERS: u32 = 25;
/// Replicas that no decision reaches.
const MOST: i64 = 1_000_000;
/// Where the pods run.
const MEMBER: &str = "member1";
/// Differences that are there on purpose.
const EXIST: &str = "replicas that exist are the pods that are seen, not what statuses say";
const GONE: &str = "the sample of a pod that is gone does not count";
const TWICE: &str = "an Object metric is divided once by the copies of a workload that is duplicated";
const NOT_READY: &str = "pods of several clusters that are not ready are no reason to remove others";
const RATIO: &str = "nothing is divided by a ratio of replicas while copies are on their way";
/// Why no list of a metrics API holds the samples of some decisions.
const TIMES: &str = "a pod has one time and window for all its containers and resources";
const PARTS: &str = "the usage of a pod is the sum over all its containers";
/// A container of which no metric is about.
const OTHER: &str = "other";

/// A recorded decision, as one of many objects in one namespace.
struct Case {
    name: String,
    line: Value,
}

/// What a pod uses, as `metrics.k8s.io` lists it: one sample time for all its containers.
#[derive(Default, PartialEq)]
struct Used {
    times: Option<(i64, i64)>,
    /// By container and resource; `None` for a container without a value.
    usage: BTreeMap<(String, String), Option<i64>>,
}

/// Samples of a metric by pod; the container is empty for one over all containers.
type Samples = (String, serde_json::Map<String, Value>);

impl Case {
    fn of(&self, field: &str) -> &Value {
        &self.line["in"][field]
    }

    fn pods(&self) -> &[Value] {
        self.of("pods").as_array().map_or(&[], Vec::as_slice)
    }

    fn metrics(&self) -> &[Value] {
        self.of("metrics").as_array().unwrap()
    }

    fn current(&self) -> i64 {
        self.of("current_replicas").as_i64().unwrap()
    }

    fn pod(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    fn containers(&self, pod: &str) -> Vec<String> {
        let found = self.pods().iter().find(|one| one["name"] == pod);
        let containers = found.and_then(|pod| pod["containers"].as_array());
        let names: Vec<String> = containers.into_iter().flatten().map(|one| text(one, "/name").to_owned()).collect();
        if names.is_empty() { vec!["app".to_owned()] } else { names }
    }

    /// The samples of its resource metrics, by resource.
    fn samples(&self) -> BTreeMap<String, Vec<Samples>> {
        let mut all: BTreeMap<String, Vec<Samples>> = BTreeMap::new();
        for metric in self.metrics().iter().filter(|metric| text(metric, "/type").ends_with("Resource")) {
            let available = metric["metric_unavailable"] != true;
            let samples = metric["samples"].as_object().filter(|_| available).cloned().unwrap_or_default();
            let of = all.entry(text(metric, "/resource").to_owned()).or_default();
            of.push((text(metric, "/container").to_owned(), samples));
        }
        all
    }

    /// Usage of all pods, or why no list of a metrics API holds it.
    fn used(&self) -> Result<BTreeMap<String, Used>, &'static str> {
        let mut all: BTreeMap<String, Used> = BTreeMap::new();
        for (resource, metrics) in self.samples() {
            let pods: BTreeSet<&String> = metrics.iter().flat_map(|(_, samples)| samples.keys()).collect();
            for pod in pods {
                let used = all.entry(pod.clone()).or_default();
                for sample in metrics.iter().filter_map(|(_, samples)| samples.get(pod)) {
                    let number = |field: &str| sample[field].as_i64().unwrap();
                    let times = (number("age_s"), number("window_s"));
                    if *used.times.get_or_insert(times) != times {
                        return Err(TIMES);
                    }
                }
                let values = self.values(pod, &metrics)?;
                used.usage.extend(values.into_iter().map(|(one, value)| ((one, resource.clone()), value)));
            }
        }
        Ok(all)
    }

    /// What the containers of a pod use of a resource, so that each metric about it has its sample or none.
    fn values(&self, pod: &str, metrics: &[Samples]) -> Result<BTreeMap<String, Option<i64>>, &'static str> {
        let value =
            |samples: &serde_json::Map<String, Value>| samples.get(pod).map(|one| one["value_milli"].as_i64().unwrap());
        let mut values: BTreeMap<String, Option<i64>> =
            self.containers(pod).into_iter().map(|one| (one, Some(0))).collect();
        let (whole, parts): (Vec<&Samples>, Vec<&Samples>) = metrics.iter().partition(|(one, _)| one.is_empty());
        values.extend(parts.iter().map(|(container, samples)| (container.clone(), value(samples))));
        match whole.first().map(|(_, samples)| value(samples)) {
            None => {}
            Some(None) => {
                values.insert(OTHER.to_owned(), None);
            }
            Some(Some(total)) => {
                let sum: Option<i64> = values.values().copied().sum();
                let rest = sum.map(|sum| total - sum).filter(|rest| *rest >= 0).ok_or(PARTS)?;
                let named = self.containers(pod);
                let free = named.iter().find(|one| parts.iter().all(|(container, _)| container != *one));
                if rest > 0 || parts.is_empty() {
                    values.insert(free.map_or(OTHER, String::as_str).to_owned(), Some(rest));
                }
            }
        }
        Ok(values)
    }

    /// The clusters in which it has all its copies, where it is duplicated.
    fn copies(&self) -> Option<u32> {
        let calibration = self.of("calibration").as_f64().unwrap();
        (1..=MEMBERS).find(|count| f64::from(*count) == calibration).filter(|count| *count > 1)
    }

    fn is_under_way(&self) -> bool {
        self.of("calibration") != 1 && self.copies().is_none()
    }

    /// What the algorithm says of it in several clusters.
    fn spread(&self) -> Value {
        propose_in(&self.line["in"], true)
    }

    /// What the algorithm says of it alone: without the ratio of replicas, and of what exists.
    fn alone(&self) -> Value {
        let mut input = self.line["in"].clone();
        (input["calibration"], input["status_replicas"]) = (json!(1.0), json!(self.alive()));
        for metric in input["metrics"].as_array_mut().unwrap() {
            if let Some(samples) = metric["samples"].as_object_mut() {
                samples.retain(|name, _| self.pods().iter().any(|pod| pod["name"] == **name));
            }
        }
        propose_for(&input)
    }

    /// Pods that exist, as the controller counts them: those that have not ended.
    fn alive(&self) -> i64 {
        let alive = |pod: &&Value| pod["deleted"] != true && !["Failed", "Succeeded"].contains(&text(pod, "/phase"));
        self.pods().iter().filter(alive).count().try_into().unwrap()
    }

    /// What is written: nothing where there is no number, and within the bounds.
    fn written(&self, out: &Value) -> i64 {
        match out["replicas"].as_i64().unwrap() {
            -1 => self.current(),
            replicas => replicas.clamp(1, MOST),
        }
    }

    /// The class of a difference that is there on purpose.
    fn differs(&self) -> Option<&'static str> {
        let object = |metric: &&Value| metric["type"] == "Object" && metric["target_type"] == "AverageValue";
        let averages = self.metrics().iter().filter(object).count() > 0;
        if averages && self.copies().is_some() {
            return Some(TWICE);
        }
        if averages && self.of("status_replicas") != self.alive() {
            return Some(EXIST);
        }
        let known = |name: &String| self.pods().iter().any(|pod| pod["name"] == **name);
        let samples = |metric: &Value| metric["samples"].as_object().cloned().unwrap_or_default();
        if !self.metrics().iter().all(|metric| samples(metric).keys().all(known)) {
            return Some(GONE);
        }
        None
    }
}

/// All recorded decisions.
fn all() -> Vec<Case> {
    lines("metric").into_iter().enumerate().map(|(at, line)| Case { name: format!("v{at}"), line }).collect()
}

/// The recorded decisions of a kind, of which each `of`th from `first` on, without those that no metrics API gives.
fn cases(kind: impl Fn(&Case) -> bool, first: usize, of: usize) -> Vec<Case> {
    all().into_iter().filter(|case| kind(case) && case.used().is_ok()).skip(first).step_by(of).collect()
}

fn member(at: u32) -> String {
    format!("member{at}")
}

fn ago(now: Timestamp, seconds: &Value) -> String {
    (now - SignedDuration::from_secs(seconds.as_i64().unwrap())).to_string()
}

/// The metrics APIs of a member, with its pods or with none.
fn metrics_api(cases: &[Case], now: Timestamp, pods: bool) -> (Aggregated, Aggregated) {
    let items: Vec<Value> = cases.iter().filter(|_| pods).flat_map(|case| pod_metrics(case, now)).collect();
    let usage =
        json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items});
    let custom: BTreeMap<String, Value> = cases.iter().flat_map(|case| values(case, now, pods)).collect();
    let found = |list: Option<Value>| list.ok_or_else(StatusError::no_such_resource);
    let resource: Aggregated = Arc::new(move |path: &str| {
        let list = if path.ends_with("/pods") { usage.clone() } else { discovery(path) };
        async move { Ok(list) }.boxed()
    });
    let custom: Aggregated = Arc::new(move |path: &str| {
        let list = if path.contains("/namespaces/") {
            custom.get(path.rsplit('/').next().unwrap().split('?').next().unwrap()).cloned()
        } else {
            Some(discovery(path))
        };
        async move { found(list) }.boxed()
    });
    (resource, custom)
}

fn pod_metrics(case: &Case, now: Timestamp) -> Vec<Value> {
    let one = |(pod, used): (String, Used)| {
        let (age, window) = used.times.unwrap();
        let mut containers: BTreeMap<String, Value> = BTreeMap::new();
        for ((container, resource), value) in used.usage {
            let entry = containers.entry(container.clone()).or_insert(json!({"name": container, "usage": {}}));
            if let Some(value) = value {
                entry["usage"][resource] = from_milli(value).into();
            }
        }
        json!({"metadata": {"name": case.pod(&pod), "namespace": "prod"}, "timestamp": ago(now, &json!(age)),
            "window": format!("{window}s"), "containers": containers.into_values().collect::<Vec<_>>()})
    };
    case.used().unwrap().into_iter().map(one).collect()
}

/// Lists of `custom.metrics.k8s.io` by the name of the metric; without pods, they add nothing.
fn values(case: &Case, now: Timestamp, pods: bool) -> Vec<(String, Value)> {
    let version = "custom.metrics.k8s.io/v1beta2";
    let list =
        |items: Vec<Value>| json!({"kind": "MetricValueList", "apiVersion": version, "metadata": {}, "items": items});
    let of = |(at, metric): (usize, &Value)| {
        let name = format!("{}-m{at}", case.name);
        if metric["metric_unavailable"] == true {
            return None;
        }
        match text(metric, "/type") {
            "Pods" => {
                let samples = metric["samples"].as_object().filter(|_| pods).cloned().unwrap_or_default();
                let items = samples.iter().map(|(pod, sample)| {
                    json!({"describedObject": {"name": case.pod(pod)}, "timestamp": ago(now, &sample["age_s"]),
                        "windowSeconds": sample["window_s"], "value": from_milli(sample["value_milli"].as_i64().unwrap())})
                });
                Some((name, list(items.collect())))
            }
            "Object" => {
                let value = metric["object_value_milli"].as_i64()?;
                let value = from_milli(if pods { value } else { 0 });
                let item = json!({"describedObject": {"name": "i"}, "timestamp": now.to_string(), "value": value});
                Some((name, list(vec![item])))
            }
            _ => None,
        }
    };
    case.metrics().iter().enumerate().filter_map(of).collect()
}

fn spec_metric(case: &Case, at: usize, metric: &Value) -> Value {
    let number = |field: &str| metric[field].as_i64().map(from_milli);
    let target = match text(metric, "/target_type") {
        "Utilization" => json!({"type": "Utilization", "averageUtilization": metric["target_utilization_percent"]}),
        "AverageValue" => json!({"type": "AverageValue", "averageValue": number("target_milli")}),
        _ => json!({"type": "Value", "value": number("target_milli")}),
    };
    let named = json!({"name": format!("{}-m{at}", case.name)});
    match text(metric, "/type") {
        "Resource" => json!({"type": "Resource", "resource": {"name": metric["resource"], "target": target}}),
        "ContainerResource" => json!({"type": "ContainerResource",
            "containerResource": {"name": metric["resource"], "container": metric["container"], "target": target}}),
        "Pods" => json!({"type": "Pods", "pods": {"metric": named, "target": target}}),
        _ => {
            let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "i"});
            json!({"type": "Object", "object": {"describedObject": object, "metric": named, "target": target}})
        }
    }
}

/// Everything of a case but its FederatedHPA.
async fn populate(stage: &Stage, case: &Case, now: Timestamp) {
    let labels = json!({"app": case.name});
    let replicas = case.current();
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": case.name, "namespace": "prod"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}});
    let made = stage.fleet.control().create(&deployment).await.unwrap();
    let resource = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": case.name,
        "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]});
    let mut division = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"});
    if case.copies().is_some() {
        division = json!({"replicaSchedulingType": "Duplicated"});
    }
    // All pods are in the first, and none is missing in the others.
    let share = |at: u32| if at == 1 { replicas } else { 0 };
    let clusters = (1..=case.copies().unwrap_or(1)).map(|at| json!({"name": member(at), "replicas": share(at)}));
    stage
        .create(json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": format!("{}-deployment", case.name), "namespace": "prod"},
            "spec": {"resource": resource, "replicas": replicas, "clusters": clusters.collect::<Vec<_>>(),
                "placement": {"replicaScheduling": division}}}))
        .await;
    let server = stage.fleet.member(MEMBER).unwrap();
    let (objects, pods) = (Objects::new(server.client()), kind("Pod"));
    for pod in case.pods() {
        let containers = pod["containers"].as_array().unwrap().iter().map(|one| {
            let request = one["request_milli"].as_i64().map(from_milli);
            let requests = request.map(|request| json!({"cpu": request, "memory": request}));
            json!({"name": one["name"], "image": "app", "resources": {"requests": requests.unwrap_or(json!({}))}})
        });
        let deleted = pod["deleted"] == true;
        let finalizers = if deleted { json!(["suite/stays"]) } else { json!([]) };
        let name = case.pod(text(pod, "/name"));
        let object = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "prod", "labels": labels, "finalizers": finalizers},
            "spec": {"containers": containers.collect::<Vec<_>>()}});
        let made = server.create(&object).await.unwrap();
        let mut status = json!({"phase": pod["phase"]});
        if !pod["start_age_s"].is_null() {
            status["startTime"] = ago(now, &pod["start_age_s"]).into();
        }
        if !pod["ready"].is_null() {
            let since = ago(now, &pod["ready_transition_age_s"]);
            status["conditions"] = json!([{"type": "Ready", "status": pod["ready"], "lastTransitionTime": since}]);
        }
        let written = objects.merge(&pods, &made, "status", &json!({"status": status})).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
        if deleted {
            assert!(matches!(objects.delete(&pods, &made).await.unwrap(), Written::Done(_)));
        }
    }
}

async fn decide(stage: &Stage, case: &Case) {
    let metrics = case.metrics().iter().enumerate().map(|(at, metric)| spec_metric(case, at, metric));
    let tolerance = case.of("tolerance").as_f64().unwrap().to_string();
    let rules = json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "tolerance": tolerance,
        "policies": [{"type": "Pods", "value": MOST, "periodSeconds": 15}]});
    stage
        .create(json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": case.name, "namespace": "prod"},
            "spec": {"mode": "Centralized", "minReplicas": 1, "maxReplicas": MOST,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": case.name},
                "behavior": {"scaleUp": rules, "scaleDown": rules}, "metrics": metrics.collect::<Vec<_>>()}}))
        .await;
}

/// What the status tells of the only metric, as the recording does.
fn told(hpa: &Value) -> (Option<i64>, Option<i64>) {
    let metric = &hpa["status"]["currentMetrics"][0];
    let current = ["resource", "containerResource", "pods", "object"]
        .into_iter()
        .map(|field| &metric[field]["current"])
        .find(|current| !current.is_null())
        .cloned()
        .unwrap_or_default();
    let value = ["averageValue", "value"].into_iter().find_map(|field| current[field].as_str().and_then(milli));
    (current["averageUtilization"].as_i64(), value)
}

/// Plays the cases in one namespace. Returns how many are the same, and the differences by class.
async fn play(cases: &[Case]) -> (usize, BTreeMap<&'static str, usize>) {
    let members = cases.iter().filter_map(Case::copies).max().unwrap_or(1);
    let stage = Stage::still(members).await;
    stage.fleet.settle().await.unwrap();
    let one = stage.leads("one").await;
    let second = stage.wall.now().as_second();
    let now = Timestamp::from_second(second - second % 15 + 30 + OFF).unwrap();
    for at in 1..=members {
        let (resource, custom) = metrics_api(cases, now, at == 1);
        let member = stage.fleet.member(&member(at)).unwrap();
        member.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})).await.unwrap();
        member.aggregate("metrics.k8s.io", resource);
        member.aggregate("custom.metrics.k8s.io", custom);
    }
    for case in cases {
        populate(&stage, case, now).await;
    }
    tokio::time::sleep(Duration::try_from(now.duration_since(stage.wall.now())).expect("a time to come")).await;
    for case in cases {
        decide(&stage, case).await;
    }
    stage.pass(2).await;
    let (mut same, mut classes) = (0, BTreeMap::<&str, usize>::new());
    for case in cases {
        let hpa = stage.get("FederatedHPA", &case.name).await;
        let replicas = int(&stage.get("Deployment", &case.name).await, "/spec/replicas").unwrap_or_default();
        let agrees = |out: &Value| {
            let single = case.metrics().len() == 1 && out["replicas"] != -1;
            let numbers = (out["utilization_percent"].as_i64(), out["usage_milli"].as_i64());
            replicas == case.written(out) && (!single || told(&hpa) == numbers)
        };
        if agrees(&expected(&case.line)) {
            same += 1;
            continue;
        }
        let alone = case.is_under_way().then(|| case.alone()).filter(agrees);
        let known = || if case.is_under_way() { None } else { case.differs() };
        let spread = || (case.copies().is_some() && agrees(&case.spread())).then_some(NOT_READY);
        let class = alone.map(|_| RATIO).or_else(known).or_else(spread);
        let class = class.unwrap_or_else(|| panic!("{replicas} {:?}: {} {}", told(&hpa), case.line, hpa["status"]));
        *classes.entry(class).or_default() += 1;
    }
    one.stop().await;
    (same, classes)
}

/// Of the decisions in one quarter: the same, those about replicas that exist, those about pods that are gone.
async fn quarter(first: usize, same: usize, exist: usize, gone: usize) {
    let played = play(&cases(|case| case.of("calibration") == 1, first, 4)).await;
    let classes = [(EXIST, exist), (GONE, gone)].into_iter().filter(|(_, count)| *count > 0);
    assert_eq!(played, (same, classes.collect()));
}

#[tokio::test(start_paused = true)]
async fn recorded_decisions_are_made_by_the_controller_too() {
    quarter(0, 141, 8, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_quarter_of_recorded_decisions_is_made_by_the_controller_too() {
    quarter(1, 148, 1, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_third_quarter_of_recorded_decisions_is_made_by_the_controller_too() {
    quarter(2, 147, 5, 0).await;
}

#[tokio::test(start_paused = true)]
async fn the_last_quarter_of_recorded_decisions_is_made_by_the_controller_too() {
    quarter(3, 149, 1, 2).await;
}

#[tokio::test(start_paused = true)]
async fn recorded_decisions_about_as_many_copies_as_clusters_are_made_for_duplicated_workloads() {
    let played = play(&cases(|case| case.copies().is_some(), 0, 1)).await;
    assert_eq!(played, (99, BTreeMap::from([(TWICE, 5), (NOT_READY, 2)])));
}

#[tokio::test(start_paused = true)]
async fn recorded_decisions_about_copies_on_their_way_are_made_without_their_ratio() {
    let played = play(&cases(Case::is_under_way, 0, 1)).await;
    assert_eq!(played, (84, BTreeMap::from([(RATIO, 106)])));
}

#[test]
fn all_other_recorded_decisions_are_about_samples_that_no_metrics_api_gives() {
    let mut whys: BTreeMap<&str, usize> = BTreeMap::new();
    for why in all().iter().filter_map(|case| case.used().err()) {
        *whys.entry(why).or_default() += 1;
    }
    assert_eq!(whys, BTreeMap::from([(TIMES, 66), (PARTS, 15)]));
}
