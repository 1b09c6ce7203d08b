//! Whether fields of a FederatedHPA were lost, and the patch that restores them
//! (docs/design.md#law-10-act-only-on-whole-objects). No I/O.

use serde_json::{Map, Value, json};

use super::cache::entry::FederatedHpaEntry;
use crate::convert::own;
use crate::decision::defaults::Mode;
use crate::decision::mirror::{self, MirrorState, Own, Wanted};

/// State of an object.
#[derive(Debug)]
pub enum FieldState {
    /// Complete.
    Complete,
    /// Complete; this patch must be merged into it, so that no field can be lost.
    NeedsCopy(Value),
    /// A foreign CRD pruned fields: this patch restores the named fields.
    Pruned(Value, String),
    /// Fields with unknown values are lost: the reason.
    Unrecoverable(&'static str),
    /// It never had a mode, and the operator has not decided what such objects become.
    Undecided,
}

/// The fields were too large for an annotation.
const OMITTED: &str = "fields of fhpa were dropped by a foreign CustomResourceDefinition, and the annotation fhpa.karmada.io/spec has \
                       no copy of them: apply the manifest again. Until then everything stays as it is";
/// The mode was never recorded.
const NO_MODE: &str = "spec.mode is gone, and no annotation says what it was: set spec.mode, and other fields of fhpa that the manifest \
                       has. Until then everything stays as it is";

/// Why an undecided object is left as it is.
pub(super) const UNDECIDED: &str = "spec.mode is not set, and fhpa was started without --default-mode: set spec.mode to Centralized, as Karmada ran \
                         it, or to Distributed. Until then everything stays as it is";

/// The state of `entry`; `stored_mode` is the mode of objects that are stored without one.
#[must_use]
pub fn field_state(entry: &FederatedHpaEntry, stored_mode: Option<Mode>) -> FieldState {
    let notes = own::notes(&mirror::OF_FEDERATED_HPA, &entry.object.metadata);
    let mut own = own::federated_hpa(&entry.object);
    match mirror::judge(&own, &notes) {
        MirrorState::Pruned(lost) => {
            let names = lost.keys().map(|name| format!("spec.{name}")).collect::<Vec<_>>().join(", ");
            let wanted = notes.wanted(&lost);
            FieldState::Pruned(patch(Some(lost), &wanted), names)
        }
        MirrorState::Unrecoverable => FieldState::Unrecoverable(OMITTED),
        MirrorState::Complete if own.is_empty() && entry.held() => FieldState::Unrecoverable(NO_MODE),
        MirrorState::Complete | MirrorState::NeedsCopy(_) if !own.contains_key("mode") => {
            let Some(mode) = entry.mode().or(stored_mode) else { return FieldState::Undecided };
            own.insert("mode".to_owned(), mode.name().into());
            let mode = Own::from_iter([("mode".to_owned(), mode.name().into())]);
            FieldState::NeedsCopy(patch(Some(mode), &notes.wanted(&own)))
        }
        MirrorState::Complete => FieldState::Complete,
        MirrorState::NeedsCopy(wanted) => FieldState::NeedsCopy(patch(None, &wanted)),
    }
}

/// A merge patch of these fields and annotations.
fn patch(spec: Option<Own>, wanted: &Wanted) -> Value {
    let values = [(mirror::SPEC, &wanted.spec), (mirror::MODE, &wanted.mode)];
    let annotations: Map<String, Value> =
        values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into()))).collect();
    let mut patch = json!({"metadata": {"annotations": annotations}});
    if let (Some(spec), Some(members)) = (spec, patch.as_object_mut()) {
        members.insert("spec".to_owned(), spec.into());
    }
    patch
}
