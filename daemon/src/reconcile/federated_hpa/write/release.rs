//! Hands a workload back to Karmada without moving a pod, in every state and in bounded time
//! (docs/design.md#law-8-always-let-go, docs/design.md#on-the-wire). Talks to the API server.
//!
//! First the member HPAs are deleted, so that replicas no longer change. Then the binding and the template get the
//! requested replicas of the members, while these keep their own replicas. Then the label is removed, which has no
//! effect any more, and last Karmada's scheduler is resumed, with a consistent binding. Rejected steps are skipped and
//! reported; only resuming the scheduler is mandatory. Where the binding cannot be made consistent the label stays.

use std::time::Duration;

use kube::core::PartialObjectMeta;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::apply::{Applier, ApplyContext};
use super::binding_replicas::{is_counted, whole};
use super::releases::{PATIENCE, ReleaseProgress, Scaling};
use super::takeover::{Takeover, labelled, target};
use super::writer::Scalable;
use crate::controller::failure::{Asked, WriteError, reason};
use crate::controller::key::Key;
use crate::convert::fleet::{number, replicas};
use crate::decision::backoff::ErrorClass;
use crate::decision::kinds::keeps_by_itself;
use crate::decision::plan::{Action, Entry};
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::observe::is_silent;
use crate::reconcile::scale_target::{ResourcePath, TargetRef};
use crate::runtime::clock::steady;
use crate::runtime::leader::Leader;

/// Longest wait for the replicas of a kind that Karmada may not count.
const UNCOUNTED: Duration = Duration::from_secs(15);
/// A pending condition is checked again after this time.
const LOOK: Duration = Duration::from_mins(1);

/// Why the label stays.
const OTHER_ENTRIES: &str = "its clusters run other numbers than their entries in the ResourceBinding, and without the \
                             label Karmada would set them to these; remove it once the entries are what runs";

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

