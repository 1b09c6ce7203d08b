//! HPAs in members that are not fhpa's and scale the workload too (docs/design.md#on-the-wire). Does not wait; queries
//! run in the background.

use std::sync::Arc;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde::Deserialize;

use super::live_state::{LiveState, can_be_asked};
use super::members::{HPA_TIMES, Question, TIMES};
use crate::api::lenient::null_as_default;
use crate::api::scaler::ScalerSpec;
use crate::convert;
use crate::decision::health::{AMBIGUOUS, SCALING_ACTIVE};
use crate::decision::related_objects::Target;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::status::is_silent;

/// Label of objects that Karmada brought to a member.
const PROPAGATED: &str = "karmada.io/managed";

/// An HPA of a member that is not fhpa's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignHpa {
    /// Its name.
    pub name: String,
    /// The object that it scales.
    pub target: Target,
    /// Its uid.
    pub uid: String,
    /// Who would restore it; `None`: nobody.
    pub owner: Option<String>,
}

impl ForeignHpa {
    /// The facts about an HPA; `None` for one of fhpa's, and for one that is being deleted.
    pub(super) fn of(hpa: &ListedHpa) -> Option<Self> {
        let metadata = &hpa.metadata;
        let ours = metadata.annotations.as_ref().is_some_and(|all| all.contains_key(names::WRITE_ID));
        if ours || metadata.deletion_timestamp.is_some() {
            return None;
        }
        let owners = metadata.owner_references.iter().flatten();
        let owner = owners.map(|owner| format!("{} {}", owner.kind, owner.name)).next();
        let propagated = metadata.labels.as_ref().is_some_and(|all| all.contains_key(PROPAGATED));
        Some(Self {
            name: metadata.name.clone().unwrap_or_default(),
            target: convert::target(metadata.namespace.as_deref(), &hpa.spec.scale_target_ref),
            uid: metadata.uid.clone().unwrap_or_default(),
            owner: owner.or_else(|| propagated.then(|| "a policy of Karmada".to_owned())),
        })
    }
}

/// The parts of an HPA that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListedHpa {
    #[serde(deserialize_with = "null_as_default")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "null_as_default")]
    spec: ScalerSpec,
}

/// An HPA that is not fhpa's, with its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Name of the cluster.
    pub cluster: String,
    /// The HPA.
    pub hpa: ForeignHpa,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} in {}", self.hpa.name, self.cluster)?;
        self.hpa.owner.as_ref().map_or(Ok(()), |owner| write!(f, " (of {owner})"))
    }
}

/// The HPAs of these clusters that scale the workload too, as far as members have answered.
#[must_use]
pub fn found<'a>(live: &LiveState, view: &View, clusters: impl Iterator<Item = &'a str>) -> Vec<Found> {
    let question = question(view);
    let of = |cluster: &'a str| {
        let all = live.members.foreign_hpas(cluster, &question).unwrap_or_default();
        let on_it = all.iter().filter(|hpa| hpa.target == view.order.target).cloned().collect::<Vec<_>>();
        on_it.into_iter().map(move |hpa| Found { cluster: cluster.to_owned(), hpa })
    };
    clusters.flat_map(of).collect()
}

/// Clusters whose HPA reports that another one selects the same pods.
pub fn ambiguous(view: &View) -> impl Iterator<Item = &str> {
    let is = |sent: &&Arc<MemberHpa>| {
        sent.conditions().iter().any(|condition| {
            condition.type_ == SCALING_ACTIVE
                && condition.status == "False"
                && condition.reason.as_deref() == Some(AMBIGUOUS)
        })
    };
    view.sent.iter().filter(is).map(|sent| sent.cluster()).filter(|cluster| !is_silent(view, cluster))
}

/// Queries the clusters that report another HPA. Returns when to query again.
pub fn look(live: &LiveState, view: &View, now: Timestamp) -> Option<Timestamp> {
    let mut asked = false;
    for cluster in ambiguous(view) {
        asked |= look_in(live, view, cluster, TIMES.kept);
    }
    asked.then(|| now.checked_add(TIMES.kept).ok()).flatten()
}

/// Queries the clusters of a Centralized workload, in which no HPA should scale it.
pub fn look_in_all<'a>(live: &LiveState, view: &View, clusters: impl Iterator<Item = &'a str>) {
    for cluster in clusters {
        look_in(live, view, cluster, HPA_TIMES.fresh);
    }
}

fn look_in(live: &LiveState, view: &View, cluster: &str, fresh: std::time::Duration) -> bool {
    let reachable = live.cache.place(cluster).is_some_and(|place| can_be_asked(&place.object));
    if reachable {
        live.members.look(cluster, &question(view), fresh);
    }
    reachable
}

/// Forgets an HPA that was deleted: its cluster is queried again at once.
pub fn look_again(live: &LiveState, view: &View, cluster: &str) {
    look_in(live, view, cluster, std::time::Duration::ZERO);
}

fn question(view: &View) -> Question {
    Question::ForeignHpas(view.order.key().namespace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_hpa_of_fhpa_is_not_foreign_and_one_that_would_be_restored_names_its_owner() {
        let of = |metadata: serde_json::Value| {
            let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}});
            ForeignHpa::of(&serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
        };
        assert_eq!(of(json!({"name": "web", "annotations": {"fhpa.karmada.io/write-id": "1"}})), None);
        assert_eq!(of(json!({"name": "web", "deletionTimestamp": "2026-11-20T08:00:00Z"})), None);
        let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": "u"}]);
        let keda = of(json!({"name": "keda-hpa-web", "ownerReferences": owner})).unwrap();
        assert_eq!(keda.owner.as_deref(), Some("ScaledObject web"));
        let propagated = of(json!({"name": "old", "labels": {"karmada.io/managed": "true"}})).unwrap();
        assert_eq!(propagated.owner.as_deref(), Some("a policy of Karmada"));
        let plain = of(json!({"name": "old", "namespace": "prod"})).unwrap();
        assert_eq!((plain.owner, plain.target.namespace), (None, "prod".to_owned()));
    }
}
