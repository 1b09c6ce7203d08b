//! What fhpa holds a FederatedHPA by, the finalizer and the annotation with the workload: whoever else writes the object
//! leaves both as they are (docs/design.md#on-the-wire). A manifest has neither, and one that was exported has those of
//! another time. No I/O.

use serde_json::{Map, Value, json};

use crate::decision::defaults::Addition;
use crate::decision::names::{FINALIZER, FINALIZER_MANAGER, WORKLOAD};
use crate::decision::subject::Metadata;

/// Additions to the new object with which it is held as the `stored` one is, or not at all; `manager` is who writes it.
/// While an object is deleted, its user may force it.
pub(super) fn additions(new: &Metadata<'_>, stored: Option<&Metadata<'_>>, manager: &str) -> Vec<Addition> {
    let deleted = stored.is_some_and(|stored| stored.deletion_timestamp.is_some());
    if manager == FINALIZER_MANAGER || deleted || *new == Metadata::default() {
        return Vec::new();
    }
    let held = stored.is_some_and(is_held);
    let workload = stored.filter(|_| held).and_then(workload);
    let annotation = (self::workload(new) != workload).then(|| annotation(new, workload));
    let finalizers = (is_held(new) != held).then(|| finalizers(new, held));
    annotation.into_iter().chain(finalizers).collect()
}

/// Whether these additions write annotations, so that there are some.
pub(super) fn annotates(additions: &[Addition]) -> bool {
    additions.iter().any(|addition| addition.pointer.starts_with(ANNOTATIONS))
}

const ANNOTATIONS: &str = "/metadata/annotations";

fn is_held(metadata: &Metadata<'_>) -> bool {
    metadata.finalizers.iter().any(|name| &**name == FINALIZER)
}

fn workload<'a>(metadata: &'a Metadata<'_>) -> Option<&'a str> {
    metadata.annotations.iter().find(|(name, _)| &***name == WORKLOAD).map(|(_, value)| &**value)
}

fn annotation(new: &Metadata<'_>, workload: Option<&str>) -> Addition {
    if let Some(workload) = workload {
        return Addition::member(ANNOTATIONS, !new.annotations.is_empty(), WORKLOAD, workload);
    }
    let others = new.annotations.iter().filter(|(name, _)| &***name != WORKLOAD);
    let others: Map<String, Value> = others.map(|(name, value)| (name.to_string(), Value::from(&**value))).collect();
    Addition { pointer: ANNOTATIONS.to_owned(), value: others.into() }
}

fn finalizers(new: &Metadata<'_>, held: bool) -> Addition {
    let others = new.finalizers.iter().map(|name| &**name).filter(|name| *name != FINALIZER);
    let all: Vec<&str> = others.chain(held.then_some(FINALIZER)).collect();
    Addition { pointer: "/metadata/finalizers".to_owned(), value: json!(all) }
}
