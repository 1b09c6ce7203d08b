//! A change of a CustomResourceDefinition of our kinds -> what keeps our fields in it. No I/O.

use serde_json::Value;

use crate::api::crd;
use crate::api::served::{self, Field};
use crate::decision::defaults::Addition;

pub use crate::api::served::DEFINITIONS;

/// What is to be added to the definition `new`, so that it knows every field of ours that `old` knows; what is new in it stays.
/// Nothing for a definition of another kind, and for what is no definition.
#[must_use]
pub fn kept(old: &str, new: &str) -> Vec<Addition> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (old, new) = (read(old), read(new));
    let name = new.pointer("/metadata/name").and_then(Value::as_str);
    let Some(kind) = DEFINITIONS.iter().position(|known| Some(*known) == name) else { return Vec::new() };
    let additions = served::kept(fields(kind), &old, &new);
    additions.into_iter().map(|(pointer, value)| Addition { pointer, value }).collect()
}

/// Our fields of a kind, by its place among [`DEFINITIONS`].
fn fields(kind: usize) -> &'static [Field] {
    crd::own_fields().ok().and_then(|all| all.get(kind)).map(Vec::as_slice).unwrap_or_default()
}
