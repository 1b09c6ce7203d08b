//! Steps of a plan -> writes (apply). Talks to the API server.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::debug;

use super::takeover::target;
use super::work::{Created, names_taken};
use super::writer::{Scalable, Writer};
use crate::api::ResourceBinding;
use crate::controller::failure::{Asked, WriteError};
use crate::controller::key::Key;
use crate::convert::instant::stored;
use crate::decision::plan::{Action, Entry, Eviction, Purge};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::evictions::{end, text_of};
use crate::reconcile::federated_hpa::manifest::{self, Write};
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::observe::members::proxied;
use crate::reconcile::federated_hpa::write_id;
use crate::reconcile::scale_target::{ResourcePath, Targets};
use crate::runtime::clock::{WallClock, steady};
use crate::runtime::leader::Leader;

/// Applies steps.
pub struct Applier {
    /// Writer to the API server.
    pub writer: Arc<Writer>,
    /// Knows the resource paths of kinds.
    pub targets: Arc<Targets>,
    /// The time of day.
    pub clock: WallClock,
    /// When the entries of an object were last to follow what runs; lost with the process.
    followed: Mutex<HashMap<Key, Instant>>,
}

/// Context of a step.
#[derive(Clone, Copy)]
pub struct ApplyContext<'a> {
    /// Permission to write.
    pub leader: &'a Leader,
    /// Input of the plan.
    pub view: &'a View,
    /// The binding of the workload.
    pub binding: &'a Binding,
    /// Affinity group in use.
    pub group: &'a str,
    /// Whether an eviction by Karmada must not end yet. It ends when all clusters of a division that counts as scheduled
    /// are healthy, so the division does not count as scheduled.
    pub evicts: bool,
    /// The clusters that the rules select, by name. While another one has an entry, the entries stand for an earlier
    /// placement: that one stays written as applied, so that karmada-scheduler divides anew where the workload is handed
    /// back.
    pub selected: &'a [&'a str],
}

impl ApplyContext<'_> {
    /// Whether entries in these clusters stand for the placement of the binding.
    fn are_placed<'c>(&self, mut clusters: impl Iterator<Item = &'c str>) -> bool {
        clusters.all(|cluster| self.selected.binary_search(&cluster).is_ok())
    }
}

impl Applier {
    /// Applies through `writer`.
    #[must_use]
    pub fn new(writer: Arc<Writer>, targets: Arc<Targets>, clock: WallClock) -> Self {
        Self { writer, targets, clock, followed: Mutex::default() }
    }

    /// Applies one step.
    ///
    /// # Errors
    /// When this process no longer leads, or the API server rejects the request or is unreachable.
    pub async fn apply(&self, about: ApplyContext<'_>, action: &Action<'_>) -> Result<(), WriteError> {
        let ApplyContext { leader, view, .. } = about;
        match action {
            Action::ApplyHpa { .. } => self.apply_hpa(leader, view, action).await,
            Action::DeleteHpa { cluster } => match view.member_hpa(cluster) {
                Some(member_hpa) => self.writer.delete_work(leader, member_hpa).await,
                None => Ok(()),
            },
            Action::UpdateBinding { entries, evictions } => self.bind(about, entries, evictions).await,
            Action::Scale { cluster, replicas, reported } => {
                let key = view.federated_hpa.key();
                let target = target(&view.federated_hpa.object.spec.scale_target_ref, &key.namespace);
                let ResourcePath { path, .. } = self.targets.place(&target).await?;
                let path = proxied(cluster, &path);
                let object = format!("{target} in cluster {cluster}");
                let asked =
                    Asked { verb: "patch", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
                let workload = Scalable { path: &path, name: target.name, asked };
                if *replicas == 0 {
                    return self.writer.stop(leader, workload, *reported).await;
                }
                self.writer.raise(leader, workload, *replicas).await
            }
        }
    }

    /// Applies a step that writes an HPA; others do nothing here.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn apply_hpa(&self, leader: &Leader, view: &View, action: &Action<'_>) -> Result<(), WriteError> {
        let Action::ApplyHpa { cluster, bounds, version, pending_max, scale_down_disabled } = action else {
            return Ok(());
        };
        let member_hpa = view.member_hpa(cluster);
        let token = write_id::next(member_hpa.map(|member_hpa| &*member_hpa.token), (self.clock)());
        let hpa = &view.federated_hpa.object;
        let (bounds, version, outstanding, held) = (*bounds, *version, *pending_max, *scale_down_disabled);
        let write = Write { cluster, bounds, version, outstanding, held, token: &token };
        if let Some(member_hpa) = member_hpa {
            let work = manifest::work_of(hpa, &member_hpa.key.name, write);
            return self.writer.change_work(leader, member_hpa, work).await;
        }
        for name in manifest::work_names(hpa) {
            let work = manifest::work_of(hpa, &name, write);
            if let Created::Made = self.writer.create_work(leader, (cluster, &name), (hpa, work)).await? {
                return Ok(());
            }
        }
        Err(names_taken(cluster).into())
    }

