//! The metrics APIs of a member cluster, from the simulated load. Client required.

use std::sync::Arc;

use embedded_apiserver::Aggregated;
use embedded_apiserver::status::StatusError;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::autoscaler::usage;
use super::load::Load;
use super::{Member, pod};
use crate::clock::rfc3339;
use crate::json::{items, name, namespace, set, text};
use api::metrics::QUERY_SOURCE;
use decision::quantity::{from_milli, milli};

/// Groups of metrics APIs that a member serves.
pub const GROUPS: [&str; 3] = ["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"];

/// What the member answers for [`GROUPS`].
#[must_use]
pub fn metrics_api(member: &Arc<Member>) -> Aggregated {
    let member = Arc::downgrade(member);
    Arc::new(move |path: &str| {
        let (member, path) = (member.upgrade(), path.to_owned());
        async move {
            match member.filter(|member| !member.metrics_gone()) {
                Some(member) => member.metrics(&path).await,
                None => Err(gone()),
            }
        }
        .boxed()
    })
}

/// What a control plane answers for `external.metrics.k8s.io`: the whole load of the workload whose name the metric
/// begins with.
#[must_use]
pub fn external_api(load: &Arc<Load>) -> Aggregated {
    let load = Arc::clone(load);
    Arc::new(move |path: &str| {
        let answer = match parts(path)[..] {
            ["external.metrics.k8s.io", "v1beta1", "namespaces", space, metric] => {
                Ok(external(load.total(space, workload_of(metric))))
            }
            ["external.metrics.k8s.io", "v1beta1"] => Ok(discovery(path)),
            _ => Err(StatusError::no_such_resource()),
        };
        async move { answer }.boxed()
    })
}

/// What a control plane with karmada-metrics-adapter answers for `metrics.k8s.io` and `custom.metrics.k8s.io`: pods of
/// all members with the name of their cluster, and values summed by name. A member that fails is left out.
#[must_use]
pub fn adapter_api(members: &[Arc<Member>]) -> Aggregated {
    let members: Vec<_> = members.iter().map(Arc::downgrade).collect();
    Arc::new(move |path: &str| {
        let members: Vec<Arc<Member>> = members.iter().filter_map(std::sync::Weak::upgrade).collect();
        let path = path.to_owned();
        async move { adapted(&members, &path).await }.boxed()
    })
}

async fn adapted(members: &[Arc<Member>], path: &str) -> Result<Value, StatusError> {
    let usage = path.starts_with("/apis/metrics.k8s.io/");
    let mut found: Vec<Value> = Vec::new();
    let mut whole = None;
    for member in members.iter().filter(|member| !member.metrics_gone()) {
        let Ok(list) = member.metrics(path).await else { continue };
        for mut item in items(&list, "/items").to_vec() {
            if usage {
                set(&mut item, &["metadata", "annotations"], json!({QUERY_SOURCE: member.name.clone()}));
                found.push(item);
                continue;
            }
            let of = |item: &Value| text(item, "/describedObject/name").to_owned();
            let milli = |item: &Value| milli(text(item, "/value")).unwrap_or_default();
            match found.iter_mut().find(|known| of(known) == of(&item)) {
                Some(known) => {
                    let sum = milli(known).saturating_add(milli(&item));
                    set(known, &["value"], json!(from_milli(sum)));
                }
                None => found.push(item),
            }
        }
        whole = Some(list);
    }
    let mut list = whole.ok_or_else(gone)?;
    set(&mut list, &["items"], Value::Array(found));
    Ok(list)
}

fn gone() -> StatusError {
    StatusError::plain(503, "ServiceUnavailable", "the server is currently unable to handle the request")
}

/// The workload that a metric is about: `web` for `web` and `web-orders`.
fn workload_of(metric: &str) -> &str {
    metric.split('-').next().unwrap_or_default()
}

/// The steps of a path behind `/apis`.
fn parts(path: &str) -> Vec<&str> {
    path.trim_start_matches("/apis/").split('/').collect()
}

/// The answer that a version of a group is served.
pub fn discovery(path: &str) -> Value {
    let version = path.trim_start_matches("/apis/");
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []})
}

