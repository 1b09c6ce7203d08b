//! The parts of Karmada's `ResourceBinding` (`work.karmada.io/v1alpha2`) that fhpa reads. No I/O, no decisions.
//!
//! Writes are patches, so that members that are not read here are preserved.

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::karmada::karmada_resource;
use super::scheduling::{SchedulePriority, WorkloadAffinityGroups};

/// A workload and the clusters that run it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceBinding {
    /// Name, version, annotations.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// Its spec.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ResourceBindingSpec,
    /// Its status.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ResourceBindingStatus,
}

karmada_resource!(ResourceBinding, "work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings", namespaced);

/// The used part of its spec. An invalid member does not hide the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingSpec {
    /// Members that cannot be parsed, with the reason.
    #[serde(skip)]
    pub unreadable: Vec<String>,
    /// The workload template.
    pub resource: ObjectReference,
    /// Suspensions; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// `spec.replicas` of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Requirements of each replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<Value>,
    /// The clusters that run it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// The placement as stored: the annotation with the applied one is compared with all of it.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub placement: Value,
    /// Eviction tasks as stored: a patch replaces the whole list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graceful_eviction_tasks: Vec<Value>,
    /// Handling of replicas of failed clusters, as stored.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub failover: Value,
    /// When a WorkloadRebalancer last asked for a new division.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reschedule_triggered_at: Option<Time>,
    /// Who comes first where capacity is scarce.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<SchedulePriority>,
    /// The scheduler; empty: karmada-scheduler.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// Groups of the workload, where Karmada's feature gate `WorkloadAffinity` is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_affinity_groups: Option<WorkloadAffinityGroups>,
}

impl<'de> Deserialize<'de> for ResourceBindingSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut stored = Map::<String, Value>::deserialize(deserializer)?;
        let mut unreadable = Vec::new();
        Ok(Self {
            resource: member(&mut stored, "resource", &mut unreadable),
            suspension: member(&mut stored, "suspension", &mut unreadable),
            replicas: member(&mut stored, "replicas", &mut unreadable),
            replica_requirements: member(&mut stored, "replicaRequirements", &mut unreadable),
            clusters: member(&mut stored, "clusters", &mut unreadable),
            placement: member(&mut stored, "placement", &mut unreadable),
            graceful_eviction_tasks: member(&mut stored, "gracefulEvictionTasks", &mut unreadable),
            failover: member(&mut stored, "failover", &mut unreadable),
            reschedule_triggered_at: member(&mut stored, "rescheduleTriggeredAt", &mut unreadable),
            schedule_priority: member(&mut stored, "schedulePriority", &mut unreadable),
            scheduler_name: member(&mut stored, "schedulerName", &mut unreadable),
            workload_affinity_groups: member(&mut stored, "workloadAffinityGroups", &mut unreadable),
            unreadable,
        })
    }
}

/// A member; an absent, null or invalid one is the type's zero value.
fn member<T>(stored: &mut Map<String, Value>, name: &str, unreadable: &mut Vec<String>) -> T
where
    T: Default + for<'de> Deserialize<'de>,
{
    let value = stored.remove(name).filter(|value| !value.is_null());
    let read = value.map(serde_json::from_value).transpose();
    read.unwrap_or_else(|error| {
        unreadable.push(format!("spec.{name}: {error}"));
        None
    })
    .unwrap_or_default()
}

/// One of `spec.clusters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TargetCluster {
    /// Name of the cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Its replicas; absent: 0.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
}

/// The used part of its status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceBindingStatus {
    /// Last generation that the scheduler, or fhpa in its place, has processed.
    pub scheduler_observed_generation: Option<i64>,
    /// When it was last scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scheduled_time: Option<Time>,
    /// Affinity group in use.
    #[serde(deserialize_with = "null_as_default")]
    pub scheduler_observing_affinity_name: String,
    /// Conditions as stored: a patch replaces the whole list.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Value>,
    /// Reports of the clusters.
    #[serde(deserialize_with = "null_as_default")]
    pub aggregated_status: Vec<AggregatedStatus>,
}

