//! Bindings -> Works, one for each cluster. Client required for the pass only.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Karmada;
use super::eviction::{leaving, purged};
use super::interpreter::{TEMPLATE_GENERATION, replicas};
use super::queue::Turn;
use crate::clock::after;
use crate::json::{self, count, deleting, int, items, name, namespace, text, truth};
use crate::pass::Pass;
use decision::names::{execution_space, work};

/// Label of bindings and their Works that connects them.
pub const BINDING_ID: &str = "resourcebinding.karmada.io/permanent-id";
/// Interval of checks for Works that must be gone before others are written.
const PURGE_PERIOD: SignedDuration = SignedDuration::from_secs(5);

/// Result for the Works of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// They match the binding.
    Wholly,
    /// A Work cannot be written now: the binding is retried.
    Partly,
    /// Purged Works still exist.
    Purging,
}

impl Karmada {
    /// Creates, updates and deletes Works. A binding is processed when it changes or is due again; a Work that
    /// disappears by itself is not noticed before that.
    /// goes by itself is not missed before that.
    pub(super) async fn bind(&self, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let bindings = self.objects.all(&self.kinds.binding, "").await?;
        let there: BTreeSet<String> = bindings.iter().map(|binding| key(binding)).collect();
        self.remember(|memory| memory.bindings.keep(&there));
        let mut turns: Vec<&Value> = Vec::new();
        for binding in &bindings {
            match self.remember(|memory| memory.bindings.turn(&key(binding), generation(binding), now)) {
                Turn::Now => turns.push(binding),
                Turn::At(due) => pass.look_at(due),
                Turn::Done => {}
            }
        }
        if turns.is_empty() {
            return Ok(pass);
        }
        let works = self.objects.all(&self.kinds.work, "").await?;
        for binding in turns {
            let id = json::label(binding, BINDING_ID);
            let own: Vec<&Value> = works
                .iter()
                .filter(|work| !id.is_empty() && json::label(work, BINDING_ID) == id)
                .map(AsRef::as_ref)
                .collect();
            if deleting(binding) {
                pass.join(self.release(binding, &own).await?);
                continue;
            }
            let bound = self.ensure(binding, &own, &mut pass).await?;
            let (key, generation) = (key(binding), generation(binding));
            self.remember(|memory| match bound {
                Bound::Wholly => memory.bindings.done(&key, generation),
                Bound::Partly => memory.bindings.failed(&key, generation, now),
                Bound::Purging => memory.bindings.again(&key, generation, after(now, PURGE_PERIOD)),
            });
            if let Turn::At(due) = self.remember(|memory| memory.bindings.turn(&key, generation, now)) {
                pass.look_at(due);
            }
        }
        Ok(pass)
    }

    /// A deleted binding deletes its Works and is removed; they may outlive it.
    async fn release(&self, binding: &Value, works: &[&Value]) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for work in works.iter().filter(|work| !deleting(work)) {
            pass.count(&self.objects.delete(&self.kinds.work, work).await?);
        }
        if !items(binding, "/metadata/finalizers").is_empty() {
            let released = json!({"metadata": {"finalizers": null}});
            pass.count(&self.objects.merge(&self.kinds.binding, binding, "", &released).await?);
        }
        Ok(pass)
    }

    async fn ensure(&self, binding: &Value, works: &[&Value], pass: &mut Pass) -> Result<Bound, kube::Error> {
        let targets = items(binding, "/spec/clusters");
        let kept: Vec<&str> = targets.iter().map(|target| text(target, "/name")).chain(leaving(binding)).collect();
        for work in works.iter().filter(|work| !deleting(work)) {
            if !kept.iter().any(|cluster| execution_space(cluster) == namespace(work)) {
                pass.count(&self.objects.delete(&self.kinds.work, work).await?);
            }
        }
        if purged(binding).any(|cluster| works.iter().any(|work| namespace(work) == execution_space(cluster))) {
            return Ok(Bound::Purging);
        }
        let of = |field: &str| text(binding, &format!("/spec/resource/{field}"));
        let Some(kind) = self.objects.kind(of("apiVersion"), of("kind")).await? else { return Ok(Bound::Partly) };
        let Some(template) = self.objects.one(&kind, of("namespace"), of("name")).await? else {
            return Ok(Bound::Wholly);
        };
        let mut bound = Bound::Wholly;
        for target in targets {
            let wanted = new_work(binding, &template, target);
            let before = self.objects.one(&self.kinds.work, namespace(&wanted), name(&wanted)).await?;
            if !self.write(before, wanted, pass).await? {
                bound = Bound::Partly;
            }
        }
        Ok(bound)
    }

    /// Writes the Work; returns whether it is stored as wanted. A Work that is being deleted cannot be written.
    async fn write(&self, before: Option<Arc<Value>>, wanted: Value, pass: &mut Pass) -> Result<bool, kube::Error> {
        let Some(before) = before else {
            pass.wrote();
            return Ok(self.objects.create(&self.kinds.work, &wanted).await?.done().is_some());
        };
        if deleting(&before) {
            return Ok(false);
        }
        let mut after = Value::clone(&before);
        json::set(&mut after, &["spec"], wanted.get("spec").cloned().unwrap_or_default());
        for (field, key, value) in marks(&wanted) {
            json::set(&mut after, &["metadata", field, key], value.clone());
        }
        if same_spec(&before, &after) && after.get("metadata") == before.get("metadata") {
            return Ok(true);
        }
        pass.wrote();
        Ok(self.objects.replace(&self.kinds.work, &after).await?.done().is_some())
    }
}

fn key(binding: &Value) -> String {
    format!("{}/{}/{}", namespace(binding), name(binding), text(binding, "/metadata/uid"))
}

fn generation(object: &Value) -> i64 {
    int(object, "/metadata/generation").unwrap_or(1)
}

/// Labels and annotations of an object.
fn marks(object: &Value) -> impl Iterator<Item = (&'static str, &str, &Value)> {
    ["labels", "annotations"].into_iter().flat_map(move |field| {
        json::members(object, &format!("/metadata/{field}"))
            .map(move |(key, value)| (field, key, value))
            .collect::<Vec<_>>()
    })
}

/// The binding as a component of Karmada writes it back: replicas of 0 are left out.
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

/// The template for one cluster.
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
