//! Hands a workload back to Karmada without moving a pod (design: On the wire). Talks to the API server.
//!
//! First the member HPAs go, so that replicas stand still. Then the entries of the binding and the template take over what
//! runs, while members keep their own replicas. Then the label falls, which changes nothing any more, and last Karmada's
//! scheduler comes back to a binding that adds up.

use serde_json::{Value, json};

use super::apply::{About, Applier};
use super::members::proxied;
use super::names;
use super::observe::{answers, reported};
use super::seen::View;
use super::seen::entry::Binding;
use super::takeover::{Takeover, labelled, target, workload};
use crate::convert;
use crate::convert::fleet::number;
use crate::decision::backoff::ErrorClass;
use crate::decision::plan::{Action, Entry};
use crate::decision::split::Replicas;
use crate::reconcile::failure::{Asked, Failure, WriteError};
use crate::runtime::leader::Leader;

/// How far a release came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Something was written: look again.
    Partly,
    /// It waits for something that will be seen.
    Waits,
    /// All is handed back.
    Wholly,
}

/// What comes after a workload was handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// The FederatedHPA is let go.
    LetGo,
    /// It scales another workload now.
    TakeOther,
}

/// Does the next thing that is to be done.
///
/// # Errors
/// When this process leads no more, or the API server refuses or is not reached.
pub async fn release(
    takeover: &Takeover,
    applier: &Applier,
    leader: &Leader,
    view: &View,
    last: Last,
) -> Result<Released, WriteError> {
    takeover.forget(&view.order.key());
    let mut deleted = false;
    for sent in view.sent.iter().filter(|sent| !sent.deleting) {
        applier.writer.unsend(leader, sent).await?;
        deleted = true;
    }
    if deleted {
        return Ok(Released::Partly);
    }
    // A cluster that does not answer loses its HPA when it is back.
    if view.sent.iter().any(|sent| view.fleet.get(&sent.cluster).is_some_and(|(member, _)| answers(member))) {
        return Ok(Released::Waits);
    }
    if let Some(binding) = view.taken.as_deref().filter(|binding| binding.object.metadata.deletion_timestamp.is_none())
        && binding.suspended()
    {
        match hand_back(takeover, applier, leader, view, binding).await? {
            Released::Wholly => {}
            step => return Ok(step),
        }
    }
    let metadata = match last {
        Last::LetGo => {
            let finalizers = view.order.object.metadata.finalizers.iter().flatten();
            let kept: Vec<&String> = finalizers.filter(|name| *name != names::FINALIZER).collect();
            json!({"finalizers": kept, "annotations": {names::WORKLOAD: Value::Null}})
        }
        Last::TakeOther => json!({"annotations": {names::WORKLOAD: workload(&view.order)}}),
    };
    applier.writer.order(leader, &view.order, json!({"metadata": metadata})).await?;
    Ok(Released::Wholly)
}

async fn hand_back(
    takeover: &Takeover,
    applier: &Applier,
    leader: &Leader,
    view: &View,
    binding: &Binding,
) -> Result<Released, WriteError> {
    let key = view.order.key();
    let target = target(&view.order.taken, &key.namespace);
    let (place, template) = match takeover.template(target).await {
        Ok(found) => found,
        // Without a template there is nothing to hand back.
        Err(Failure { class: ErrorClass::Missing, .. }) => return Ok(Released::Wholly),
        Err(failure) => return Err(failure.into()),
    };
    if labelled(&template) {
        let entries = running(applier, view, binding, (&place.path, target.name)).await;
        let stored = binding.object.spec.clusters.iter();
        let stands = stored
            .map(|entry| (&*entry.name, entry.replicas))
            .eq(entries.iter().map(|entry| (entry.cluster, number(entry.replicas))));
        let group = &binding.object.status.scheduler_observing_affinity_name;
        let about = About { leader, view, binding, group };
        if !stands {
            applier.apply(about, &Action::Bind { entries, evictions: Vec::new() }).await?;
            return Ok(Released::Partly);
        }
        if applier.follow(about).await? {
            return Ok(Released::Partly);
        }
        let whole = whole(binding, &entries);
        if binding.object.spec.replicas != Some(number(whole)) {
            let resource = format!("{}/scale", place.plural);
            let asked = Asked { verb: "patch", group: &place.group, resource: &resource, object: &target };
            applier.writer.scale(leader, &place.path, target.name, whole, asked).await?;
            // Karmada brings it into the binding.
            return Ok(Released::Waits);
        }
        let left = takeover.apply_labels(leader, target, &place, &template, json!({})).await?;
        if labelled(&left) {
            // Somebody else put it there, too: it stays.
            return lift(applier, leader, binding).await;
        }
        return Ok(Released::Partly);
    }
    lift(applier, leader, binding).await
}

async fn lift(applier: &Applier, leader: &Leader, binding: &Binding) -> Result<Released, WriteError> {
    let patch = json!({"spec": {"suspension": {"scheduling": Value::Null}}});
    applier.writer.binding(leader, &binding.object, patch, false).await?;
    Ok(Released::Partly)
}

/// The entries with what runs.
///
/// While a new template is rolled out more replicas exist than are asked for. Then the cluster itself is asked for how many
/// it wants; where it cannot be asked, what exists counts.
async fn running<'a>(
    applier: &Applier,
    view: &View,
    binding: &'a Binding,
    (path, name): (&str, &str),
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for entry in &binding.object.spec.clusters {
        let cluster = entry.name.as_str();
        let status = reported(binding, cluster);
        let rolls = status.is_some_and(|status| status.updated_replicas.unwrap_or_default() < status.replicas);
        let mut runs = status.map_or(entry.replicas, |status| status.replicas);
        if rolls && view.fleet.get(cluster).is_some_and(|(member, _)| answers(member)) {
            let object = format!("{name} in cluster {cluster}");
            let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
            runs = applier.writer.wanted(&proxied(cluster, path), name, asked).await.unwrap_or(runs);
        }
        entries.push(Entry { cluster, replicas: Replicas::try_from(runs).unwrap_or_default() });
    }
    entries
}

/// Replicas of the template that make the scheduler keep the entries: their sum where the placement divides. Where it
/// duplicates, every cluster gets them: the most that one runs, so that no pod is taken away.
fn whole(binding: &Binding, entries: &[Entry<'_>]) -> Replicas {
    let replicas = entries.iter().map(|entry| entry.replicas);
    if convert::fleet::placement(&binding.placement).policy().divides() {
        replicas.fold(0, Replicas::saturating_add)
    } else {
        replicas.max().unwrap_or_default()
    }
}