    /// Writes the entries with all fields that the scheduler would write with them, in one patch; then the condition. An
    /// entry takes the place of an eviction task: nothing else ends the task before its replicas are gone.
    async fn bind(
        &self,
        about: ApplyContext<'_>,
        entries: &[Entry<'_>],
        evictions: &[Eviction<'_>],
    ) -> Result<(), WriteError> {
        let binding = &about.binding.object;
        let clusters: Vec<Value> =
            entries.iter().map(|entry| json!({"name": entry.cluster, "replicas": entry.replicas})).collect();
        let mut patch = json!({"spec": {"clusters": clusters}});
        if let Some(patch) =
            patch.as_object_mut().filter(|_| about.are_placed(entries.iter().map(|entry| entry.cluster)))
        {
            let annotations = json!({names::APPLIED_PLACEMENT: about.binding.stored_placement()});
            patch.insert("metadata".to_owned(), json!({"annotations": annotations}));
        }
        let before = &binding.spec.graceful_eviction_tasks;
        // A task without an end waits for a user.
        let leaves = |task: &&Value| {
            end(task).is_none() || entries.iter().all(|entry| entry.cluster != text_of(task, "/fromCluster"))
        };
        let mut tasks: Vec<Value> = before.iter().filter(leaves).cloned().collect();
        let now = (self.clock)();
        tasks.extend(evictions.iter().map(|eviction| task(*eviction, now)));
        if let Some(spec) = patch.get_mut("spec").and_then(Value::as_object_mut).filter(|_| tasks != *before) {
            let tasks = if tasks.is_empty() { Value::Null } else { json!(tasks) };
            spec.insert("gracefulEvictionTasks".to_owned(), tasks);
        }
        let written = self.writer.binding(about.leader, binding, patch, false).await?;
        if about.evicts {
            return self.regroup(about.leader, &written, about.group).await.map(|_| ());
        }
        let before: BTreeSet<&str> = about.binding.entries().map(|(cluster, _)| cluster).collect();
        let moved = before != entries.iter().map(|entry| entry.cluster).collect();
        let decided = moved || is_regrouped(binding, about.group) || !is_scheduled(binding) || is_rescheduled(binding);
        self.answer(about.leader, &written, about.group, decided).await
    }

    /// Writes entries that follow what runs. Nothing depends on it: where it fails, as where a quota that is used up
    /// refuses it, it is tried again no sooner than a minute later. Returns whether it was written.
    ///
    /// # Errors
    /// When this process no longer leads.
    pub async fn follow_what_runs(&self, about: ApplyContext<'_>, entries: &[Entry<'_>]) -> Result<bool, WriteError> {
        self.followed.lock().insert(about.view.federated_hpa.key(), steady());
        match self.bind(about, entries, &[]).await {
            Ok(()) => Ok(true),
            Err(WriteError::Failed(failure)) => {
                debug!(object = %about.view.federated_hpa.key(), %failure, "entries do not follow what runs");
                Ok(false)
            }
            Err(lost) => Err(lost),
        }
    }

    /// How long ago the entries of this object were last to follow what runs; `None`: not in this process.
    #[must_use]
    pub fn followed_ago(&self, key: &Key) -> Option<Duration> {
        self.followed.lock().get(key).map(|at| steady().saturating_duration_since(*at))
    }

    /// Forgets an object.
    pub fn forget(&self, key: &Key) {
        self.followed.lock().remove(key);
    }

    /// Writes the affinity group in use, and since when, and no more: an abandoned one is not gone back to at once,
    /// whatever an eviction waits for. Returns whether there was a difference.
    async fn regroup(&self, leader: &Leader, binding: &ResourceBinding, group: &str) -> Result<bool, WriteError> {
        if !is_regrouped(binding, group) {
            return Ok(false);
        }
        let now = stored((self.clock)());
        let patch = json!({"status": {"schedulerObservingAffinityName": group, "lastScheduledTime": now}});
        self.writer.binding(leader, binding, patch, true).await.map(|_| true)
    }

    /// Updates the fields of the binding that the scheduler would write. Returns whether there was a difference.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn follow(&self, about: ApplyContext<'_>) -> Result<bool, WriteError> {
        let binding = &about.binding.object;
        let entries = about.binding.entries();
        if !about.binding.is_applied() && about.are_placed(entries.map(|(cluster, _)| cluster)) {
            let applied = about.binding.stored_placement();
            let patch = json!({"metadata": {"annotations": {names::APPLIED_PLACEMENT: applied}}});
            let written = self.writer.binding(about.leader, binding, patch, false).await?;
            if about.evicts {
                self.regroup(about.leader, &written, about.group).await?;
            } else {
                self.answer(about.leader, &written, about.group, true).await?;
            }
            return Ok(true);
        }
        // The write of the clusters may have succeeded, and the one of the group not.
        if about.evicts {
            return self.regroup(about.leader, binding, about.group).await;
        }
        if binding.status.scheduler_observed_generation == binding.metadata.generation {
            return Ok(false);
        }
        let decided = is_regrouped(binding, about.group) || !is_scheduled(binding) || is_rescheduled(binding);
        self.answer(about.leader, binding, about.group, decided).await?;
        Ok(true)
    }

