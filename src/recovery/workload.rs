//! One workload as the restored control plane has it, and as the members have it. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::kinds::{Kind, Kinds};
use crate::api::resource_binding::TargetCluster;
use crate::api::{ResourceBinding, Work};
use crate::decision::fleet::placement::Placement;
use crate::decision::names::{RETAIN_REPLICAS, SUSPENDED_FOR};
use crate::decision::plan::{Bounds, Policy};
use crate::reconcile::federated_hpa::cache::entry::{FederatedHpaEntry, MemberHpa as StoredMemberHpa};
use crate::reconcile::federated_hpa::write::binding_replicas::is_counted;
use crate::reconcile::federated_hpa::{autoscaling_v1, names};

/// What scales it.
#[derive(Debug)]
pub enum Scaler {
    /// HPAs in the members.
    Distributed {
        /// The FederatedHPA.
        hpa: Box<FederatedHpaEntry>,
        /// Whether the workload had been taken over.
        taken: bool,
    },
    /// Its own `scale` subresource: a Centralized FederatedHPA, or a CronFederatedHPA.
    Whole,
}

impl Scaler {
    /// How the workload is scaled. Karmada runs a FederatedHPA without a mode as a Centralized one, until fhpa writes
    /// HPAs for it.
    #[must_use]
    pub fn as_run(self, has_hpas: bool) -> Self {
        match self {
            Self::Distributed { hpa, taken: false } if hpa.mode().is_none() && !has_hpas => Self::Whole,
            scaler => scaler,
        }
    }
}

/// One workload.
#[derive(Debug)]
pub struct SurveyedWorkload {
    /// What scales it.
    pub scaler: Scaler,
    /// Its template.
    pub template: Template,
    /// Its ResourceBinding.
    pub binding: StoredBinding,
    /// Whether each cluster runs all replicas.
    pub duplicated: bool,
    /// Works with the workload, by cluster.
    pub works: BTreeMap<String, StoredWork>,
    /// Works with its HPA, by cluster.
    pub hpas: BTreeMap<String, StoredHpa>,
    /// What the members have, by cluster; without those that were not read.
    pub members: BTreeMap<String, Member>,
}

/// The template of a workload.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub version: String,
    /// Whether it has the label with which members keep their replicas.
    pub retained: bool,
    /// Its replicas, where they are read.
    pub replicas: Option<i32>,
}

/// The used part of a ResourceBinding.
#[derive(Clone, Debug, Default)]
pub struct StoredBinding {
    /// Its name.
    pub name: String,
    /// `metadata.resourceVersion`
    pub version: String,
    /// `spec.clusters`
    pub entries: Vec<(String, i32)>,
    /// Eviction tasks as stored.
    pub tasks: Vec<Value>,
    /// Their clusters.
    pub evicted: BTreeSet<String>,
    /// `spec.replicas`
    pub replicas: Option<i32>,
    /// Whether each cluster runs all replicas by the placement.
    pub duplicated: bool,
    /// Whether Karmada divides replicas of the kind; else each cluster gets those of the template, and no entry has any.
    pub counted: bool,
    /// Whether Karmada's scheduler is suspended.
    pub suspended: bool,
    /// The FederatedHPA for which it is.
    pub marked: Option<String>,
}

/// A Work with a workload.
#[derive(Clone, Debug)]
pub struct StoredWork {
    /// Its name.
    pub name: String,
    /// `metadata.resourceVersion`
    pub version: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Replicas of the manifest.
    pub replicas: Option<i64>,
    /// Where they are; `None`: not known.
    pub place: Option<ReplicasPlace>,
    /// Whether the member keeps its replicas, where the manifest has the label.
    pub kept: bool,
    /// Whether the manifest has the label with which members keep their replicas.
    pub retained: bool,
}

/// Where a manifest has its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicasPlace {
    /// JSON pointer.
    pub path: String,
    /// How many of the objects around them the manifest does not have.
    pub missing: usize,
}

/// A Work with an HPA.
#[derive(Clone, Debug)]
pub struct StoredHpa {
    /// Its name.
    pub name: String,
    /// `metadata.resourceVersion`
    pub version: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Bounds of the HPA.
    pub bounds: Bounds,
    /// The greatest max that may be in effect.
    pub outstanding: u32,
    /// Whether the HPA may not scale down.
    pub held: bool,
}

/// A member's part of a workload.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Replicas that it is asked for; `None`: the member does not have the workload.
    pub replicas: Option<u32>,
    /// The HPA of fhpa.
    pub hpa: Option<MemberHpa>,
}

/// The HPA of fhpa in a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberHpa {
    /// Its bounds.
    pub bounds: Bounds,
    /// Whether it may not scale down, by fhpa or by its user.
    pub held: bool,
    /// Its write id.
    pub token: String,
}

