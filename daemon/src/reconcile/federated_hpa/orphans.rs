//! Cleans up after FederatedHPAs: bindings that were suspended for one that is deleted, that the user suspends before it
//! has divided the workload, or whose target changed before takeover, and HPAs of a deleted one
//! (docs/design.md#law-8-always-let-go). Talks to the API server.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::api::GetParams;
use kube::core::{ObjectMeta, PartialObjectMeta, Request};
use tracing::{info, warn};

use super::cache::entry::{Binding, FederatedHpaEntry};
use super::cache::{Marked, View};
use super::progress::{Progress, UNSEEN};
use super::worker::FederatedHpaWorker;
use super::write::release::{Release, Released};
use super::write::resend;
use crate::api::FederatedHPA;
use crate::api::federated_hpa::FederatedHPASpec;
use crate::api::hpa::CrossVersionObjectReference;
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::key::Key;
use crate::controller::request::send;
use crate::decision::api_version::{GROUP, VERSION};
use crate::runtime::leader::Leader;

impl FederatedHpaWorker {
    /// Does the next cleanup step for the FederatedHPA `key`, existing or not.
    pub(super) async fn sweep(&self, leader: &Leader, key: &Key, view: Option<&View>) -> Result<Progress, WriteError> {
        let mut wake = self.delete_again(leader, key, view).await?;
        let marked = self.live.cache.marked_for(key);
        // A suspended object divides nothing, so Karmada's scheduler does it first.
        let served = |entry: &FederatedHpaEntry, binding: &Binding| {
            let suspended = self.suspends(entry);
            if suspended { entry.held() && binding.is_divided() } else { entry.held() || self.serves(entry) }
        };
        let is_served = |marked: &Marked| marked.federated_hpas.iter().any(|entry| served(entry, &marked.binding));
        let there = |binding: &Arc<Binding>| binding.object.metadata.deletion_timestamp.is_none();
        let stray = marked.into_iter().filter(|marked| !is_served(marked)).map(|marked| marked.binding);
        let stray: Vec<Arc<Binding>> = stray.filter(there).collect();
        let gone = view.is_none_or(|view| view.federated_hpa.is_left());
        let orphans = gone && self.live.cache.has_works(key);
        if stray.is_empty() && !orphans {
            return Ok(Progress::Settled(wake));
        }
        if view.is_none() && self.exists(key).await? {
            return Ok(Progress::Settled(self.after(UNSEEN)));
        }
        for binding in &stray {
            match self.give_back(leader, key, binding).await? {
                Progress::Settled(next) => wake = [wake, next].into_iter().flatten().min(),
                unsettled => return Ok(unsettled),
            }
        }
        if stray.is_empty() {
            match self.release_left(leader, key, &self.left_behind(key)).await? {
                Progress::Settled(next) => wake = [wake, next].into_iter().flatten().min(),
                unsettled => return Ok(unsettled),
            }
        }
        Ok(Progress::Settled(wake))
    }

    /// Has Karmada delete soon what a cluster missed while it did not answer: an HPA that goes on would write the replicas
    /// of a workload that is handed back. Returns when the next is due.
    async fn delete_again(
        &self,
        leader: &Leader,
        key: &Key,
        view: Option<&View>,
    ) -> Result<Option<Timestamp>, WriteError> {
        let gone;
        let left = match view {
            // The plan of one that is held does it with its other writes.
            Some(view) if view.federated_hpa.held() => return Ok(None),
            None if !self.live.cache.has_works(key) => return Ok(None),
            Some(view) => view,
            None => {
                gone = self.left_behind(key);
                &gone
            }
        };
        let now = (self.clock)();
        for action in resend::deletions(left, now) {
            self.applier.apply_hpa(leader, left, &action).await?;
        }
        Ok(resend::next(left, now))
    }

    /// What a FederatedHPA left that is gone.
    fn left_behind(&self, key: &Key) -> View {
        self.live.cache.left_behind(stand_in(key, CrossVersionObjectReference::default()), None)
    }

    /// Hands back the workload of a binding that no FederatedHPA holds.
    pub(super) async fn give_back(
        &self,
        leader: &Leader,
        key: &Key,
        binding: &Arc<Binding>,
    ) -> Result<Progress, WriteError> {
        let resource = &binding.object.spec.resource;
        let target = CrossVersionObjectReference {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            name: resource.name.clone(),
        };
        let name = binding.object.metadata.name.as_deref().unwrap_or_default();
        let view = self.live.cache.left_behind(stand_in(key, target), Some(Arc::clone(binding)));
        let about = Key::new(&key.namespace, &format!("{}/{name}", key.name));
        let round = self.release_left(leader, &about, &view).await?;
        if let Progress::Wrote = round {
            info!(binding = %about, "resumed a ResourceBinding that no FederatedHPA uses: karmada-scheduler divides its replicas again");
        }
        Ok(round)
    }

    async fn release_left(&self, leader: &Leader, key: &Key, view: &View) -> Result<Progress, WriteError> {
        let waited = Duration::ZERO;
        let (takeover, applier, retires) = (&self.takeover, &self.applier, self.retires());
        let release = Release { takeover, applier, leader, view, key, waited, retires };
        match release.go_on().await? {
            Released::Partly => Ok(Progress::Wrote),
            Released::Waits(time) => Ok(Progress::Settled(self.after(time))),
            Released::Wholly(undone) => {
                if !undone.is_empty() {
                    warn!(object = %key, "released a workload, but could not finish: {}", undone.join("; "));
                }
                self.takeover.releases.forget(key);
                Ok(Progress::Settled(None))
            }
        }
    }

    pub(super) fn after(&self, time: Duration) -> Option<Timestamp> {
        (self.clock)().checked_add(SignedDuration::try_from(time).ok()?).ok()
    }

    /// Whether the FederatedHPA exists, although it is not in the cache.
    async fn exists(&self, key: &Key) -> Result<bool, Failure> {
        let path = format!("/apis/{GROUP}/{VERSION}/namespaces/{}/federatedhpas", key.namespace);
        let request = Request::new(path).get_metadata(&key.name, &GetParams::default());
        let object = format!("FederatedHPA {key}");
        let asked = Asked { verb: "get", group: GROUP, resource: "federatedhpas", object: &object };
        match send::<PartialObjectMeta>(&self.writer.client, request, asked).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.reason == reason::NOT_FOUND => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

/// A stand-in for a deleted FederatedHPA: its name and its target.
fn stand_in(key: &Key, target: CrossVersionObjectReference) -> FederatedHpaEntry {
    let metadata = ObjectMeta {
        name: Some(key.name.to_string()),
        namespace: Some(key.namespace.to_string()),
        ..ObjectMeta::default()
    };
    let spec = FederatedHPASpec { scale_target_ref: target, ..FederatedHPASpec::default() };
    FederatedHpaEntry::of(&FederatedHPA { metadata, spec, status: None })
}
