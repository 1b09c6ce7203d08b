//! Writes the corrections. Each write is guarded by the version that was read, so that an edit in between is not
//! overwritten. Talks to the API server of the control plane.

use futures::StreamExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::core::params::Preconditions;
use serde_json::{Map, Value, json};

use super::correction::{Correction, Division};
use super::survey::CorrectedWorkload;
use super::workload::Scaler;
use super::{Plan, Recovery};
use crate::api::FederatedHPA;
use crate::controller::failure::{Asked, Failure};
use crate::controller::managers;
use crate::controller::request::send;
use crate::decision::api_version::GROUP;
use crate::decision::backoff::ErrorClass;
use crate::decision::binding_mark;
use crate::decision::names::{RETAIN_REPLICAS, execution_space, pointer_token};
use crate::decision::plan::HpaVersion;
use crate::reconcile::federated_hpa::manifest::{Write, work_names, work_of};
use crate::reconcile::federated_hpa::ownership::Whose;
use crate::reconcile::federated_hpa::write::work::{WorkPlace, found_as, names_taken};
use crate::reconcile::federated_hpa::write::writer::merging;
use crate::reconcile::federated_hpa::write_id;

/// Workloads that are corrected at a time.
const CONCURRENCY: usize = 8;

impl Recovery {
    /// Writes all corrections; returns those that failed, each with the object and the reason.
    pub async fn perform(&self, plan: &Plan) -> Vec<(String, String)> {
        let subjects = futures::stream::iter(plan.subjects.iter().map(|subject| async move {
            let mut failed = Vec::new();
            for correction in &subject.corrections {
                if let Err(failure) = self.write(plan, subject, correction).await {
                    failed.push((subject.object.clone(), format!("{correction}: {failure}")));
                }
            }
            failed
        }));
        subjects.buffered(CONCURRENCY).collect::<Vec<_>>().await.into_iter().flatten().collect()
    }

