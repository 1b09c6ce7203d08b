//! Cached objects, with values that every reconcile would otherwise compute. No I/O.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde_json::Value;

pub use super::binding::Binding;
use super::binding::group;
use super::hpa_status;
pub use super::member_hpa::{MemberHpa, Reading, Reported};
use crate::api::federated_hpa::{ClusterHPADesired, ClusterHPAStatus, FederatedHPAStatus};
use crate::api::hpa::CrossVersionObjectReference;
use crate::api::hpa_status::{Condition, HorizontalPodAutoscalerStatus};
use crate::api::{Cluster, FederatedHPA};
use crate::controller::intern::{self, Shared};
use crate::controller::key::Key;
use crate::controller::managers;
use crate::controller::owned_api::Own;
use crate::controller::table::Item;
use crate::convert;
use crate::decision::capacity::Summary;
use crate::decision::defaults::Mode;
use crate::decision::fleet::{Member, Readiness};
use crate::decision::plan::HpaVersion;
use crate::decision::related_objects::Target;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::federated_hpa::names;

/// Type of the condition that is true when every cluster has its target bounds.
pub const ASSIGNED: &str = "Assigned";
/// Field manager of Karmada's own controllers.
const UPSTREAM: &str = "karmada-controller-manager";

/// A cluster, and the status of its HPA that the status of the object shows.
type Shown = (Arc<str>, Arc<HorizontalPodAutoscalerStatus>);

/// A FederatedHPA.
#[derive(Debug)]
pub struct FederatedHpaEntry {
    key: Key,
    /// The object, without its managed fields, and without the lists of clusters and the conditions in its status: see
    /// [`Self::desired`], [`Self::shown`], [`Self::is_true`] and [`Self::status`].
    pub object: FederatedHPA,
    conditions: Option<Vec<Condition>>,
    desired: Option<Box<[Arc<ClusterHPADesired>]>>,
    shown: Option<Box<[Shown]>>,
    /// Its target.
    pub target: Target,
    /// The workload that it has taken over; its target, where none is recorded.
    pub taken_over: CrossVersionObjectReference,
    /// When Karmada's own controller last wrote its status.
    pub upstream: Option<Timestamp>,
    /// When it last wrote over a status of fhpa, as far as this process saw: a controller that was switched off before
    /// does not.
    pub overwritten: Option<Timestamp>,
}

impl FederatedHpaEntry {
    /// The entry of an object.
    #[must_use]
    pub fn of(object: &FederatedHPA) -> Self {
        let [upstream, ours] = [UPSTREAM, managers::STATUS].map(|manager| wrote_status(object, manager));
        let overwritten = upstream.filter(|theirs| ours.is_some_and(|ours| *theirs >= ours));
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let target = target(&object, &object.spec.scale_target_ref);
        let taken_over = convert::taken_over(&object).unwrap_or_else(|| object.spec.scale_target_ref.clone());
        let status = object.status.as_mut();
        let lists = status.map(|FederatedHPAStatus { conditions, cluster_hpa_desired, aggregated_status, .. }| {
            (conditions.take(), cluster_hpa_desired.take(), aggregated_status.take())
        });
        let (conditions, desired, shown) = lists.unwrap_or_default();
        let desired = desired.map(|all| all.into_iter().map(bounds).collect());
        let hpa = |part: ClusterHPAStatus| {
            (intern::text(&part.cluster_name), hpa_status::shared(Arc::unwrap_or_clone(part.status)))
        };
        let shown = shown.map(|all| all.into_iter().map(hpa).collect());
        let key = Key::of(&object.metadata);
        Self { key, object, conditions, desired, shown, target, taken_over, upstream, overwritten }
    }

