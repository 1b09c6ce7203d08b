//! Structural schemas of custom resources. No I/O.

use serde_json::Value;

use super::status::Cause;

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct Structural;

/// A finding.
pub type FieldError = Cause;

impl Structural {
    /// Compiles.
    pub fn compile(_schema: &Value) -> Result<Self, String> {
        Ok(Self)
    }

    /// Drops unknown fields and names them.
    pub fn prune(&self, _object: &mut Value) -> Vec<String> {
        Vec::new()
    }

    /// Fills in defaults.
    pub fn default(&self, _object: &mut Value) {}

    /// Checks.
    pub fn validate(&self, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }
}