impl StoredBinding {
    /// The used part of `binding`.
    #[must_use]
    pub fn of(binding: &ResourceBinding) -> Self {
        let (metadata, spec) = (&binding.metadata, &binding.spec);
        let entry = |TargetCluster { name, replicas }: &TargetCluster| (name.clone(), *replicas);
        let from = |task: &Value| task.get("fromCluster").and_then(Value::as_str).map(str::to_owned);
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            version: metadata.resource_version.clone().unwrap_or_default(),
            entries: spec.clusters.iter().map(entry).collect(),
            evicted: spec.graceful_eviction_tasks.iter().filter_map(from).collect(),
            tasks: spec.graceful_eviction_tasks.clone(),
            replicas: spec.replicas,
            duplicated: is_duplicated(binding),
            counted: is_counted(binding),
            suspended: spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling == Some(true)),
            marked: metadata.annotations.as_ref().and_then(|all| all.get(SUSPENDED_FOR)).cloned(),
        }
    }
}

fn is_duplicated(binding: &ResourceBinding) -> bool {
    let placement: Placement<'_> = serde_json::from_value(binding.spec.placement.clone()).unwrap_or_default();
    matches!(placement.policy(), Policy::Duplicated)
}

impl StoredWork {
    /// The binding that `work` belongs to, as namespace and name, and its used part; `None` for a Work of no binding.
    #[must_use]
    pub fn of(work: &Work, kinds: &Kinds) -> Option<((String, String), Self)> {
        let metadata = &work.metadata;
        let annotation = |name: &str| metadata.annotations.as_ref()?.get(name).cloned();
        let binding =
            (annotation("resourcebinding.karmada.io/namespace")?, annotation("resourcebinding.karmada.io/name")?);
        let manifest = work.spec.workload.manifests.first()?;
        let labels = manifest.pointer("/metadata/labels");
        let retained = labels.and_then(|labels| labels.get(RETAIN_REPLICAS)).and_then(Value::as_str) == Some("true");
        let text = |field| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
        let Kind { path, kept } = kinds.of(text("apiVersion"), text("kind"));
        let stored = Self {
            name: metadata.name.clone()?,
            version: metadata.resource_version.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            replicas: path.as_ref().and_then(|path| manifest.pointer(path)).and_then(Value::as_i64),
            place: path.map(|path| ReplicasPlace::of(path, manifest)),
            kept,
            retained,
        };
        Some((binding, stored))
    }
}

impl ReplicasPlace {
    fn of(path: String, manifest: &Value) -> Self {
        let around = path.match_indices('/').skip(1).filter_map(|(end, _)| path.get(..end));
        let missing = around.filter(|around| manifest.pointer(around).is_none()).count();
        Self { path, missing }
    }

    /// Where a value is added so that the manifest has so many replicas, and the value.
    #[must_use]
    pub fn with(&self, replicas: u32) -> (&str, Value) {
        (0..self.missing).fold((&*self.path, Value::from(replicas)), |(path, value), _| {
            let (around, field) = path.rsplit_once('/').unwrap_or_default();
            (around, Value::from(serde_json::Map::from_iter([(field.to_owned(), value)])))
        })
    }
}

impl StoredHpa {
    /// The FederatedHPA that `work` belongs to, as namespace and name, and its used part; `None` for a Work of others.
    #[must_use]
    pub fn of(work: &Work) -> Option<((String, String), Self)> {
        let read = StoredMemberHpa::of(work);
        let owner = read.owner.as_ref()?;
        let owner = (owner.namespace.to_string(), owner.name.to_string());
        let outstanding = read.hpa.pending_max;
        let bounds = read.hpa.written.unwrap_or(Bounds { min: 1, max: outstanding });
        let stored = Self {
            name: read.key.name.to_string(),
            version: read.version.to_string(),
            deleting: read.deleting(),
            bounds,
            outstanding,
            held: read.hpa.scale_down_disabled,
        };
        Some((owner, stored))
    }
}

impl MemberHpa {
    /// An HPA as a member has it.
    #[must_use]
    pub fn of(hpa: &Value) -> Self {
        let number = |field: &str| hpa.pointer(field).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let annotation = |name: &str| hpa.pointer("/metadata/annotations")?.get(name)?.as_str();
        let older = annotation(autoscaling_v1::BEHAVIOR).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let behavior = hpa.pointer("/spec/behavior").or(older.as_ref());
        let policy = behavior.and_then(|behavior| behavior.pointer("/scaleDown/selectPolicy")).and_then(Value::as_str);
        Self {
            bounds: Bounds {
                min: number("/spec/minReplicas").unwrap_or(1),
                max: number("/spec/maxReplicas").unwrap_or_default(),
            },
            held: policy == Some("Disabled"),
            token: annotation(names::WRITE_ID).unwrap_or_default().to_owned(),
        }
    }
}
