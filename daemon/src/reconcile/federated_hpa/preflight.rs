//! Checks before a takeover: whether the workload can be scaled, read and handed back
//! (docs/design.md#law-7-look-before-taking, docs/design.md#law-11-stay-in-its-lane), and that nothing else scales it.
//! Talks to the API server; does not write the workload, its binding or Karmada's interpreter.

use jiff::SignedDuration;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde::de::IgnoredAny;
use serde_json::json;
use tracing::debug;

use super::cache::View;
use super::cache::entry::Binding;
use super::manifest::adopts;
use super::observe::foreign_hpas::Found;
use super::observe::{PlacementSpec, foreign_hpas, observe, retention};
use super::progress::{Progress, UNSEEN, bound};
use super::worker::FederatedHpaWorker;
use super::write::takeover::{Takeover, target, workload};
use super::write::writer::merging;
use super::{names, status};
use crate::controller::failure::{Asked, Failure, WriteError};
use crate::controller::managers;
use crate::controller::request::write;
use crate::decision::backoff::ErrorClass;
use crate::decision::few::Few;
use crate::decision::health::AMBIGUOUS;
use crate::runtime::leader::Leader;

/// The ResourceBinding cannot be parsed.
pub const BINDING_UNREADABLE: &str = "BindingUnreadable";
/// Somebody else suspends Karmada's scheduler for a workload that is not divided yet.
pub const SCHEDULING_SUSPENDED: &str = "SchedulingSuspended";

/// The placement by which a workload is divided.
///
/// # Errors
/// Why nothing may be decided by the binding.
pub fn divisible<'a>(view: &'a View, binding: &'a Binding) -> Result<PlacementSpec<'a>, Failure> {
    let placement_spec = PlacementSpec::of(view, binding).map_err(|why| unreadable(binding, why))?;
    if binding.is_divisible() {
        return Ok(placement_spec);
    }
    let message = format!(
        "ResourceBinding {} has spec.suspension.scheduling: true, which fhpa did not set, and no clusters yet: the workload \
         is divided once whoever set it removes it",
        named(binding)
    );
    Err(Failure::new(ErrorClass::Refused, SCHEDULING_SUSPENDED, message))
}

/// The binding by which the workload of `view` is divided, with its placement; `None`: nothing may be decided by one.
pub fn divided(view: &View) -> Option<(&Binding, PlacementSpec<'_>)> {
    let binding = bound(view)?;
    Some((binding, divisible(view, binding).ok()?))
}

fn named(binding: &Binding) -> &str {
    binding.object.metadata.name.as_deref().unwrap_or_default()
}

/// The failure for a binding that cannot be parsed.
fn unreadable(binding: &Binding, why: &str) -> Failure {
    let name = named(binding);
    let message = format!(
        "ResourceBinding {name} cannot be read, so nothing is decided by it: {why}; see that its policy can be read, or update fhpa \
         to the Karmada that wrote it"
    );
    Failure::new(ErrorClass::Refused, BINDING_UNREADABLE, message)
}

/// For so long a new workload runs nowhere at most, while it is not known whether it can be taken over.
const UNDIVIDED: SignedDuration = SignedDuration::from_secs(60);

impl FederatedHpaWorker {
    /// Checks, and adds the finalizer to the FederatedHPA if all is well.
    pub(crate) async fn begin(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        match retention::fits(&self.live, &view.federated_hpa) {
            // The kinds are being listed.
            Err(failure) if failure.class == ErrorClass::Transient => {
                self.report_unplanned(leader, view, failure.reason, failure.message).await?;
                self.let_karmada_divide(leader, view).await?;
                return Ok(Progress::Settled(self.after(UNSEEN)));
            }
            Err(failure) => return self.decline(leader, view, failure).await,
            Ok(()) => {}
        }
        let Some(binding) = bound(view) else { return self.unbound(leader, view).await };
        let placement_spec = match divisible(view, binding) {
            Ok(placement_spec) => placement_spec,
            Err(failure) => return self.decline(leader, view, failure).await,
        };
        if let Err(failure) = self.unrivalled(view, binding, &placement_spec).await {
            return self.decline(leader, view, failure).await;
        }
        match self.takeover.rehearse(leader, view).await {
            Ok(()) => {
                self.takeover.hold(leader, &view.federated_hpa, &workload(&view.federated_hpa)).await?;
                Ok(Progress::Wrote)
            }
            Err(WriteError::Failed(failure)) if matches!(failure.class, ErrorClass::Refused | ErrorClass::Missing) => {
                self.decline(leader, view, failure).await
            }
            Err(error) => {
                if let WriteError::Failed(failure) = &error
                    && failure.class == ErrorClass::Transient
                {
                    self.let_karmada_divide(leader, view).await?;
                }
                Err(error)
            }
        }
    }

