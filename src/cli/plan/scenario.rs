//! The short form of clusters and placement -> the equivalent objects. No I/O.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::centralized::members::Written;
use crate::api::cluster::Taint;
use crate::api::resource_binding::{AggregatedStatus, TargetCluster, WorkloadStatus};
use crate::api::{Cluster, FederatedHPA, ResourceBinding};
use crate::decision::plan::Bounds;
use crate::run::forecast::Objects;
use crate::run::forecast::centralized::CONTROL_PLANE;

/// `kind: PlanScenario`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[serde(rename = "kind")]
    _kind: String,
    /// A placement as in a PropagationPolicy, where no policy is given.
    pub(super) placement: Option<Value>,
    /// Requested replicas of the workload; else those of its clusters. In Centralized mode.
    pub(super) replicas: Option<i32>,
    /// External metrics of karmada-apiserver. In Centralized mode.
    #[serde(default)]
    metrics: Written,
    /// The clusters, by name.
    #[serde(default)]
    clusters: BTreeMap<String, Option<Member>>,
}

/// A member cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Member {
    /// Replicas that would still fit.
    available: Option<u32>,
    /// Replicas that would fit into the empty cluster; else the ones that fit plus the current ones.
    total: Option<u32>,
    /// Current replicas.
    current: Option<u32>,
    /// Ready replicas; else all.
    ready: Option<u32>,
    /// Bounds of its current HPA.
    hpa: Option<Having>,
    /// Values of metrics, by name; a metric without a value does not answer. In Centralized mode.
    metrics: Written,
    labels: BTreeMap<String, String>,
    provider: String,
    region: String,
    zone: String,
    kubernetes_version: String,
    taints: Vec<Taint>,
    state: ReadyStatus,
}

/// `hpa`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Having {
    min: u32,
    max: u32,
}

/// Condition `Ready`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
enum ReadyStatus {
    #[default]
    Ready,
    NotReady,
    Unknown,
}

impl Scenario {
    /// Adds the metrics of each cluster, and those of karmada-apiserver.
    pub(super) fn metrics(&self, all: &mut BTreeMap<String, Written>) {
        let members =
            self.clusters.iter().filter_map(|(name, member)| Some((name.as_str(), &member.as_ref()?.metrics)));
        for (cluster, metrics) in members.chain([(CONTROL_PLANE, &self.metrics)]) {
            all.entry(cluster.to_owned()).or_default().extend(metrics.clone());
        }
    }

    /// Adds the clusters to `objects`; to `binding` the placement and current replicas, where it has none.
    pub(super) fn enter(&self, hpa: &FederatedHPA, binding: &mut ResourceBinding, objects: &mut Objects) {
        if let (true, Some(placement)) = (binding.spec.placement.is_null(), &self.placement) {
            binding.spec.placement = placement.clone();
        }
        for (name, member) in &self.clusters {
            let member = member.clone().unwrap_or_default();
            objects.clusters.extend(member.cluster(name));
            if let Some(Having { min, max }) = member.hpa {
                objects.hold(hpa, name, Bounds { min, max });
            }
            let bound = binding.spec.clusters.iter().any(|entry| entry.name == *name);
            if let Some(current) = member.current.filter(|_| !bound) {
                let replicas = whole(current);
                binding.spec.clusters.push(TargetCluster { name: name.clone(), replicas });
                let ready_replicas = member.ready.map_or(replicas, whole);
                let status =
                    Some(WorkloadStatus { replicas, ready_replicas, updated_replicas: None, observed_generation: 1 });
                let cluster_name = name.clone();
                let report = AggregatedStatus { cluster_name, status, applied: true, ..AggregatedStatus::default() };
                binding.status.aggregated_status.push(report);
            }
        }
    }
}

impl Member {
    /// The object. Free capacity is given in pods, because replicas request nothing else here.
    fn cluster(&self, name: &str) -> Option<Cluster> {
        let status = match self.state {
            ReadyStatus::Ready => "True",
            ReadyStatus::NotReady => "False",
            ReadyStatus::Unknown => "Unknown",
        };
        let room = self.available.map(|available| {
            let total = self.total.unwrap_or_else(|| available.saturating_add(self.current.unwrap_or_default()));
            let total = total.max(available);
            json!({"allocatable": {"pods": total}, "allocated": {"pods": total.saturating_sub(available)}})
        });
        let Self { labels, provider, region, zone, taints, kubernetes_version, .. } = self;
        let object = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"provider": provider, "region": region, "zone": zone, "taints": taints},
            "status": {"kubernetesVersion": kubernetes_version, "resourceSummary": room,
                "conditions": [{"type": "Ready", "status": status}]},
        });
        serde_json::from_value(object).ok()
    }
}

fn whole(replicas: u32) -> i32 {
    i32::try_from(replicas).unwrap_or(i32::MAX)
}
