//! The rules of Kubernetes for `ownerReferences` and `managedFields`. Pure.

use crate::finding::{Cause, Findings};
use crate::path::Path;
use crate::subject::metadata::{ManagedFields, OwnerReference};

const RULE: &str = "metadata";
/// Most characters of a field manager.
const MANAGER: usize = 128;
/// Most characters of a subresource.
const SUBRESOURCE: usize = 256;

/// Adds findings on the owners.
pub(super) fn validate_references(owners: &[OwnerReference<'_>], path: &Path<'_>, findings: &mut Findings) {
    for (index, owner) in owners.iter().enumerate() {
        let path = path.index(index);
        let version = match owner.api_version.split_once('/') {
            Some((_, version)) if version.contains('/') => "",
            Some((_, version)) => version,
            None => &owner.api_version,
        };
        if version.is_empty() {
            let detail = "must be a version or group/version, for example \"apps/v1\"";
            findings.invalid(RULE, &path.field("apiVersion"), &*owner.api_version, detail);
        }
        for (name, value) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
            if value.is_empty() {
                findings.invalid(RULE, &path.field(name), "", "must not be empty");
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            findings.invalid(RULE, &path, &*owner.kind, "an Event cannot own an object");
        }
    }
    if owners.iter().filter(|owner| owner.controller == Some(true)).nth(1).is_some() {
        let detail = "only one owner can have controller set to true";
        findings.invalid(RULE, path, "controller", detail);
    }
}

/// Adds findings on the managed fields.
pub(super) fn validate_managed_fields(entries: &[ManagedFields<'_>], path: &Path<'_>, findings: &mut Findings) {
    for (index, entry) in entries.iter().enumerate() {
        let path = path.index(index);
        if !matches!(&*entry.operation, "Apply" | "Update") {
            findings.not_supported(RULE, &path.field("operation"), &entry.operation, &["Apply", "Update"]);
        }
        if !matches!(&*entry.fields_type, "" | "FieldsV1") {
            findings.not_supported(RULE, &path.field("fieldsType"), &entry.fields_type, &["FieldsV1"]);
        }
        let manager = path.field("manager");
        if entry.manager.len() > MANAGER {
            findings.refuse(RULE, &manager, Cause::TooLong { max: MANAGER }, "");
        }
        if !entry.manager.chars().all(is_printable) {
            findings.invalid(RULE, &manager, &*entry.manager, "must have printable characters only");
        }
        if entry.subresource.len() > SUBRESOURCE {
            findings.refuse(RULE, &path.field("subresource"), Cause::TooLong { max: SUBRESOURCE }, "");
        }
    }
}

/// Whether Go's `unicode.IsPrint` accepts the character.
fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        _ if character.is_whitespace() => false,
        // A character that is escaped inside a text, not only at its start, is not printable.
        _ => format!("a{character}").escape_debug().count() == 2,
    }
}
