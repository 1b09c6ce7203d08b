//! Takes a workload over: suspends Karmada's scheduler, and lets members keep their replicas
//! (docs/design.md#on-the-wire). Talks to the API server.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{GetParams, Patch, PatchParams};
use kube::core::{PartialObjectMeta, Request};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::releases::Releases;
use super::writer::Writer;
use crate::api::hpa::CrossVersionObjectReference;
use crate::controller::failure::{Asked, Failure, WriteError};
use crate::controller::key::Key;
use crate::controller::managers;
use crate::controller::request::{send, write};
use crate::decision::backoff::ErrorClass;
use crate::decision::binding_mark;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::{Binding, FederatedHpaEntry};
use crate::reconcile::federated_hpa::names;
use crate::reconcile::scale_target::{ResourcePath, TargetRef, Targets};
use crate::runtime::leader::Leader;

/// Versions of a template with the correct label: the one that was read, and the one in the binding at that time.
type Checked = (String, String);

/// Progress of a take-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The binding was written: check again.
    Suspended,
    /// The workload is held; with what failed and holds back nothing else.
    Held(Option<Failure>),
}

/// Takes workloads over.
pub struct Takeover {
    /// Writer to the API server.
    pub writer: Arc<Writer>,
    /// Knows the resource paths of kinds.
    pub targets: Arc<Targets>,
    /// Templates that were checked; lost with the process.
    checked: Mutex<HashMap<Key, Checked>>,
    /// Releases in progress.
    pub releases: Releases,
}

/// The workload that `reference` points to.
#[must_use]
pub fn target<'a>(reference: &'a CrossVersionObjectReference, namespace: &'a str) -> TargetRef<'a> {
    TargetRef { namespace, api_version: &reference.api_version, kind: &reference.kind, name: &reference.name }
}

impl Takeover {
    /// Takes over through `writer`.
    #[must_use]
    pub fn new(writer: Arc<Writer>, targets: Arc<Targets>) -> Self {
        Self { writer, targets, checked: Mutex::default(), releases: Releases::default() }
    }

    /// Adds the finalizer to a FederatedHPA that takes over `workload`, given as `apiVersion kind name`.
    ///
    /// # Errors
    /// When this process no longer leads, or the API server rejects the request or is unreachable.
    pub async fn hold(&self, leader: &Leader, entry: &FederatedHpaEntry, workload: &str) -> Result<(), WriteError> {
        let mut finalizers = entry.object.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(names::FINALIZER.to_owned());
        let annotations = json!({names::WORKLOAD: workload});
        let metadata = json!({"finalizers": finalizers, "annotations": annotations});
        self.writer.federated_hpa(leader, entry, json!({"metadata": metadata})).await
    }

