//! Hands a workload back to Karmada without moving a pod, in every state and in bounded time
//! (docs/design.md#law-8-always-let-go, docs/design.md#on-the-wire). Talks to the API server.
//!
//! First the member HPAs go, so that replicas stand still. Then the entries of the binding and the template take over what is
//! asked for in the members, while these keep their own replicas. Then the label falls, which changes nothing any more, and last
//! Karmada's scheduler comes back to a binding that adds up. What is refused on the way is left undone and told; only the
//! scheduler has to come back.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::apply::{Applier, ApplyContext};
use super::takeover::{Takeover, labelled, target};
use super::writer::{Meta, Scalable};
use crate::api::resource_binding::Placement;
use crate::controller::failure::{Asked, WriteError, reason};
use crate::controller::key::Key;
use crate::convert;
use crate::convert::fleet::{number, replicas};
use crate::decision::backoff::ErrorClass;
use crate::decision::plan::{Action, Entry};
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::observe::live_state::can_be_asked;
use crate::reconcile::federated_hpa::observe::members::proxied;
use crate::reconcile::federated_hpa::observe::{answers, reported};
use crate::reconcile::scale_target::{ResourcePath, TargetRef};
use crate::runtime::clock::steady;
use crate::runtime::leader::Leader;

/// So long others are waited for, counted by this process: the clusters that lose their HPAs, Karmada that follows the template.
const PATIENCE: Duration = Duration::from_mins(3);
/// So long the replicas of a kind are waited for of which Karmada may not know that it has any.
const UNCOUNTED: Duration = Duration::from_secs(15);
/// What is waited for is looked for again after this time.
const LOOK: Duration = Duration::from_mins(1);
/// Clusters that are asked at a time.
const ASKED: usize = 16;

/// How far a release came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// Something was written: look again.
    Partly,
    /// It waits for something that will be seen, and for no longer than this.
    Waits(Duration),
    /// All is handed back but what is named here: only the finalizer is left.
    Wholly(Vec<String>),
}

/// What is known of a release under way.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// When it began.
    since: Option<Instant>,
    /// What members ask for, once their HPAs are gone.
    asked: BTreeMap<String, Replicas>,
    /// What the template was set to, and when.
    scaled: Option<(Replicas, Instant)>,
    /// What was left undone.
    undone: Vec<String>,
}

/// The releases under way; lost with the process, which only begins to wait anew.
#[derive(Debug, Default)]
pub struct Releases(Mutex<HashMap<Key, Progress>>);

impl Releases {
    /// It has ended, or does not take place.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

/// A release.
#[derive(Clone, Copy)]
pub struct Release<'a> {
    /// Knows the template.
    pub takeover: &'a Takeover,
    /// Writes.
    pub applier: &'a Applier,
    /// Who may write.
    pub leader: &'a Leader,
    /// What is seen.
    pub view: &'a View,
    /// Names it among the releases under way.
    pub key: &'a Key,
}

