//! Writes, one request each: each is guarded by the observed version, so that it applies only to the input of the
//! decision, and its response is stored at once. Talks to the API server.

use std::sync::Arc;

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::params::Preconditions;
use kube::core::{ObjectList, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::scale::Scale;
use crate::api::{FederatedHPA, ResourceBinding, Work};
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::managers;
use crate::controller::request::{send, write};
use crate::convert::fleet::number;
use crate::decision::backoff::ErrorClass;
use crate::decision::names::execution_space;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::reconcile::federated_hpa::cache::entry::{FederatedHpaEntry, MemberHpa};
use crate::reconcile::federated_hpa::names;
use crate::runtime::leader::Leader;

/// A Work or an HPA of another owner exists under the same name.
pub const FOREIGN: &str = "ForeignHPA";

/// The parts of a written object that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    /// `metadata`
    pub metadata: kube::core::ObjectMeta,
}

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

    /// Writes a Work: creates it, or changes `member_hpa` to `work`.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn work(
        &self,
        leader: &Leader,
        cluster: &str,
        name: &str,
        member_hpa: Option<&MemberHpa>,
        mut work: Value,
    ) -> Result<(), WriteError> {
        let space = execution_space(cluster);
        let requests = Request::new(format!("/apis/work.karmada.io/v1alpha1/namespaces/{space}/works"));
        let object = format!("Work {space}/{name}");
        let asked = |verb| Asked { verb, group: "work.karmada.io", resource: "works", object: &object };
        if let Some(member_hpa) = member_hpa {
            guard(&mut work, &member_hpa.version);
            let parameters = PatchParams::apply(managers::MEMBER_HPA).force();
            let request = requests.patch(name, &parameters, &Patch::Apply(&work));
            let written: Work = write(&self.client, leader, request, asked("patch")).await?;
            self.cache.wrote_work(&written);
            return Ok(());
        }
        let parameters = PostParams { field_manager: Some(managers::MEMBER_HPA.to_owned()), ..PostParams::default() };
        let request = requests.create(&parameters, work.to_string().into_bytes());
        match write::<Work>(&self.client, leader, request, asked("create")).await {
            Ok(made) => {
                self.cache.made_work(&made);
                Ok(())
            }
            Err(WriteError::Failed(failure)) if failure.class == ErrorClass::Conflict => {
                if self.reclaim(leader, &requests, name, &object, &work).await? {
                    let message = format!("{object} had lost its labels or its owner: planning again with its HPA");
                    return Err(Failure::new(ErrorClass::Conflict, reason::CONFLICT, message).into());
                }
                let message = format!(
                    "{object} exists already: an HPA of that name is propagated to the cluster; take that HPA out of its \
                     PropagationPolicy"
                );
                Err(Failure::new(ErrorClass::Transient, FOREIGN, message).into())
            }
            Err(error) => Err(error),
        }
    }

    /// Restores the labels and the owner of a Work that somebody removed, where it is one of fhpa, as `work` has them: then
    /// it is in the cache, and the next plan counts its bounds. Returns whether it is one.
    async fn reclaim(
        &self,
        leader: &Leader,
        requests: &Request,
        name: &str,
        object: &str,
        work: &Value,
    ) -> Result<bool, WriteError> {
        let asked = |verb| Asked { verb, group: "work.karmada.io", resource: "works", object: &object };
        // The rights of fhpa allow to list Works, and not to get one.
        let request = requests.list(&ListParams::default().fields(&format!("metadata.name={name}")));
        let found: ObjectList<DynamicObject> = send(&self.client, request, asked("list")).await?;
        let found = found.items.into_iter().find(|found| found.metadata.name.as_deref() == Some(name));
        let Some(found) = found.filter(|found| is_ours(found, work)) else { return Ok(false) };
        let owner = work.pointer("/metadata/annotations").and_then(|all| all.get(names::OWNER));
        let labels = work.pointer("/metadata/labels");
        let mut patch = json!({"metadata": {"labels": labels, "annotations": {names::OWNER: owner}}});
        guard(&mut patch, found.metadata.resource_version.as_deref().unwrap_or_default());
        let request = requests.patch(name, &merging(managers::MEMBER_HPA), &Patch::Merge(&patch));
        let known: Work = write(&self.client, leader, request, asked("patch")).await?;
        self.cache.made_work(&known);
        Ok(true)
    }

    /// Deletes a Work; Karmada removes the HPA from the cluster.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn delete_work(&self, leader: &Leader, member_hpa: &MemberHpa) -> Result<(), WriteError> {
        let space = execution_space(member_hpa.cluster());
        let requests = Request::new(format!("/apis/work.karmada.io/v1alpha1/namespaces/{space}/works"));
        let preconditions = Preconditions {
            uid: Some(member_hpa.uid.to_string()),
            resource_version: Some(member_hpa.version.to_string()),
        };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let object = format!("Work {space}/{}", member_hpa.key.name);
        let asked = Asked { verb: "delete", group: "work.karmada.io", resource: "works", object: &object };
        let request = requests.delete(&member_hpa.key.name, &parameters);
        match write::<Value>(&self.client, leader, request, asked).await {
            Ok(answer) => {
                // The response is a Status when the object is gone at once: the watch reports that.
                if let Some(going) =
                    serde_json::from_value::<Work>(answer).ok().filter(|work| work.metadata.uid.is_some())
                {
                    self.cache.wrote_work(&going);
                }
                Ok(())
            }
            Err(WriteError::Failed(failure)) if failure.class == ErrorClass::Missing => Ok(()),
            Err(error) => Err(error),
        }
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

/// Whether fhpa wrote a Work that is found in place of `work`: it has the same owner still, or its HPA has a write id and
/// Karmada does not propagate it.
fn is_ours(found: &DynamicObject, work: &Value) -> bool {
    let metadata = &found.metadata;
    let label = |name: &str| metadata.labels.as_ref().and_then(|all| all.get(name)).map(String::as_str);
    let wanted = |field: &str, name: &str| work.pointer(field).and_then(|all| all.get(name)).and_then(Value::as_str);
    let owner = metadata.annotations.as_ref().and_then(|all| all.get(names::OWNER)).map(String::as_str);
    let is_owned = owner.is_some() && owner == wanted("/metadata/annotations", names::OWNER)
        || label(names::OWNER_UID).is_some_and(|uid| Some(uid) == wanted("/metadata/labels", names::OWNER_UID));
    let annotations = found.data.pointer("/spec/workload/manifests/0/metadata/annotations");
    let marked = annotations.is_some_and(|all| all.get(names::WRITE_ID).is_some());
    is_owned || marked && label(names::BINDING_ID).is_none()
}

/// Makes the API server reject the patch when the object changed.
fn guard(patch: &mut Value, version: &str) {
    if let Some(patch) = patch.as_object_mut() {
        let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), json!(version));
        }
    }
}
