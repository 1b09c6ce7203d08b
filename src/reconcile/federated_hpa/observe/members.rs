//! Queries members through the cluster proxy for state that Karmada does not report: whether an HPA has its write id,
//! and which pods are unschedulable (docs/design.md#on-the-wire). Talks to the API server; reads only.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::foreign_hpa::{ForeignHpa, ListedHpa};
use crate::api::hpa_status::HorizontalPodAutoscalerStatus;
use crate::api::lenient::null_as_default;
use crate::api::metrics::List;
use crate::api::pod::{Pod, PodCondition};
use crate::api::scale::Scale;
use crate::controller::failure;
use crate::controller::failure::Asked;
use crate::controller::key::Key;
use crate::controller::query_cache::{Cached, QueryCache, QueryError, Source, Times};
use crate::controller::request::send;
use crate::decision::backoff::ErrorClass;
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::federated_hpa::{autoscaling_v1, names};
use crate::reconcile::scale_target::{ResourcePath, TargetRef, Targets};

/// Durations of queries to members. A result takes up to three requests.
pub const TIMES: Times = Times {
    fresh: Duration::from_secs(10),
    kept: Duration::from_mins(1),
    patience: Duration::ZERO,
    answer: Duration::from_secs(5),
    rest: Duration::from_secs(10),
    absence: Duration::from_mins(1),
};
/// Durations of queries for HPAs, which change seldom. Only a takeover waits for them.
pub const HPA_TIMES: Times =
    Times { fresh: Duration::from_mins(5), kept: Duration::from_mins(15), patience: TIMES.answer, ..TIMES };
/// Most HPAs of a namespace to read.
const HPAS: u32 = 500;
/// Most pods to read; with more, at least this many are unschedulable.
const PODS: u32 = 500;

/// A query to a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemberQuery {
    /// Its HPA of that name.
    Hpa {
        /// Namespace and name.
        key: Key,
        /// `v1` or `v2`
        version: &'static str,
        /// The expected write id.
        mark: Box<str>,
    },
    /// Number of unschedulable pods of the workload.
    Unschedulable(ObjectReference),
    /// The HPAs of a namespace that are not fhpa's.
    ForeignHpas(Arc<str>),
}

/// Result of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberResponse {
    /// The status of the HPA with the write id; `None` where there is none.
    Hpa(Option<Arc<HorizontalPodAutoscalerStatus>>),
    /// Number of pods.
    Unschedulable(Replicas),
    /// In the order of their names.
    ForeignHpas(Arc<[ForeignHpa]>),
}

/// Cached results of members.
pub struct Members(Option<Queries>);

struct Queries {
    /// What changes all the time.
    frequent: QueryCache<MemberQuery, MemberResponse>,
    /// The HPAs of namespaces.
    seldom: QueryCache<MemberQuery, MemberResponse>,
}

impl Queries {
    const fn of(&self, query: &MemberQuery) -> &QueryCache<MemberQuery, MemberResponse> {
        match query {
            MemberQuery::Hpa { .. } | MemberQuery::Unschedulable(_) => &self.frequent,
            MemberQuery::ForeignHpas(_) => &self.seldom,
        }
    }
}

impl Members {
    /// Queries through `client`.
    #[must_use]
    pub fn new(client: &Client, targets: &Arc<Targets>) -> Self {
        let proxy = || Box::new(Proxy { client: client.clone(), targets: Arc::clone(targets) });
        let (frequent, seldom) = (QueryCache::new(proxy(), TIMES), QueryCache::new(proxy(), HPA_TIMES));
        Self(Some(Queries { frequent, seldom }))
    }

    /// Sends no queries.
    #[must_use]
    pub const fn unasked() -> Self {
        Self(None)
    }

    /// Queries `cluster` in the background unless the result is younger than `fresh`.
    pub fn refresh(&self, cluster: &str, query: &MemberQuery, fresh: Duration) {
        if let Some(queries) = &self.0 {
            queries.of(query).refresh_in_background(cluster, query, fresh);
        }
    }

    /// Queries the clusters, except for results younger than `fresh`, and waits for a while until they have answered.
    pub async fn wait_for(&self, clusters: &[&str], query: &MemberQuery, fresh: Duration) {
        if let Some(queries) = &self.0 {
            queries.of(query).refresh_older(clusters, query, fresh).await;
        }
    }

    fn cached(&self, cluster: &str, query: &MemberQuery) -> Option<Cached<MemberResponse>> {
        self.0.as_ref().map(|queries| queries.of(query).get(cluster, query))
    }

    /// The status of an HPA with the write id, and when it arrived.
    #[must_use]
    pub fn hpa(&self, cluster: &str, query: &MemberQuery) -> Option<(Instant, Arc<HorizontalPodAutoscalerStatus>)> {
        match self.cached(cluster, query)?.result? {
            (at, MemberResponse::Hpa(Some(status))) => Some((at, status)),
            _ => None,
        }
    }

