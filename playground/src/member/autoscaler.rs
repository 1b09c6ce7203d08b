//! The HPA controller of a member cluster: HPAs and the simulated load -> scale subresources and HPA status. The
//! algorithm is `decision::hpa`. Client required.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::ambiguity::ambiguous;
use super::nodes::Room;
use super::report::{Conditions, status};
use super::{Member, MemberView, pod};
use crate::clock::{after, rfc3339};
use crate::json::{condition, count, deleting, items, name, namespace, text};
use crate::objects::{Kind, Written};
use crate::pass::Pass;
use api::hpa::{HorizontalPodAutoscalerBehavior, MetricSpec};
use decision::hpa::decide::{Condition, Decision, History, Policy, decide};
use decision::hpa::limits::Range;
use decision::hpa::metric::{Metric, Reading, Sample, Source, Target, is_outer};
use decision::hpa::pod::{Pod, Startup};
use decision::hpa::replicas::{Tolerance, Workload};
use decision::plan::HpaVersion;
use decision::quantity::milli;
use embedded_apiserver::kinds::conversion;
use fhpa_daemon::convert;
use fhpa_daemon::convert::fleet::{hpa_version, release};
use fhpa_daemon::convert::scaling;

const GOT_SCALE: &str = "the HPA controller was able to get the target's current scale";

/// State of the controller for an HPA.
#[derive(Default)]
pub struct Memory {
    uid: String,
    due: Option<Timestamp>,
    history: History,
}

/// A parsed HPA.
pub(super) struct ParsedHpa<'a> {
    pub(super) object: &'a Value,
    pub(super) specs: Vec<MetricSpec>,
    pub(super) metrics: Vec<Option<(Source, Target)>>,
    policy: Policy,
    tolerance: Tolerance,
}

impl Member {
    /// Runs the HPAs that are due.
    pub(super) async fn autoscale(&self, seen: &MemberView, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let autoscalers = self.autoscalers().await?;
        let keys: Vec<String> = autoscalers.iter().map(|object| key(object)).collect();
        self.with_memory(|memory| memory.retain(|key, _| keys.contains(key)));
        for object in autoscalers.iter().filter(|object| !deleting(object)) {
            let mut memory = self.recall(object);
            let due = memory.due.unwrap_or(now);
            if due > now {
                pass.look_at(due);
                self.keep(object, memory);
                continue;
            }
            let next = after(now, self.timing.autoscaler_period);
            memory.due = Some(next);
            pass.look_at(next);
            let done = self.reconcile_hpa(seen, (object, &autoscalers), &mut memory.history, now).await;
            self.keep(object, memory);
            pass.join(done?);
        }
        Ok(pass)
    }

    /// The HPAs in the newer API, regardless of the API that is served.
    async fn autoscalers(&self) -> Result<Vec<Arc<Value>>, kube::Error> {
        if !self.is_older() {
            return self.objects.all(&self.kinds.autoscaler, "").await;
        }
        let mut found = self.objects.all(&self.kinds.older_autoscaler, "").await?;
        found.iter_mut().map(Arc::make_mut).for_each(conversion::newer_autoscaler);
        Ok(found)
    }

    fn is_older(&self) -> bool {
        hpa_version(&self.profile().kubernetes) == HpaVersion::V1
    }

    /// Writes the status of an HPA when it differs. Returns whether it wrote.
    async fn tell_status(&self, object: &Value, status: &Value) -> Result<bool, kube::Error> {
        if !self.is_older() || object.get("status") == Some(status) {
            return self.objects.set_status(&self.kinds.autoscaler, object, status).await;
        }
        let mut whole = object.clone();
        crate::json::set(&mut whole, &["status"], status.clone());
        conversion::older_autoscaler(&mut whole);
        let status = whole.as_object_mut().and_then(|whole| whole.remove("status")).unwrap_or_default();
        self.objects.set_status(&self.kinds.older_autoscaler, &whole, &status).await
    }

