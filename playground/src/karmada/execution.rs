//! Works -> objects in the members. Client required.
//!
//! A Work for a cluster that is not ready, also one that is being deleted, is retried after 5 ms, 10 ms, 20 ms, ...
//! counted from its change. After a long outage it can be late by as long again, as in Karmada.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::clusters::ready;
use super::delivery::{Delivery, Reach};
use super::interpreter::Interpreter;
use super::{Karmada, condition};
use crate::json::{self, annotation, deleting, int, items, label, name, namespace, text, truth};
use crate::member::{Link, Member};
use crate::objects::{Kind, Written};
use crate::pass::Pass;
use decision::names::execution_space;

impl Karmada {
    /// Applies the Works to the members that are ready.
    pub(super) async fn execute(&self, interpreter: &Interpreter, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let mut there = BTreeSet::new();
        for cluster in self.clusters().await? {
            let Some(member) = self.members.get(name(&cluster)) else { continue };
            let (reach, behind) = (reach(&cluster, member), is_behind(&cluster, now));
            for work in self.objects.all(&self.kinds.work, &execution_space(name(&cluster))).await? {
                let key = format!("{}/{}", namespace(&work), name(&work));
                there.insert(key.clone());
                let generation = int(&work, "/metadata/generation").unwrap_or(1);
                let outdated = self.is_outdated(member, (&key, &work), (reach, behind)).await?;
                let reach = if outdated && !deleting(&work) { Reach::Stale } else { reach };
                let turn =
                    self.remember(|memory| memory.deliveries.turn((&key, generation), reach, self.lagging(), now));
                match turn {
                    Delivery::Waits(due) => due.into_iter().for_each(|due| pass.look_at(due)),
                    Delivery::Goes if deleting(&work) => pass.join(self.withdraw(member, &work).await?),
                    Delivery::Goes if truth(&work, "/spec/suspendDispatching") => {}
                    Delivery::Goes => pass.join(self.deliver(member, &work, interpreter, now).await?),
                    Delivery::Fails if deleting(&work) => {}
                    Delivery::Fails => pass.join(self.miss(member, &work, reach, interpreter, now).await?),
                }
            }
        }
        self.remember(|memory| memory.deliveries.keep(&there));
        Ok(pass)
    }

    /// Whether the member has another version of what is in the Work than Karmada knows: it changed since Karmada's
    /// watches broke.
    async fn is_outdated(
        &self,
        member: &Member,
        (key, work): (&str, &Value),
        state: (Reach, bool),
    ) -> Result<bool, kube::Error> {
        match state {
            (Reach::Up, false) => {
                self.remember(|memory| memory.copies.remove(key));
                Ok(false)
            }
            (Reach::Up, true) => {
                let Some(copy) = self.remember(|memory| memory.copies.get(key).cloned()) else { return Ok(false) };
                Ok(copy != versions(member, work).await?)
            }
            _ if self.remember(|memory| memory.copies.contains_key(key)) => Ok(false),
            _ => {
                let versions = versions(member, work).await?;
                self.remember(|memory| memory.copies.insert(key.to_owned(), versions));
                Ok(false)
            }
        }
    }