/// Report of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AggregatedStatus {
    /// Name of the cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_name: String,
    /// Status of the workload there; `None` for kinds with another format.
    #[serde(deserialize_with = "object_or_none")]
    pub status: Option<WorkloadStatus>,
    /// Whether the workload was applied there.
    #[serde(deserialize_with = "null_as_default")]
    pub applied: bool,
    /// Why it was not.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub applied_message: String,
}

/// The used part of a workload's status. Karmada omits zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Replicas that exist.
    #[serde(deserialize_with = "number_or_none")]
    pub replicas: i32,
    /// Replicas that are ready.
    #[serde(deserialize_with = "number_or_none")]
    pub ready_replicas: i32,
    /// Replicas of the newest template; `None` where there are none, and for kinds that do not report it.
    #[serde(deserialize_with = "some_number", skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
    /// Last generation that the cluster's own controller has observed; 0: none yet.
    #[serde(deserialize_with = "number_or_none")]
    pub observed_generation: i64,
}

/// A status depends on the kind: numbers may be text, and any other value counts as absent.
fn some_number<'de, D, N>(deserializer: D) -> Result<Option<N>, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<i64>,
{
    let number = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    Ok(number.and_then(|number| N::try_from(number).ok()))
}

fn number_or_none<'de, D, N>(deserializer: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<i64> + Default,
{
    some_number(deserializer).map(Option::unwrap_or_default)
}

fn object_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WorkloadStatus>, D::Error> {
    let stored = Value::deserialize(deserializer)?;
    Ok(stored.is_object().then(|| serde_json::from_value(stored).ok()).flatten())
}

/// The workload of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectReference {
    /// API version of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// Kind of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Namespace of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Name of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Resource version of the workload that Karmada last processed; it changes with each edit.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// Suspensions of a binding. Members that are not listed are preserved: the webhook responds with a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Suspension {
    /// Whether karmada-scheduler is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<bool>,
    /// Whether changes are withheld from the clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::{ObjectReference, ResourceBinding, Suspension, WorkloadStatus};

    #[test]
    fn a_binding_is_read_as_karmada_writes_it() {
        let binding: ResourceBinding = serde_json::from_str(
            r#"{"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": "u"},
                "replicas": 2, "suspension": {"dispatchingOnClusters": {"clusterNames": ["m1"]}, "scheduling": true}}}"#,
        )
        .unwrap();
        let web = ObjectReference {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "shop".into(),
            name: "web".into(),
            resource_version: String::new(),
        };
        assert_eq!(binding.spec.resource, web);
        assert_eq!(binding.spec.suspension, Some(Suspension { scheduling: Some(true), dispatching: None }));
        assert_eq!(serde_json::from_str::<ResourceBinding>(r#"{"spec": null}"#).unwrap(), ResourceBinding::default());
    }

    #[test]
    fn a_status_of_a_foreign_kind_does_not_hide_the_binding() {
        let binding: ResourceBinding = serde_json::from_str(
            r#"{"spec": {"clusters": [{"name": "m1", "replicas": 2}]}, "status": {"aggregatedStatus": [
                {"clusterName": "m1", "status": {"observedGeneration": "7", "replicas": 2, "readyReplicas": {"a": 1}}},
                {"clusterName": "m2", "status": "fine"}]}}"#,
        )
        .unwrap();
        let told = WorkloadStatus { replicas: 2, observed_generation: 7, ..WorkloadStatus::default() };
        let statuses: Vec<_> = binding.status.aggregated_status.iter().map(|one| one.status).collect();
        assert_eq!((statuses, &*binding.spec.unreadable), (vec![Some(told), None], &[][..]));
    }

    #[test]
    fn a_member_that_cannot_be_read_is_named_and_hides_no_other() {
        let binding: ResourceBinding = serde_json::from_str(
            r#"{"spec": {"resource": {"kind": "Deployment"}, "clusters": {"m1": 2}, "suspension": {"scheduling": true}}}"#,
        )
        .unwrap();
        assert_eq!((&*binding.spec.resource.kind, binding.spec.suspension.is_some()), ("Deployment", true));
        assert!(binding.spec.unreadable[0].starts_with("spec.clusters: invalid type: map"), "{:?}", binding.spec);
    }
}
