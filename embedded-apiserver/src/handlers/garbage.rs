//! Deletion: preconditions, grace, finalizers, owners and dependents, namespaces and CRDs. It completes within the
//! request that triggers it, so that no client has to wait. No I/O.

use std::{collections::VecDeque, sync::Arc};

use serde_json::{Value, json};

use super::{
    super::{
        ApiServer,
        object::{self, Object, at, put_at, set_finalizer, set_meta, text_at},
        resources::Resource,
        status::{StatusDetails, StatusError},
        store::{Expected, Key, Query},
    },
    gate::is_configuration,
};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const NAMESPACES: &str = "namespaces";
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Attempts of a step when other writes come first.
const TRIES: usize = 100;

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// Options of a deletion.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Propagation.
    pub policy: Option<Policy>,
    /// Seconds that a pod has to stop.
    pub grace: Option<i64>,
    /// Required uid.
    pub uid: Option<String>,
    /// Required resource version.
    pub version: Option<String>,
    /// Check only.
    pub dry_run: bool,
}

/// Result of a deletion.
#[derive(Debug)]
pub enum Deletion {
    /// The object is deleted; this was its last state.
    Gone(Arc<Object>),
    /// It waits for finalizers or for its kubelet.
    Waits(Arc<Object>),
}

/// Whether nothing keeps a terminating object any longer.
pub fn is_finished(object: &Value) -> bool {
    let grace = object::meta(object, "deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
    let held = text_at(object, &["kind"]) == "Namespace"
        && at(object, &["spec", "finalizers"]).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    object::is_terminating(object) && grace == 0 && !held && object::finalizers(object).next().is_none()
}

/// Deletes an object and its dependents.
///
/// # Errors
/// 404, and 409 for a precondition.
pub fn delete(server: &ApiServer, resource: &Resource, key: &Key, manner: &Manner) -> Result<Deletion, StatusError> {
    let mut collector = Collector { server, queue: VecDeque::new() };
    let deletion = collector.delete(resource, key, manner)?;
    collector.run();
    Ok(deletion)
}

/// Processes the consequences of a written object.
pub fn after_write(server: &ApiServer, resource: &Resource, key: &Key, object: &Object) {
    if resource.kind == "CustomResourceDefinition" {
        // A CRD that does not compile was rejected before it was written.
        let _: Result<(), String> = server.serve_definition(object.value());
    }
    if is_configuration(key.bucket()) {
        server.reload_webhooks();
    }
    let mut collector = Collector { server, queue: VecDeque::new() };
    if object::is_terminating(object.value()) {
        collector.queue.push_back(Task::Settle(key.clone()));
    } else if server.collects_garbage() && !object::owners(object.value()).is_empty() {
        collector.queue.push_back(Task::Collect(key.clone()));
    }
    collector.run();
}

/// Processes the consequences of a removed object.
pub fn after_removal(server: &ApiServer, key: &Key, last: &Arc<Object>) {
    let queue = VecDeque::from([Task::Removed(key.clone(), last.clone())]);
    Collector { server, queue }.run();
}

enum Task {
    /// An object was removed.
    Removed(Key, Arc<Object>),
    /// A terminating object may be finished.
    Settle(Key),
    /// An object may have lost its owners.
    Collect(Key),
}

struct Collector<'a> {
    server: &'a ApiServer,
    queue: VecDeque<Task>,
}

