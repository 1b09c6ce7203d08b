//! Reads one member through the cluster proxy (docs/design.md#on-the-wire). Talks to the API server; reads only.

use std::sync::Arc;

use futures::future::try_join_all;
use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::foreign_hpa::ForeignHpa;
use crate::api::event::Event;
use crate::api::hpa_status::HorizontalPodAutoscalerStatus;
use crate::api::metrics::List;
use crate::api::pod::{Pod, PodCondition};
use crate::api::scale::Scale;
use crate::api::scaler::PlainHPA;
use crate::controller::failure;
use crate::controller::failure::Asked;
use crate::controller::key::Key;
use crate::controller::query_cache::QueryError;
use crate::controller::request::send;
use crate::convert;
use crate::decision::backoff::ErrorClass;
use crate::decision::fleet::nodes::{self, PodNodes};
use crate::decision::json::null_as_default;
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::federated_hpa::{autoscaling_v1, names};
use crate::reconcile::scale_target::{ResourcePath, TargetRef, Targets};

/// Most HPAs of a namespace to read.
const HPAS: u32 = 500;
/// Most pods to read; with more, at least this many are unschedulable.
const PODS: u32 = 500;
/// Most Events of a pod to read. Those of one component with one reason are one Event.
const EVENTS: u32 = 100;

/// The path of the API of a member, followed by a path there.
#[must_use]
pub fn proxied(cluster: &str, path: &str) -> String {
    format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}/proxy{path}")
}

/// Access to one member.
pub(super) struct MemberApi {
    client: Client,
    cluster: String,
}

impl MemberApi {
    /// Through `client`.
    pub(super) fn new(client: &Client, cluster: &str) -> Self {
        Self { client: client.clone(), cluster: cluster.to_owned() }
    }

    async fn get<T: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        what: &str,
    ) -> Result<T, failure::Failure> {
        let object = format!("{what} in cluster {}", self.cluster);
        let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
        send(&self.client, request, asked).await
    }

    /// The status of an HPA that has the write id `mark`; `None` where there is none.
    pub(super) async fn hpa(
        &self,
        key: &Key,
        version: &str,
        mark: &str,
    ) -> Result<Option<Arc<HorizontalPodAutoscalerStatus>>, QueryError> {
        let path = format!("/apis/autoscaling/{version}/namespaces/{}/horizontalpodautoscalers", key.namespace);
        let request = Request::new(proxied(&self.cluster, &path)).get(&key.name, &GetParams::default());
        match self.get::<Hpa>(request, &format!("HorizontalPodAutoscaler {key}")).await {
            Ok(hpa) if hpa.mark() == Some(mark) => Ok(Some(Arc::new(hpa.newer_status()))),
            Ok(_) => Ok(None),
            Err(failure) if failure.reason == failure::reason::NOT_FOUND => Ok(None),
            Err(failure) => Err(unanswered(failure)),
        }
    }

    /// The HPAs of a namespace that are not fhpa's. Every version of Kubernetes serves the older API.
    pub(super) async fn foreign_hpas(&self, namespace: &str) -> Result<Arc<[ForeignHpa]>, QueryError> {
        let path = format!("/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers");
        let request = Request::new(proxied(&self.cluster, &path)).list(&ListParams::default().limit(HPAS));
        let list: List<PlainHPA> = self.get(request, "HorizontalPodAutoscalers").await.map_err(unanswered)?;
        Ok(list.items.iter().filter_map(ForeignHpa::of).collect())
    }

    /// Number of unschedulable pods of the workload.
    pub(super) async fn unschedulable(
        &self,
        targets: &Targets,
        workload: &ObjectReference,
    ) -> Result<Replicas, QueryError> {
        let pods = self.pending(targets, workload).await?;
        Ok(unschedulable(&pods).count().try_into().unwrap_or(Replicas::MAX))
    }

    /// What the autoscaler of the cluster says of the unschedulable pods that are the oldest: it has looked at these.
    pub(super) async fn nodes(
        &self,
        targets: &Targets,
        workload: &ObjectReference,
    ) -> Result<Arc<[PodNodes]>, QueryError> {
        let pods = self.pending(targets, workload).await?;
        let mut pods: Vec<&Pod> = unschedulable(&pods).collect();
        pods.sort_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0));
        let said = pods.into_iter().take(nodes::PODS).map(|pod| self.said_of(&workload.namespace, pod));
        Ok(try_join_all(said).await?.into())
    }

    async fn said_of(&self, namespace: &str, pod: &Pod) -> Result<PodNodes, QueryError> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (name, uid) = (text(&pod.metadata.name), text(&pod.metadata.uid));
        let about = format!("involvedObject.kind=Pod,involvedObject.name={name},involvedObject.uid={uid}");
        let path = proxied(&self.cluster, &format!("/api/v1/namespaces/{namespace}/events"));
        let request = Request::new(path).list(&ListParams::default().fields(&about).limit(EVENTS));
        let events: List<Event> = self.get(request, "events").await.map_err(unanswered)?;
        Ok(convert::nodes::of_pod(&events.items))
    }

    /// Selects pods by the selector of the workload's `scale`, so that it works for every scalable kind.
    async fn pending(&self, targets: &Targets, workload: &ObjectReference) -> Result<List<Pod>, QueryError> {
        let ObjectReference { api_version, kind, namespace, name } = workload;
        let target = TargetRef { namespace, api_version, kind, name };
        let ResourcePath { path, .. } = targets.place(&target).await.map_err(unanswered)?;
        let request = Request::new(proxied(&self.cluster, &path)).get_subresource("scale", name);
        let scale: Scale = self.get(request, &target.to_string()).await.map_err(unanswered)?;
        if scale.status.selector.is_empty() {
            return Err(QueryError::Refused(format!(
                "the scale subresource of {target} names no selector of its pods"
            )));
        }
        let waiting = ListParams::default().labels(&scale.status.selector).fields("status.phase=Pending").limit(PODS);
        let pods = proxied(&self.cluster, &format!("/api/v1/namespaces/{namespace}/pods"));
        self.get(Request::new(pods).list(&waiting), "pods").await.map_err(unanswered)
    }
}