fn external(milli: i64) -> Value {
    json!({"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": {},
        "items": [{"metricName": "load", "value": from_milli(milli)}]})
}

impl Member {
    async fn metrics(&self, path: &str) -> Result<Value, StatusError> {
        match parts(path)[..] {
            ["metrics.k8s.io" | "external.metrics.k8s.io", "v1beta1"] | ["custom.metrics.k8s.io", "v1beta2"] => {
                Ok(discovery(path))
            }
            ["metrics.k8s.io", "v1beta1", "namespaces", space, "pods"] => {
                let items = self.usages(space).await.map_err(|_| gone())?;
                Ok(
                    json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}),
                )
            }
            ["custom.metrics.k8s.io", "v1beta2", "namespaces", space, "pods", "*", _] => {
                let pods = self.objects.all(&self.kinds.pod, space).await.map_err(|_| gone())?;
                let values = pods.iter().filter(|pod| pod::ready(pod));
                let share =
                    |pod: &Value| self.load.share(&self.name, space, pod::owner(pod).map_or("", |(_, owner)| owner));
                Ok(self.values(values.map(|pod| (name(pod).to_owned(), share(pod)))))
            }
            ["custom.metrics.k8s.io", "v1beta2", "namespaces", space, _, object, _] => {
                let here = self.load_here(space, object).await.map_err(|_| gone())?;
                Ok(self.values([(object.to_owned(), here)]))
            }
            ["external.metrics.k8s.io", "v1beta1", "namespaces", space, metric] => {
                Ok(external(self.load_here(space, workload_of(metric)).await.map_err(|_| gone())?))
            }
            _ => Err(StatusError::no_such_resource()),
        }
    }

    /// The part of a workload's load that waits for this cluster.
    async fn load_here(&self, space: &str, workload: &str) -> Result<i64, kube::Error> {
        let pods = self.objects.all(&self.kinds.pod, space).await?;
        let own = |pod: &&Arc<Value>| pod::ready(pod) && pod::owner(pod).is_some_and(|(_, owner)| owner == workload);
        Ok(self.load.waiting(&self.name, space, workload, pods.iter().filter(own).count()))
    }

    fn values(&self, of: impl IntoIterator<Item = (String, i64)>) -> Value {
        let now = rfc3339(self.clock.now());
        let items: Vec<Value> = of
            .into_iter()
            .map(|(name, milli)| json!({"describedObject": {"name": name}, "timestamp": now, "value": from_milli(milli)}))
            .collect();
        json!({"kind": "MetricValueList", "apiVersion": "custom.metrics.k8s.io/v1beta2", "metadata": {}, "items": items})
    }

    /// `PodMetrics` of the pods that run.
    async fn usages(&self, space: &str) -> Result<Vec<Value>, kube::Error> {
        let pods = self.objects.all(&self.kinds.pod, space).await?;
        let running = pods.iter().filter(|pod| text(pod, "/status/phase") == "Running");
        Ok(running.map(|pod| self.pod_metrics(pod)).collect())
    }

    fn pod_metrics(&self, pod: &Value) -> Value {
        let owner = pod::owner(pod).map_or("", |(_, owner)| owner);
        let share = self.load.share(&self.name, namespace(pod), owner);
        let containers = items(pod, "/spec/containers");
        let number = i64::try_from(containers.len()).unwrap_or(i64::MAX).max(1);
        let containers: Vec<Value> = containers
            .iter()
            .map(|container| {
                let cpu = usage(pod, Some(name_of(container)), "cpu", share);
                let memory = usage(pod, None, "memory", share).checked_div(number).unwrap_or_default();
                json!({"name": name_of(container), "usage": {"cpu": from_milli(cpu), "memory": from_milli(memory)}})
            })
            .collect();
        json!({
            "metadata": {"name": name(pod), "namespace": namespace(pod)}, "timestamp": rfc3339(self.clock.now()),
            "window": format!("{}s", self.timing.metrics_window.as_secs()), "containers": containers,
        })
    }
}

fn name_of(container: &Value) -> &str {
    text(container, "/name")
}
