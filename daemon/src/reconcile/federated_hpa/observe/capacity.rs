//! How many replicas fit into a cluster: by its resource summary, and by karmada-scheduler-estimator. The smaller of
//! both counts.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::Value;

use crate::api::replica_requirements::ReplicaRequirements;
use crate::controller::query_cache::QueryCache;
use crate::convert;
use crate::decision::capacity::{Answer, Demand, Summary, smallest};
use crate::decision::fleet::observation::Room;
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::estimator::query::EstimatorQuery;

/// Cached results of karmada-scheduler-estimators.
pub type Estimators = QueryCache<EstimatorQuery, i32>;

/// Source of the free capacity of clusters.
pub trait Capacity: Send + Sync + 'static {
    /// Queries these clusters where results are missing, and waits a moment for all of them.
    fn refresh<'a>(&'a self, clusters: &'a [&'a str], requirements: &'a Requirements) -> BoxFuture<'a, ()>;

    /// The free capacity in `cluster`, without waiting, from its resource summary (`summary`) and cached results. Where
    /// the only result is that there is no limit, `most` fit.
    fn room(&self, cluster: &str, summary: Option<&Summary>, requirements: &Requirements, most: Replicas) -> Room;

    /// Whether an estimator has answered for this cluster, maybe a while ago.
    fn is_estimated(&self, _cluster: &str, _requirements: &Requirements) -> bool {
        false
    }

    /// Cached number of unschedulable replicas of `workload` in `cluster`; `None` while unknown.
    fn unschedulable(&self, _cluster: &str, _workload: &ObjectReference) -> Option<Replicas> {
        None
    }

    /// Queries them in the background unless the result is younger than `fresh`. Returns whether a result exists or may
    /// arrive; otherwise another source must be used.
    fn refresh_unschedulable(&self, _cluster: &str, _workload: &ObjectReference, _fresh: Duration) -> bool {
        false
    }

    /// Waits until such a result changes.
    fn wait_for_change(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    /// The workloads whose result changed since the last call.
    fn changed(&self) -> Vec<ObjectReference> {
        Vec::new()
    }
}

/// Requests of each replica of a workload, in comparable form.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// `None` when they cannot be parsed.
    demand: Option<Demand>,
    /// `None` when they cannot be parsed.
    query: Option<EstimatorQuery>,
}

impl Requirements {
    /// Reads `spec.replicaRequirements` of a ResourceBinding; absent: one pod, nothing else.
    #[must_use]
    pub fn read(requirements: Option<&Value>) -> Self {
        let read = requirements.map_or_else(|| Ok(ReplicaRequirements::default()), ReplicaRequirements::deserialize);
        let Ok(read) = read else { return Self { demand: None, query: None } };
        let demand = convert::capacity::demand(&read);
        let query = demand.is_some().then(|| EstimatorQuery::available(&read));
        Self { demand, query }
    }

    /// Requests of each replica; `None` when they cannot be parsed.
    #[must_use]
    pub const fn demand(&self) -> Option<&Demand> {
        self.demand.as_ref()
    }
}

/// Free capacity from resource summaries and estimators.
#[derive(Clone, Default)]
pub struct Rooms {
    /// `None`: only resource summaries are used.
    estimators: Option<Estimators>,
}

impl Rooms {
    /// Creates it with or without estimators.
    #[must_use]
    pub const fn new(estimators: Option<Estimators>) -> Self {
        Self { estimators }
    }

    /// Queries the estimators of these clusters where results are missing, and waits a moment for all of them. Returns
    /// whether all results have arrived that will arrive; otherwise another plan soon makes sense.
    pub async fn refresh(&self, clusters: &[&str], requirements: &Requirements) -> bool {
        match (&self.estimators, &requirements.query) {
            (Some(estimators), Some(query)) => estimators.refresh(clusters, query).await,
            _ => true,
        }
    }

    /// The cached result of the estimator of the cluster called `name`.
    #[must_use]
    pub fn answer(&self, name: &str, requirements: &Requirements) -> Answer {
        match (&self.estimators, &requirements.query) {
            (Some(estimators), Some(query)) => cached_answer(estimators, name, query),
            _ => Answer::Unknown,
        }
    }
}