    async fn write(&self, plan: &Plan, subject: &CorrectedWorkload, correction: &Correction) -> Result<(), Failure> {
        let seen = &subject.seen;
        match correction {
            Correction::Retain => {
                let body = json!({
                    "apiVersion": subject.reference.api_version, "kind": subject.reference.kind,
                    "metadata": {"name": subject.reference.name, "namespace": subject.namespace,
                        "uid": seen.template.uid, "labels": {RETAIN_REPLICAS: "true"}},
                });
                let parameters = PatchParams::apply(managers::RETENTION).force();
                self.patch_template(subject, None, &parameters, &Patch::Apply(body)).await
            }
            Correction::Replicas { to, .. } => {
                let seen = json!({"uid": seen.template.uid, "resourceVersion": seen.template.version});
                let patch = json!({"metadata": seen, "spec": {"replicas": to}});
                self.patch_template(subject, Some("scale"), &merging(managers::REPLICAS), &Patch::Merge(patch)).await
            }
            Correction::Manifest { cluster, replicas, retain } => {
                self.manifest(subject, cluster, *replicas, *retain).await
            }
            Correction::Keep { cluster } => {
                let Some(work) = seen.works.get(cluster) else { return Ok(()) };
                let patch = [
                    json!({"op": "test", "path": "/metadata/resourceVersion", "value": work.version}),
                    json!({"op": "remove", "path": "/metadata/finalizers"}),
                ];
                self.json_patch(cluster, &work.name, &patch).await
            }
            Correction::Hpa { .. } => self.hpa(plan, subject, correction).await,
            Correction::NoHpa { cluster, .. } => {
                let Some(stored) = seen.hpas.get(cluster) else { return Ok(()) };
                let preconditions = Preconditions { uid: None, resource_version: Some(stored.version.clone()) };
                let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                self.work(cluster, &stored.name, "delete", works(cluster).delete(&stored.name, &parameters)).await
            }
            Correction::Binding(division) => self.binding(subject, division).await,
            Correction::MaxReplicas { to, .. } => {
                let Scaler::Distributed { hpa, .. } = &seen.scaler else { return Ok(()) };
                let key = hpa.key();
                let version = hpa.object.metadata.resource_version.clone();
                let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"maxReplicas": to}});
                let own = hpa.own(&key);
                let request = own.requests().patch(&key.name, &merging(managers::RECOVERY), &Patch::Merge(&patch));
                let asked = Asked { verb: "patch", group: GROUP, resource: "federatedhpas", object: &subject.object };
                send::<Value>(&self.client, request, asked).await.map(drop)
            }
        }
    }

    async fn hpa(&self, plan: &Plan, subject: &CorrectedWorkload, correction: &Correction) -> Result<(), Failure> {
        let Correction::Hpa { cluster, to, held, token, .. } = correction else { return Ok(()) };
        let seen = &subject.seen;
        let Scaler::Distributed { hpa, .. } = &seen.scaler else { return Ok(()) };
        let token = write_id::next(token.as_deref(), (self.clock)());
        let version = plan.versions.get(cluster).copied().unwrap_or(HpaVersion::V2);
        let write = Write { cluster, bounds: *to, version, outstanding: to.max, held: *held, token: &token };
        let Some(stored) = seen.hpas.get(cluster) else { return self.new_hpa(&hpa.object, write).await };
        let mut work = work_of(&hpa.object, &stored.name, write);
        if let Some(metadata) = work.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), json!(stored.version));
        }
        let parameters = PatchParams::apply(managers::MEMBER_HPA).force();
        let request = works(cluster).patch(&stored.name, &parameters, &Patch::Apply(&work));
        self.work(cluster, &stored.name, "patch", request).await
    }

    /// Creates a Work by the first of its names that no Work of another object has.
    async fn new_hpa(&self, hpa: &FederatedHPA, write: Write<'_>) -> Result<(), Failure> {
        let manager = Some(managers::MEMBER_HPA.to_owned());
        let parameters = PostParams { field_manager: manager, ..PostParams::default() };
        for name in work_names(hpa) {
            let body = work_of(hpa, &name, write).to_string().into_bytes();
            let created =
                self.work(write.cluster, &name, "create", works(write.cluster).create(&parameters, body)).await;
            let Err(failure) = created else { return Ok(()) };
            let found = match failure.class {
                ErrorClass::Conflict => WorkPlace::of(write.cluster, &name).find(&self.client).await?,
                _ => None,
            };
            if found.is_none_or(|found| found_as(&found, hpa) != Whose::Another) {
                return Err(failure);
            }
        }
        Err(names_taken(write.cluster))
    }

    async fn manifest(
        &self,
        subject: &CorrectedWorkload,
        cluster: &str,
        replicas: u32,
        retain: bool,
    ) -> Result<(), Failure> {
        let Some(work) = subject.seen.works.get(cluster) else { return Ok(()) };
        let mut patch = vec![json!({"op": "test", "path": "/metadata/resourceVersion", "value": work.version})];
        let manifest = "/spec/workload/manifests/0";
        let mut put = |path: &str, value: Value| {
            patch.push(json!({"op": "add", "path": format!("{manifest}{path}"), "value": value}));
        };
        if let Some(place) = &work.place {
            let (at, value) = place.with(replicas);
            put(at, value);
        }
        if retain {
            put(&format!("/metadata/labels/{}", pointer_token(RETAIN_REPLICAS)), json!("true"));
        }
        self.json_patch(cluster, &work.name, &patch).await
    }

    async fn patch_template(
        &self,
        subject: &CorrectedWorkload,
        subresource: Option<&str>,
        parameters: &PatchParams,
        patch: &Patch<Value>,
    ) -> Result<(), Failure> {
        let (place, name) = (&subject.place, &subject.reference.name);
        let requests = Request::new(&place.path);
        let (request, resource) = match subresource {
            Some(below) => {
                (requests.patch_subresource(below, name, parameters, patch), format!("{}/{below}", place.plural))
            }
            None => (requests.patch(name, parameters, patch), place.plural.to_string()),
        };
        let object = format!("{} {}/{name}", subject.reference.kind, subject.namespace);
        let asked = Asked { verb: "patch", group: &place.group, resource: &resource, object: &object };
        send::<Value>(&self.client, request, asked).await.map(drop)
    }

    async fn binding(&self, subject: &CorrectedWorkload, division: &Division) -> Result<(), Failure> {
        let stored = &subject.seen.binding;
        let clusters = division.entries.iter().map(|(name, replicas)| json!({"name": name, "replicas": replicas}));
        let from = |task: &Value| task.get("fromCluster").and_then(Value::as_str).unwrap_or_default().to_owned();
        let tasks: Vec<&Value> = stored.tasks.iter().filter(|task| !division.stay.contains(&from(task))).collect();
        let (mut spec, mut metadata) = (Map::new(), Map::new());
        spec.insert("clusters".to_owned(), json!(clusters.collect::<Vec<_>>()));
        spec.insert("gracefulEvictionTasks".to_owned(), json!(tasks));
        metadata.insert("resourceVersion".to_owned(), json!(stored.version));
        if let Some(replicas) = division.replicas {
            spec.insert("replicas".to_owned(), json!(replicas));
        }
        if let (true, Scaler::Distributed { hpa, .. }) = (division.suspend, &subject.seen.scaler) {
            spec.insert("suspension".to_owned(), json!({"scheduling": true}));
            let marks = binding_mark::marks(&hpa.key().name, stored.suspended, stored.marked.is_some());
            metadata.insert("annotations".to_owned(), marks);
        }
        let patch = json!({"metadata": metadata, "spec": spec});
        let requests =
            Request::new(format!("/apis/work.karmada.io/v1alpha2/namespaces/{}/resourcebindings", subject.namespace));
        let request = requests.patch(&stored.name, &merging(managers::BINDING), &Patch::Merge(&patch));
        let object = format!("ResourceBinding {}/{}", subject.namespace, stored.name);
        let asked = Asked { verb: "patch", group: "work.karmada.io", resource: "resourcebindings", object: &object };
        send::<Value>(&self.client, request, asked).await.map(drop)
    }

    async fn json_patch(&self, cluster: &str, name: &str, patch: &[Value]) -> Result<(), Failure> {
        let manager = managers::RECOVERY;
        let request = http::Request::patch(format!("{}/{name}?fieldManager={manager}", works_path(cluster)))
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .body(json!(patch).to_string().into_bytes())
            .map_err(kube::core::request::Error::BuildRequest);
        self.work(cluster, name, "patch", request).await
    }

    async fn work(
        &self,
        cluster: &str,
        name: &str,
        verb: &str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<(), Failure> {
        let object = format!("Work {}/{name}", execution_space(cluster));
        let asked = Asked { verb, group: "work.karmada.io", resource: "works", object: &object };
        send::<Value>(&self.client, request, asked).await.map(drop)
    }
}

fn works_path(cluster: &str) -> String {
    format!("/apis/work.karmada.io/v1alpha1/namespaces/{}/works", execution_space(cluster))
}

fn works(cluster: &str) -> Request {
    Request::new(works_path(cluster))
}
