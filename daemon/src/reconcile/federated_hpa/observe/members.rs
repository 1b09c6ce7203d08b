//! Queries members through the cluster proxy for state that Karmada does not report: whether an HPA has its write id,
//! which pods are unschedulable, and whether nodes come for them (docs/design.md#on-the-wire). Keeps the results.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use tokio::time::Instant;

use super::foreign_hpa::ForeignHpa;
use super::member_reads::MemberApi;
pub use super::member_reads::proxied;
use crate::api::hpa_status::HorizontalPodAutoscalerStatus;
use crate::controller::key::Key;
use crate::controller::query_cache::{Cached, QueryCache, QueryError, Source, Times};
use crate::decision::fleet::nodes::PodNodes;
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::scale_target::Targets;

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
/// What an autoscaler says of pods is not queried again for this long: it looks at them every ten seconds, and repeats
/// itself no more often than every few minutes.
pub const NODES_FRESH: Duration = Duration::from_secs(30);

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
    /// What the autoscaler of the cluster says of some of the unschedulable pods of the workload.
    Nodes(ObjectReference),
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
    /// What is said of each pod.
    Nodes(Arc<[PodNodes]>),
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
            MemberQuery::Hpa { .. } | MemberQuery::Unschedulable(_) | MemberQuery::Nodes(_) => &self.frequent,
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

    /// What the autoscaler says of unschedulable pods; where it may not be read, nothing. `None` before the cluster has
    /// responded.
    #[must_use]
    pub fn nodes(&self, cluster: &str, workload: &ObjectReference) -> Option<Arc<[PodNodes]>> {
        let cached = self.cached(cluster, &MemberQuery::Nodes(workload.clone()))?;
        match cached.result {
            Some((_, MemberResponse::Nodes(pods))) => Some(pods),
            _ => cached.refused.map(|_| Arc::default()),
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
        let api = MemberApi::new(&self.client, cluster);
        let (targets, query) = (Arc::clone(&self.targets), query.clone());
        async move {
            match query {
                MemberQuery::Hpa { key, version, mark } => api.hpa(&key, version, &mark).await.map(MemberResponse::Hpa),
                MemberQuery::Unschedulable(workload) => {
                    api.unschedulable(&targets, &workload).await.map(MemberResponse::Unschedulable)
                }
                MemberQuery::Nodes(workload) => api.nodes(&targets, &workload).await.map(MemberResponse::Nodes),
                MemberQuery::ForeignHpas(namespace) => {
                    api.foreign_hpas(&namespace).await.map(MemberResponse::ForeignHpas)
                }
            }
        }
        .boxed()
    }

    fn forget(&self, _: &str) {}
}