    fn with_memory<T>(&self, work: impl FnOnce(&mut BTreeMap<String, Memory>) -> T) -> T {
        work(&mut self.memory.lock())
    }

    /// The state of exactly this object; a new one of the same name begins without state.
    fn recall(&self, object: &Value) -> Memory {
        let uid = text(object, "/metadata/uid");
        let known = self.with_memory(|memory| memory.remove(&key(object)));
        known.filter(|memory| memory.uid == uid).unwrap_or_else(|| Memory { uid: uid.to_owned(), ..Memory::default() })
    }

    fn keep(&self, object: &Value, memory: Memory) {
        self.with_memory(|all| all.insert(key(object), memory));
    }

    async fn reconcile_hpa(
        &self,
        seen: &MemberView,
        (object, all): (&Value, &[Arc<Value>]),
        history: &mut History,
        now: Timestamp,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let hpa = self.read(object);
        let mut conditions = Conditions::of(object, now);
        let Some(target) = seen.target_of(object) else {
            pass.writes += usize::from(self.miss(&hpa, conditions).await?);
            return Ok(pass);
        };
        conditions.set("AbleToScale", true, "SucceededGetScale", GOT_SCALE);
        let current = count(target, "/spec/replicas").unwrap_or(1);
        let by_itself = scales_to_zero(&self.profile().kubernetes, &hpa.specs);
        // Pods are needed only where the metrics decide.
        let range = hpa.policy.range;
        let by_metrics = current > 0 && (range.min..=range.max).contains(&current);
        let ambiguous = || by_metrics.then(|| ambiguous(seen, all, object, target)).flatten();
        let decision = match woken(&hpa, current).filter(|_| by_itself).or_else(ambiguous) {
            Some(decision) => decision,
            None => self.decide(seen, target, &hpa, current, history, now),
        };
        for Condition { kind, status, reason, message } in &decision.conditions {
            conditions.set(kind, *status, reason, message);
        }
        let mut last_scale = object.pointer("/status/lastScaleTime").cloned();
        let mut desired = current;
        if let Some(replicas) = decision.write {
            pass.wrote();
            match self.scale(target, replicas).await? {
                Written::Done(_) => {
                    history.scaled(&hpa.policy, current, replicas, now);
                    if by_itself {
                        conditions.scaled_to_zero(replicas == 0);
                    }
                    last_scale = Some(json!(rfc3339(now)));
                    desired = replicas;
                    self.report_rescale(object, replicas, &decision.why, &mut conditions, now).await?;
                }
                Written::Raced | Written::Refused(_) => {
                    conditions.set(
                        "AbleToScale",
                        false,
                        "FailedUpdateScale",
                        "the HPA controller was unable to update the target scale",
                    );
                }
            }
        }
        let status = status(object, &hpa.specs, Some((target, desired, &decision)), &conditions, last_scale);
        pass.writes += usize::from(self.tell_status(object, &status).await?);
        Ok(pass)
    }

    /// Reports that the workload of an HPA was scaled, in a condition and an Event.
    async fn report_rescale(
        &self,
        object: &Value,
        replicas: i32,
        why: &str,
        conditions: &mut Conditions,
        now: Timestamp,
    ) -> Result<(), kube::Error> {
        let message = format!("the HPA controller was able to update the target scale to {replicas}");
        conditions.set("AbleToScale", true, "SucceededRescale", &message);
        let message = format!("New size: {replicas}; reason: {why}");
        self.record_event(object, "SuccessfulRescale", &message, now).await
    }

    /// Reports that the workload of an HPA does not exist. Returns whether it wrote.
    async fn miss(&self, hpa: &ParsedHpa<'_>, mut conditions: Conditions) -> Result<bool, kube::Error> {
        let object = hpa.object;
        let (kind, name) = (text(object, "/spec/scaleTargetRef/kind"), text(object, "/spec/scaleTargetRef/name"));
        let why = format!("{}s.apps \"{name}\" not found", kind.to_lowercase());
        let message = format!("the HPA controller was unable to get the target's current scale: {why}");
        conditions.set("AbleToScale", false, "FailedGetScale", &message);
        let status = status(object, &hpa.specs, None, &conditions, object.pointer("/status/lastScaleTime").cloned());
        self.tell_status(object, &status).await
    }

