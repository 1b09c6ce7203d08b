//! All rules of a FederatedHPA, in the order of its fields. Pure.

use super::{Subject, ValidationContext, assignment, behavior, bounds, conflicts, metadata, metrics, scale_target};
use crate::defaults::{MIN_REPLICAS, Mode};
use crate::finding::{Cause, Findings};
use crate::hpa::metric::is_outer;
use crate::path::Path;
use crate::subject::FederatedHPA;
use crate::subject::federated_hpa::FederatedHPASpec;

/// All findings of `hpa`.
#[must_use]
pub fn validate(hpa: &FederatedHPA<'_>, around: &ValidationContext<'_>) -> Findings {
    let mut findings = Findings::default();
    metadata::validate(&hpa.metadata, &mut findings);
    let path = Path::Root("spec");
    let nothing = FederatedHPASpec::default();
    let spec = hpa.spec.as_ref().unwrap_or(&nothing);
    scale_target::validate(&spec.scale_target_ref, &path.field("scaleTargetRef"), &mut findings);
    let mode = Mode::stated(spec).unwrap_or(around.settings.default_mode);
    if mode == Mode::Distributed && !spec.scale_target_ref.kind.is_empty() {
        scale_target::validate_divisible(&spec.scale_target_ref, around, &path.field("scaleTargetRef"), &mut findings);
    }
    if scale_target::is_autoscaler(&spec.scale_target_ref) {
        let text = "an autoscaler has no replicas of its own: point at the workload itself";
        findings.refuse("scale-target", &path.field("scaleTargetRef"), Cause::Forbidden, text);
    }
    conflicts::of_federated_hpa(hpa, around, &mut findings);
    bounds::warn_of_rules(hpa, around, &mut findings);
    validate_spec(spec, &hpa.metadata.namespace, around, &path, &mut findings);
    let status = Path::Root("status");
    for (member, replicas) in
        [("currentReplicas", hpa.status.current_replicas), ("desiredReplicas", hpa.status.desired_replicas)]
    {
        if replicas < 0 {
            findings.invalid("status", &status.field(member), replicas, "must be greater than or equal to 0");
        }
    }
    findings
}

/// The members of the spec after the target.
fn validate_spec(
    spec: &FederatedHPASpec<'_>,
    namespace: &str,
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    validate_bounds(spec, path, findings);
    metrics::validate(&spec.metrics, &path.field("metrics"), findings);
    let mode = Mode::stated(spec).unwrap_or(around.settings.default_mode);
    if mode == Mode::Centralized {
        metrics::validate_queries(&spec.metrics, namespace, &path.field("metrics"), findings);
    }
    if let Some(behavior) = &spec.behavior {
        behavior::validate(behavior, &path.field("behavior"), findings);
    }
    if let Some(mode) = spec.mode.as_deref().filter(|mode| Mode::parse(mode).is_none()) {
        findings.not_supported("mode", &path.field("mode"), mode, &Mode::NAMES);
    }
    assignment::validate(spec, mode, path, findings);
}

fn validate_bounds(spec: &FederatedHPASpec<'_>, path: &Path<'_>, findings: &mut Findings) {
    let outer = spec.metrics.iter().any(|metric| is_outer(&metric.type_));
    match spec.min_replicas {
        Some(min) if min < 0 => {
            findings.invalid("bounds", &path.field("minReplicas"), min, "must be greater than or equal to 0");
        }
        Some(min @ 0) if !outer => {
            let text = "must be at least 1: only a metric of type Object or External is there without pods";
            findings.invalid("bounds", &path.field("minReplicas"), min, text);
        }
        _ => {}
    }
    let path = path.field("maxReplicas");
    let Some(max) = spec.max_replicas else {
        findings.required("bounds", &path, "must be the most replicas to have, over all clusters");
        return;
    };
    let min = spec.min_replicas.unwrap_or(MIN_REPLICAS);
    if max < 1 {
        findings.invalid("bounds", &path, max, "must be greater than 0");
    } else if max < min {
        findings.invalid("bounds", &path, max, format!("must be greater than or equal to minReplicas ({min})"));
    }
}

impl Subject for FederatedHPA<'_> {
    fn findings(&self, around: &ValidationContext<'_>) -> Findings {
        validate(self, around)
    }
    fn same_spec(&self, stored: &Self) -> bool {
        self.spec == stored.spec
    }
    fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}
