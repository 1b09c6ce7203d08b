//! One member cluster and what uses it -> the model. No I/O.

use serde_json::Value;

use super::clusters::{ClusterHealth, silent, views_of};
use super::model::{ClusterDetail, ClusterUse, ConditionView, Eviction, ResourceView};
use crate::api::cluster::Taint;
use crate::api::{Cluster, FederatedHPA, ResourceBinding};
use crate::convert::capacity::summary;
use crate::decision::capacity::Stock;
use crate::decision::quantity::from_milli;

/// Thousandths of a unit.
const UNIT: i128 = 1000;

/// A cluster without what uses it.
#[must_use]
pub fn cluster(cluster: &Cluster) -> ClusterDetail {
    let spec = &cluster.spec;
    let zones = if spec.zones.is_empty() { std::slice::from_ref(&spec.zone) } else { &spec.zones };
    let places = [&spec.provider, &spec.region].into_iter().chain(zones);
    let stocks = summary(&cluster.status.resource_summary);
    let mut resources: Vec<ResourceView> =
        stocks.iter().flat_map(|stocks| stocks.stocks().map(|(name, stock)| resource(name, stock))).collect();
    // Others, such as ephemeral storage, seldom decide.
    let rank = |name: &str| ["cpu", "memory", "pods"].iter().position(|known| *known == name).unwrap_or(usize::MAX);
    resources.sort_by_key(|resource| (rank(&resource.name), resource.name.clone()));
    ClusterDetail {
        name: cluster.metadata.name.clone().unwrap_or_default(),
        ready: ready(cluster),
        kubernetes_version: cluster.status.kubernetes_version.clone(),
        sync_mode: spec.sync_mode.clone(),
        location: places.filter(|place| !place.is_empty()).cloned().collect(),
        taints: spec.taints.iter().map(|one| (taint(one), one.time_added.clone())).collect(),
        resources,
        uses: Vec::new(),
        evictions: Vec::new(),
    }
}

/// What `hpa` has in the cluster; `None` when it has nothing there.
#[must_use]
pub fn cluster_use(hpa: &FederatedHPA, binding: Option<&ResourceBinding>, cluster: &Cluster) -> Option<ClusterUse> {
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    let view = views_of(hpa, binding, &[cluster], |wanted| wanted == name).pop()?;
    let metadata = &hpa.metadata;
    Some(ClusterUse {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        view,
    })
}

/// Karmada's task that moves the workload of a binding away from the cluster.
#[must_use]
pub fn eviction(binding: &ResourceBinding, cluster: &str) -> Option<Eviction> {
    let text = |task: &Value, name: &str| task.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let tasks = &binding.spec.graceful_eviction_tasks;
    let task = tasks.iter().find(|task| text(task, "fromCluster") == cluster)?;
    let resource = &binding.spec.resource;
    Some(Eviction {
        namespace: resource.namespace.clone(),
        kind: resource.kind.clone(),
        name: resource.name.clone(),
        reason: text(task, "reason"),
    })
}

fn ready(cluster: &Cluster) -> ConditionView {
    let known = cluster.status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let status = known.map_or("Unknown", |condition| condition.status.as_str());
    let ClusterHealth { reason, message, since, needs_attention } = silent(cluster).unwrap_or_else(|| ClusterHealth {
        since: known.and_then(|condition| condition.last_transition_time.clone()),
        ..ClusterHealth::default()
    });
    let (type_, status, to_do) = ("Ready".to_owned(), status.to_owned(), String::new());
    ConditionView { type_, status, reason, message, since, needs_attention, to_do }
}

fn taint(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

fn resource(name: &str, stock: &Stock) -> ResourceView {
    let percent = stock.taken.saturating_mul(100).checked_div(stock.allocatable);
    ResourceView {
        name: name.to_owned(),
        allocatable: amount(name, stock.allocatable),
        used: amount(name, stock.taken),
        percent: percent.and_then(|percent| i64::try_from(percent).ok()),
    }
}

/// An amount that people can read: `3500m`, `12.5Gi`, `110`.
fn amount(name: &str, thousandths: i128) -> String {
    let bytes = ["memory", "storage", "hugepages"].iter().any(|word| name.contains(word));
    let whole = thousandths / UNIT;
    if !bytes {
        return from_milli(i64::try_from(thousandths).unwrap_or(i64::MAX));
    }
    let (mut size, mut unit) = (1_i128, "");
    for next in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
        if whole / size < 1024 {
            break;
        }
        (size, unit) = (size.saturating_mul(1024), next);
    }
    let tenths = whole.saturating_mul(10) / size;
    if tenths % 10 == 0 { format!("{}{unit}", tenths / 10) } else { format!("{}.{}{unit}", tenths / 10, tenths % 10) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_in_units_that_people_read() {
        let shown = |name, thousandths| amount(name, thousandths);
        assert_eq!(shown("cpu", 3500), "3500m");
        assert_eq!(shown("pods", 110_000), "110");
        assert_eq!(shown("memory", 13_421_772_800 * UNIT), "12.5Gi");
        assert_eq!([shown("memory", 512 * UNIT), shown("memory", 1024 * UNIT)], ["512", "1Ki"]);
        assert_eq!(shown("ephemeral-storage", i128::from(u64::MAX) * UNIT), "15.9Ei");
    }

    #[test]
    fn a_cluster_is_shown_with_its_taints_and_the_used_part_of_its_resources() {
        let wire = json!({"metadata": {"name": "m1"}, "spec": {"provider": "own", "region": "north", "zone": "a",
            "taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"}, {"key": "a", "value": "b", "effect": "NoSchedule"}]},
            "status": {"kubernetesVersion": "v1.31.2", "conditions": [{"type": "Ready", "status": "False"}],
                "resourceSummary": {"allocatable": {"pods": "10", "cpu": "8"}, "allocated": {"cpu": "6"}}}});
        let shown = cluster(&serde_json::from_value(wire).unwrap());
        assert_eq!(shown.location, ["own", "north", "a"]);
        assert_eq!((&*shown.ready.status, &*shown.ready.reason), ("False", "ClusterNotReady"));
        let taints: Vec<&str> = shown.taints.iter().map(|(taint, _)| taint.as_str()).collect();
        assert_eq!(taints, ["cluster.karmada.io/not-ready:NoExecute", "a=b:NoSchedule"]);
        let resources: Vec<_> = shown.resources.iter().map(|one| (&*one.name, &*one.used, one.percent)).collect();
        assert_eq!(resources, [("cpu", "6", Some(75)), ("pods", "0", Some(0))]);
    }

    #[test]
    fn a_task_of_karmada_shows_that_a_workload_leaves() {
        let wire = json!({"spec": {"resource": {"kind": "Deployment", "namespace": "shop", "name": "web"},
            "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "TaintUntolerated"}]}});
        let binding = serde_json::from_value(wire).unwrap();
        assert_eq!(eviction(&binding, "m1").map(|one| one.reason).as_deref(), Some("TaintUntolerated"));
        assert_eq!(eviction(&binding, "m2"), None);
    }
}