impl Collector<'_> {
    fn run(&mut self) {
        while let Some(task) = self.queue.pop_front() {
            match task {
                Task::Removed(key, last) => self.removed(&key, &last),
                Task::Settle(key) => self.settle(&key),
                Task::Collect(key) => self.collect(&key),
            }
        }
    }

    fn delete(&mut self, resource: &Resource, key: &Key, manner: &Manner) -> Result<Deletion, StatusError> {
        let subject = StatusDetails::new(&resource.group, &resource.plural, key.name());
        for _ in 0..TRIES {
            let current = self.server.store().get(key).ok_or_else(|| StatusError::not_found(&subject))?;
            check_preconditions(resource, current.value(), manner)?;
            let decoded = resource.versions.first().and_then(|version| resource.decoded(version, &current));
            let next = self.marked(resource, decoded.as_ref().unwrap_or(&current).value(), manner);
            if manner.dry_run {
                return Ok(Deletion::Gone(current));
            }
            if is_finished(&next) {
                if let Ok(last) = self.server.store().remove(key, current.version(), last_state(&current)) {
                    self.queue.push_back(Task::Removed(key.clone(), last.clone()));
                    return Ok(Deletion::Gone(last));
                }
            } else if next == *current.value() {
                return Ok(Deletion::Waits(current));
            } else if let Ok(object) = self.server.store().put(key, Expected::Version(current.version()), next) {
                self.queue.push_back(Task::Settle(key.clone()));
                return Ok(Deletion::Waits(object));
            }
        }
        Err(StatusError::modified(&subject))
    }

    /// The object marked as being deleted.
    fn marked(&self, resource: &Resource, current: &Value, manner: &Manner) -> Value {
        let mut next = current.clone();
        if let Some(policy) = manner.policy {
            set_finalizer(&mut next, FOREGROUND, policy == Policy::Foreground);
            set_finalizer(&mut next, ORPHAN, policy == Policy::Orphan);
        }
        if resource.kind == "CustomResourceDefinition" && !object::is_terminating(current) {
            set_finalizer(&mut next, CLEANUP, true);
        }
        if resource.kind == "Namespace" {
            put_at(&mut next, &["status", "phase"], "Terminating".into());
        }
        let grace = if resource.kind == "Pod" { pod_grace(current, manner.grace) } else { 0 };
        let before = object::meta(current, "deletionGracePeriodSeconds").and_then(Value::as_i64);
        if !object::is_terminating(current) {
            set_meta(&mut next, "deletionTimestamp", self.server.now_after(grace).into());
            set_meta(&mut next, "deletionGracePeriodSeconds", json!(grace));
            if object::generation(current) > 0 {
                set_meta(&mut next, "generation", json!(object::generation(current) + 1));
            }
        } else if before.is_some_and(|before| grace < before) {
            set_meta(&mut next, "deletionGracePeriodSeconds", json!(grace));
        }
        next
    }

    fn removed(&mut self, key: &Key, last: &Arc<Object>) {
        if **key.bucket() == *DEFINITIONS {
            self.server.drop_definition(last.value());
        }
        if is_configuration(key.bucket()) {
            self.server.reload_webhooks();
        }
        if self.server.collects_garbage() {
            let dependents = self.server.store().dependents(object::uid(last.value()));
            self.queue.extend(dependents.into_iter().map(Task::Collect));
            for owner in object::owners(last.value()) {
                self.queue.extend(self.server.store().find_uid(text_at(owner, &["uid"])).map(Task::Settle));
            }
        }
        if !key.namespace().is_empty() {
            self.queue.push_back(Task::Settle(Key::new(&NAMESPACES.into(), "", key.namespace())));
        }
        let definition = Key::new(&DEFINITIONS.into(), "", key.bucket());
        if self.server.store().get(&definition).is_some() {
            self.queue.push_back(Task::Settle(definition));
        }
    }

    fn settle(&mut self, key: &Key) {
        let Some(object) = self.server.store().get(key) else { return };
        if !object::is_terminating(object.value()) {
            return;
        }
        let holds = |finalizer: &str| object::finalizers(object.value()).any(|one| one == finalizer);
        if **key.bucket() == *DEFINITIONS && holds(CLEANUP) {
            self.empty_definition(key);
        }
        if !self.server.collects_garbage() {
            return;
        }
        if **key.bucket() == *NAMESPACES {
            self.empty_namespace(key);
        }
        if holds(ORPHAN) {
            self.orphan(key, object::uid(object.value()));
        }
        if holds(FOREGROUND) {
            self.delete_dependents(key, object::uid(object.value()));
        }
    }

    /// Changes an object, and removes it when nothing keeps it any longer.
    fn change(&mut self, key: &Key, change: impl Fn(&mut Value)) {
        let store = self.server.store();
        for _ in 0..TRIES {
            let Some(current) = store.get(key) else { return };
            let mut next = current.value().clone();
            change(&mut next);
            if next == *current.value() {
                return;
            }
            if is_finished(&next) {
                if let Ok(last) = store.remove(key, current.version(), next) {
                    self.queue.push_back(Task::Removed(key.clone(), last));
                    return;
                }
            } else if store.put(key, Expected::Version(current.version()), next).is_ok() {
                return;
            }
        }
    }

    /// Deletes in the background, unless the object is already being deleted.
    fn delete_key(&mut self, key: &Key, policy: Policy) {
        let catalog = self.server.catalog();
        let Some(resource) = catalog.of_bucket(key.bucket()) else { return };
        let running = self.server.store().get(key).is_some_and(|object| !object::is_terminating(object.value()));
        if running {
            let manner = Manner { policy: Some(policy), ..Manner::default() };
            // Another request may have removed it meanwhile, with the same result.
            let _: Result<Deletion, StatusError> = self.delete(resource, key, &manner);
        }
    }

    fn empty_namespace(&mut self, key: &Key) {
        for inhabitant in self.server.store().inhabitants(key.name()) {
            self.delete_key(&inhabitant, Policy::Background);
        }
        if self.server.store().population(key.name()) == 0 {
            self.change(key, |namespace| put_at(namespace, &["spec", "finalizers"], json!([])));
        }
    }

    fn empty_definition(&mut self, key: &Key) {
        let bucket: Arc<str> = key.name().into();
        let instances = |collector: &Self| {
            let page = collector.server.store().list(&bucket, &Query::default());
            page.map(|page| page.items).unwrap_or_default()
        };
        for item in instances(self) {
            let key = Key::new(&bucket, object::namespace(item.value()), object::name(item.value()));
            self.delete_key(&key, Policy::Background);
        }
        if instances(self).is_empty() {
            self.change(key, |definition| set_finalizer(definition, CLEANUP, false));
        }
    }

    fn orphan(&mut self, key: &Key, uid: &str) {
        for dependent in self.server.store().dependents(uid) {
            self.change(&dependent, |object| drop_owners(object, |owner| owner == uid));
        }
        self.change(key, |owner| set_finalizer(owner, ORPHAN, false));
    }

    fn delete_dependents(&mut self, key: &Key, uid: &str) {
        for dependent in self.server.store().dependents(uid) {
            let Some(object) = self.server.store().get(&dependent) else { continue };
            let deeper = !self.server.store().dependents(object::uid(object.value())).is_empty();
            self.delete_key(&dependent, if deeper { Policy::Foreground } else { Policy::Background });
        }
        let blocks = |dependent: &Key| {
            let object = self.server.store().get(dependent);
            object.is_some_and(|object| {
                let mut owners = object::owners(object.value()).iter();
                owners.any(|owner| {
                    text_at(owner, &["uid"]) == uid && owner.get("blockOwnerDeletion") == Some(&Value::Bool(true))
                })
            })
        };
        if !self.server.store().dependents(uid).iter().any(blocks) {
            self.change(key, |owner| set_finalizer(owner, FOREGROUND, false));
        }
    }

    /// Deletes an object whose owners are all deleted; otherwise removes the deleted owners.
    fn collect(&mut self, key: &Key) {
        let Some(object) = self.server.store().get(key) else { return };
        let catalog = self.server.catalog();
        let is_gone = |owner: &Value| {
            // An owner of a kind that is not served cannot be checked.
            let served = catalog.find_kind(text_at(owner, &["apiVersion"]), text_at(owner, &["kind"])).is_some();
            served && self.server.store().find_uid(text_at(owner, &["uid"])).is_none()
        };
        let owners = object::owners(object.value());
        let gone: Vec<String> =
            owners.iter().filter(|owner| is_gone(owner)).map(|owner| text_at(owner, &["uid"]).to_owned()).collect();
        if gone.is_empty() {
            return;
        }
        if gone.len() == owners.len() {
            self.delete_key(key, Policy::Background);
        } else {
            self.change(key, |object| drop_owners(object, |uid| gone.iter().any(|one| one == uid)));
        }
    }
}

