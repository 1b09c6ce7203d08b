//! Writes, one request each: each is guarded by the observed version, so that it applies only to the input of the
//! decision, and its response is stored at once. Talks to the API server.

use std::sync::Arc;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};

use crate::api::scale::Scale;
use crate::api::{FederatedHPA, ResourceBinding};
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::managers;
use crate::controller::request::{send, write};
use crate::convert::fleet::number;
use crate::decision::backoff::ErrorClass;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::runtime::leader::Leader;

/// Writes to the API server.
pub struct Writer {
    /// Client of the API server.
    pub client: Client,
    /// Receives the written objects.
    pub cache: Arc<Cache>,
}

/// A merge patch as field manager `manager`.
#[must_use]
pub fn merging(manager: &str) -> PatchParams {
    PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() }
}

impl Writer {
    /// Merges `patch` into a FederatedHPA.
    ///
    /// # Errors
    /// When this process no longer leads, the object changed or is gone, or the API server rejects the request or is
    /// unreachable.
    pub async fn federated_hpa(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        patch: Value,
    ) -> Result<(), WriteError> {
        self.federated_hpa_as(managers::FINALIZER, leader, entry, patch).await
    }

    /// As [`Self::federated_hpa`], as field manager `manager`.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn federated_hpa_as(
        &self,
        manager: &str,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        mut patch: Value,
    ) -> Result<(), WriteError> {
        let key = entry.key();
        let own = entry.own(&key);
        guard(&mut patch, own.version);
        let request = own.requests().patch(&key.name, &merging(manager), &Patch::Merge(&patch));
        let written: FederatedHPA = own.patch(&self.client, leader, None, request).await?;
        self.cache.wrote_federated_hpa(&written);
        Ok(())
    }

    /// Merges `patch` into a ResourceBinding, or into its `status`.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn binding(
        &self,
        leader: &Leader,
        binding: &ResourceBinding,
        mut patch: Value,
        status: bool,
    ) -> Result<ResourceBinding, WriteError> {
        let metadata = &binding.metadata;
        guard(&mut patch, metadata.resource_version.as_deref().unwrap_or_default());
        let (namespace, name) =
            (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default());
        let request = Request::new(format!("/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings"));
        let (parameters, patch) = (merging(managers::BINDING), Patch::Merge(&patch));
        let (request, resource) = if status {
            (request.patch_subresource("status", name, &parameters, &patch), "resourcebindings/status")
        } else {
            (request.patch(name, &parameters, &patch), "resourcebindings")
        };
        let object = format!("ResourceBinding {namespace}/{name}");
        let asked = Asked { verb: "patch", group: "work.karmada.io", resource, object: &object };
        let written: ResourceBinding = write(&self.client, leader, request, asked).await?;
        self.cache.wrote_binding(&written);
        Ok(written)
    }

    /// Sets replicas of a workload, if it is still as it was `seen`. Returns its new scale.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn scale(
        &self,
        leader: &Leader,
        workload: Scalable<'_>,
        seen: &kube::core::ObjectMeta,
        replicas: i32,
    ) -> Result<Scale, WriteError> {
        let Scalable { path, name, asked } = workload;
        let wanted = Patch::Merge(json!({"metadata": {"uid": seen.uid, "resourceVersion": seen.resource_version},
            "spec": {"replicas": replicas}}));
        let request = Request::new(path).patch_subresource("scale", name, &merging(managers::REPLICAS), &wanted);
        write(&self.client, leader, request, Asked { verb: "patch", ..asked }).await
    }

    /// Sets replicas, but never below the current number: its HPA may have been faster.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn raise(&self, leader: &Leader, workload: Scalable<'_>, replicas: u32) -> Result<(), WriteError> {
        let scale = self.read_scale(workload).await?;
        if scale.spec.replicas.is_some_and(|has| has >= number(replicas)) {
            return Ok(());
        }
        self.scale(leader, workload, &scale.metadata, number(replicas)).await.map(|_| ())
    }

    /// Scales to zero, unless it is asked for more than `most` meanwhile: its HPA has seen load.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`]; a conflict where it is asked for more.
    pub async fn stop(&self, leader: &Leader, workload: Scalable<'_>, most: u32) -> Result<(), WriteError> {
        let scale = self.read_scale(workload).await?;
        let has = scale.spec.replicas.unwrap_or_default();
        if has == 0 {
            return Ok(());
        }
        if has > number(most) {
            let message =
                format!("{} is asked for {has} replicas meanwhile: not scaled to zero", workload.asked.object);
            return Err(Failure::new(ErrorClass::Conflict, reason::CONFLICT, message).into());
        }
        self.scale(leader, workload, &scale.metadata, 0).await.map(|_| ())
    }

    /// Requested replicas of a workload; `None` where it rejects the request or is unreachable.
    pub async fn wanted(&self, workload: Scalable<'_>) -> Option<i32> {
        self.read_scale(workload).await.ok()?.spec.replicas
    }

    /// Reads the scale of a workload.
    ///
    /// # Errors
    /// When the object does not exist, cannot be scaled, or is unreachable.
    pub async fn read_scale(&self, workload: Scalable<'_>) -> Result<Scale, Failure> {
        let Scalable { path, name, asked } = workload;
        send(&self.client, Request::new(path).get_subresource("scale", name), Asked { verb: "get", ..asked }).await
    }
}

/// A workload whose replicas are read and set through its `scale` subresource.
#[derive(Clone, Copy)]
pub struct Scalable<'a> {
    /// Path of the objects of its kind, in a cluster or not.
    pub path: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Request details for error messages; each request sets the verb.
    pub asked: Asked<'a>,
}

/// Makes the API server reject the patch when the object changed.
pub(super) fn guard(patch: &mut Value, version: &str) {
    if let Some(patch) = patch.as_object_mut() {
        let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), json!(version));
        }
    }
}
