//! How many replicas a cluster has room for: what it says of itself, and what karmada-scheduler-estimator says of it. The
//! smaller of both counts.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::Value;

use crate::api::replica_requirements::ReplicaRequirements;
use crate::controller::query_cache::QueryCache;
use crate::convert;
use crate::decision::capacity::{Answer, Demand, Summary, smallest};
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::estimator::question::Question;

/// What is known from karmada-scheduler-estimators.
pub type Estimators = QueryCache<Question, i32>;

/// What is known of the room for a workload in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Further replicas that would fit; nothing while nobody said.
    pub available: Option<Replicas>,
    /// Replicas that would fit if the cluster were empty; nothing while nobody said.
    pub whole: Option<Replicas>,
}

/// Knows how much room clusters have.
pub trait Capacity: Send + Sync + 'static {
    /// Asks about these clusters as far as that is not known, and waits a moment for all of them.
    fn hear<'a>(&'a self, clusters: &'a [&'a str], requirements: &'a Requirements) -> BoxFuture<'a, ()>;

    /// The room in `cluster`, at once, from what it says of itself (`summary`) and what was heard so far. Where the only answer
    /// is that nothing limits the replicas, `most` fit.
    fn room(&self, cluster: &str, summary: Option<&Summary>, requirements: &Requirements, most: Replicas) -> Room;

    /// Replicas of `workload` in `cluster` that cannot be scheduled, from what was heard so far; nothing while nobody said.
    fn unschedulable(&self, _cluster: &str, _workload: &ObjectReference) -> Option<Replicas> {
        None
    }

    /// Asks for that unless the answer is younger than `fresh`, and waits for nothing. Returns whether there is an answer or
    /// one may come; else somebody else is to be asked.
    fn look(&self, _cluster: &str, _workload: &ObjectReference, _fresh: Duration) -> bool {
        false
    }

    /// Waits until there is another answer to what was asked so.
    fn news(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    /// The workloads with another answer since this was last asked.
    fn changed(&self) -> Vec<ObjectReference> {
        Vec::new()
    }
}

/// What each replica of a workload asks for, as it can be compared with what clusters have.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// Nothing when it cannot be read.
    demand: Option<Demand>,
    /// Nothing when it cannot be read.
    question: Option<Question>,
}

impl Requirements {
    /// Of `spec.replicaRequirements` of a ResourceBinding; absent: a pod, and nothing else.
    #[must_use]
    pub fn read(requirements: Option<&Value>) -> Self {
        let read = requirements.map_or_else(|| Ok(ReplicaRequirements::default()), ReplicaRequirements::deserialize);
        let Ok(read) = read else { return Self { demand: None, question: None } };
        let demand = convert::capacity::demand(&read);
        let question = demand.is_some().then(|| Question::available(&read));
        Self { demand, question }
    }
}

/// Knows how much room clusters have.
#[derive(Clone, Default)]
pub struct Rooms {
    /// None: what a Cluster says of itself is all there is.
    estimators: Option<Estimators>,
}

impl Rooms {
    /// With estimators, or without.
    #[must_use]
    pub const fn new(estimators: Option<Estimators>) -> Self {
        Self { estimators }
    }

    /// Asks the estimators of these clusters as far as that is not known, and waits a moment for all of them. Returns whether
    /// all has been heard that will be heard; else it is worth another plan soon.
    pub async fn hear(&self, clusters: &[&str], requirements: &Requirements) -> bool {
        match (&self.estimators, &requirements.question) {
            (Some(estimators), Some(question)) => estimators.hear(clusters, question).await,
            _ => true,
        }
    }

    /// What the estimator of the cluster of this `name` answered so far.
    #[must_use]
    pub fn answer(&self, name: &str, requirements: &Requirements) -> Answer {
        match (&self.estimators, &requirements.question) {
            (Some(estimators), Some(question)) => heard(estimators, name, question),
            _ => Answer::Unknown,
        }
    }
}

impl Capacity for Rooms {
    fn hear<'a>(&'a self, clusters: &'a [&'a str], requirements: &'a Requirements) -> BoxFuture<'a, ()> {
        Self::hear(self, clusters, requirements).map(|_| ()).boxed()
    }

    fn room(&self, cluster: &str, summary: Option<&Summary>, requirements: &Requirements, most: Replicas) -> Room {
        let Some(demand) = &requirements.demand else { return Room::default() };
        let general = summary.map_or(Answer::Unknown, |summary| Answer::Fits(summary.available(demand)));
        let accurate = self.answer(cluster, requirements);
        Room { available: smallest([general, accurate], most), whole: summary.map(|summary| summary.whole(demand)) }
    }

    fn unschedulable(&self, cluster: &str, workload: &ObjectReference) -> Option<Replicas> {
        let word = self.estimators.as_ref()?.word(cluster, &unschedulable(workload)?);
        Replicas::try_from(word.heard?.1).ok()
    }

    fn look(&self, cluster: &str, workload: &ObjectReference, fresh: Duration) -> bool {
        let (Some(estimators), Some(question)) = (&self.estimators, unschedulable(workload)) else { return false };
        estimators.look(cluster, &question, fresh);
        let word = estimators.word(cluster, &question);
        word.under_way || word.heard.is_some()
    }

    fn news(&self) -> BoxFuture<'_, ()> {
        match &self.estimators {
            Some(estimators) => estimators.news().boxed(),
            None => std::future::pending().boxed(),
        }
    }

    fn changed(&self) -> Vec<ObjectReference> {
        let changed = self.estimators.iter().flat_map(QueryCache::changed);
        let about = |question| match question {
            Question::Unschedulable(workload, _) => Some((*workload).clone()),
            Question::Available(_) => None,
        };
        changed.filter_map(about).collect()
    }
}

/// What the estimator of `cluster` answered.
#[must_use]
pub fn heard(estimators: &Estimators, cluster: &str, question: &Question) -> Answer {
    estimators.word(cluster, question).heard.map_or(Answer::Unknown, |(_, number)| Answer::of(number))
}

/// The question about pods that the scheduler tried and could not place. Estimators know that of Deployments only.
fn unschedulable(workload: &ObjectReference) -> Option<Question> {
    (workload.kind == "Deployment").then(|| Question::unschedulable(workload.clone(), Duration::ZERO))
}

/// Knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Capacity for Unknown {
    fn hear<'a>(&'a self, _: &'a [&'a str], _: &'a Requirements) -> BoxFuture<'a, ()> {
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
