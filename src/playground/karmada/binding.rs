//! Bindings -> Works, one for each cluster. Client required for the pass only.

use serde_json::{Value, json};

use super::Karmada;
use super::interpreter::{TEMPLATE_GENERATION, replicas};
use crate::decision::names::{execution_space, work};
use crate::playground::json::{self, count, deleting, int, items, name, namespace, text, truth};
use crate::playground::pass::Pass;

/// On bindings and on their Works: which belongs to which.
pub const BINDING_ID: &str = "resourcebinding.karmada.io/permanent-id";

impl Karmada {
    /// Makes, updates and deletes Works.
    pub(super) async fn bind(&self) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let bindings = self.objects.list(&self.kinds.binding, "").await?;
        if bindings.is_empty() {
            return Ok(pass);
        }
        let works = self.objects.list(&self.kinds.work, "").await?;
        for binding in &bindings {
            let id = json::label(binding, BINDING_ID);
            let own: Vec<&Value> =
                works.iter().filter(|work| !id.is_empty() && json::label(work, BINDING_ID) == id).collect();
            if deleting(binding) {
                pass.join(self.release(binding, &own).await?);
            } else {
                pass.join(self.ensure(binding, &own).await?);
            }
        }
        Ok(pass)
    }

    /// A deleted binding goes after its Works.
    async fn release(&self, binding: &Value, works: &[&Value]) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for work in works.iter().filter(|work| !deleting(work)) {
            pass.count(&self.objects.delete(&self.kinds.work, work).await?);
        }
        if works.is_empty() && !items(binding, "/metadata/finalizers").is_empty() {
            let released = json!({"metadata": {"finalizers": null}});
            pass.count(&self.objects.merge(&self.kinds.binding, binding, "", &released).await?);
        }
        Ok(pass)
    }

    async fn ensure(&self, binding: &Value, works: &[&Value]) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let kept = clusters(binding);
        for work in works.iter().filter(|work| !deleting(work)) {
            if !kept.iter().any(|cluster| execution_space(cluster) == namespace(work)) {
                pass.count(&self.objects.delete(&self.kinds.work, work).await?);
            }
        }
        let targets = items(binding, "/spec/clusters");
        if targets.is_empty() {
            return Ok(pass);
        }
        let of = |field: &str| text(binding, &format!("/spec/resource/{field}"));
        let Some(kind) = self.objects.kind(of("apiVersion"), of("kind")).await? else { return Ok(pass) };
        let Some(template) = self.objects.get(&kind, of("namespace"), of("name")).await? else { return Ok(pass) };
        let generation = int(binding, "/metadata/generation").unwrap_or(1);
        for target in targets {
            let wanted = new_work(binding, &template, target);
            let key = format!("{}/{}", namespace(&wanted), name(&wanted));
            let before = works.iter().find(|work| namespace(work) == namespace(&wanted) && name(work) == name(&wanted));
            if before.is_some() && self.remember(|memory| memory.written.get(&key) == Some(&generation)) {
                continue;
            }
            let written = match before {
                None => {
                    pass.wrote();
                    self.objects.create(&self.kinds.work, &wanted).await?.done().is_some()
                }
                Some(before) if deleting(before) => false,
                Some(before) => {
                    let mut after = (*before).clone();
                    json::set(&mut after, &["spec"], wanted.get("spec").cloned().unwrap_or_default());
                    if same_spec(before, &after) {
                        true
                    } else {
                        pass.wrote();
                        self.objects.replace(&self.kinds.work, &after).await?.done().is_some()
                    }
                }
            };
            if written {
                self.remember(|memory| memory.written.insert(key, generation));
            }
        }
        Ok(pass)
    }
}

/// The binding as a component of Karmada writes it back: replicas that are 0 are left out.
pub(super) fn without_zeros(binding: &Value) -> Value {
    let mut binding = binding.clone();
    if int(&binding, "/spec/replicas") == Some(0) {
        json::remove(&mut binding, &["spec", "replicas"]);
    }
    for target in binding.pointer_mut("/spec/clusters").and_then(Value::as_array_mut).into_iter().flatten() {
        if int(target, "/replicas") == Some(0) {
            json::remove(target, &["replicas"]);
        }
    }
    binding
}

fn same_spec(before: &Value, after: &Value) -> bool {
    let (before, after) = (before.get("spec"), after.get("spec"));
    before.zip(after).is_some_and(|(before, after)| json::covers(before, after) && json::covers(after, before))
}

/// The clusters whose Works stay: the targets and those that are being left gracefully.
fn clusters(binding: &Value) -> Vec<&str> {
    let targets = items(binding, "/spec/clusters").iter().map(|target| text(target, "/name"));
    let leaving = items(binding, "/spec/gracefulEvictionTasks").iter().map(|task| text(task, "/fromCluster"));
    targets.chain(leaving).collect()
}

/// The Work of a binding for one of its clusters.
fn new_work(binding: &Value, template: &Value, target: &Value) -> Value {
    let space = execution_space(text(target, "/name"));
    let own = work(text(template, "/kind"), namespace(template), name(template));
    let resolution = text(binding, "/spec/conflictResolution").to_lowercase();
    let id = json::label(binding, BINDING_ID);
    let annotations = json!({"resourcebinding.karmada.io/name": name(binding),
        "resourcebinding.karmada.io/namespace": namespace(binding), "work.karmada.io/conflict-resolution": resolution});
    let suspended = truth(binding, "/spec/suspension/dispatching");
    let preserve = truth(binding, "/spec/preserveResourcesOnDeletion");
    let manifest = manifest(binding, template, target, &space, &own);
    json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": own, "namespace": space, "finalizers": ["karmada.io/execution-controller"],
            "labels": {BINDING_ID: id, "work.karmada.io/permanent-id": format!("work-{id}-{}", text(target, "/name"))},
            "annotations": annotations},
        "spec": {"suspendDispatching": suspended, "preserveResourcesOnDeletion": preserve,
            "workload": {"manifests": [manifest]}},
    })
}

/// The template as one cluster gets it.
fn manifest(binding: &Value, template: &Value, target: &Value, space: &str, own: &str) -> Value {
    let mut manifest = template.clone();
    for field in [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "ownerReferences",
        "finalizers",
        "selfLink",
    ] {
        json::remove(&mut manifest, &["metadata", field]);
    }
    json::remove(&mut manifest, &["status"]);
    json::remove(&mut manifest, &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]);
    if replicas(template).is_some() {
        json::set(&mut manifest, &["spec", "replicas"], json!(count(target, "/replicas").unwrap_or_default()));
    }
    let id = json::label(binding, BINDING_ID);
    let permanent = format!("work-{id}-{}", text(target, "/name"));
    json::set(&mut manifest, &["metadata", "labels", "karmada.io/managed"], json!("true"));
    json::set(&mut manifest, &["metadata", "labels", "work.karmada.io/permanent-id"], json!(permanent));
    let generation = int(template, "/metadata/generation").unwrap_or(1).to_string();
    for (key, value) in [
        (TEMPLATE_GENERATION, generation.as_str()),
        ("resourcetemplate.karmada.io/uid", text(template, "/metadata/uid")),
        ("resourcebinding.karmada.io/name", name(binding)),
        ("resourcebinding.karmada.io/namespace", namespace(binding)),
        ("work.karmada.io/name", own),
        ("work.karmada.io/namespace", space),
        ("work.karmada.io/conflict-resolution", &text(binding, "/spec/conflictResolution").to_lowercase()),
    ] {
        json::set(&mut manifest, &["metadata", "annotations", key], json!(value));
    }
    manifest
}
