//! The rules of Kubernetes for ObjectMeta of a namespaced object. Pure.

use std::collections::BTreeMap;

use super::{names, owners};
use crate::finding::{Cause, Findings};
use crate::path::Path;
use crate::subject::{Metadata, Text};

/// Most bytes of all annotations together.
const ANNOTATIONS_SIZE: usize = 256 * 1024;

const RULE: &str = "metadata";

/// Adds findings on `metadata`.
pub(super) fn validate(metadata: &Metadata<'_>, findings: &mut Findings) {
    let path = Path::Root("metadata");
    validate_names(metadata, &path, findings);
    if metadata.generation < 0 {
        let detail = "must be greater than or equal to 0";
        findings.invalid(RULE, &path.field("generation"), metadata.generation, detail);
    }
    validate_labels(&metadata.labels, &path.field("labels"), findings);
    validate_annotations(&metadata.annotations, &path.field("annotations"), findings);
    owners::validate_references(&metadata.owner_references, &path.field("ownerReferences"), findings);
    validate_finalizers(&metadata.finalizers, &path.field("finalizers"), findings);
    owners::validate_managed_fields(&metadata.managed_fields, &path.field("managedFields"), findings);
}

fn validate_names(metadata: &Metadata<'_>, path: &Path<'_>, findings: &mut Findings) {
    if let Some(problem) = generate_name_problem(&metadata.generate_name) {
        findings.invalid(RULE, &path.field("generateName"), &*metadata.generate_name, problem);
    }
    let name = path.field("name");
    // The API server makes a name of `generateName` after the mutating and before the validating webhooks.
    if metadata.name.is_empty() && metadata.generate_name.is_empty() {
        findings.required(RULE, &name, "name or generateName is required");
    } else if !metadata.name.is_empty()
        && let Some(problem) = names::subdomain(&metadata.name)
    {
        findings.invalid(RULE, &name, &*metadata.name, problem);
    }
    let namespace = path.field("namespace");
    if metadata.namespace.is_empty() {
        findings.required(RULE, &namespace, "the object lives in a namespace");
    } else if let Some(problem) = names::label(&metadata.namespace) {
        findings.invalid(RULE, &namespace, &*metadata.namespace, problem);
    }
}

/// A generated name continues after the given text, so that one trailing dash is allowed.
fn generate_name_problem(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let masked = match text.strip_suffix('-') {
        Some(stem) if !stem.is_empty() => stem.get(..stem.len() - 1).map(|stem| format!("{stem}a")),
        _ => None,
    };
    names::subdomain(masked.as_deref().unwrap_or(text))
}

fn validate_labels(labels: &BTreeMap<Text<'_>, Text<'_>>, path: &Path<'_>, findings: &mut Findings) {
    for (key, value) in labels {
        if let Some(problem) = names::qualified_name(key) {
            findings.invalid(RULE, path, &**key, problem);
        }
        if let Some(problem) = names::label_value(value) {
            findings.invalid(RULE, &path.key(key), &**value, problem);
        }
    }
}

fn validate_annotations(annotations: &BTreeMap<Text<'_>, Text<'_>>, path: &Path<'_>, findings: &mut Findings) {
    let mut size = 0_usize;
    for (key, value) in annotations {
        if let Some(problem) = names::qualified_name(&key.to_ascii_lowercase()) {
            findings.invalid(RULE, path, &**key, problem);
        }
        size = size.saturating_add(key.len()).saturating_add(value.len());
    }
    if size > ANNOTATIONS_SIZE {
        let detail = format!("all keys and values together have {size}");
        findings.refuse(RULE, path, Cause::TooLong { max: ANNOTATIONS_SIZE }, detail);
    }
}

fn validate_finalizers(finalizers: &[Text<'_>], path: &Path<'_>, findings: &mut Findings) {
    for (index, finalizer) in finalizers.iter().enumerate() {
        if let Some(problem) = names::qualified_name(finalizer) {
            findings.invalid(RULE, &path.index(index), &**finalizer, problem);
        }
    }
    let has = |name| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizers orphan and foregroundDeletion cannot both be set";
        findings.invalid(RULE, path, "orphan", detail);
    }
}