/// Progress of the replicas of the template.
enum Scaled {
    /// A write was made, or it waits.
    Continues(Released),
    /// The binding asks for what the template does.
    Agrees,
    /// The binding asks for another number than what runs.
    Differs,
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
        if self.awaits_silent() {
            return Ok(Released::Waits(LOOK));
        }
        self.note(|progress| {
            let begun = || begun(if progress.awaiting.is_some() { Duration::ZERO } else { self.waited });
            progress.since = progress.since.or_else(|| Some(begun()));
        });
        if let Some(step) = self.recall().await? {
            return Ok(step);
        }
        let there = |binding: &&Binding| binding.object.metadata.deletion_timestamp.is_none();
        if let Some(binding) = view.taken_over_binding.as_deref().filter(there)
            && (binding.suspended() || binding.marked().is_some())
        {
            return self.hand_back(binding).await;
        }
        let left = self.leave(view.taken_over_binding.as_deref().is_some_and(|binding| there(&binding))).await?;
        Ok(left.unwrap_or_else(|| Released::Wholly(self.known().undone)))
    }

    /// Whether a cluster that runs the workload does not answer, and is still waited for: its HPA goes on there, and what
    /// it asks for by now is known only once the cluster is back. Without the label Karmada would set it to what was last
    /// known. Until then the other clusters keep their HPAs, too.
    fn awaits_silent(self) -> bool {
        let Self { view, .. } = self;
        let runs = |cluster: &str| {
            view.taken_over_binding.as_deref().is_some_and(|binding| binding.entries().any(|(name, _)| name == cluster))
        };
        let mut members = view.member_hpas.iter().map(|member_hpa| member_hpa.cluster());
        // An installation that goes waits for nobody.
        !self.retires
            && self.waited < PATIENCE
            && members
                .any(|cluster| view.fleet.get(cluster).is_some_and(|(member, _)| !member.answers()) && runs(cluster))
            && self.takeover.releases.awaits(self.key)
    }

    pub(super) fn known(self) -> ReleaseProgress {
        self.takeover.releases.0.lock().get(self.key).cloned().unwrap_or_default()
    }

    pub(super) fn note(self, note: impl FnOnce(&mut ReleaseProgress)) {
        note(self.takeover.releases.0.lock().entry(self.key.clone()).or_default());
    }

    pub(super) fn undone(self, what: String) {
        self.note(|progress| {
            if !progress.undone.contains(&what) {
                progress.undone.push(what);
            }
        });
    }

    /// Whether the longest wait is over.
    fn is_late(self) -> bool {
        self.known().since.is_some_and(|since| steady().saturating_duration_since(since) >= PATIENCE)
    }

    /// Rejected steps are skipped, and after the longest wait all failing ones: the workload is handed back anyway.
    pub(super) fn attempt<T>(self, tried: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
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
        for member_hpa in &view.member_hpas {
            // Another leader may have deleted it.
            if let Some(wish) = member_hpa.wish() {
                self.note(|progress| _ = progress.wished.insert(member_hpa.cluster().to_owned(), replicas(wish)));
            }
            if !member_hpa.deleting() {
                deleted |= self.attempt(applier.writer.delete_work(leader, member_hpa).await)?.is_some();
            }
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
        template: &PartialObjectMeta,
    ) -> Result<Option<Released>, WriteError> {
        let entries = self.entries(binding, (&place.path, target.name)).await;
        let whole = whole(binding, &entries);
        let mut keeps = None;
        // No replicas are requested, or known: the user's number stays, and Karmada divides it.
        if whole > 0 {
            let (wrote, differs) = self.enter(binding, target, entries).await?;
            if wrote {
                return Ok(Some(Released::Partly));
            }
            let scaled = self.scale(binding, target, (place, template), whole).await?;
            if let Scaled::Continues(step) = scaled {
                return Ok(Some(step));
            }
            keeps = if differs {
                Some(OTHER_ENTRIES.to_owned())
            } else if matches!(scaled, Scaled::Differs) {
                let asks = binding.object.spec.replicas.unwrap_or_default();
                Some(format!(
                    "its ResourceBinding asks for {asks} replicas where {whole} run, and without the label Karmada would \
                     divide these; remove it once both ask for what is to run"
                ))
            } else {
                None
            };
        }
        if let Some(why) = keeps {
            self.keeps_label(format!("{target} keeps the label {}: {why}", names::RETAIN_REPLICAS));
            return Ok(None);
        }
        self.unlabel(target, place, template).await
    }

    /// Writes the entries. Returns whether it wrote, and whether they differ from what runs.
    async fn enter(
        self,
        binding: &Binding,
        target: TargetRef<'_>,
        entries: Vec<Entry<'_>>,
    ) -> Result<(bool, bool), WriteError> {
        let Self { applier, leader, view, .. } = self;
        let group = &binding.object.status.scheduler_observing_affinity_name;
        // An entry stands for the placement by which it was written: after another one Karmada divides anew.
        let about = ApplyContext { leader, view, binding, group, evicts: false, selected: &[] };
        if binding.entries().eq(entries.iter().map(|entry| (entry.cluster, number(entry.replicas)))) {
            return Ok((self.attempt(applier.follow(about).await)?.unwrap_or(false), false));
        }
        let action = Action::UpdateBinding { entries, evictions: Vec::new() };
        let tried = applier.apply(about, &action).await;
        let gone = matches!(&tried, Err(WriteError::Failed(failure)) if failure.reason == reason::NOT_FOUND);
        // Members keep the replicas of other kinds only as long as there is a customization.
        let unkept = self.retires && !gone && !keeps_by_itself(target.api_version, target.kind);
        let written = if unkept { tried.map(Some)? } else { self.insist(tried)? }.is_some();
        Ok((written, !written && !gone))
    }

    /// Scales the template to the requested replicas, and waits until Karmada has copied them into the binding. Where it
    /// does not, they are written there: its scheduler would divide what the binding asked for before.
    async fn scale(
        self,
        binding: &Binding,
        target: TargetRef<'_>,
        (place, template): (&ResourcePath, &PartialObjectMeta),
        whole: Replicas,
    ) -> Result<Scaled, WriteError> {
        let asks = binding.object.spec.replicas.unwrap_or_default();
        if asks == number(whole) {
            return Ok(Scaled::Agrees);
        }
        let (counted, patience, now) = (is_counted(&binding.object), patience(binding), steady());
        let Some(scaling) = self.known().scaled.filter(|scaling| scaling.to == whole) else {
            let resource = format!("{}/scale", place.plural);
            let asked = Asked { verb: "patch", group: &place.group, resource: &resource, object: &target };
            let workload = Scalable { path: &place.path, name: target.name, asked };
            let scaled = self.applier.writer.scale(self.leader, workload, &template.metadata, number(whole)).await;
            if self.attempt(scaled)?.is_none() {
                return Ok(if counted { Scaled::Differs } else { Scaled::Agrees });
            }
            self.note(|progress| progress.scaled = Some(Scaling { to: whole, from: asks, at: now, copied: false }));
            let copies = if patience.is_zero() { Released::Partly } else { Released::Waits(patience.min(LOOK)) };
            return Ok(Scaled::Continues(copies));
        };
        let left = patience.saturating_sub(now.saturating_duration_since(scaling.at));
        if !left.is_zero() && !self.is_late() {
            return Ok(Scaled::Continues(Released::Waits(left.min(LOOK))));
        }
        // Karmada follows what somebody else asks for meanwhile.
        if !counted || asks != scaling.from {
            return Ok(Scaled::Agrees);
        }
        if scaling.copied {
            return Ok(Scaled::Differs);
        }
        let patch = json!({"spec": {"replicas": number(whole)}});
        let written = self.applier.writer.binding(self.leader, &binding.object, patch, false).await;
        if self.attempt(written)?.is_none() {
            return Ok(Scaled::Differs);
        }
        self.note(|progress| progress.scaled = Some(Scaling { copied: true, ..scaling }));
        Ok(Scaled::Continues(Released::Partly))
    }
}

/// When a release began that has taken so long, as far as that counts: a new leader has at least the time of one look. The
/// wait for clusters that do not answer is no part of it.
fn begun(waited: Duration) -> Instant {
    let now = steady();
    now.checked_sub(waited.min(PATIENCE.saturating_sub(LOOK))).unwrap_or(now)
}

/// Longest wait until Karmada has copied the replicas of the template into the binding.
fn patience(binding: &Binding) -> Duration {
    match (is_counted(&binding.object), binding.is_claimed()) {
        (false, _) => UNCOUNTED,
        (true, true) => PATIENCE,
        (true, false) => Duration::ZERO,
    }
}