    async fn withdraw(&self, member: &Member, work: &Value) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        if !truth(work, "/spec/preserveResourcesOnDeletion") {
            for manifest in items(work, "/spec/workload/manifests") {
                let Some(kind) = member.objects().kind(text(manifest, "/apiVersion"), text(manifest, "/kind")).await?
                else {
                    continue;
                };
                let there = member.objects().one(&kind, namespace(manifest), name(manifest)).await?;
                if let Some(there) = there.filter(|there| managed(there)) {
                    pass.count(&member.objects().delete(&kind, &there).await?);
                }
            }
        }
        pass.count(&self.objects.merge(&self.kinds.work, work, "", &json!({"metadata": {"finalizers": null}})).await?);
        Ok(pass)
    }

    async fn deliver(
        &self,
        member: &Member,
        work: &Value,
        interpreter: &Interpreter,
        now: Timestamp,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let mut failure = None;
        for manifest in items(work, "/spec/workload/manifests") {
            if let Err(why) = apply(member, manifest, interpreter, &mut pass).await? {
                failure.get_or_insert(why);
            }
        }
        pass.writes += usize::from(self.report(work, failure.as_deref(), now).await?);
        Ok(pass)
    }

    /// A Work whose cluster does not answer while Karmada does not know that yet, or of whose objects Karmada has an
    /// older copy: it failed, unless the member already has it.
    async fn miss(
        &self,
        member: &Member,
        work: &Value,
        reach: Reach,
        interpreter: &Interpreter,
        now: Timestamp,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let mut failure = None;
        for manifest in items(work, "/spec/workload/manifests") {
            if !matches!(prepare(member, &stamped(manifest), interpreter).await?, Prepared::Same) {
                failure = Some(if reach == Reach::Stale { CONFLICT } else { REFUSED });
            }
        }
        pass.writes += usize::from(self.report(work, failure, now).await?);
        Ok(pass)
    }

    /// Writes into the status of the Work whether it was applied.
    async fn report(&self, work: &Value, failure: Option<&str>, now: Timestamp) -> Result<bool, kube::Error> {
        let mut status = work.get("status").cloned().unwrap_or_else(|| json!({}));
        let before = |kind| json::condition(work, "/status/conditions", kind);
        let why = failure
            .map_or(("AppliedSuccessful", "Manifest has been successfully applied"), |why| ("AppliedFailed", why));
        let applied = condition(before("Applied"), "Applied", failure.is_none(), why, now);
        let dispatching = ("Dispatching", "Work is being dispatched to member clusters.");
        let dispatching = condition(before("Dispatching"), "Dispatching", true, dispatching, now);
        json::set(&mut status, &["conditions"], json!([dispatching, applied]));
        self.objects.set_status(&self.kinds.work, work, &status).await
    }
}

const REFUSED: &str = "Failed to apply all manifests (0/1): connection refused";
const CONFLICT: &str = "Failed to apply all manifests (0/1): Operation cannot be fulfilled: the object has been modified; \
                        please apply your changes to the latest version and try again";

/// For how long after the return of a cluster Karmada has an older copy of what it has: until its watches, which have
/// failed meanwhile, try again.
const BEHIND: SignedDuration = SignedDuration::from_secs(30);

/// Whether the cluster is back since so short a time; one that has just joined was never away.
fn is_behind(cluster: &Value, now: Timestamp) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let since = json::condition(cluster, "/status/conditions", "Ready")
        .and_then(|condition| time(text(condition, "/lastTransitionTime")));
    let joined = time(text(cluster, "/metadata/creationTimestamp"));
    let within = |from: Timestamp, to: Timestamp| to.duration_since(from) < BEHIND;
    since.is_some_and(|since| within(since, now) && !joined.is_some_and(|joined| within(joined, since)))
}

/// Versions of the objects of a Work in the member.
async fn versions(member: &Member, work: &Value) -> Result<String, kube::Error> {
    let mut versions = String::new();
    for manifest in items(work, "/spec/workload/manifests") {
        let kind = member.objects().kind(text(manifest, "/apiVersion"), text(manifest, "/kind")).await?;
        let Some(kind) = kind else { continue };
        let there = member.objects().one(&kind, namespace(manifest), name(manifest)).await?;
        versions.push_str(there.as_ref().map_or("none", |there| text(there, "/metadata/resourceVersion")));
        versions.push(' ');
    }
    Ok(versions)
}

/// The current reachability of a cluster.
fn reach(cluster: &Value, member: &Member) -> Reach {
    match (ready(cluster), member.link()) {
        (false, _) => Reach::Unready,
        (true, Link::Up) => Reach::Up,
        (true, Link::Refused) => Reach::Refused,
        (true, Link::Hangs) => Reach::Hangs,
    }
}

/// Whether Karmada created the object.
fn managed(object: &Value) -> bool {
    label(object, "karmada.io/managed") == "true"
}

/// How to apply a manifest.
enum Prepared {
    /// It cannot be applied.
    Never(String),
    /// The member does not have the object.
    Missing(Kind),
    /// The member's object is being deleted; it is created again afterwards.
    Going,
    /// The member's object is equal.
    Same,
    /// The member's object must be replaced with this one.
    Replaced { kind: Kind, desired: Value, version: String },
}

