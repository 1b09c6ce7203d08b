//! What is known of each cluster: binding, reports, eviction tasks, memory. No I/O.

use std::collections::HashMap;

use jiff::Timestamp;

use super::failover::resumed;
use super::{PlacementSpec, observed};
use crate::api::resource_binding::WorkloadStatus;
use crate::convert;
use crate::convert::fleet::replicas;
use crate::decision::fleet::tolerance::ClusterHistory;
use crate::decision::plan::{Bounds, Failed, Memory};
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::evictions::{begun, end, is_for_a_taint, is_foreign, text_of};

/// Known state of each cluster, by name.
pub(super) struct KnownClusters<'a> {
    pub(super) entries: HashMap<&'a str, Replicas>,
    pub(super) reported: HashMap<&'a str, WorkloadStatus>,
    /// Clusters with an eviction task, and when Karmada ends it at the latest.
    pub(super) leaving: HashMap<&'a str, Option<Timestamp>>,
    /// Clusters in which Karmada leaves a workload of another alone and fhpa has no HPA, with its messages.
    pub(super) left_alone: HashMap<&'a str, &'a str>,
    /// Target and memory, with what Karmada's own failover evicts by now.
    pub(super) kept: HashMap<&'a str, (Option<Bounds>, Memory)>,
}

impl<'a> KnownClusters<'a> {
    pub(super) fn of(view: &'a View, binding: &'a Binding) -> Self {
        let spec = &binding.object.spec;
        let tasks = &spec.graceful_eviction_tasks;
        let kept = view.federated_hpa.desired().map(|(cluster, kept)| (cluster, convert::memory::read(kept)));
        let mut kept: HashMap<&str, (Option<Bounds>, Memory)> = kept.collect();
        for task in tasks.iter().filter(|task| is_foreign(task)) {
            let Some((cluster, since)) = begun(task) else { continue };
            let (_, memory) = kept.entry(cluster).or_default();
            if is_for_a_taint(task) {
                memory.failures = Failed::with_eviction(memory.failures, Some(since));
            } else {
                memory.evicted = memory.evicted.max(Some(since));
            }
        }
        for (_, memory) in kept.values_mut() {
            memory.failures = Failed::with_eviction(memory.failures, memory.evicted);
        }
        Self {
            entries: binding.entries().map(|(cluster, number)| (cluster, replicas(number))).collect(),
            reported: binding.reports().filter_map(|(cluster, status)| Some((cluster, observed(status)?))).collect(),
            leaving: tasks.iter().map(|task| (text_of(task, "/fromCluster"), end(task))).collect(),
            // Where fhpa has an HPA, the workload was Karmada's: it goes on while Karmada and the cluster disagree.
            left_alone: binding.left_alone().filter(|(cluster, _)| view.member_hpa(cluster).is_none()).collect(),
            kept,
        }
    }

    /// The known past of the clusters, for the rules.
    pub(super) fn past(
        &self,
        view: &'a View,
        binding: &Binding,
        placement_spec: &'a PlacementSpec<'_>,
        now: Timestamp,
    ) -> ClusterHistory<'a> {
        let members = view.member_hpas.iter().map(|member_hpa| member_hpa.cluster());
        let dying = view.member_hpas.iter().filter(|member_hpa| member_hpa.hpa.written.is_none());
        let dying = dying.map(|member_hpa| member_hpa.cluster());
        ClusterHistory {
            held: self.entries.keys().copied().chain(members).collect(),
            dying: dying.filter(|cluster| !self.entries.contains_key(cluster)).collect(),
            known: self.kept.iter().filter(|(_, (_, memory))| memory.owes()).map(|(name, _)| *name).collect(),
            evicted: self.kept.iter().filter_map(|(name, (_, memory))| Some((*name, memory.evicted?))).collect(),
            failed: self.kept.iter().filter_map(|(name, (_, memory))| Some((*name, memory.failures?))).collect(),
            resumed: resumed(&view.federated_hpa, now),
            scheduled: binding.object.status.last_scheduled_time.as_ref().map(|time| time.0),
            may_fail: placement_spec.may_fail.as_ref().map(|may| may.iter().map(String::as_str).collect()),
        }
    }
}