    /// Writes that the generation of `binding` is scheduled; `decided` is whether by a decision, not by other numbers of
    /// replicas in the same clusters.
    async fn answer(
        &self,
        leader: &Leader,
        binding: &ResourceBinding,
        group: &str,
        decided: bool,
    ) -> Result<(), WriteError> {
        let now = (self.clock)();
        let mut status = json!({"schedulerObservedGeneration": binding.metadata.generation});
        if let Some(status) = status.as_object_mut().filter(|_| decided) {
            status.insert("lastScheduledTime".to_owned(), json!(stored(now)));
            status.insert("conditions".to_owned(), json!(scheduled(binding, now)));
            if !group.is_empty() {
                status.insert("schedulerObservingAffinityName".to_owned(), json!(group));
            }
        }
        self.writer.binding(leader, binding, json!({"status": status}), true).await.map(|_| ())
    }
}

fn is_regrouped(binding: &ResourceBinding, group: &str) -> bool {
    !group.is_empty() && group != binding.status.scheduler_observing_affinity_name
}

/// Whether a new division is asked for that the status does not record. karmada-scheduler would divide at once when the
/// workload is handed back.
fn is_rescheduled(binding: &ResourceBinding) -> bool {
    binding.spec.reschedule_triggered_at.as_ref().map(|time| time.0)
        > binding.status.last_scheduled_time.as_ref().map(|time| time.0)
}

fn is_scheduled(binding: &ResourceBinding) -> bool {
    let has = |condition: &&Value, name: &str, value: &str| condition.get(name).and_then(Value::as_str) == Some(value);
    let mut conditions = binding.status.conditions.iter();
    conditions.any(|condition| has(&condition, "type", "Scheduled") && has(&condition, "status", "True"))
}

/// The conditions, with `Scheduled` as the scheduler would set it.
fn scheduled(binding: &ResourceBinding, now: Timestamp) -> Vec<Value> {
    let is_ours = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some("Scheduled");
    let before = binding.status.conditions.iter().find(is_ours);
    let since = before.filter(|_| is_scheduled(binding)).and_then(|before| before.get("lastTransitionTime")).cloned();
    let mut conditions: Vec<Value> = binding.status.conditions.iter().filter(|one| !is_ours(one)).cloned().collect();
    conditions.push(json!({
        "type": "Scheduled", "status": "True", "reason": "Success",
        "message": "Binding has been scheduled successfully.",
        "lastTransitionTime": since.unwrap_or_else(|| json!(stored(now))),
    }));
    conditions
}

fn task(eviction: Eviction<'_>, now: Timestamp) -> Value {
    let mut task = json!({"fromCluster": eviction.cluster, "replicas": eviction.replicas, "producer": names::PRODUCER,
        "reason": "TaintUntolerated", "creationTimestamp": json!(stored(now))});
    // Karmada before 1.15 refuses this name of the graceful mode, which is that of a task without one in every version.
    let purge = match eviction.purge {
        Purge::Gracefully => None,
        Purge::Directly => Some("Directly"),
        Purge::Never => Some("Never"),
    };
    if let Some((task, purge)) = task.as_object_mut().zip(purge) {
        task.insert("purgeMode".to_owned(), json!(purge));
    }
    task
}