    /// A workload that was suspended at its creation and runs nowhere yet is divided by Karmada, where for a while
    /// nothing says whether it can be taken over.
    async fn let_karmada_divide(&self, leader: &Leader, view: &View) -> Result<(), WriteError> {
        let Some(binding) = view.binding.as_ref().filter(|binding| binding.marked().is_some()) else { return Ok(()) };
        let created = binding.object.metadata.creation_timestamp.as_ref();
        let waited = created.is_none_or(|created| (self.clock)().duration_since(created.0) >= UNDIVIDED);
        if waited && !binding.is_divided() {
            self.give_back(leader, &view.federated_hpa.key(), binding).await?;
        }
        Ok(())
    }

    /// Whether no HPA of the users scales the workload where fhpa would write its own: then neither would scale. One of
    /// the same name is not replaced, and scales on; one that can be adopted is deleted after the takeover.
    async fn unrivalled(
        &self,
        view: &View,
        binding: &Binding,
        placement_spec: &PlacementSpec<'_>,
    ) -> Result<(), Failure> {
        let entry = &view.federated_hpa;
        let observed = observe(view, binding, placement_spec, &self.live, (self.clock)());
        let chosen = observed.request.clusters.iter().filter(|cluster| cluster.is_candidate);
        let chosen = chosen.map(|cluster| cluster.name).collect();
        let (adopts, own) = (adopts(&entry.object), entry.key().name);
        let counts = |found: &Found| found.hpa.name != *own && (!adopts || found.hpa.owner.is_some());
        let rivals = foreign_hpas::look(&self.live, view, chosen, counts).await;
        if rivals.is_empty() {
            return Ok(());
        }
        let remedy = if rivals.iter().any(|found| found.hpa.owner.is_some()) {
            "delete it with its owner, which would restore it".to_owned()
        } else {
            format!("delete it there, or annotate this object with {}: \"true\" to have it deleted", names::ADOPT)
        };
        let message = format!(
            "another HPA scales this workload in member clusters, so it is not taken over: {remedy}; the other HPA is {}",
            Few(&rivals)
        );
        Err(Failure::new(ErrorClass::Refused, AMBIGUOUS, message))
    }

    /// The workload cannot be taken over: reports why, and hands back a binding that was suspended at its creation.
    async fn decline(&self, leader: &Leader, view: &View, failure: Failure) -> Result<Progress, WriteError> {
        debug!(object = %view.federated_hpa.key(), reason = failure.reason, "workload not taken over: {failure}");
        self.report_unplanned(leader, view, failure.reason, failure.message).await?;
        if let Some(binding) = view.binding.as_ref().filter(|binding| binding.marked().is_some())
            && let Progress::Wrote = self.give_back(leader, &view.federated_hpa.key(), binding).await?
        {
            return Ok(Progress::Wrote);
        }
        Ok(Progress::Settled(self.later()))
    }

    /// Reports why there is no plan: the assignment is kept.
    pub(crate) async fn report_unplanned(
        &self,
        leader: &Leader,
        view: &View,
        reason: &'static str,
        message: String,
    ) -> Result<(), WriteError> {
        let parts = ("False", reason, message);
        let status = status::unplanned(&view.federated_hpa, parts.clone(), parts, (self.clock)());
        self.publish(leader, &view.federated_hpa, &status).await
    }
}

impl Takeover {
    /// Reads the template, and checks the later writes to it with a dry run.
    async fn rehearse(&self, leader: &Leader, view: &View) -> Result<(), WriteError> {
        let key = view.federated_hpa.key();
        let target = target(&view.federated_hpa.object.spec.scale_target_ref, &key.namespace);
        let (place, read) = self.template(target).await?;
        let labels = json!({names::RETAIN_REPLICAS: "true"});
        let body = json!({
            "apiVersion": target.api_version, "kind": target.kind,
            "metadata": {"name": target.name, "namespace": target.namespace, "uid": read.metadata.uid, "labels": labels},
        });
        let requests = Request::new(&place.path);
        let parameters = PatchParams { dry_run: true, ..PatchParams::apply(managers::RETENTION).force() };
        let labelled = requests.patch(target.name, &parameters, &Patch::Apply(&body));
        let asked = Asked { verb: "patch", group: &place.group, resource: &place.plural, object: &target };
        write::<IgnoredAny>(&self.writer.client, leader, labelled, asked).await?;
        let parameters = PatchParams { dry_run: true, ..merging(managers::REPLICAS) };
        let scaled = requests.patch_subresource("scale", target.name, &parameters, &Patch::Merge(json!({"spec": {}})));
        let resource = format!("{}/scale", place.plural);
        let asked = Asked { verb: "patch", group: &place.group, resource: &resource, object: &target };
        write::<IgnoredAny>(&self.writer.client, leader, scaled, asked).await?;
        Ok(())
    }
}
