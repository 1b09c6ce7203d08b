//! ResourceBindings. No I/O.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::api::ResourceBinding;
use crate::api::resource_binding::{AggregatedStatus, WorkloadStatus};
use crate::controller::intern::{self, Shared};
use crate::controller::key::Key;
use crate::controller::table::Item;
use crate::decision::api_version::ApiVersion;
use crate::decision::fleet::api_enablements::GroupVersionKind;
use crate::decision::fleet::placement::Placement;
use crate::decision::fleet::unsupported::unsupported;
use crate::decision::related_objects::Target;
use crate::reconcile::federated_hpa::names;

/// What a group asks of its workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Affinity {
    /// To be in the same clusters.
    Together,
    /// To be in different clusters.
    Apart,
}

/// A ResourceBinding.
#[derive(Debug)]
pub struct Binding {
    key: Key,
    /// The object, without its managed fields, its placement, the annotation with the applied placement, its entries,
    /// and the reports of clusters.
    pub object: ResourceBinding,
    placement: Arc<Placed>,
    applied: bool,
    entries: Box<[(Arc<str>, i32)]>,
    reports: Box<[(Arc<str>, Arc<Report>)]>,
}

/// What a cluster reports: mostly what many others do.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Report {
    status: Option<WorkloadStatus>,
    /// Karmada's message, where it leaves a workload of another alone.
    left_alone: Option<Box<str>>,
}

impl Report {
    fn of(AggregatedStatus { status, applied, applied_message, .. }: AggregatedStatus) -> Self {
        let refused = !applied && status.is_none() && names::is_left_alone(&applied_message);
        Self { status, left_alone: refused.then(|| applied_message.into_boxed_str()) }
    }
}

/// A placement. All bindings of a policy have the same one.
#[derive(Debug)]
struct Placed {
    /// As stored.
    wire: Box<str>,
    read: Result<Placement<'static>, String>,
    /// What of it has no effect.
    unsupported: Box<[String]>,
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.wire == other.wire
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.wire.cmp(&other.wire)
    }
}

impl Placed {
    fn shared(stored: Value) -> Arc<Self> {
        static PLACEMENTS: LazyLock<Shared<Placed>> = LazyLock::new(Shared::default);
        let wire = stored.to_string().into_boxed_str();
        let unsupported = unsupported(&stored).into();
        let read = serde_json::from_value(stored).map_err(|error| format!("spec.placement: {error}"));
        PLACEMENTS.keep(Self { wire, read, unsupported })
    }
}

impl Binding {
    /// The entry of an object.
    #[must_use]
    pub fn of(object: &ResourceBinding) -> Self {
        static REPORTS: LazyLock<Shared<Report>> = LazyLock::new(Shared::default);
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let applied = object.metadata.annotations.as_mut().and_then(|all| all.remove(names::APPLIED_PLACEMENT));
        let applied = applied.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let stored = std::mem::take(&mut object.spec.placement);
        let applied = applied.as_ref() == Some(&stored);
        let reports = std::mem::take(&mut object.status.aggregated_status);
        let report = |one: AggregatedStatus| (intern::text(&one.cluster_name), REPORTS.keep(Report::of(one)));
        let reports = reports.into_iter().map(report).collect();
        let entries = std::mem::take(&mut object.spec.clusters);
        let entries = entries.into_iter().map(|entry| (intern::text(&entry.name), entry.replicas)).collect();
        let (key, placement) = (Key::of(&object.metadata), Placed::shared(stored));
        Self { key, object, placement, applied, entries, reports }
    }

