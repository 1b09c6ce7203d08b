//! The verdict on one review, before it is encoded. No I/O.

use json_patch::AddOperation;
use json_patch::jsonptr::PointerBuf;
use serde::Serialize;
use serde_json::Value;

use crate::decision::finding::{Violation, Warning};

/// One operation of an RFC 6902 JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOperation {
    /// Adds or replaces the member at `path`.
    Add {
        /// JSON pointer.
        path: String,
        /// New value.
        value: Value,
    },
}

/// The object after a patch.
///
/// # Errors
/// When a path of the patch is not in the object.
pub fn patched(mut object: Value, operations: &[PatchOperation]) -> Result<Value, Box<dyn std::error::Error>> {
    for PatchOperation::Add { path, value } in operations {
        let addition = AddOperation { path: PointerBuf::parse(path.as_str())?, value: value.clone() };
        json_patch::patch(&mut object, &[json_patch::PatchOperation::Add(addition)])?;
    }
    Ok(object)
}

/// Why a review is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The object breaks rules: 422 `Invalid`, one cause per violation.
    Invalid(Vec<Violation>),
    /// The object could not be decoded: 400 `BadRequest`.
    Undecodable {
        /// Field path in Kubernetes' style; may be empty.
        path: String,
        /// The error at the path.
        message: String,
    },
}

/// The verdict on one review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Set when the review is denied.
    pub denial: Option<Denial>,
    /// Changes to the object; empty when there are none or the review is denied.
    pub patch: Vec<PatchOperation>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

impl Verdict {
    /// Admitted without changes.
    #[must_use]
    pub fn allowed() -> Self {
        Self::default()
    }
}