impl Release<'_> {
    /// Does the next thing that is to be done.
    ///
    /// # Errors
    /// When this process leads no more, or the API server is not reached or refuses to let the scheduler come back.
    pub async fn go_on(self) -> Result<Released, WriteError> {
        let Self { takeover, view, .. } = self;
        takeover.forget(&view.order.key());
        self.note(|progress| _ = progress.since.get_or_insert_with(steady));
        if let Some(step) = self.recall().await? {
            return Ok(step);
        }
        let there = |binding: &&Binding| binding.object.metadata.deletion_timestamp.is_none();
        if let Some(binding) = view.taken.as_deref().filter(there)
            && (binding.suspended() || binding.marked().is_some())
        {
            return self.hand_back(binding).await;
        }
        Ok(Released::Wholly(self.known().undone))
    }

    fn known(self) -> Progress {
        self.takeover.releases.0.lock().get(self.key).cloned().unwrap_or_default()
    }

    fn note(self, note: impl FnOnce(&mut Progress)) {
        note(self.takeover.releases.0.lock().entry(self.key.clone()).or_default());
    }

    fn undone(self, what: String) {
        self.note(|progress| {
            if !progress.undone.contains(&what) {
                progress.undone.push(what);
            }
        });
    }

    /// Whether nothing is waited for any longer.
    fn is_late(self) -> bool {
        self.known().since.is_some_and(|since| steady().saturating_duration_since(since) >= PATIENCE)
    }

    /// What is refused is left undone, and after a while whatever fails: the workload is let go all the same.
    fn attempt<T>(self, tried: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
        match tried {
            Err(WriteError::Failed(failure))
                if matches!(failure.class, ErrorClass::Refused | ErrorClass::Missing)
                    || (failure.class == ErrorClass::Transient && self.is_late()) =>
            {
                // What is gone needs nothing more.
                if failure.reason != reason::NOT_FOUND {
                    self.undone(failure.message);
                }
                Ok(None)
            }
            tried => tried.map(Some),
        }
    }

    /// What has to be there before the label may fall, or pods would move: until it is late, nothing goes on without it.
    fn insist<T>(self, tried: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
        if tried.is_err() && !self.is_late() { tried.map(Some) } else { self.attempt(tried) }
    }

    /// Takes the HPAs out of the members.
    async fn recall(self) -> Result<Option<Released>, WriteError> {
        let Self { applier, leader, view, .. } = self;
        let mut deleted = false;
        for sent in view.sent.iter().filter(|sent| !sent.deleting) {
            deleted |= self.attempt(applier.writer.unsend(leader, sent).await)?.is_some();
        }
        if deleted {
            return Ok(Some(Released::Partly));
        }
        // A cluster that does not answer loses its HPA when it is back.
        let left = view.sent.iter().filter(|sent| view.fleet.get(&sent.cluster).is_some_and(|(it, _)| answers(it)));
        let left: Vec<&str> = left.map(|sent| &*sent.cluster).collect();
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
        let key = self.view.order.key();
        let target = target(&self.view.order.taken, &key.namespace);
        let read = self.takeover.template(target).await.map_err(WriteError::from);
        // Without a template there is nothing to hand back.
        if let Some((place, template)) = self.attempt(read)?.filter(|(_, template)| labelled(template))
            && let Some(step) = self.settle(binding, target, &place, &template).await?
        {
            return Ok(step);
        }
        let patch = json!({"metadata": {"annotations": {names::SUSPENDED_FOR: Value::Null}},
            "spec": {"suspension": {"scheduling": Value::Null}}});
        self.applier.writer.binding(self.leader, &binding.object, patch, false).await?;
        Ok(Released::Partly)
    }

    /// Makes the binding add up, and lets the label fall. Nothing: that is done, or cannot be.
    async fn settle(
        self,
        binding: &Binding,
        target: TargetRef<'_>,
        place: &ResourcePath,
        template: &Meta,
    ) -> Result<Option<Released>, WriteError> {
        let Self { takeover, applier, leader, view, .. } = self;
        let entries = self.entries(binding, (&place.path, target.name)).await;
        let whole = binding.placement().map_or(0, |placement| whole(binding, placement, &entries));
        // Nothing is asked for, or known: the user's number stays, and Karmada divides it.
        if whole > 0 {
            let group = &binding.object.status.scheduler_observing_affinity_name;
            let about = ApplyContext { leader, view, binding, group };
            let stored = binding.object.spec.clusters.iter();
            let stands = stored
                .map(|entry| (&*entry.name, entry.replicas))
                .eq(entries.iter().map(|entry| (entry.cluster, number(entry.replicas))));
            let wrote = if stands {
                self.attempt(applier.follow(about).await)?.unwrap_or(false)
            } else {
                let action = Action::UpdateBinding { entries, evictions: Vec::new() };
                self.insist(applier.apply(about, &action).await)?.is_some()
            };
            if wrote {
                return Ok(Some(Released::Partly));
            }
            if let Some(step) = self.scale(binding, target, place, whole).await? {
                return Ok(Some(step));
            }
        }
        let left = takeover.apply_labels(leader, target, place, template, json!({})).await;
        // Somebody else may have put it there, too: it stays.
        let fell = self.attempt(left)?.is_some_and(|left| !labelled(&left));
        Ok(fell.then_some(Released::Partly))
    }

    /// Brings the template to what is asked for, and has Karmada follow. Nothing: it has, or does not.
    async fn scale(
        self,
        binding: &Binding,
        target: TargetRef<'_>,
        place: &ResourcePath,
        whole: Replicas,
    ) -> Result<Option<Released>, WriteError> {
        if binding.object.spec.replicas.unwrap_or_default() == number(whole) {
            return Ok(None);
        }
        let now = steady();
        if let Some((_, at)) = self.known().scaled.filter(|(to, _)| *to == whole) {
            let patience = if is_counted(binding) { PATIENCE } else { UNCOUNTED };
            let left = patience.saturating_sub(now.saturating_duration_since(at));
            if !left.is_zero() && !self.is_late() {
                return Ok(Some(Released::Waits(left.min(LOOK))));
            }
            if is_counted(binding) {
                self.undone(format!("Karmada did not follow {target} to {whole} replicas in time"));
            }
            return Ok(None);
        }
        let resource = format!("{}/scale", place.plural);
        let asked = Asked { verb: "patch", group: &place.group, resource: &resource, object: &target };
        let workload = Scalable { path: &place.path, name: target.name, asked };
        let scaled = self.applier.writer.scale(self.leader, workload, whole).await;
        if self.attempt(scaled)?.is_none() {
            return Ok(None);
        }
        self.note(|progress| progress.scaled = Some((whole, now)));
        // Karmada brings it into the binding.
        Ok(Some(Released::Waits(if is_counted(binding) { LOOK } else { UNCOUNTED })))
    }

    /// The entries with what is asked for in the members. They are asked themselves: what exists is less where pods cannot be
    /// made, and more during a rollout.
    async fn entries<'b>(self, binding: &'b Binding, (path, name): (&str, &str)) -> Vec<Entry<'b>> {
        let known = self.known().asked;
        let stored = &binding.object.spec.clusters;
        let mut unasked: Vec<String> = Vec::new();
        for entry in stored.iter().filter(|entry| !known.contains_key(&entry.name)) {
            unasked.push(entry.name.clone());
        }
        for clusters in unasked.chunks(ASKED) {
            let mut answers = Vec::new();
            for cluster in clusters {
                answers.push(self.ask(cluster, path, name));
            }
            let answers = join_all(answers).await;
            let answered = clusters.iter().zip(answers).filter_map(|(cluster, said)| Some((cluster.clone(), said?)));
            self.note(|progress| progress.asked.extend(answered));
        }
        let asked = self.known().asked;
        let fill =
            |cluster, stored| asked.get(cluster).copied().unwrap_or_else(|| self.guess(binding, cluster, stored));
        let entry = |(cluster, stored)| Entry { cluster, replicas: fill(cluster, stored) };
        stored.iter().map(|entry| (entry.name.as_str(), replicas(entry.replicas))).map(entry).collect()
    }

    async fn ask(self, cluster: &str, path: &str, name: &str) -> Option<Replicas> {
        let writer = &self.applier.writer;
        let is_there = self.view.fleet.get(cluster).is_some_and(|(member, _)| answers(member));
        if !is_there || !writer.cache.place(cluster).is_some_and(|place| can_be_asked(&place.object)) {
            return None;
        }
        let object = format!("{name} in cluster {cluster}");
        let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
        let path = proxied(cluster, path);
        writer.wanted(Scalable { path: &path, name, asked }).await.map(replicas)
    }

    /// What a cluster that cannot be asked is taken to ask for: what it ran last, or what it was given.
    fn guess(self, binding: &Binding, cluster: &str, stored: Replicas) -> Replicas {
        let ran = reported(binding, cluster).map(|status| replicas(status.replicas)).filter(|runs| *runs > 0);
        let status = self.view.order.object.status.as_ref();
        let mut kept = status.and_then(|status| status.cluster_hpa_desired.as_deref()).into_iter().flatten();
        let zero = kept.any(|kept| kept.cluster_name == cluster && convert::memory::read(kept).1.zero);
        ran.unwrap_or(if zero { 0 } else { stored })
    }
}

/// Whether Karmada divides the replicas of the kind. Of others each cluster gets the number of the template.
fn is_counted(binding: &Binding) -> bool {
    let resource = &binding.object.spec.resource;
    let native =
        matches!((&*resource.api_version, &*resource.kind), ("apps/v1", "Deployment" | "StatefulSet" | "ReplicaSet"));
    native || binding.object.spec.replicas.is_some_and(|replicas| replicas > 0)
}

/// Replicas of the template that make the scheduler keep the entries: their sum where the placement divides. Where every
/// cluster gets them: the most that one asks for, so that no pod is taken away.
fn whole(binding: &Binding, placement: &Placement, entries: &[Entry<'_>]) -> Replicas {
    let replicas = entries.iter().map(|entry| entry.replicas);
    if is_counted(binding) && convert::fleet::placement(placement).policy().divides() {
        replicas.fold(0, Replicas::saturating_add)
    } else {
        replicas.max().unwrap_or_default()
    }
}