    /// The kind of its workload.
    #[must_use]
    pub fn kind(&self) -> GroupVersionKind<'_> {
        let resource = &self.object.spec.resource;
        GroupVersionKind { group_version: &resource.api_version, kind: &resource.kind }
    }

    /// Its placement, parsed.
    ///
    /// # Errors
    /// Why the binding cannot be parsed: no decision may be based on it.
    pub fn placement(&self) -> Result<&Placement<'static>, &str> {
        if let Some(why) = self.object.spec.unreadable.first() {
            return Err(why);
        }
        if *self.placement.wire == *"null" {
            return Err("it has no placement: no PropagationPolicy made it");
        }
        self.placement.read.as_ref().map_err(String::as_str)
    }

    /// Whether its placement divides replicas, as far as that can be read: a workload is handed back also where nothing
    /// may be decided by the binding.
    #[must_use]
    pub fn divides(&self) -> bool {
        if let Ok(placement) = &self.placement.read {
            return placement.policy().divides();
        }
        let stored: Value = serde_json::from_str(&self.placement.wire).unwrap_or_default();
        stored.pointer("/replicaScheduling/replicaSchedulingType").and_then(Value::as_str) == Some("Divided")
    }

    /// Fields and values of its placement that have no effect.
    #[must_use]
    pub fn unsupported(&self) -> &[String] {
        &self.placement.unsupported
    }

    /// Its placement as stored, as JSON.
    #[must_use]
    pub fn stored_placement(&self) -> &str {
        &self.placement.wire
    }

    /// Whether its entries are marked as scheduled for its placement.
    #[must_use]
    pub const fn is_applied(&self) -> bool {
        self.applied
    }

    /// The reports of clusters.
    pub fn reports(&self) -> impl Iterator<Item = (&str, Option<WorkloadStatus>)> {
        self.reports.iter().map(|(cluster, report)| (&**cluster, report.status))
    }

    /// Clusters in which Karmada leaves a workload of that name alone, as it is not its own, with its messages.
    pub fn left_alone(&self) -> impl Iterator<Item = (&str, &str)> {
        self.reports.iter().filter_map(|(cluster, report)| Some((&**cluster, report.left_alone.as_deref()?)))
    }

    /// The clusters that run the workload (`spec.clusters`), with their replicas.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, i32)> {
        self.entries.iter().map(|(cluster, replicas)| (&**cluster, *replicas))
    }

    /// Its affinity group and its anti-affinity group, in its namespace.
    pub(super) fn groups(&self) -> impl Iterator<Item = (Affinity, &str)> {
        let groups = self.object.spec.workload_affinity_groups.iter();
        groups
            .flat_map(|groups| {
                [(Affinity::Together, &*groups.affinity_group), (Affinity::Apart, &*groups.anti_affinity_group)]
            })
            .filter(|(_, name)| !name.is_empty())
    }

    /// Name of the FederatedHPA for which fhpa suspended it.
    #[must_use]
    pub fn marked(&self) -> Option<&str> {
        self.annotation(names::SUSPENDED_FOR)
    }

    /// Whether somebody else had suspended it before fhpa did.
    #[must_use]
    pub fn suspended_before(&self) -> bool {
        self.annotation(names::SUSPENDED_BEFORE) == Some("true")
    }

    /// Whether its workload was divided, and may run: what is evicted from all clusters still does.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        !self.entries.is_empty() || !self.object.spec.graceful_eviction_tasks.is_empty()
    }

    /// Whether somebody else keeps its workload from being divided for the first time.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.suspended() && self.marked().is_none() && !self.is_divided()
    }

    /// Whether its workload can be divided by it: it can be parsed, and nobody else holds it back.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        self.placement().is_ok() && !self.is_held_back()
    }

    /// Whether a policy claims it: only then Karmada copies into it what its template asks for.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        [names::POLICY, names::CLUSTER_POLICY].iter().any(|name| self.annotation(name).is_some())
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.object.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// Whether Karmada's scheduler is suspended.
    #[must_use]
    pub fn suspended(&self) -> bool {
        self.object.spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling == Some(true))
    }
}

impl Item for Binding {
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

/// The API group of a version.
pub(super) fn group(api_version: &str) -> String {
    ApiVersion::parse(api_version).map(|version| version.group.to_owned()).unwrap_or_default()
}
