//! `scaleTargetRef`: the object to scale. Pure.

use super::{ValidationContext, names, sizes};
use crate::api_version::{ApiVersion, GROUP};
use crate::finding::{Cause, Findings};
use crate::kinds::{self, Unfit};
use crate::limits;
use crate::path::Path;
use crate::related_objects::Target;
use crate::subject::TargetRef;

const RULE: &str = "scale-target";

/// Adds findings on `reference`, including warnings for versions that Kubernetes does not have.
pub(super) fn validate(reference: &TargetRef<'_>, path: &Path<'_>, findings: &mut Findings) {
    let version = validate_api_version(&reference.api_version, &path.field("apiVersion"), findings);
    validate_kind(reference, version, &path.field("kind"), findings);
    validate_name(RULE, &reference.name, "name", "the name of the object to scale", path, findings);
    let name = &*reference.name;
    // Kubernetes accepts this, but the controller could not request it.
    if names::path_segment(name).is_none()
        && let Some(problem) = names::reference(name)
    {
        findings.invalid(RULE, &path.field("name"), name, problem);
    }
}

/// Adds findings on the kind and the name of a described object.
pub(super) fn validate_described(reference: &TargetRef<'_>, path: &Path<'_>, findings: &mut Findings) {
    sizes::text("metric", &reference.api_version, limits::REFERENCE, &path.field("apiVersion"), findings);
    validate_name("metric", &reference.kind, "kind", "the kind of the object the metric describes", path, findings);
    validate_name("metric", &reference.name, "name", "the name of the object the metric describes", path, findings);
}

/// A name that becomes part of a URL.
pub(super) fn validate_name(
    rule: &'static str,
    value: &str,
    member: &str,
    meaning: &str,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let path = path.field(member);
    if value.is_empty() {
        findings.required(rule, &path, format!("must be {meaning}"));
    } else if !sizes::text(rule, value, limits::REFERENCE, &path, findings) {
        // What is too long is not repeated.
    } else if let Some(problem) = names::path_segment(value) {
        findings.invalid(rule, &path, value, problem);
    }
}

fn validate_api_version<'a>(text: &'a str, path: &Path<'_>, findings: &mut Findings) -> Option<ApiVersion<'a>> {
    if text.is_empty() {
        findings.required(RULE, path, "must be the API version of the object to scale, for example \"apps/v1\"");
        return None;
    }
    if !sizes::text(RULE, text, limits::REFERENCE, path, findings) {
        return None;
    }
    let Some(version) = ApiVersion::parse(text) else {
        let detail = "must be a group and a version, for example \"apps/v1\"";
        findings.invalid(RULE, path, text, detail);
        return None;
    };
    if let Some(meant) = version.bare_group() {
        findings.invalid(RULE, path, text, format!("has no version: write group/version, for example {meant}"));
        return None;
    }
    if let Some(meant) = version.foreign_version() {
        findings.invalid(RULE, path, text, format!("there is no such version: write {meant}"));
        return None;
    }
    if let Some((release, meant)) = version.removed() {
        findings.invalid(RULE, path, text, format!("Kubernetes {release} removed it: write {meant}"));
        return None;
    }
    if let Some(meant) = version.misspelt_group() {
        findings.invalid(RULE, path, text, format!("there is no such API group: did you mean {meant:?}?"));
        return None;
    }
    if let Some(meant) = version.unknown_version() {
        findings.warn(RULE, path, format!("Kubernetes has no such version: did you mean {meant:?}?"));
    }
    Some(version)
}

fn validate_kind(reference: &TargetRef<'_>, version: Option<ApiVersion<'_>>, path: &Path<'_>, findings: &mut Findings) {
    let kind = &*reference.kind;
    if kind.is_empty() {
        findings.required(RULE, path, "must be the kind of the object to scale, for example Deployment");
        return;
    }
    if !sizes::text(RULE, kind, limits::REFERENCE, path, findings) {
        return;
    }
    if let Some(problem) = names::reference(kind) {
        findings.invalid(RULE, path, kind, problem);
        return;
    }
    if let (Some(_), Err(unfit)) = (version, kinds::has_replicas(&reference.api_version, kind)) {
        findings.invalid(RULE, path, kind, unfit.to_string());
    }
}

/// Adds a violation when this installation cannot divide objects of the kind, where that is known.
pub(super) fn validate_divisible(
    reference: &TargetRef<'_>,
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let (api_version, kind) = (&*reference.api_version, &*reference.kind);
    let retention = around.related_objects.retention(api_version, kind);
    // A kind without replicas is refused in every mode.
    if let Err(unfit @ (Unfit::NotAllowed { .. } | Unfit::NotKept { .. })) =
        kinds::divisible(api_version, kind, retention)
    {
        findings.invalid(RULE, &path.field("kind"), kind, unfit.to_string());
    }
}

/// Whether the target is one of Karmada's autoscaling kinds, in any version, also a forgotten one.
pub(super) fn is_autoscaler(reference: &TargetRef<'_>) -> bool {
    // Most targets are in another group, which the start of the text tells.
    reference.api_version.starts_with(GROUP)
        && (reference.api_version == GROUP
            || ApiVersion::parse(&reference.api_version).is_some_and(|version| version.group == GROUP))
}

/// The target to look up related objects with; `None` while it is not complete.
pub(super) fn target(reference: &TargetRef<'_>, namespace: &str) -> Option<Target> {
    let version = ApiVersion::parse(&reference.api_version)?;
    (!reference.kind.is_empty() && !reference.name.is_empty()).then(|| Target {
        namespace: namespace.to_owned(),
        group: version.group.to_owned(),
        kind: reference.kind.to_string(),
        name: reference.name.to_string(),
    })
}

/// Adds findings on the kind of a target in Karmada's autoscaling group.
pub(super) fn validate_autoscaler_kind(reference: &TargetRef<'_>, path: &Path<'_>, findings: &mut Findings) {
    if is_autoscaler(reference) && reference.kind != "FederatedHPA" && !reference.kind.is_empty() {
        let cause =
            Cause::NotSupported { value: (&*reference.kind).into(), supported: vec!["FederatedHPA".to_owned()] };
        let detail = format!("of {} only a FederatedHPA can be a target", reference.api_version);
        findings.refuse(RULE, &path.field("kind"), cause, detail);
    }
}