    fn read<'a>(&self, object: &'a Value) -> ParsedHpa<'a> {
        let part = |path: &str| object.pointer(path).cloned().filter(|value| !value.is_null());
        let specs: Vec<MetricSpec> =
            part("/spec/metrics").and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default();
        let given: Option<HorizontalPodAutoscalerBehavior> =
            part("/spec/behavior").and_then(|value| serde_json::from_value(value).ok());
        let behavior = given.as_ref().map(scaling::behavior);
        let usual = Tolerance::default();
        let tolerance = behavior.as_ref().map_or(usual, |behavior| behavior.tolerance(usual));
        let window = self.timing.downscale_window.as_secs();
        let range = Range {
            min: count(object, "/spec/minReplicas").unwrap_or(1),
            max: count(object, "/spec/maxReplicas").unwrap_or(1),
        };
        let metrics = scaling::metrics(&specs, namespace(object));
        let downscale_window_seconds = i32::try_from(window).unwrap_or(i32::MAX);
        ParsedHpa { object, specs, metrics, policy: Policy { range, behavior, downscale_window_seconds }, tolerance }
    }

    fn decide(
        &self,
        seen: &MemberView,
        target: &Value,
        hpa: &ParsedHpa<'_>,
        current: i32,
        history: &mut History,
        now: Timestamp,
    ) -> Decision {
        let pods: Vec<Pod> = seen.pods_of(target).map(pod).collect();
        let workload = Workload {
            spec_replicas: current,
            status_replicas: count(target, "/status/replicas").unwrap_or_default(),
            calibration: 1.0,
            partial: None,
            pods: &pods,
            spread: false,
            tolerance: hpa.tolerance,
            startup: Startup::default(),
            now,
        };
        let unknown = || (Source::Pods { metric: "unknown".to_owned() }, Target::AverageValue(1));
        let metrics: Vec<Metric> = hpa
            .metrics
            .iter()
            .map(|metric| {
                let reading = match metric {
                    Some((source, _)) => self.measure(seen, target, source, now),
                    None => Reading::Unavailable("the server could not find the metric in the playground".to_owned()),
                };
                let (source, target_value) = metric.clone().unwrap_or_else(unknown);
                Metric { source, target: target_value, reading }
            })
            .collect();
        decide(&hpa.policy, &workload, &metrics, history)
    }

    /// The values that the metrics APIs report. The CPU and a Pods metric are the pod's share of the load; memory is half
    /// of each container's request. An Object metric is the load of the workload of that name.
    fn measure(&self, seen: &MemberView, target: &Value, source: &Source, now: Timestamp) -> Reading {
        if self.metrics_gone() {
            return Reading::Unavailable(
                "unable to fetch metrics from resource metrics API: the server is currently unable to handle the request \
                 (get pods.metrics.k8s.io)"
                    .to_owned(),
            );
        }
        let (resource, container) = match source {
            Source::Resource { name } => (name.as_str(), None),
            Source::ContainerResource { name, container } => (name.as_str(), Some(container.as_str())),
            Source::Pods { .. } => ("cpu", None),
            Source::External { .. } => return Reading::Total(self.waiting(seen, target, name(target))),
            Source::Object { name, .. } => return Reading::Total(self.waiting(seen, target, name)),
        };
        let share = self.load.share(&self.name, namespace(target), name(target));
        let running = (0_u32..).zip(seen.pods_of(target)).filter(|(_, pod)| text(pod, "/status/phase") == "Running");
        let samples = running.map(|(index, pod)| {
            let value = usage(pod, container, resource, share);
            (index, Sample { value, at: now, window: self.timing.metrics_window })
        });
        Reading::PerPod(samples.collect())
    }

    /// The load of `workload` that waits for this cluster, whose part has the pods of `target`.
    fn waiting(&self, seen: &MemberView, target: &Value, workload: &str) -> i64 {
        let ready = seen.pods_of(target).filter(|pod| pod::ready(pod)).count();
        self.load.waiting(&self.name, namespace(target), workload, ready)
    }

    async fn scale(&self, target: &Value, replicas: i32) -> Result<Written, kube::Error> {
        let kind: &Kind =
            if super::rollout::ordered(target) { &self.kinds.stateful_set } else { &self.kinds.deployment };
        self.objects.merge(kind, target, "scale", &json!({"spec": {"replicas": replicas}})).await
    }

    async fn record_event(
        &self,
        about: &Value,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) -> Result<(), kube::Error> {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": reason, "message": message, "count": 1,
            "metadata": {"name": format!("{}.{:x}", name(about), now.as_nanosecond()), "namespace": namespace(about)},
            "involvedObject": {"apiVersion": text(about, "/apiVersion"), "kind": text(about, "/kind"), "name": name(about),
                "namespace": namespace(about), "uid": text(about, "/metadata/uid")},
            "source": {"component": "horizontal-pod-autoscaler"},
            "firstTimestamp": rfc3339(now), "lastTimestamp": rfc3339(now),
        });
        self.objects.create(&self.kinds.event, &event).await.map(|_| ())
    }
}

