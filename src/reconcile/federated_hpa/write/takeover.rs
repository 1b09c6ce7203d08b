//! Takes a workload over: Karmada's scheduler is kept off, and members keep their replicas
//! (docs/design.md#on-the-wire). Talks to the API server.

use std::collections::HashMap;
use std::sync::Arc;

use kube::api::{GetParams, Patch, PatchParams};
use kube::core::Request;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::release::Releases;
use super::writer::{Meta, Writer};
use crate::api::hpa::CrossVersionObjectReference;
use crate::controller::failure::{Asked, Failure, WriteError};
use crate::controller::key::Key;
use crate::controller::managers;
use crate::controller::request::{send, write};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::{Binding, FederatedHpaEntry};
use crate::reconcile::federated_hpa::names;
use crate::reconcile::scale_target::{ResourcePath, TargetRef, Targets};
use crate::runtime::leader::Leader;

/// Versions of a template at which its label was seen to be right: what was read, and what the binding said then.
type Checked = (String, String);

/// Takes workloads over.
pub struct Takeover {
    /// Writes.
    pub writer: Arc<Writer>,
    /// Knows where kinds are.
    pub targets: Arc<Targets>,
    /// Templates that were looked at; lost with the process.
    checked: Mutex<HashMap<Key, Checked>>,
    /// What is being handed back.
    pub releases: Releases,
}

/// The workload that `reference` points to.
#[must_use]
pub fn target<'a>(reference: &'a CrossVersionObjectReference, namespace: &'a str) -> TargetRef<'a> {
    TargetRef { namespace, api_version: &reference.api_version, kind: &reference.kind, name: &reference.name }
}

impl Takeover {
    /// Takes over by `writer`.
    #[must_use]
    pub fn new(writer: Arc<Writer>, targets: Arc<Targets>) -> Self {
        Self { writer, targets, checked: Mutex::default(), releases: Releases::default() }
    }

    /// Puts our finalizer on a FederatedHPA.
    ///
    /// # Errors
    /// When this process leads no more, or the API server refuses or is not reached.
    pub async fn hold(&self, leader: &Leader, order: &FederatedHpaEntry) -> Result<(), WriteError> {
        let mut finalizers = order.object.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(names::FINALIZER.to_owned());
        let annotations = json!({names::WORKLOAD: workload(order)});
        let metadata = json!({"finalizers": finalizers, "annotations": annotations});
        self.writer.order(leader, order, json!({"metadata": metadata})).await
    }

    /// Takes our finalizer off a FederatedHPA, whose workload is handed back.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub async fn let_go(&self, leader: &Leader, order: &FederatedHpaEntry) -> Result<(), WriteError> {
        let finalizers = order.object.metadata.finalizers.iter().flatten();
        let kept: Vec<&String> = finalizers.filter(|name| *name != names::FINALIZER).collect();
        let metadata = json!({"finalizers": kept, "annotations": {names::WORKLOAD: Value::Null}});
        self.writer.order(leader, order, json!({"metadata": metadata})).await?;
        self.releases.forget(&order.key());
        Ok(())
    }

    /// Takes the workload over, as far as that is not done. Returns whether the binding was written.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub async fn take_over(&self, leader: &Leader, view: &View, binding: &Binding) -> Result<bool, WriteError> {
        let key = view.order.key();
        let suspended = binding.suspended() && binding.marked() == Some(&key.name);
        if !suspended {
            let patch = json!({"metadata": {"annotations": {names::SUSPENDED_FOR: &*key.name}},
                "spec": {"suspension": {"scheduling": true}}});
            self.writer.binding(leader, &binding.object, patch, false).await?;
        }
        self.label(leader, view, binding).await?;
        Ok(!suspended)
    }

    /// Reads name, version and labels of a template.
    ///
    /// # Errors
    /// When it does not exist, or the API server does not answer.
    pub async fn template(&self, target: TargetRef<'_>) -> Result<(ResourcePath, Meta), Failure> {
        let place = self.targets.place(&target).await?;
        let request = Request::new(&place.path).get_metadata(target.name, &GetParams::default());
        let asked = Asked { verb: "get", group: &place.group, resource: &place.plural, object: &target };
        let read = send::<Meta>(&self.writer.client, request, asked).await?;
        Ok((place, read))
    }

    /// Puts the label on the template that lets members keep their replicas. The template is read only when the binding
    /// tells of another version of it.
    async fn label(&self, leader: &Leader, view: &View, binding: &Binding) -> Result<(), WriteError> {
        let key = view.order.key();
        let told = &binding.object.spec.resource.resource_version;
        let known = |checked: &Checked| !told.is_empty() && (checked.0 == *told || checked.1 == *told);
        if self.checked.lock().get(&key).is_some_and(known) {
            return Ok(());
        }
        let target = target(&view.order.object.spec.scale_target_ref, &key.namespace);
        let (place, read) = self.template(target).await?;
        let version = if labelled(&read) {
            read.metadata.resource_version
        } else {
            let labels = json!({names::RETAIN_REPLICAS: "true"});
            self.apply_labels(leader, target, &place, &read, labels).await?.metadata.resource_version
        };
        self.checked.lock().insert(key, (version.unwrap_or_default(), told.clone()));
        Ok(())
    }

    /// Applies just these labels to the template, in our name.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub async fn apply_labels(
        &self,
        leader: &Leader,
        target: TargetRef<'_>,
        place: &ResourcePath,
        read: &Meta,
        labels: Value,
    ) -> Result<Meta, WriteError> {
        let body = json!({
            "apiVersion": target.api_version, "kind": target.kind,
            // With its uid nothing is made anew that was deleted.
            "metadata": {"name": target.name, "namespace": target.namespace, "uid": read.metadata.uid, "labels": labels},
        });
        let parameters = PatchParams::apply(managers::RETENTION).force();
        let request = Request::new(&place.path).patch(target.name, &parameters, &Patch::Apply(&body));
        let asked = Asked { verb: "patch", group: &place.group, resource: &place.plural, object: &target };
        write(&self.writer.client, leader, request, asked).await
    }

    /// Forgets what was seen of a template.
    pub fn forget(&self, key: &Key) {
        self.checked.lock().remove(key);
    }
}

/// What is written down of the workload of `order`.
#[must_use]
pub fn workload(order: &FederatedHpaEntry) -> String {
    let CrossVersionObjectReference { api_version, kind, name } = &order.object.spec.scale_target_ref;
    format!("{api_version} {kind} {name}")
}

/// Whether members keep their replicas.
#[must_use]
pub fn labelled(template: &Meta) -> bool {
    let labels = template.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(names::RETAIN_REPLICAS)).is_some_and(|value| value == "true")
}