    /// Its mode; `None`: it never had one.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        convert::mode(&self.object)
    }

    /// The workload that it has taken over.
    #[must_use]
    pub fn taken_over_target(&self) -> Target {
        target(&self.object, &self.taken_over)
    }

    /// Whether it holds another workload than the one in its spec.
    #[must_use]
    pub fn is_retargeted(&self) -> bool {
        self.held() && self.taken_over_target() != self.target
    }

    /// Its name.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key.clone()
    }

    /// The stored condition of that type, for the next status. What it says is for people: decisions ask
    /// [`Self::is_true`].
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().flatten().find(|condition| condition.type_ == type_)
    }

    /// The number of stored conditions; `None`: there is no list of them.
    #[must_use]
    pub fn condition_count(&self) -> Option<usize> {
        self.conditions.as_ref().map(Vec::len)
    }

    /// Whether the stored condition of that type is true.
    #[must_use]
    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == "True")
    }

    /// The entries of `clusterHPADesired`, each with the name of its cluster.
    pub fn desired(&self) -> impl Iterator<Item = (&str, &ClusterHPADesired)> {
        self.desired.iter().flatten().map(|desired| (&*desired.cluster_name, &**desired))
    }

    /// The clusters of `aggregatedStatus`.
    pub fn shown(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().flatten().map(|(cluster, _)| &**cluster)
    }

    /// The status with its conditions and its lists of clusters.
    #[must_use]
    pub fn status(&self) -> Option<FederatedHPAStatus> {
        let mut status = self.object.status.clone()?;
        status.conditions.clone_from(&self.conditions);
        let desired = |desired: &Arc<ClusterHPADesired>| ClusterHPADesired::clone(desired);
        status.cluster_hpa_desired = self.desired.as_ref().map(|all| all.iter().map(desired).collect());
        let shown = |(cluster, status): &Shown| ClusterHPAStatus {
            cluster_name: cluster.to_string(),
            status: Arc::clone(status),
        };
        status.aggregated_status = self.shown.as_ref().map(|all| all.iter().map(shown).collect());
        Some(status)
    }

    /// Whether the lists of clusters of `status` are those of this object.
    #[must_use]
    pub fn lists(&self, status: &FederatedHPAStatus) -> bool {
        let FederatedHPAStatus { cluster_hpa_desired: desired, aggregated_status: shown, .. } = status;
        let same = |(cluster, known): &Shown, part: &ClusterHPAStatus| {
            **cluster == *part.cluster_name && *known == part.status
        };
        all_same(self.desired.as_deref(), desired.as_deref(), |known, desired| **known == *desired)
            && all_same(self.shown.as_deref(), shown.as_deref(), same)
    }

    /// The object, whose name is `key`.
    #[must_use]
    pub fn own<'a>(&'a self, key: &'a Key) -> Own<'a> {
        let metadata = &self.object.metadata;
        let (uid, version) = (metadata.uid.as_deref(), metadata.resource_version.as_deref());
        Own { kind: "FederatedHPA", key, uid: uid.unwrap_or_default(), version: version.unwrap_or_default() }
    }

    /// Whether this object acts before `other` on one workload: the one that has taken it over, else the oldest. An
    /// object that is about to hand back the workload of `other` does so first.
    #[must_use]
    pub fn goes_before(&self, other: &Self) -> bool {
        let rank = |entry: &Self| {
            let made = entry.object.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!entry.held(), made, entry.key())
        };
        self.also_about().is_some_and(|taken| taken == other.target) || rank(self) < rank(other)
    }

    /// Whether the user suspends it.
    #[must_use]
    pub fn suspended(&self) -> bool {
        self.object.spec.suspend == Some(true)
    }

    /// Whether it has an assignment.
    #[must_use]
    pub fn assigned(&self) -> bool {
        self.object.status.as_ref().is_some_and(|status| status.assignment_hash.is_some())
    }

    /// Since when its workload is being handed back.
    #[must_use]
    pub fn hand_back_start(&self) -> Option<Timestamp> {
        let start = self.object.status.as_ref().and_then(|status| status.hand_back_start_time.as_ref());
        start.map(|start| start.0)
    }

    /// Whether it is being deleted.
    #[must_use]
    pub const fn deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether it is being deleted and still has the finalizer.
    #[must_use]
    pub fn goes(&self) -> bool {
        self.deleting() && self.object.metadata.finalizers.iter().flatten().all(|name| name == names::FINALIZER)
    }

    /// Whether it is being deleted without the finalizer, which cannot be added any more: somebody removed it, and the
    /// object waits for another one.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.deleting() && !self.held()
    }

    /// Whether it has the finalizer.
    #[must_use]
    pub fn held(&self) -> bool {
        is_held(&self.object.metadata)
    }
}

/// When `manager` last wrote the status, as far as it still owns a field of it.
fn wrote_status(object: &FederatedHPA, manager: &str) -> Option<Timestamp> {
    let entries =
        object.metadata.managed_fields.iter().flatten().filter(|entry| {
            entry.manager.as_deref() == Some(manager) && entry.subresource.as_deref() == Some("status")
        });
    entries.filter_map(|entry| entry.time.as_ref()).map(|time| time.0).max()
}

/// Whether a FederatedHPA with this metadata has the finalizer.
#[must_use]
pub fn is_held(metadata: &ObjectMeta) -> bool {
    metadata.finalizers.iter().flatten().any(|name| name == names::FINALIZER)
}