/// Whether the controller scales to zero: from Kubernetes 1.37 on, with a metric that does not come from the pods.
fn scales_to_zero(kubernetes: &str, metrics: &[MetricSpec]) -> bool {
    let outer = |metric: &MetricSpec| is_outer(&metric.type_);
    release(kubernetes).is_some_and(|release| release >= (1, 37)) && metrics.iter().any(outer)
}

/// An HPA that scaled to zero by itself returns when its min requires it; one whose target another client scaled to
/// zero does not.
fn woken(hpa: &ParsedHpa<'_>, current: i32) -> Option<Decision> {
    let slept = condition(hpa.object, "/status/conditions", "ScaledToZero");
    let by_itself = slept.is_some_and(|slept| text(slept, "/status") == "True");
    let min = hpa.policy.range.min;
    let why = "Current number of replicas below Spec.MinReplicas".to_owned();
    (by_itself && current == 0 && min > 0).then(|| Decision { write: Some(min), why, ..Decision::default() })
}

/// Usage of a pod in thousandths, where `share` is the load of a ready one: for CPU the load, for memory half of its
/// request.
pub(super) fn usage(pod: &Value, container: Option<&str>, resource: &str, share: i64) -> i64 {
    match resource {
        "cpu" if pod::ready(pod) => part_of(pod, container, share),
        "cpu" => 0,
        _ => Room::requested(pod.pointer("/spec").unwrap_or(&Value::Null)).memory.saturating_mul(500),
    }
}

/// The share of one container, in proportion to its requests; of all when none is named.
fn part_of(pod: &Value, container: Option<&str>, share: i64) -> i64 {
    let Some(container) = container else { return share };
    let asked = |container: &Value| milli(text(container, "/resources/requests/cpu")).unwrap_or_default();
    let containers = items(pod, "/spec/containers");
    let all: i64 = containers.iter().map(asked).sum();
    let own: i64 = containers.iter().filter(|found| text(found, "/name") == container).map(asked).sum();
    share.saturating_mul(own).checked_div(all).unwrap_or_default()
}

fn key(object: &Value) -> String {
    format!("{}/{}", namespace(object), name(object))
}

fn pod(pod: &Value) -> Pod {
    let read = api::pod::Pod::deserialize(pod).unwrap_or_default();
    Pod {
        name: name(pod).into(),
        phase: convert::pods::phase(&read),
        deleted: deleting(pod),
        ready: convert::pods::ready(&read),
        started: convert::pods::started(&read),
        requests: Arc::new(convert::pods::requests(&read)),
    }
}