fn last_state(current: &Object) -> Value {
    current.value().clone()
}

fn drop_owners(object: &mut Value, gone: impl Fn(&str) -> bool) {
    let kept: Vec<Value> =
        object::owners(object).iter().filter(|owner| !gone(text_at(owner, &["uid"]))).cloned().collect();
    set_meta(object, "ownerReferences", if kept.is_empty() { Value::Null } else { kept.into() });
}

fn pod_grace(pod: &Value, asked: Option<i64>) -> i64 {
    let finished = matches!(text_at(pod, &["status", "phase"]), "Succeeded" | "Failed");
    if text_at(pod, &["spec", "nodeName"]).is_empty() || finished {
        return 0;
    }
    let own = at(pod, &["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    asked.or(own).unwrap_or(30).max(0)
}

fn check_preconditions(resource: &Resource, current: &Value, manner: &Manner) -> Result<(), StatusError> {
    let subject = StatusDetails::new(&resource.group, &resource.kind, object::name(current));
    let (uid, version) = (object::uid(current), object::meta_str(current, "resourceVersion"));
    if let Some(asked) = manner.uid.as_deref().filter(|asked| *asked != uid) {
        let why = format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        );
        return Err(StatusError::conflict(&subject, &why));
    }
    if let Some(asked) = manner.version.as_deref().filter(|asked| *asked != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        );
        return Err(StatusError::conflict(&subject, &why));
    }
    Ok(())
}
