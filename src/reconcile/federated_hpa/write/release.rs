//! Hands a workload back to Karmada without moving a pod, in every state and in bounded time
//! (docs/design.md#law-8-always-let-go, docs/design.md#on-the-wire). Talks to the API server.
//!
//! First the member HPAs are deleted, so that replicas no longer change. Then the binding and the template get the
//! requested replicas of the members, while these keep their own replicas. Then the label is removed, which has no
//! effect any more, and last Karmada's scheduler is resumed, with a consistent binding. Rejected steps are skipped and
//! reported; only resuming the scheduler is mandatory. Where the binding cannot be made consistent the label stays.

use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::apply::{Applier, ApplyContext};
use super::releases::{PATIENCE, ReleaseProgress};
use super::takeover::{Takeover, labelled, target};
use super::writer::{Meta, Scalable};
use crate::api::ResourceBinding;
use crate::controller::failure::{Asked, WriteError, reason};
use crate::controller::key::Key;
use crate::convert;
use crate::convert::fleet::{number, replicas};
use crate::decision::backoff::ErrorClass;
use crate::decision::kinds::keeps_by_itself;
use crate::decision::plan::{Action, Entry};
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::observe::live_state::can_be_asked;
use crate::reconcile::federated_hpa::observe::members::proxied;
use crate::reconcile::federated_hpa::observe::{is_silent, reported};
use crate::reconcile::scale_target::{ResourcePath, TargetRef};
use crate::runtime::clock::steady;
use crate::runtime::leader::Leader;

/// Longest wait for the replicas of a kind that Karmada may not count.
const UNCOUNTED: Duration = Duration::from_secs(15);
/// A pending condition is checked again after this time.
const LOOK: Duration = Duration::from_mins(1);
/// Most clusters to query at a time.
const ASKED: usize = 16;

/// Progress of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// A write was made: check again.
    Partly,
    /// It waits for an event, at most for this long.
    Waits(Duration),
    /// The workload is handed back, except for the named steps: only the finalizer remains.
    Wholly(Vec<String>),
}

/// A release.
#[derive(Clone, Copy)]
pub struct Release<'a> {
    /// Access to the template.
    pub takeover: &'a Takeover,
    /// Applies writes.
    pub applier: &'a Applier,
    /// Permission to write.
    pub leader: &'a Leader,
    /// The observed objects.
    pub view: &'a View,
    /// Identifies the release.
    pub key: &'a Key,
    /// For how long earlier leaders have tried.
    pub waited: Duration,
    /// Whether the customizations of Karmada's interpreter go next.
    pub retires: bool,
}