/// The entry of a cluster: many objects have the same.
fn bounds(desired: ClusterHPADesired) -> Arc<ClusterHPADesired> {
    static DESIRED: LazyLock<Shared<ClusterHPADesired>> = LazyLock::new(Shared::default);
    DESIRED.keep(desired)
}

/// Whether two lists are alike.
fn all_same<T, U>(known: Option<&[T]>, list: Option<&[U]>, same: impl Fn(&T, &U) -> bool) -> bool {
    match (known, list) {
        (Some(known), Some(list)) => {
            known.len() == list.len() && known.iter().zip(list).all(|(known, one)| same(known, one))
        }
        (known, list) => known.is_none() && list.is_none(),
    }
}

fn target(object: &FederatedHPA, reference: &CrossVersionObjectReference) -> Target {
    Target {
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
        group: group(&reference.api_version),
        kind: reference.kind.clone(),
        name: reference.name.clone(),
    }
}

/// The target of a reference to a workload.
#[must_use]
pub fn target_of(workload: &ObjectReference) -> Target {
    let ObjectReference { api_version, kind, namespace, name } = workload;
    Target { namespace: namespace.clone(), group: group(api_version), kind: kind.clone(), name: name.clone() }
}

impl Item for FederatedHpaEntry {
    type IndexKey = Target;
    fn key(&self) -> &Key {
        &self.key
    }
    fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }
    fn version(&self) -> &str {
        self.object.metadata.resource_version.as_deref().unwrap_or_default()
    }
    fn about(&self) -> Option<Target> {
        Some(self.target.clone())
    }
    /// After an edit it still holds another workload for a while.
    fn also_about(&self) -> Option<Target> {
        self.held().then(|| self.taken_over_target()).filter(|taken| *taken != self.target)
    }
    /// The next status of fhpa takes the place of the one that Karmada's own controller wrote.
    fn inherit(&mut self, known: &Self) {
        if self.uid() == known.uid() {
            self.overwritten = self.overwritten.max(known.overwritten);
        }
    }
}

/// A member cluster.
#[derive(Debug)]
pub struct ClusterEntry {
    key: Key,
    /// The object, without its managed fields and the contents of `member` and `summary` that are large.
    pub object: Cluster,
    /// Input of selection and failover.
    pub member: Member<'static>,
    /// The API version of its HPAs.
    pub version: HpaVersion,
    /// Its resource summary.
    pub summary: Option<Summary>,
}

impl ClusterEntry {
    /// The entry of an object.
    #[must_use]
    pub fn of(object: &Cluster) -> Self {
        let mut kept = object.clone();
        kept.metadata.managed_fields = None;
        kept.status.resource_summary = Value::Null;
        kept.status.api_enablements = Vec::new();
        let version = convert::fleet::hpa_version(&object.status.kubernetes_version);
        let summary = convert::capacity::summary(&object.status.resource_summary);
        Self { key: Key::of(&object.metadata), object: kept, member: convert::fleet::member(object), version, summary }
    }

    /// The entry of an object that cannot be decoded: as it was last `known`, with this metadata. One that was never
    /// decoded, since this process began, is there and no more.
    #[must_use]
    pub fn undecoded(metadata: &ObjectMeta, known: Option<&Self>) -> Self {
        let metadata = metadata.clone();
        let same = known.filter(|known| known.object.metadata.uid == metadata.uid);
        let Some(known) = same else {
            let mut entry = Self::of(&Cluster { metadata, ..Cluster::default() });
            entry.member.readiness = Readiness::Undecoded;
            return entry;
        };
        let mut entry = Self::of(&Cluster { metadata, ..known.object.clone() });
        entry.member.readiness = known.member.readiness;
        entry.member.enablements.clone_from(&known.member.enablements);
        entry.summary.clone_from(&known.summary);
        entry
    }

    /// Whether a reconcile would treat both alike.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.version == other.version && self.member == other.member
    }

    /// Whether they differ in the kinds that the cluster serves and in nothing else.
    #[must_use]
    pub fn differs_by_kinds(&self, other: &Self) -> bool {
        let enablements = other.member.enablements.clone();
        self.version == other.version && Member { enablements, ..self.member.clone() } == other.member
    }
}

impl Item for ClusterEntry {
    type IndexKey = ();
    fn key(&self) -> &Key {
        &self.key
    }
    fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }
    fn version(&self) -> &str {
        self.object.metadata.resource_version.as_deref().unwrap_or_default()
    }
    fn about(&self) -> Option<()> {
        None
    }
}