/// Transient failures are retried; rejections are reported.
fn unanswered(failure: failure::Failure) -> QueryError {
    match failure.class {
        ErrorClass::Transient => QueryError::Unusable(failure.message),
        _ => QueryError::Refused(failure.message),
    }
}

/// The parts of an HPA that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hpa {
    #[serde(deserialize_with = "null_as_default")]
    metadata: kube::core::ObjectMeta,
    #[serde(deserialize_with = "null_as_default")]
    status: HpaStatus,
}

/// The status with the fields of both API versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HpaStatus {
    #[serde(rename = "currentCPUUtilizationPercentage")]
    cpu: Option<i32>,
    #[serde(flatten)]
    newer: HorizontalPodAutoscalerStatus,
}

impl Hpa {
    fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    fn mark(&self) -> Option<&str> {
        self.annotation(names::WRITE_ID)
    }

    /// Its status, converted to the newer API.
    fn newer_status(&self) -> HorizontalPodAutoscalerStatus {
        let (current, conditions) =
            (self.annotation(autoscaling_v1::CURRENT), self.annotation(autoscaling_v1::CONDITIONS));
        let mut status = self.status.newer.clone();
        autoscaling_v1::Reported { current, conditions, cpu: self.status.cpu }.complete(&mut status);
        status
    }
}

/// The pods that the scheduler of the cluster could not place.
fn unschedulable(list: &List<Pod>) -> impl Iterator<Item = &Pod> {
    let is =
        |one: &PodCondition| (&*one.type_, &*one.status, &*one.reason) == ("PodScheduled", "False", "Unschedulable");
    let waits = move |pod: &&Pod| pod.metadata.deletion_timestamp.is_none() && pod.status.conditions.iter().any(is);
    list.items.iter().filter(waits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pods_that_the_scheduler_could_not_place_count() {
        let pod = |status: &str, reason: &str, deleted: Option<&str>| {
            json!({"metadata": {"deletionTimestamp": deleted},
                "status": {"conditions": [{"type": "PodScheduled", "status": status, "reason": reason}]}})
        };
        let list = json!({"items": [
            pod("False", "Unschedulable", None),
            pod("False", "SchedulingGated", None),
            pod("True", "", None),
            pod("False", "Unschedulable", Some("2026-11-20T08:00:00Z")),
            {"metadata": {}, "status": {"conditions": null}},
            {"metadata": {}},
        ]});
        let count = |list| unschedulable(&serde_json::from_value(list).unwrap()).count();
        assert_eq!([count(list), count(json!({"items": null}))], [1, 0]);
    }
}
