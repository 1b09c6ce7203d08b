//! managedFields and server-side apply. No I/O.

use std::sync::Arc;

use serde_json::Value;

/// How the fields of one kind are owned and merged.
#[derive(Clone, Debug)]
pub struct ListKinds;

impl ListKinds {
    /// The table of a built-in kind.
    pub fn builtin(_group: &str, _version: &str, _kind: &str) -> Option<Arc<Self>> {
        None
    }

    /// The table of a custom kind.
    pub fn custom(_schema: &Value) -> Self {
        Self
    }

    /// Says whether `status` is written through its subresource only.
    #[must_use]
    pub fn with_status_subresource(self, _yes: bool) -> Self {
        self
    }
}

/// A server-side apply.
#[derive(Debug)]
pub struct Apply<'a> {
    pub live: Option<&'a Value>,
    pub config: &'a Value,
    pub manager: &'a str,
    pub force: bool,
    pub subresource: &'a str,
    pub api_version: &'a str,
    pub now: &'a str,
    pub schema: &'a ListKinds,
}

/// A field that another manager owns.
#[derive(Debug)]
pub struct Conflict {
    pub manager: String,
    pub path: String,
}

/// Why an apply failed.
#[derive(Debug)]
pub enum ApplyError {
    Conflicts(Vec<Conflict>),
    Invalid(String),
}

/// Merges an applied configuration.
pub fn apply(request: Apply<'_>) -> Result<Value, ApplyError> {
    let mut merged = request.live.cloned().unwrap_or(Value::Null);
    json_patch::merge(&mut merged, request.config);
    Ok(merged)
}

/// Notes who wrote which fields.
#[allow(clippy::too_many_arguments)]
pub fn track_update(
    _before: Option<&Value>,
    _after: &mut Value,
    _manager: &str,
    _subresource: &str,
    _api_version: &str,
    _now: &str,
    _schema: &ListKinds,
) {
}