impl Release<'_> {
    /// Takes the next step.
    ///
    /// # Errors
    /// When this process no longer leads, or the API server is unreachable or refuses to resume the scheduler.
    pub async fn go_on(self) -> Result<Released, WriteError> {
        let Self { takeover, view, .. } = self;
        takeover.forget(&view.federated_hpa.key());
        self.note(|progress| _ = progress.since.get_or_insert_with(|| self.begun()));
        if let Some(step) = self.recall().await? {
            return Ok(step);
        }
        let there = |binding: &&Binding| binding.object.metadata.deletion_timestamp.is_none();
        if let Some(binding) = view.taken_over_binding.as_deref().filter(there)
            && (binding.suspended() || binding.marked().is_some())
        {
            return self.hand_back(binding).await;
        }
        Ok(Released::Wholly(self.known().undone))
    }

    fn known(self) -> ReleaseProgress {
        self.takeover.releases.0.lock().get(self.key).cloned().unwrap_or_default()
    }

    fn note(self, note: impl FnOnce(&mut ReleaseProgress)) {
        note(self.takeover.releases.0.lock().entry(self.key.clone()).or_default());
    }

    fn undone(self, what: String) {
        self.note(|progress| {
            if !progress.undone.contains(&what) {
                progress.undone.push(what);
            }
        });
    }

    /// When it began, as far as that counts: a new leader has at least the time of one look.
    fn begun(self) -> Instant {
        let now = steady();
        now.checked_sub(self.waited.min(PATIENCE.saturating_sub(LOOK))).unwrap_or(now)
    }

    /// Whether the longest wait is over.
    fn is_late(self) -> bool {
        self.known().since.is_some_and(|since| steady().saturating_duration_since(since) >= PATIENCE)
    }

    /// Rejected steps are skipped, and after the longest wait all failing ones: the workload is handed back anyway.
    fn attempt<T>(self, tried: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
        match tried {
            Err(WriteError::Failed(failure))
                if matches!(failure.class, ErrorClass::Refused | ErrorClass::Missing)
                    || (failure.class == ErrorClass::Transient && self.is_late()) =>
            {
                // A missing object needs no further step.
                if failure.reason != reason::NOT_FOUND {
                    self.undone(failure.message);
                }
                Ok(None)
            }
            tried => tried.map(Some),
        }
    }

    /// A step that is required before the label is removed, or pods would move: until the longest wait is over, the
    /// release does not continue without it.
    fn insist<T>(self, tried: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
        if tried.is_err() && !self.is_late() { tried.map(Some) } else { self.attempt(tried) }
    }

    /// Deletes the HPAs of the members.
    async fn recall(self) -> Result<Option<Released>, WriteError> {
        let Self { applier, leader, view, .. } = self;
        let mut deleted = false;
        for member_hpa in view.member_hpas.iter().filter(|member_hpa| !member_hpa.deleting()) {
            if let Some(wish) = member_hpa.wish() {
                self.note(|progress| _ = progress.wished.insert(member_hpa.cluster().to_owned(), replicas(wish)));
            }
            deleted |= self.attempt(applier.writer.delete_work(leader, member_hpa).await)?.is_some();
        }
        if deleted {
            return Ok(Some(Released::Partly));
        }
        // A cluster that does not answer loses its HPA when it recovers.
        let left = view.member_hpas.iter().filter(|member_hpa| !is_silent(view, member_hpa.cluster()));
        let left: Vec<&str> = left.map(|member_hpa| member_hpa.cluster()).collect();
        if left.is_empty() {
            return Ok(None);
        }
        if !self.is_late() {
            return Ok(Some(Released::Waits(LOOK)));
        }
        self.undone(format!("the HPAs of {} are still there: delete them in these clusters", left.join(", ")));
        Ok(None)
    }

    async fn hand_back(self, binding: &Binding) -> Result<Released, WriteError> {
        let key = self.view.federated_hpa.key();
        let target = target(&self.view.federated_hpa.taken_over, &key.namespace);
        let read = self.takeover.template(target).await.map_err(WriteError::from);
        // Without a template there is nothing to hand back.
        if let Some((place, template)) = self.attempt(read)?.filter(|(_, template)| labelled(template))
            && let Some(step) = self.settle(binding, target, &place, &template).await?
        {
            return Ok(step);
        }
        // Whoever else suspended it ends that.
        if binding.marked().is_none() {
            return Ok(Released::Wholly(self.known().undone));
        }
        let annotations = json!({names::SUSPENDED_FOR: Value::Null, names::SUSPENDED_BEFORE: Value::Null});
        let patch = if binding.suspended_before() {
            json!({"metadata": {"annotations": annotations}})
        } else {
            json!({"metadata": {"annotations": annotations}, "spec": {"suspension": {"scheduling": Value::Null}}})
        };
        self.applier.writer.binding(self.leader, &binding.object, patch, false).await?;
        Ok(Released::Partly)
    }

    /// Makes the binding consistent, and removes the label. `None`: that is done, or not possible.
    async fn settle(
        self,
        binding: &Binding,
        target: TargetRef<'_>,
        place: &ResourcePath,
        template: &Meta,
    ) -> Result<Option<Released>, WriteError> {
        let Self { takeover, applier, leader, view, .. } = self;
        let entries = self.entries(binding, (&place.path, target.name)).await;
        let whole = whole(binding, &entries);
        let mut differs = false;
        // No replicas are requested, or known: the user's number stays, and Karmada divides it.
        if whole > 0 {
            let group = &binding.object.status.scheduler_observing_affinity_name;
            let about = ApplyContext { leader, view, binding, group, evicts: false };
            let stored = binding.entries().iter().map(|(cluster, replicas)| (cluster, *replicas));
            let stands = stored.eq(entries.iter().map(|entry| (entry.cluster, number(entry.replicas))));
            let wrote = if stands {
                self.attempt(applier.follow(about).await)?.unwrap_or(false)
            } else {
                let action = Action::UpdateBinding { entries, evictions: Vec::new() };
                let tried = applier.apply(about, &action).await;
                let gone = matches!(&tried, Err(WriteError::Failed(failure)) if failure.reason == reason::NOT_FOUND);
                // Members keep the replicas of other kinds only as long as there is a customization.
                let unkept = self.retires && !gone && !keeps_by_itself(target.api_version, target.kind);
                let written = if unkept { tried.map(Some)? } else { self.insist(tried)? }.is_some();
                differs = !written && !gone;
                written
            };
            if wrote {
                return Ok(Some(Released::Partly));
            }
            if let Some(step) = self.scale(binding, target, (place, template), whole).await? {
                return Ok(Some(step));
            }
        }
        // Without the label Karmada would set the members to their old entries.
        if differs {
            self.undone(format!(
                "{target} keeps the label {}: its clusters run other numbers than their entries in the ResourceBinding, and \
                 without the label Karmada would set them to these; remove it once the entries are what runs",
                names::RETAIN_REPLICAS
            ));
            return Ok(None);
        }
        let left = takeover.apply_labels(leader, target, place, template, json!({})).await;
        // Another writer may also own the label: it stays.
        let fell = self.attempt(left)?.is_some_and(|left| !labelled(&left));
        Ok(fell.then_some(Released::Partly))
    }

    /// Scales the template to the requested replicas, and waits for Karmada to follow. `None`: it has, or does not.
    async fn scale(
        self,
        binding: &Binding,
        target: TargetRef<'_>,
        (place, template): (&ResourcePath, &Meta),
        whole: Replicas,
    ) -> Result<Option<Released>, WriteError> {
        if binding.object.spec.replicas.unwrap_or_default() == number(whole) {
            return Ok(None);
        }
        let now = steady();
        if let Some((_, at)) = self.known().scaled.filter(|(to, _)| *to == whole) {
            let patience = if is_counted(&binding.object) { PATIENCE } else { UNCOUNTED };
            let left = patience.saturating_sub(now.saturating_duration_since(at));
            if !left.is_zero() && !self.is_late() {
                return Ok(Some(Released::Waits(left.min(LOOK))));
            }
            if is_counted(&binding.object) {
                self.undone(format!("Karmada did not follow {target} to {whole} replicas in time"));
            }
            return Ok(None);
        }
        let resource = format!("{}/scale", place.plural);
        let asked = Asked { verb: "patch", group: &place.group, resource: &resource, object: &target };
        let workload = Scalable { path: &place.path, name: target.name, asked };
        let scaled = self.applier.writer.scale(self.leader, workload, &template.metadata, number(whole)).await;
        if self.attempt(scaled)?.is_none() {
            return Ok(None);
        }
        self.note(|progress| progress.scaled = Some((whole, now)));
        // Karmada copies it into the binding.
        Ok(Some(Released::Waits(if is_counted(&binding.object) { LOOK } else { UNCOUNTED })))
    }

    /// The entries with the requested replicas of the members. The members are queried: existing replicas are fewer
    /// where pods cannot be created, and more during a rollout.
    async fn entries<'b>(self, binding: &'b Binding, (path, name): (&str, &str)) -> Vec<Entry<'b>> {
        let known = self.known().asked;
        let stored = binding.entries();
        let mut unasked: Vec<String> = Vec::new();
        // What runs of a workload that is not Karmada's is not handed back.
        let own = |cluster: &str| binding.left_alone().all(|(other, _)| other != cluster);
        for (cluster, _) in stored.iter().filter(|(cluster, _)| !known.contains_key(*cluster) && own(cluster)) {
            unasked.push(cluster.to_owned());
        }
        for clusters in unasked.chunks(ASKED) {
            let mut answers = Vec::new();
            for cluster in clusters {
                answers.push(self.ask(cluster, path, name));
            }
            let answers = join_all(answers).await;
            let answered = clusters.iter().zip(answers).filter_map(|(cluster, reply)| Some((cluster.clone(), reply?)));
            self.note(|progress| progress.asked.extend(answered));
        }
        let asked = self.known().asked;
        let fill =
            |cluster, stored| asked.get(cluster).copied().unwrap_or_else(|| self.guess(binding, cluster, stored));
        let entry = |(cluster, stored)| Entry { cluster, replicas: fill(cluster, stored) };
        stored.iter().map(|(cluster, number)| (cluster, replicas(*number))).map(entry).collect()
    }

    async fn ask(self, cluster: &str, path: &str, name: &str) -> Option<Replicas> {
        let writer = &self.applier.writer;
        if is_silent(self.view, cluster)
            || !writer.cache.cluster(cluster).is_some_and(|known| can_be_asked(&known.object))
        {
            return None;
        }
        let object = format!("{name} in cluster {cluster}");
        let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
        let path = proxied(cluster, path);
        writer.wanted(Scalable { path: &path, name, asked }).await.map(replicas)
    }

    /// Assumed requested replicas of a cluster that cannot be queried: its last replicas, without the extra ones of a
    /// rollout, or its entry.
    fn guess(self, binding: &Binding, cluster: &str, stored: Replicas) -> Replicas {
        let wished = self.known().wished.get(cluster).copied().filter(|wished| *wished > 0);
        let ran = reported(binding, cluster).map(|status| {
            let rolls = status.updated_replicas.is_some_and(|updated| updated < status.replicas);
            let most = wished.filter(|_| rolls).unwrap_or(Replicas::MAX);
            replicas(status.replicas).min(most)
        });
        let ran = ran.filter(|runs| *runs > 0);
        let mut kept = self.view.federated_hpa.desired();
        let zero = kept.any(|(name, kept)| name == cluster && convert::memory::read(kept).1.zero);
        ran.unwrap_or(if zero { 0 } else { stored })
    }
}