    /// Removes the finalizer from a FederatedHPA whose workload is handed back.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub async fn let_go(&self, leader: &Leader, entry: &FederatedHpaEntry) -> Result<(), WriteError> {
        let finalizers = entry.object.metadata.finalizers.iter().flatten();
        let kept: Vec<&String> = finalizers.filter(|name| *name != names::FINALIZER).collect();
        let metadata = json!({"finalizers": kept, "annotations": {names::WORKLOAD: Value::Null}});
        self.writer.federated_hpa(leader, entry, json!({"metadata": metadata})).await?;
        self.releases.forget(&entry.key());
        Ok(())
    }

    /// Takes the workload over, where that is incomplete.
    ///
    /// A workload that has an HPA of fhpa had its label before that: where the label cannot be looked at now, as after
    /// an edit of the template or by a new leader, nothing else waits for it. A conflict is read again first.
    ///
    /// # Errors
    /// As [`Self::hold`], for a workload that is not held yet.
    pub async fn take_over(&self, leader: &Leader, view: &View, binding: &Binding) -> Result<Taken, WriteError> {
        let key = view.federated_hpa.key();
        let suspended = binding.suspended() && binding.marked() == Some(&key.name);
        if !suspended {
            let marks = binding_mark::marks(&key.name, binding.suspended(), binding.marked().is_some());
            let patch = json!({"metadata": {"annotations": marks}, "spec": {"suspension": {"scheduling": true}}});
            self.writer.binding(leader, &binding.object, patch, false).await?;
        }
        let held = suspended && view.member_hpas.iter().any(|member_hpa| !member_hpa.deleting());
        match self.label(leader, view, binding).await {
            Ok(()) if suspended => Ok(Taken::Held(None)),
            Ok(()) => Ok(Taken::Suspended),
            Err(WriteError::Failed(failure)) if held && failure.class != ErrorClass::Conflict => {
                Ok(Taken::Held(Some(failure)))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads name, version and labels of a template.
    ///
    /// # Errors
    /// When it does not exist, or the API server does not answer.
    pub async fn template(&self, target: TargetRef<'_>) -> Result<(ResourcePath, PartialObjectMeta), Failure> {
        let place = self.targets.place(&target).await?;
        let request = Request::new(&place.path).get_metadata(target.name, &GetParams::default());
        let asked = Asked { verb: "get", group: &place.group, resource: &place.plural, object: &target };
        let read = send::<PartialObjectMeta>(&self.writer.client, request, asked).await?;
        Ok((place, read))
    }

    /// Adds the label to the template with which members keep their replicas. The template is read only when the
    /// binding has another version of it.
    async fn label(&self, leader: &Leader, view: &View, binding: &Binding) -> Result<(), WriteError> {
        let key = view.federated_hpa.key();
        let bound = &binding.object.spec.resource.resource_version;
        let known = |checked: &Checked| !bound.is_empty() && (checked.0 == *bound || checked.1 == *bound);
        if self.checked.lock().get(&key).is_some_and(known) {
            return Ok(());
        }
        let target = target(&view.federated_hpa.object.spec.scale_target_ref, &key.namespace);
        let (place, read) = self.template(target).await?;
        let version = if labelled(&read) && owns_label(&read) {
            read.metadata.resource_version
        } else {
            self.apply_label(leader, target, &place, &read).await?.metadata.resource_version
        };
        self.checked.lock().insert(key, (version.unwrap_or_default(), bound.clone()));
        Ok(())
    }

    /// Applies the label to the template, as field manager of fhpa.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub async fn apply_label(
        &self,
        leader: &Leader,
        target: TargetRef<'_>,
        place: &ResourcePath,
        read: &PartialObjectMeta,
    ) -> Result<PartialObjectMeta, WriteError> {
        self.apply_labels(leader, target, place, read, json!({names::RETAIN_REPLICAS: "true"})).await
    }

    /// Applies exactly these labels to the template, as field manager of fhpa.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub async fn apply_labels(
        &self,
        leader: &Leader,
        target: TargetRef<'_>,
        place: &ResourcePath,
        read: &PartialObjectMeta,
        labels: Value,
    ) -> Result<PartialObjectMeta, WriteError> {
        let body = json!({
            "apiVersion": target.api_version, "kind": target.kind,
            // With its uid a deleted object is not created again.
            "metadata": {"name": target.name, "namespace": target.namespace, "uid": read.metadata.uid, "labels": labels},
        });
        let parameters = PatchParams::apply(managers::RETENTION).force();
        let request = Request::new(&place.path).patch(target.name, &parameters, &Patch::Apply(&body));
        let asked = Asked { verb: "patch", group: &place.group, resource: &place.plural, object: &target };
        write(&self.writer.client, leader, request, asked).await
    }

    /// Forgets a checked template.
    pub fn forget(&self, key: &Key) {
        self.checked.lock().remove(key);
    }
}

/// The annotation value for the workload of `entry`.
#[must_use]
pub fn workload(entry: &FederatedHpaEntry) -> String {
    let CrossVersionObjectReference { api_version, kind, name } = &entry.object.spec.scale_target_ref;
    format!("{api_version} {kind} {name}")
}

/// The field managers that own the label.
fn owners(template: &PartialObjectMeta) -> impl Iterator<Item = &str> {
    let owns = |owner: &&ManagedFieldsEntry| {
        let fields = owner.fields_v1.as_ref().and_then(|fields| fields.0.pointer("/f:metadata/f:labels"));
        fields.is_some_and(|labels| labels.get(format!("f:{}", names::RETAIN_REPLICAS)).is_some())
    };
    let owners = template.metadata.managed_fields.iter().flatten().filter(owns);
    owners.filter_map(|owner| owner.manager.as_deref())
}

/// Whether fhpa owns the label. A label that admission put back is owned by nobody, and an apply without it would not
/// remove it.
#[must_use]
pub fn owns_label(template: &PartialObjectMeta) -> bool {
    owners(template).any(|manager| manager == managers::RETENTION)
}

/// The other field managers that own the label.
#[must_use]
pub fn other_owners(template: &PartialObjectMeta) -> Vec<&str> {
    owners(template).filter(|manager| *manager != managers::RETENTION).collect()
}

/// Whether members keep their replicas.
#[must_use]
pub fn labelled(template: &PartialObjectMeta) -> bool {
    let labels = template.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(names::RETAIN_REPLICAS)).is_some_and(|value| value == "true")
}
