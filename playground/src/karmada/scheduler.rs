//! Bindings and clusters -> `spec.clusters`, as karmada-scheduler decides. Client required for the pass only.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::binding::without_zeros;
use super::detector::is_claimed;
use super::placement::{affine, affinities, policy, taint, tolerations, weight};
use super::workload_affinity::admits;
use super::{Karmada, condition};
use crate::clock::{parse, rfc3339};
use crate::json::{self, annotation, count, deleting, int, items, members, name, text, truth};
use crate::objects::Written;
use crate::pass::Pass;
use decision::fleet::taint::{NO_EXECUTE, NO_SCHEDULE};
use decision::plan::Policy;
use decision::quantity::{milli, whole};
use decision::scheduler_division::{self, Candidate};

/// Annotation of bindings: the placement that was last scheduled, as JSON.
pub const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";

/// A decision.
#[derive(Debug, PartialEq)]
pub struct Scheduled {
    /// The clusters, each with its replicas where there are any.
    pub clusters: Vec<Value>,
    /// Name of the used affinity.
    pub affinity: String,
}

/// Why there is no decision: reason and message of the condition `Scheduled`.
#[derive(Debug, PartialEq, Eq)]
pub struct Unschedulable(pub &'static str, pub String);

impl Karmada {
    /// Schedules the bindings that need it, except suspended ones, those of another scheduler, and those that no policy
    /// claims.
    pub(super) async fn schedule(&self, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let clusters = self.clusters().await?;
        for binding in self.objects.all(&self.kinds.binding, "").await? {
            let named = matches!(text(&binding, "/spec/schedulerName"), "" | "default-scheduler");
            let ours = named && is_claimed(&binding);
            if ours && !truth(&binding, "/spec/suspension/scheduling") && !deleting(&binding) {
                pass.join(self.schedule_one(&binding, &clusters, now).await?);
            }
        }
        Ok(pass)
    }

    async fn schedule_one(
        &self,
        binding: &Value,
        clusters: &[Arc<Value>],
        now: Timestamp,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        if !needed(binding, clusters) {
            return self.observe(binding, None, now).await;
        }
        let others = self.others(binding).await?;
        let left: Vec<&Value> =
            clusters.iter().map(AsRef::as_ref).filter(|cluster| admits(binding, &others, cluster)).collect();
        let scheduled = match decide(binding, &left) {
            Ok(scheduled) => scheduled,
            Err(why) => return self.unscheduled(binding, &why, now).await,
        };
        let mut after = binding.clone();
        let placement = binding.pointer("/spec/placement").map(ToString::to_string).unwrap_or_default();
        json::set(&mut after, &["metadata", "annotations", APPLIED_PLACEMENT], json!(placement));
        json::set(&mut after, &["spec", "clusters"], json!(scheduled.clusters));
        let mut stored = binding.clone();
        let after = without_zeros(&after);
        if after != without_zeros(binding) {
            match self.objects.replace(&self.kinds.binding, &after).await? {
                Written::Done(written) => {
                    pass.wrote();
                    stored = written;
                }
                Written::Raced => {
                    pass.wrote();
                    return Ok(pass);
                }
                Written::Refused(why) => {
                    return self.unscheduled(binding, &Unschedulable("QuotaExceeded", why), now).await;
                }
            }
        }
        pass.join(self.observe(&stored, Some(&scheduled), now).await?);
        Ok(pass)
    }

    /// Reports why there is no decision.
    async fn unscheduled(&self, binding: &Value, why: &Unschedulable, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let before = json::condition(binding, "/status/conditions", "Scheduled");
        let scheduled = condition(before, "Scheduled", false, (why.0, &why.1), now);
        let mut status = binding.get("status").cloned().unwrap_or_else(|| json!({}));
        json::set(&mut status, &["conditions"], with(binding, scheduled));
        pass.writes += usize::from(self.objects.set_status(&self.kinds.binding, binding, &status).await?);
        Ok(pass)
    }

    /// Writes the observed generation, and with a decision its time.
    async fn observe(
        &self,
        binding: &Value,
        scheduled: Option<&Scheduled>,
        now: Timestamp,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let generation = int(binding, "/metadata/generation").unwrap_or(1);
        if int(binding, "/status/schedulerObservedGeneration") == Some(generation) {
            return Ok(pass);
        }
        let mut status = binding.get("status").cloned().unwrap_or_else(|| json!({}));
        json::set(&mut status, &["schedulerObservedGeneration"], json!(generation));
        if let Some(scheduled) = scheduled {
            let before = json::condition(binding, "/status/conditions", "Scheduled");
            let why = ("Success", "Binding has been scheduled successfully.");
            json::set(&mut status, &["conditions"], with(binding, condition(before, "Scheduled", true, why, now)));
            json::set(&mut status, &["lastScheduledTime"], json!(rfc3339(now)));
            if !scheduled.affinity.is_empty() {
                json::set(&mut status, &["schedulerObservingAffinityName"], json!(scheduled.affinity));
            }
        }
        pass.writes += usize::from(self.objects.set_status(&self.kinds.binding, binding, &status).await?);
        Ok(pass)
    }
}

/// The conditions with this one in place of the one of its type.
fn with(binding: &Value, new: Value) -> Value {
    let mut conditions = items(binding, "/status/conditions").to_vec();
    match conditions.iter_mut().find(|old| text(old, "/type") == text(&new, "/type")) {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
    json!(conditions)
}

/// Whether the scheduler acts on the binding: the placement changed, the replicas do not match, a rescheduling was
/// requested, a target is being deleted, or it is of a kind that is always scheduled again.
#[must_use]
pub fn needed<C: Borrow<Value>>(binding: &Value, clusters: &[C]) -> bool {
    let placement = binding.pointer("/spec/placement").unwrap_or(&Value::Null);
    let applied = serde_json::from_str(annotation(binding, APPLIED_PLACEMENT)).unwrap_or(Value::Null);
    if applied != *placement || rescheduled(binding) {
        return true;
    }
    let targets = items(binding, "/spec/clusters");
    let gone = |target: &Value| {
        clusters.iter().map(Borrow::borrow).all(|cluster| name(cluster) != text(target, "/name") || deleting(cluster))
    };
    let Some(wanted) = count(binding, "/spec/replicas") else { return true };
    if policy(placement) == Policy::Duplicated || targets.iter().any(gone) {
        return true;
    }
    targets.iter().filter_map(|target| int(target, "/replicas")).sum::<i64>() != i64::from(wanted)
}

fn rescheduled(binding: &Value) -> bool {
    let asked = parse(text(binding, "/spec/rescheduleTriggeredAt"));
    asked.is_some_and(|asked| parse(text(binding, "/status/lastScheduledTime")).is_none_or(|last| asked > last))
}

/// The clusters and replicas of a binding.
///
/// # Errors
/// When no cluster is selected, or the selected ones have too little capacity.
pub fn decide<C: Borrow<Value>>(binding: &Value, clusters: &[C]) -> Result<Scheduled, Unschedulable> {
    let mut last =
        Unschedulable("NoClusterFit", format!("0/{} clusters are available: no cluster exists.", clusters.len()));
    for (affinity_name, affinity) in affinities(binding.pointer("/spec/placement").unwrap_or(&Value::Null)) {
        let fitting: Vec<&Value> =
            clusters.iter().map(Borrow::borrow).filter(|cluster| fits(binding, affinity, cluster)).collect();
        let divided = if fitting.is_empty() {
            let message =
                format!("0/{} clusters are available: {0} cluster(s) did not fit the placement.", clusters.len());
            Err(Unschedulable("NoClusterFit", message))
        } else {
            divide(binding, &fitting)
        };
        match divided {
            Ok(clusters) => return Ok(Scheduled { clusters, affinity: affinity_name.to_owned() }),
            Err(why) => last = why,
        }
    }
    Err(last)
}

/// Whether the cluster may be in the result. A cluster that is already in it stays when it is tainted, or does not serve
/// the kind any more.
fn fits(binding: &Value, affinity: &Value, cluster: &Value) -> bool {
    let listed = |path: &str, field: &str| items(binding, path).iter().any(|entry| text(entry, field) == name(cluster));
    if deleting(cluster) || !affine(affinity, cluster) || listed("/spec/gracefulEvictionTasks", "/fromCluster") {
        return false;
    }
    let tolerations = tolerations(binding.pointer("/spec/placement").unwrap_or(&Value::Null));
    let repels = |found: &Value| {
        let taint = taint(found);
        matches!(&*taint.effect, NO_SCHEDULE | NO_EXECUTE) && !tolerations.iter().any(|one| one.tolerates(&taint))
    };
    listed("/spec/clusters", "/name") || serves(cluster, binding) && !items(cluster, "/spec/taints").iter().any(repels)
}

/// Whether the cluster serves the kind of the workload.
fn serves(cluster: &Value, binding: &Value) -> bool {
    let (version, kind) = (text(binding, "/spec/resource/apiVersion"), text(binding, "/spec/resource/kind"));
    let mut served =
        items(cluster, "/status/apiEnablements").iter().filter(|one| text(one, "/groupVersion") == version);
    served.any(|one| items(one, "/resources").iter().any(|resource| text(resource, "/kind") == kind))
}

fn divide(binding: &Value, clusters: &[&Value]) -> Result<Vec<Value>, Unschedulable> {
    let placement = binding.pointer("/spec/placement").unwrap_or(&Value::Null);
    let named = |cluster: &&Value| json!({"name": name(cluster)});
    let Some(wanted) = count(binding, "/spec/replicas").filter(|wanted| *wanted > 0) else {
        return Ok(clusters.iter().map(named).collect());
    };
    let policy = policy(placement);
    if policy == Policy::Duplicated {
        return Ok(clusters.iter().map(|cluster| json!({"name": name(cluster), "replicas": wanted})).collect());
    }
    let afresh = rescheduled(binding) && policy != Policy::StaticWeighted;
    let candidates: Vec<Candidate> = clusters
        .iter()
        .map(|cluster| Candidate {
            name: name(cluster).to_owned(),
            weight: match policy {
                Policy::StaticWeighted => weight(placement, cluster),
                _ => available(binding, cluster, wanted),
            },
            last: if afresh { 0 } else { last(binding, name(cluster)) },
        })
        .collect();
    let shares = scheduler_division::divide(policy, wanted, &candidates).map_err(|room| {
        Unschedulable("Unschedulable", format!("Clusters available replicas {room} are not enough to schedule."))
    })?;
    Ok(listed(shares))
}

/// Leaves out clusters without replicas.
fn listed(shares: BTreeMap<String, i32>) -> Vec<Value> {
    let some = shares.into_iter().filter(|(_, replicas)| *replicas > 0);
    some.map(|(name, replicas)| json!({"name": name, "replicas": replicas})).collect()
}

fn last(binding: &Value, cluster: &str) -> i32 {
    let mut targets = items(binding, "/spec/clusters").iter().filter(|target| text(target, "/name") == cluster);
    targets.next().and_then(|target| count(target, "/replicas")).unwrap_or_default()
}

/// Further replicas that fit by the cluster's summary; `wanted` when nothing is known.
#[must_use]
pub fn available(binding: &Value, cluster: &Value, wanted: i32) -> i64 {
    let Some(summary) = cluster.pointer("/status/resourceSummary") else { return 0 };
    let value = |part: &str, resource: &str| {
        let text = summary.pointer(&format!("/{part}/{resource}")).and_then(Value::as_str);
        text.and_then(|text| if resource == "cpu" { milli(text) } else { whole(text) }).unwrap_or_default()
    };
    let free =
        |resource: &str| value("allocatable", resource) - value("allocated", resource) - value("allocating", resource);
    let mut most = free("pods").max(0);
    for (resource, request) in members(binding, "/spec/replicaRequirements/resourceRequest") {
        let text = request.as_str().unwrap_or_default();
        let request = if resource == "cpu" { milli(text) } else { whole(text) }.unwrap_or_default();
        if request > 0 && matches!(resource, "cpu" | "memory") {
            most = most.min(free(resource).max(0) / request);
        }
    }
    if most == i64::from(i32::MAX) { wanted.into() } else { most }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{APPLIED_PLACEMENT, available, decide, needed};

    fn cluster(name: &str) -> Value {
        let apps = json!([{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]);
        json!({"metadata": {"name": name}, "status": {"apiEnablements": apps, "resourceSummary": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}, "allocated": {"cpu": "3500m", "pods": "7"}}}})
    }

    fn binding(replicas: i32, clusters: &Value) -> Value {
        let list = json!([{"targetCluster": {"clusterNames": ["a"]}, "weight": 1},
            {"targetCluster": {"clusterNames": ["b"]}, "weight": 2}]);
        let placement = json!({"replicaScheduling": {"replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": list}}});
        json!({"metadata": {"annotations": {APPLIED_PLACEMENT: placement.to_string()}},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment"}, "replicas": replicas,
                "placement": placement, "clusters": clusters}})
    }

    #[test]
    fn a_split_that_adds_up_is_kept_and_one_that_does_not_is_made_again() {
        let clusters = [cluster("a"), cluster("b")];
        let foreign = binding(6, &json!([{"name": "a", "replicas": 5}, {"name": "b", "replicas": 1}]));
        assert!(!needed(&foreign, &clusters));
        let short = binding(6, &json!([{"name": "a", "replicas": 1}, {"name": "b", "replicas": 1}]));
        assert!(needed(&short, &clusters));
        let split = decide(&short, &clusters).unwrap().clusters;
        assert_eq!(split, [json!({"name": "a", "replicas": 2}), json!({"name": "b", "replicas": 4})]);
    }

    /// Asserts that `a` keeps its share of what is there, and gets nothing of a new workload.
    fn keeps_its_place_but_gets_none(a: Value) {
        let clusters = [a, cluster("b")];
        let there = binding(12, &json!([{"name": "a", "replicas": 3}, {"name": "b", "replicas": 6}]));
        let split = decide(&there, &clusters).unwrap().clusters;
        assert_eq!(split, [json!({"name": "a", "replicas": 4}), json!({"name": "b", "replicas": 8})]);
        let fresh = decide(&binding(12, &json!([])), &clusters).unwrap().clusters;
        assert_eq!(fresh, [json!({"name": "b", "replicas": 12})]);
    }

    #[test]
    fn a_tainted_cluster_keeps_its_place_but_gets_none() {
        let mut tainted = cluster("a");
        tainted["spec"] = json!({"taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}]});
        keeps_its_place_but_gets_none(tainted);
    }

    #[test]
    fn a_cluster_that_does_not_serve_the_kind_keeps_its_place_but_gets_none() {
        let mut other = cluster("a");
        other["status"]["apiEnablements"] = json!([{"groupVersion": "v1", "resources": [{"kind": "Pod"}]}]);
        keeps_its_place_but_gets_none(other);
    }

    #[test]
    fn room_is_what_the_summary_leaves() {
        let asking = |request: Value| json!({"spec": {"replicaRequirements": {"resourceRequest": request}}});
        assert_eq!(available(&asking(json!({"cpu": "1"})), &cluster("a"), 1), 4);
        assert_eq!(available(&asking(json!({"cpu": "250m", "memory": "2Gi"})), &cluster("a"), 1), 8);
        assert_eq!(available(&asking(json!({})), &cluster("a"), 1), 103);
        assert_eq!(available(&asking(json!({})), &json!({}), 1), 0);
    }

    #[test]
    fn no_cluster_is_a_reason() {
        let why = decide::<Value>(&binding(1, &json!([])), &[]).unwrap_err();
        assert_eq!(why.0, "NoClusterFit");
    }
}