/// Whether Karmada divides the replicas of the kind. For other kinds each cluster gets the number of the template.
#[must_use]
pub fn is_counted(binding: &ResourceBinding) -> bool {
    let resource = &binding.spec.resource;
    let native =
        matches!((&*resource.api_version, &*resource.kind), ("apps/v1", "Deployment" | "StatefulSet" | "ReplicaSet"));
    native || binding.spec.replicas.is_some_and(|replicas| replicas > 0)
}

/// Replicas of the template with which the scheduler keeps the entries: their sum where the placement divides. Where
/// every cluster gets all of them: the greatest entry, so that no pod is removed.
fn whole(binding: &Binding, entries: &[Entry<'_>]) -> Replicas {
    let replicas = entries.iter().map(|entry| entry.replicas);
    if is_counted(&binding.object) && binding.divides() {
        replicas.fold(0, Replicas::saturating_add)
    } else {
        replicas.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_binding_that_no_decision_may_be_based_on_is_handed_back_with_what_it_asks_for() {
        let whole = |placement: Value, scheduler: Value| {
            let binding = json!({"metadata": {"name": "web-deployment", "namespace": "prod"},
                "spec": {"placement": placement, "schedulerName": scheduler, "replicas": 4,
                    "clusters": [{"name": "a", "replicas": 8}, {"name": "b", "replicas": 6}]}});
            let binding = Binding::of(&serde_json::from_value(binding).unwrap());
            let entries: Vec<Entry<'_>> = binding
                .entries()
                .iter()
                .map(|(cluster, number)| Entry { cluster, replicas: replicas(*number) })
                .collect();
            (binding.placement().is_ok(), whole(&binding, &entries))
        };
        let placement = |kind: &str| json!({"replicaScheduling": {"replicaSchedulingType": kind}});
        assert_eq!(whole(placement("Divided"), json!("")), (true, 14));
        assert_eq!(whole(placement("Duplicated"), json!("")), (true, 8));
        // Karmada is newer: one member is of another type, or the placement itself.
        assert_eq!(whole(placement("Divided"), json!(5)), (false, 14));
        let newer = |kind: &str| json!({"spreadConstraints": 5, "replicaScheduling": {"replicaSchedulingType": kind}});
        assert_eq!(whole(newer("Divided"), json!("")), (false, 14));
        assert_eq!(whole(newer("Duplicated"), json!("")), (false, 8));
    }
}
