//! Cached objects, with values that every reconcile would otherwise compute. No I/O.

use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde_json::Value;

pub use super::member_hpa::{MemberHpa, Reading, Reported};
use crate::api::hpa::CrossVersionObjectReference;
use crate::api::resource_binding::Placement;
use crate::api::{Cluster, FederatedHPA, ResourceBinding};
use crate::controller::key::Key;
use crate::controller::own::Own;
use crate::controller::table::Item;
use crate::convert;
use crate::decision::api_version::ApiVersion;
use crate::decision::capacity::Summary;
use crate::decision::defaults::Mode;
use crate::decision::plan::HpaVersion;
use crate::decision::related_objects::Target;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::federated_hpa::names;

/// Field manager of Karmada's own controllers.
const UPSTREAM: &str = "karmada-controller-manager";

/// A FederatedHPA.
#[derive(Debug)]
pub struct FederatedHpaEntry {
    /// The object, without its managed fields.
    pub object: FederatedHPA,
    /// Its target.
    pub target: Target,
    /// The workload that it has taken over; its target, where none is recorded.
    pub taken: CrossVersionObjectReference,
    /// When Karmada's own controller last wrote its status.
    pub upstream: Option<Timestamp>,
}

impl FederatedHpaEntry {
    /// The entry of an object.
    #[must_use]
    pub fn of(object: &FederatedHPA) -> Self {
        let fields = object.metadata.managed_fields.iter().flatten();
        let theirs = fields.filter(|entry| {
            entry.manager.as_deref() == Some(UPSTREAM) && entry.subresource.as_deref() == Some("status")
        });
        let upstream = theirs.filter_map(|entry| entry.time.as_ref()).map(|time| time.0).max();
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let target = target(&object, &object.spec.scale_target_ref);
        let taken = taken(&object).unwrap_or_else(|| object.spec.scale_target_ref.clone());
        Self { object, target, taken, upstream }
    }

    /// Its mode; `None`: it never had one.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        convert::own::mode(&self.object)
    }

    /// The workload that it has taken over.
    #[must_use]
    pub fn taken_target(&self) -> Target {
        target(&self.object, &self.taken)
    }

    /// Its name.
    #[must_use]
    pub fn key(&self) -> Key {
        key(&self.object.metadata)
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
        let rank = |order: &Self| {
            let made = order.object.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!order.held(), made, order.key())
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

    /// Whether it has the finalizer.
    #[must_use]
    pub fn held(&self) -> bool {
        self.object.metadata.finalizers.iter().flatten().any(|name| name == names::FINALIZER)
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

/// The recorded workload that is taken over.
fn taken(object: &FederatedHPA) -> Option<CrossVersionObjectReference> {
    let mut words = object.metadata.annotations.as_ref()?.get(names::WORKLOAD)?.split(' ').map(str::to_owned);
    let (api_version, kind, name) = (words.next()?, words.next()?, words.next()?);
    Some(CrossVersionObjectReference { api_version, kind, name })
}

impl Item for FederatedHpaEntry {
    type IndexKey = Target;
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
        self.held().then(|| self.taken_target()).filter(|taken| *taken != self.target)
    }
}

/// A ResourceBinding.
#[derive(Debug)]
pub struct Binding {
    /// The object, without its managed fields.
    pub object: ResourceBinding,
    placement: Result<Placement, String>,
}

impl Binding {
    /// The entry of an object.
    #[must_use]
    pub fn of(object: &ResourceBinding) -> Self {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let placement = understood(&object);
        Self { object, placement }
    }

    /// Its placement, parsed.
    ///
    /// # Errors
    /// Why the binding cannot be parsed: no decision may be based on it.
    pub fn placement(&self) -> Result<&Placement, &str> {
        self.placement.as_ref().map_err(String::as_str)
    }

    /// Name of the FederatedHPA for which fhpa suspended it.
    #[must_use]
    pub fn marked(&self) -> Option<&str> {
        let annotations = self.object.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(names::SUSPENDED_FOR)).map(String::as_str)
    }

    /// Whether Karmada's scheduler is suspended.
    #[must_use]
    pub fn suspended(&self) -> bool {
        self.object.spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling == Some(true))
    }
}

fn understood(object: &ResourceBinding) -> Result<Placement, String> {
    let spec = &object.spec;
    if let Some(why) = spec.unreadable.first() {
        return Err(why.clone());
    }
    if spec.placement.is_null() {
        return Err("it has no placement: no PropagationPolicy made it".to_owned());
    }
    serde_json::from_value(spec.placement.clone()).map_err(|error| format!("spec.placement: {error}"))
}

impl Item for Binding {
    type IndexKey = Target;
    fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }
    fn version(&self) -> &str {
        self.object.metadata.resource_version.as_deref().unwrap_or_default()
    }
    /// A workload of another namespace does not count, regardless of labels.
    fn about(&self) -> Option<Target> {
        let resource = &self.object.spec.resource;
        (self.object.metadata.namespace.as_deref() == Some(&resource.namespace)).then(|| Target {
            namespace: resource.namespace.clone(),
            group: group(&resource.api_version),
            kind: resource.kind.clone(),
            name: resource.name.clone(),
        })
    }
}

fn group(api_version: &str) -> String {
    ApiVersion::parse(api_version).map(|version| version.group.to_owned()).unwrap_or_default()
}

/// A member cluster.
#[derive(Debug)]
pub struct ClusterEntry {
    /// The object, without its managed fields and the contents of `summary`.
    pub object: Cluster,
    /// Input of selection and failover.
    pub member: crate::decision::fleet::Member<'static>,
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
        let version = convert::fleet::hpa_version(&object.status.kubernetes_version);
        let summary = convert::capacity::summary(&object.status.resource_summary);
        Self { object: kept, member: convert::fleet::member(object), version, summary }
    }

    /// Whether a reconcile would treat both alike.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.version == other.version && self.member == other.member
    }
}

impl Item for ClusterEntry {
    type IndexKey = ();
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

/// Name of an object.
#[must_use]
pub fn key(metadata: &ObjectMeta) -> Key {
    Key::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}