impl Capacity for Rooms {
    fn refresh<'a>(&'a self, clusters: &'a [&'a str], requirements: &'a Requirements) -> BoxFuture<'a, ()> {
        Self::refresh(self, clusters, requirements).map(|_| ()).boxed()
    }

    fn room(&self, cluster: &str, summary: Option<&Summary>, requirements: &Requirements, most: Replicas) -> Room {
        let Some(demand) = &requirements.demand else { return Room::default() };
        let general = summary.map_or(Answer::Unknown, |summary| Answer::Fits(summary.available(demand)));
        let accurate = self.answer(cluster, requirements);
        Room { available: smallest([general, accurate], most), whole: summary.map(|summary| summary.whole(demand)) }
    }

    fn is_estimated(&self, cluster: &str, requirements: &Requirements) -> bool {
        self.answer(cluster, requirements) != Answer::Unknown
    }

    fn unschedulable(&self, cluster: &str, workload: &ObjectReference) -> Option<Replicas> {
        let cached = self.estimators.as_ref()?.get(cluster, &unschedulable(workload)?);
        Replicas::try_from(cached.result?.1).ok()
    }

    fn refresh_unschedulable(&self, cluster: &str, workload: &ObjectReference, fresh: Duration) -> bool {
        let (Some(estimators), Some(query)) = (&self.estimators, unschedulable(workload)) else { return false };
        estimators.refresh_in_background(cluster, &query, fresh);
        let cached = estimators.get(cluster, &query);
        cached.in_progress || cached.result.is_some()
    }

    fn wait_for_change(&self) -> BoxFuture<'_, ()> {
        match &self.estimators {
            Some(estimators) => estimators.wait_for_change().boxed(),
            None => std::future::pending().boxed(),
        }
    }

    fn changed(&self) -> Vec<ObjectReference> {
        let changed = self.estimators.iter().flat_map(QueryCache::changed);
        let about = |query| match query {
            EstimatorQuery::Unschedulable(workload, _) => Some((*workload).clone()),
            EstimatorQuery::Available(_) => None,
        };
        changed.filter_map(about).collect()
    }
}

/// The cached result of the estimator of `cluster`.
#[must_use]
pub fn cached_answer(estimators: &Estimators, cluster: &str, query: &EstimatorQuery) -> Answer {
    estimators.get(cluster, query).result.map_or(Answer::Unknown, |(_, number)| Answer::of(number))
}

/// The query for pods that the scheduler could not place. Estimators support Deployments only.
fn unschedulable(workload: &ObjectReference) -> Option<EstimatorQuery> {
    (workload.kind == "Deployment").then(|| EstimatorQuery::unschedulable(workload.clone(), Duration::ZERO))
}

/// A source without any information.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Capacity for Unknown {
    fn refresh<'a>(&'a self, _: &'a [&'a str], _: &'a Requirements) -> BoxFuture<'a, ()> {
        std::future::ready(()).boxed()
    }

    fn room(&self, _: &str, _: Option<&Summary>, _: &Requirements, _: Replicas) -> Room {
        Room::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cluster_is_believed_when_there_are_no_estimators() {
        let rooms = Rooms::default();
        let summary = json!({"allocatable": {"cpu": "8", "pods": "10"}, "allocated": {"cpu": "6", "pods": "1"}});
        let asks = |wire: Value| Requirements::read(Some(&wire));
        let summary = convert::capacity::summary(&summary);
        let room = |requirements: &Requirements| rooms.room("a", summary.as_ref(), requirements, 100);
        let half = asks(json!({"resourceRequest": {"cpu": "500m"}}));
        assert_eq!(room(&half), Room { available: Some(4), whole: Some(10) });
        assert_eq!(room(&Requirements::read(None)), Room { available: Some(9), whole: Some(10) });
        assert_eq!(rooms.room("a", None, &half, 100), Room::default());
        for odd in [json!("much"), json!({"resourceRequest": {"cpu": "much"}})] {
            assert_eq!(room(&asks(odd)), Room::default());
        }
    }
}