    /// Why the query was rejected.
    #[must_use]
    pub fn refused(&self, cluster: &str, query: &MemberQuery) -> Option<String> {
        self.cached(cluster, query)?.refused
    }

    /// Unschedulable pods; `None` while unknown.
    #[must_use]
    pub fn unschedulable(&self, cluster: &str, workload: &ObjectReference) -> Option<Replicas> {
        match self.cached(cluster, &MemberQuery::Unschedulable(workload.clone()))?.result? {
            (_, MemberResponse::Unschedulable(pods)) => Some(pods),
            _ => None,
        }
    }

    /// The HPAs of a namespace that are not fhpa's; `None` while unknown.
    #[must_use]
    pub fn foreign_hpas(&self, cluster: &str, query: &MemberQuery) -> Option<Arc<[ForeignHpa]>> {
        match self.cached(cluster, query)?.result? {
            (_, MemberResponse::ForeignHpas(hpas)) => Some(hpas),
            _ => None,
        }
    }

    /// Waits until a result changes.
    pub async fn wait_for_change(&self) {
        match &self.0 {
            Some(Queries { frequent, seldom }) => tokio::select! {
                () = frequent.wait_for_change() => {}
                () = seldom.wait_for_change() => {}
            },
            None => std::future::pending().await,
        }
    }

    /// The queries whose result changed since the last call.
    #[must_use]
    pub fn changed(&self) -> HashSet<MemberQuery> {
        let Some(Queries { frequent, seldom }) = &self.0 else { return HashSet::new() };
        let mut changed = frequent.changed();
        changed.extend(seldom.changed());
        changed
    }
}

/// Access to the API servers of members through Karmada.
struct Proxy {
    client: Client,
    targets: Arc<Targets>,
}

impl Source<MemberQuery, MemberResponse> for Proxy {
    fn component(&self) -> &'static str {
        "proxy"
    }

    fn send(&self, cluster: &str, query: &MemberQuery) -> BoxFuture<'static, Result<MemberResponse, QueryError>> {
        let way = Way { client: self.client.clone(), cluster: cluster.to_owned() };
        let (targets, query) = (Arc::clone(&self.targets), query.clone());
        async move {
            match query {
                MemberQuery::Hpa { key, version, mark } => way.hpa(&key, version, &mark).await.map(MemberResponse::Hpa),
                MemberQuery::Unschedulable(workload) => {
                    way.unschedulable(&targets, &workload).await.map(MemberResponse::Unschedulable)
                }
                MemberQuery::ForeignHpas(namespace) => {
                    way.foreign_hpas(&namespace).await.map(MemberResponse::ForeignHpas)
                }
            }
        }
        .boxed()
    }

    fn forget(&self, _: &str) {}
}

/// The path of the API of a member, followed by a path there.
#[must_use]
pub fn proxied(cluster: &str, path: &str) -> String {
    format!("/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}/proxy{path}")
}

/// Access to one member.
struct Way {
    client: Client,
    cluster: String,
}

impl Way {
    async fn get<T: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        what: &str,
    ) -> Result<T, failure::Failure> {
        let object = format!("{what} in cluster {}", self.cluster);
        let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
        send(&self.client, request, asked).await
    }

    async fn hpa(
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

    /// Every version of Kubernetes serves the older API.
    async fn foreign_hpas(&self, namespace: &str) -> Result<Arc<[ForeignHpa]>, QueryError> {
        let path = format!("/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers");
        let request = Request::new(proxied(&self.cluster, &path)).list(&ListParams::default().limit(HPAS));
        let list: List<ListedHpa> = self.get(request, "HorizontalPodAutoscalers").await.map_err(unanswered)?;
        Ok(list.items.iter().filter_map(ForeignHpa::of).collect())
    }

    /// Selects pods by the selector of the workload's `scale`, so that it works for every scalable kind.
    async fn unschedulable(&self, targets: &Targets, workload: &ObjectReference) -> Result<Replicas, QueryError> {
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
        let list: List<Pod> = self.get(Request::new(pods).list(&waiting), "pods").await.map_err(unanswered)?;
        Ok(unschedulable(&list))
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

/// Number of pods that the scheduler of the cluster could not place.
fn unschedulable(list: &List<Pod>) -> Replicas {
    let is =
        |one: &PodCondition| (&*one.type_, &*one.status, &*one.reason) == ("PodScheduled", "False", "Unschedulable");
    let waits = |pod: &&Pod| pod.metadata.deletion_timestamp.is_none() && pod.status.conditions.iter().any(is);
    list.items.iter().filter(waits).count().try_into().unwrap_or(Replicas::MAX)
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
        assert_eq!(unschedulable(&serde_json::from_value(list).unwrap()), 1);
        assert_eq!(unschedulable(&serde_json::from_value(json!({"items": null})).unwrap()), 0);
    }
}
