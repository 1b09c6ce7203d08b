//! A change of one of fhpa's CustomResourceDefinitions -> additions that preserve its fields. No I/O.

use serde_json::Value;

use crate::api::crd;
use crate::api::served::{self, Field};
use crate::decision::defaults::Addition;

pub use crate::api::served::DEFINITIONS;

/// The additions with which the definition `new` has every fhpa field that `old` has; new content is kept. Empty for a
/// definition of another kind, and for what is not a definition.
#[must_use]
pub fn kept(old: &Value, new: &Value) -> Vec<Addition> {
    let name = new.pointer("/metadata/name").and_then(Value::as_str);
    let Some(kind) = DEFINITIONS.iter().position(|known| Some(*known) == name) else { return Vec::new() };
    let additions = served::kept(fields(kind), old, new);
    additions.into_iter().map(|(pointer, value)| Addition { pointer, value }).collect()
}

/// Fields that fhpa adds to a kind, by its index in [`DEFINITIONS`].
fn fields(kind: usize) -> &'static [Field] {
    crd::own_fields().ok().and_then(|all| all.get(kind)).map(Vec::as_slice).unwrap_or_default()
}
