//! Objects as they are kept: with what every turn would have to find out of them. No I/O.

use std::sync::Arc;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde_json::Value;

use crate::api::hpa::CrossVersionObjectReference;
use crate::api::resource_binding::Placement;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::convert;
use crate::decision::api_version::ApiVersion;
use crate::decision::neighbours::Target;
use crate::decision::plan::{Bounds, Hpa, HpaVersion};
use crate::reconcile::distributed::names;
use crate::reconcile::key::Key;
use crate::reconcile::table::Item;

/// Field manager of Karmada's own controllers.
const UPSTREAM: &str = "karmada-controller-manager";

/// A FederatedHPA.
#[derive(Debug)]
pub struct Order {
    /// The object, without its managed fields.
    pub object: FederatedHPA,
    /// What it scales.
    pub target: Target,
    /// The workload that it has taken over; what it scales, where nothing else is written down.
    pub taken: CrossVersionObjectReference,
    /// When Karmada's own controller last wrote its status.
    pub upstream: Option<Timestamp>,
}

impl Order {
    /// Of an object.
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

    /// Of several on one workload the one that has taken it over acts, else the oldest.
    #[must_use]
    pub fn goes_before(&self, other: &Self) -> bool {
        let rank = |order: &Self| {
            let made = order.object.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!order.held(), made, order.key())
        };
        rank(self) < rank(other)
    }

    /// Whether it is being deleted.
    #[must_use]
    pub const fn deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether our finalizer is on it.
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

/// The workload that is written down as taken over.
fn taken(object: &FederatedHPA) -> Option<CrossVersionObjectReference> {
    let mut words = object.metadata.annotations.as_ref()?.get(names::WORKLOAD)?.split(' ').map(str::to_owned);
    let (api_version, kind, name) = (words.next()?, words.next()?, words.next()?);
    Some(CrossVersionObjectReference { api_version, kind, name })
}

impl Item for Order {
    type About = Target;
    fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }
    fn version(&self) -> &str {
        self.object.metadata.resource_version.as_deref().unwrap_or_default()
    }
    fn about(&self) -> Option<Target> {
        Some(self.target.clone())
    }
}

/// A ResourceBinding.
#[derive(Debug)]
pub struct Binding {
    /// The object, without its managed fields.
    pub object: ResourceBinding,
    /// Its placement, understood.
    pub placement: Placement,
}

impl Binding {
    /// Of an object.
    #[must_use]
    pub fn of(object: &ResourceBinding) -> Self {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let placement = serde_json::from_value(object.spec.placement.clone()).unwrap_or_default();
        Self { object, placement }
    }

    /// Whether Karmada's scheduler is kept off.
    #[must_use]
    pub fn suspended(&self) -> bool {
        self.object.spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling == Some(true))
    }
}

impl Item for Binding {
    type About = Target;
    fn uid(&self) -> &str {
        self.object.metadata.uid.as_deref().unwrap_or_default()
    }
    fn version(&self) -> &str {
        self.object.metadata.resource_version.as_deref().unwrap_or_default()
    }
    /// A workload of another namespace is not meant, whatever labels say.
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

/// An HPA of ours on its way to a cluster, and what came back of it.
#[derive(Debug)]
pub struct Sent {
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `metadata.resourceVersion`
    pub version: Box<str>,
    /// Name of the Work.
    pub name: Box<str>,
    /// Name of the cluster.
    pub cluster: Box<str>,
    /// The FederatedHPA it belongs to.
    pub owner: Option<Key>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What is written, for the plan.
    pub hpa: Hpa,
    /// Marks the write.
    pub token: Box<str>,
    /// Digest of everything but the bounds.
    pub content: Box<str>,
    /// What the HPA in the cluster reports.
    pub status: Value,
    /// What Karmada says when it could not bring it there.
    pub refused: Option<Box<str>>,
    /// Whether Karmada says it brought it there.
    pub applied: bool,
}

impl Sent {
    /// Of an object.
    #[must_use]
    pub fn of(work: &Work) -> Self {
        let metadata = &work.metadata;
        let annotation = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
        let manifest = work.spec.workload.manifests.first().unwrap_or(&Value::Null);
        let number = |path: &str| manifest.pointer(path).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let bounds = Bounds {
            min: number("/spec/minReplicas").unwrap_or(1),
            max: number("/spec/maxReplicas").unwrap_or_default(),
        };
        let old = manifest.get("apiVersion").and_then(Value::as_str) == Some("autoscaling/v1");
        let mark = manifest.pointer("/metadata/annotations").and_then(|all| all.get(names::TOKEN));
        let token = mark.and_then(Value::as_str).unwrap_or_default();
        let status = work.status.manifest_statuses.first().map(|entry| entry.status.clone()).unwrap_or_default();
        let confirmed = !token.is_empty() && status.get(names::REFLECTED_TOKEN).and_then(Value::as_str) == Some(token);
        let outstanding = annotation(names::OUTSTANDING).and_then(|text| text.parse().ok()).unwrap_or(bounds.max);
        let deleting = metadata.deletion_timestamp.is_some();
        let hpa = if deleting {
            let ceiling = if confirmed { bounds.max } else { outstanding.max(bounds.max) };
            Hpa { written: None, version: HpaVersion::V2, confirmed: false, outstanding: ceiling, held: false }
        } else {
            let version = if old { HpaVersion::V1 } else { HpaVersion::V2 };
            let held = annotation(names::HELD).is_some_and(|held| held == "true");
            Hpa { written: Some(bounds), version, confirmed, outstanding, held }
        };
        let applied = work.status.conditions.iter().find(|condition| condition.type_ == "Applied");
        let refused = applied.filter(|condition| condition.status == "False");
        let space = metadata.namespace.as_deref().unwrap_or_default();
        let owner = annotation(names::OWNER).and_then(|owner| owner.split_once('/'));
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            name: metadata.name.as_deref().unwrap_or_default().into(),
            cluster: space.strip_prefix(crate::decision::names::EXECUTION_SPACE).unwrap_or_default().into(),
            owner: owner.map(|(namespace, name)| Key::new(namespace, name)),
            deleting,
            hpa,
            token: token.into(),
            content: annotation(names::CONTENT).map(String::as_str).unwrap_or_default().into(),
            status,
            refused: refused.map(|condition| condition.message.as_str().into()),
            applied: applied.is_some_and(|condition| condition.status == "True"),
        }
    }
}

impl Item for Sent {
    type About = Key;
    fn uid(&self) -> &str {
        &self.uid
    }
    fn version(&self) -> &str {
        &self.version
    }
    fn about(&self) -> Option<Key> {
        self.owner.clone()
    }
}

/// A member cluster.
#[derive(Debug)]
pub struct Place {
    /// The object, without its managed fields.
    pub object: Arc<Cluster>,
    /// What choosing and judging looks at.
    pub member: crate::decision::fleet::Member<'static>,
    /// The API of its HPAs.
    pub version: HpaVersion,
}

impl Place {
    /// Of an object.
    #[must_use]
    pub fn of(object: &Cluster) -> Self {
        let mut kept = object.clone();
        kept.metadata.managed_fields = None;
        let version = convert::fleet::hpa_version(&object.status.kubernetes_version);
        Self { object: Arc::new(kept), member: convert::fleet::member(object), version }
    }

    /// Whether another turn would look at them alike.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.version == other.version && self.member == other.member
    }
}

impl Item for Place {
    type About = ();
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
