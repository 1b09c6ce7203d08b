//! `metrics`: the metrics to scale on. Pure.

use super::scale_target::{validate_described, validate_name};
use super::{metric_targets, names, selectors, sizes};
use crate::api_version::ApiVersion;
use crate::finding::{Cause, Findings, Warning};
use crate::limits;
use crate::path::Path;
use crate::subject::hpa::{
    ContainerResourceSource, Metric, MetricIdentifier, MetricSource, ObjectSource, ResourceSource, TargetRef,
};
use crate::suggestion::{did_you_mean, nearest};

const RULE: &str = "metric";
/// The types of a metric; each has a member of the same name in lower camel case.
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Adds findings on the metrics.
pub(super) fn validate(metrics: &[Metric<'_>], path: &Path<'_>, findings: &mut Findings) {
    sizes::list(RULE, metrics, limits::METRICS, path, findings);
    for (index, metric) in metrics.iter().enumerate() {
        validate_metric(metric, &path.index(index), findings);
    }
}

/// Adds findings on metrics that fhpa itself could not query, as Centralized mode does: members would, in their own
/// way, and so only this mode refuses them.
pub(super) fn validate_queries(metrics: &[Metric<'_>], namespace: &str, path: &Path<'_>, findings: &mut Findings) {
    for (index, metric) in metrics.iter().enumerate() {
        let path = path.index(index);
        match metric {
            Metric { type_, pods: Some(source), .. } if type_ == "Pods" => {
                validate_query(&source.metric.name, &path.field("pods").field("metric").field("name"), findings);
            }
            Metric { type_, external: Some(source), .. } if type_ == "External" => {
                validate_query(&source.metric.name, &path.field("external").field("metric").field("name"), findings);
            }
            Metric { type_, object: Some(source), .. } if type_ == "Object" => {
                let path = path.field("object");
                validate_object_query(&source.described_object, namespace, &path.field("describedObject"), findings);
                validate_query(&source.metric.name, &path.field("metric").field("name"), findings);
            }
            _ => {}
        }
    }
}

/// A text that is special in a URL would lead the query, with fhpa's permissions, elsewhere.
fn validate_query(name: &str, path: &Path<'_>, findings: &mut Findings) {
    if names::path_segment(name).is_none()
        && let Some(problem) = names::reference(name)
    {
        findings.invalid(RULE, path, name, problem);
    }
}

fn validate_object_query(object: &TargetRef<'_>, namespace: &str, path: &Path<'_>, findings: &mut Findings) {
    if object.api_version.is_empty() {
        let detail = "mode Centralized asks for the object itself: must be its API version, for example \"v1\"";
        findings.required(RULE, &path.field("apiVersion"), detail);
    } else if ApiVersion::parse(&object.api_version).is_none() {
        let detail = "must be a version or group/version, for example \"v1\"";
        findings.invalid(RULE, &path.field("apiVersion"), &*object.api_version, detail);
    }
    validate_query(&object.name, &path.field("name"), findings);
    if names::is_other_namespace(&object.kind, &object.name, namespace) && !object.name.is_empty() {
        let detail = format!("mode Centralized measures no other namespace than that of the object ({namespace})");
        findings.invalid(RULE, &path.field("name"), &*object.name, detail);
    }
}

fn validate_metric(metric: &Metric<'_>, path: &Path<'_>, findings: &mut Findings) {
    let present = [
        ("containerResource", metric.container_resource.is_some()),
        ("external", metric.external.is_some()),
        ("object", metric.object.is_some()),
        ("pods", metric.pods.is_some()),
        ("resource", metric.resource.is_some()),
    ];
    let type_path = path.field("type");
    let expected = TYPES.iter().zip(&present).find(|(name, _)| **name == metric.type_).map(|(_, source)| *source);
    match expected {
        None if metric.type_.is_empty() => {
            findings.required(RULE, &type_path, format!("must be one of {}", TYPES.join(", ")));
        }
        None => findings.not_supported(RULE, &type_path, &metric.type_, &TYPES),
        Some((member, false)) => {
            let detail = format!("a metric of type {} is described here", metric.type_);
            findings.required(RULE, &path.field(member), detail);
        }
        Some(_) => {}
    }
    for (member, is_present) in present {
        match expected {
            Some((expected, _)) if is_present && member != expected => {
                let detail = format!("a metric of type {} has only {expected}", metric.type_);
                findings.refuse(RULE, &path.field(member), Cause::Forbidden, detail);
            }
            _ => {}
        }
    }
    validate_sources(metric, expected.map(|(member, _)| member), path, findings);
}

/// Validates only the source that the type names: the others are rejected as a whole.
fn validate_sources(metric: &Metric<'_>, expected: Option<&str>, path: &Path<'_>, findings: &mut Findings) {
    let Some(member) = expected else { return };
    let path = path.field(member);
    match metric {
        Metric { resource: Some(source), .. } if member == "resource" => validate_resource(source, &path, findings),
        Metric { container_resource: Some(source), .. } if member == "containerResource" => {
            validate_container(source, &path, findings);
        }
        Metric { pods: Some(source), .. } if member == "pods" => validate_pods(source, &path, findings),
        Metric { object: Some(source), .. } if member == "object" => validate_object(source, &path, findings),
        Metric { external: Some(source), .. } if member == "external" => validate_external(source, &path, findings),
        _ => {}
    }
}

fn validate_resource(source: &ResourceSource<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_resource_name(&source.name, path, findings);
    warn_of_unmeasured(&source.name, path, findings);
    metric_targets::validate_by_value(&source.target, "Resource", &path.field("target"), findings);
}

fn validate_container(source: &ContainerResourceSource<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_resource_name(&source.name, path, findings);
    if let Some(problem) = container_resource_problem(&source.name) {
        findings.invalid(RULE, &path.field("name"), &*source.name, problem);
    } else {
        warn_of_unmeasured(&source.name, path, findings);
    }
    let container = path.field("container");
    if source.container.is_empty() {
        findings.required(RULE, &container, "must be the name of the container");
    } else if let Some(problem) = names::label(&source.container) {
        findings.invalid(RULE, &container, &*source.container, problem);
    }
    metric_targets::validate_by_value(&source.target, "ContainerResource", &path.field("target"), findings);
}

fn validate_resource_name(name: &str, path: &Path<'_>, findings: &mut Findings) {
    if name.is_empty() {
        findings.required(RULE, &path.field("name"), "must be the name of a resource, for example cpu");
    }
}

/// Warns of a resource that can be requested and is not measured.
fn warn_of_unmeasured(name: &str, path: &Path<'_>, findings: &mut Findings) {
    const MEASURED: [&str; 2] = ["cpu", "memory"];
    if !name.is_empty() && !MEASURED.contains(&name) {
        let meant = did_you_mean(nearest(name, MEASURED));
        let text =
            format!("the resource metrics API has cpu and memory alone: use a metric of type Pods or External{meant}");
        findings.warn(RULE, &path.field("name"), text);
    }
}

/// Why `name` is not a valid resource of a container.
fn container_resource_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    if let Some(problem) = names::qualified_name(name) {
        return Some(problem);
    }
    if !name.contains('/') {
        let known = ["cpu", "memory", "ephemeral-storage"];
        let taken = known.contains(&name) || name.starts_with("hugepages-");
        let meant = did_you_mean(nearest(name, known));
        return (!taken).then(|| format!("containers have cpu, memory, ephemeral-storage and hugepages-<size>{meant}"));
    }
    let extended = !name.starts_with("requests.") && names::qualified_name(&format!("requests.{name}")).is_none();
    (!name.contains("kubernetes.io/") && !extended).then(|| {
        "must be the name of an extended resource, at most 253 characters before '/' and without 'requests.' (e.g. \
         'nvidia.com/gpu')"
            .to_owned()
    })
}

fn validate_pods(source: &MetricSource<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_identifier(&source.metric, &path.field("metric"), findings);
    metric_targets::validate_by_value(&source.target, "Pods", &path.field("target"), findings);
}

fn validate_object(source: &ObjectSource<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_described(&source.described_object, &path.field("describedObject"), findings);
    validate_identifier(&source.metric, &path.field("metric"), findings);
    metric_targets::validate_by_type(&source.target, &["Value", "AverageValue"], &path.field("target"), findings);
}

fn validate_external(source: &MetricSource<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_identifier(&source.metric, &path.field("metric"), findings);
    let (target, path) = (&source.target, path.field("target"));
    metric_targets::validate_by_type(target, &["Value", "AverageValue"], &path, findings);
    if target.value.is_some() && target.average_value.is_some() {
        let detail = "an External metric has either value or averageValue";
        findings.refuse(RULE, &path.field("averageValue"), Cause::Forbidden, detail);
    }
}

fn validate_identifier(metric: &MetricIdentifier<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_name(RULE, &metric.name, "name", "the name of the metric", path, findings);
    if let Some(selector) = &metric.selector {
        let path = path.field("selector");
        selectors::validate_presence(selector, RULE, &path, findings);
        // Kubernetes stores such a selector and then finds no metric with it: a warning, not a reason to reject.
        let mut found = Findings::default();
        selectors::validate_spelling(selector, RULE, &path, &mut found);
        for violation in found.violations {
            let text = format!("finds no metric: {}", violation.message());
            findings.warnings.push(Warning::shortened(violation.path, text, RULE));
        }
    }
}
