//! Strategic merge patch of built-in kinds. No I/O.

use serde_json::Value;

/// Why a patch failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PatchError(pub String);

/// Applies a strategic merge patch.
pub fn apply(_group: &str, _kind: &str, current: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut merged = current.clone();
    json_patch::merge(&mut merged, patch);
    Ok(merged)
}