/// Compares a manifest with the member's object, including the fields that the member keeps.
async fn prepare(member: &Member, manifest: &Value, interpreter: &Interpreter) -> Result<Prepared, kube::Error> {
    let (api_version, kind) = (text(manifest, "/apiVersion"), text(manifest, "/kind"));
    let Some(kind) = member.objects().kind(api_version, kind).await? else {
        return Ok(Prepared::Never(format!("no matches for kind \"{kind}\" in version \"{api_version}\"")));
    };
    let Some(observed) = member.objects().one(&kind, namespace(manifest), name(manifest)).await? else {
        return Ok(Prepared::Missing(kind));
    };
    if deleting(&observed) {
        return Ok(Prepared::Going);
    }
    if !managed(&observed) && annotation(manifest, "work.karmada.io/conflict-resolution") != "overwrite" {
        return Ok(Prepared::Never(format!(
            "resource(kind={}, {}/{}) already exists in the cluster {} and the work.karmada.io/conflict-resolution strategy \
             value is empty, Karmada will not manage this resource",
            kind.kind,
            namespace(manifest),
            name(manifest),
            member.name()
        )));
    }
    let desired = interpreter.retain(merged(manifest, &observed), &observed);
    if json::covers(&observed, &desired) {
        return Ok(Prepared::Same);
    }
    Ok(Prepared::Replaced { kind, desired, version: text(&observed, "/metadata/resourceVersion").to_owned() })
}

/// One manifest -> the member's object.
async fn apply(
    member: &Member,
    manifest: &Value,
    interpreter: &Interpreter,
    pass: &mut Pass,
) -> Result<Result<(), String>, kube::Error> {
    let manifest = &stamped(manifest);
    match prepare(member, manifest, interpreter).await? {
        Prepared::Never(why) => Ok(Err(why)),
        Prepared::Going | Prepared::Same => Ok(Ok(())),
        Prepared::Missing(kind) => {
            ensure_namespace(member, namespace(manifest)).await?;
            let created = member.objects().create(&kind, manifest).await?;
            pass.count(&created);
            Ok(refusal(created))
        }
        Prepared::Replaced { kind, desired, version } => {
            let replaced = member.objects().replace(&kind, &desired).await?;
            // The server may store it in another form, as with the annotations of older HPAs.
            if !matches!(&replaced, Written::Done(stored) if text(stored, "/metadata/resourceVersion") == version) {
                pass.count(&replaced);
            }
            Ok(refusal(replaced))
        }
    }
}

fn refusal(written: Written) -> Result<(), String> {
    match written {
        Written::Refused(why) => Err(why),
        Written::Done(_) | Written::Raced => Ok(()),
    }
}

/// Labels and annotations that Karmada applied, so that those removed from the template are removed from the member.
const MANAGED: [(&str, &str); 2] = [
    ("labels", "resourcetemplate.karmada.io/managed-labels"),
    ("annotations", "resourcetemplate.karmada.io/managed-annotations"),
];

/// The manifest with the lists of the labels and annotations that it applies.
fn stamped(manifest: &Value) -> Value {
    let mut stamped = manifest.clone();
    for (field, list) in MANAGED {
        let keys: Vec<&str> = json::members(manifest, &format!("/metadata/{field}")).map(|(key, _)| key).collect();
        json::set(&mut stamped, &["metadata", "annotations", list], json!(keys.join(",")));
    }
    stamped
}

/// The manifest with the parts that an update must keep: identity, finalizers, owners, and labels and annotations of
/// others.
fn merged(manifest: &Value, observed: &Value) -> Value {
    let mut desired = manifest.clone();
    for field in ["resourceVersion", "uid", "finalizers", "ownerReferences"] {
        if let Some(value) = observed.pointer(&format!("/metadata/{field}")) {
            json::set(&mut desired, &["metadata", field], value.clone());
        }
    }
    for (field, list) in MANAGED {
        let brought: Vec<&str> = annotation(observed, list).split(',').collect();
        for (key, value) in json::members(observed, &format!("/metadata/{field}")) {
            let is_desired = manifest.pointer(&format!("/metadata/{field}")).is_some_and(|map| map.get(key).is_some());
            if !is_desired && !brought.contains(&key) {
                json::set(&mut desired, &["metadata", field, key], value.clone());
            }
        }
    }
    desired
}

async fn ensure_namespace(member: &Member, name: &str) -> Result<(), kube::Error> {
    let kind = Kind::regular("v1", "Namespace", false);
    if !name.is_empty() && member.objects().one(&kind, "", name).await?.is_none() {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        member.objects().create(&kind, &namespace).await?;
    }
    Ok(())
}
