//! Label selectors and the affinity of member clusters. Pure.

use super::{names, sizes};
use crate::finding::{Cause, Findings};
use crate::limits;
use crate::path::Path;
use crate::subject::Text;
use crate::subject::federated_hpa::ClusterAffinity;
use crate::subject::hpa::{LabelSelector, SelectorRequirement};

const RULE: &str = "cluster-affinity";
/// Operators of a label selector.
const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
/// Fields of a cluster that a selector may use.
const CLUSTER_FIELDS: [&str; 3] = ["provider", "region", "zone"];

/// Adds findings on a selection of clusters.
pub(super) fn validate_affinity(affinity: &ClusterAffinity<'_>, path: &Path<'_>, findings: &mut Findings) {
    if let Some(selector) = &affinity.label_selector {
        let path = path.field("labelSelector");
        validate_sizes(selector, &path, findings);
        validate_labels(selector, RULE, &path, findings);
    }
    if let Some(selector) = &affinity.field_selector {
        let path = path.field("fieldSelector");
        let path = path.field("matchExpressions");
        sizes::list(RULE, &selector.match_expressions, limits::REQUIREMENTS, &path, findings);
        for (index, requirement) in selector.match_expressions.iter().enumerate() {
            let path = path.index(index);
            if !CLUSTER_FIELDS.contains(&&*requirement.key) {
                findings.not_supported(RULE, &path.field("key"), &requirement.key, &CLUSTER_FIELDS);
            }
            validate_operator(requirement, &["In", "NotIn"], RULE, &path, findings);
            let path = path.field("values");
            sizes::list(RULE, &requirement.values, limits::VALUES, &path, findings);
            require_values(requirement, RULE, &path, findings);
            for (index, value) in given(requirement) {
                sizes::text(RULE, value, limits::FIELD_VALUE, &path.index(index), findings);
            }
        }
    }
    validate_clusters(&affinity.cluster_names, &path.field("clusterNames"), findings);
    validate_clusters(&affinity.exclude, &path.field("exclude"), findings);
}

/// Adds findings on the size of a selector of clusters.
fn validate_sizes(selector: &LabelSelector<'_>, path: &Path<'_>, findings: &mut Findings) {
    let (labels, most) = (&selector.match_labels, limits::REQUIREMENTS);
    if labels.len() > most {
        findings.refuse(RULE, &path.field("matchLabels"), Cause::TooMany { count: labels.len(), max: most }, "");
    }
    let path = path.field("matchExpressions");
    sizes::list(RULE, &selector.match_expressions, most, &path, findings);
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        sizes::list(RULE, &requirement.values, limits::VALUES, &path.index(index).field("values"), findings);
    }
}

fn validate_clusters(clusters: &[Text<'_>], path: &Path<'_>, findings: &mut Findings) {
    sizes::list(RULE, clusters, limits::CLUSTERS, path, findings);
    for (index, cluster) in clusters.iter().enumerate() {
        let path = path.index(index);
        if cluster.is_empty() {
            findings.required(RULE, &path, "must be the name of a member cluster");
        }
        sizes::text(RULE, cluster, limits::CLUSTER_NAME, &path, findings);
    }
}

/// Adds findings on a label selector.
pub(super) fn validate_labels(
    selector: &LabelSelector<'_>,
    rule: &'static str,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    validate_presence(selector, rule, path, findings);
    validate_spelling(selector, rule, path, findings);
}

/// Adds findings on members that the schema requires.
pub(super) fn validate_presence(
    selector: &LabelSelector<'_>,
    rule: &'static str,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let expressions = path.field("matchExpressions");
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let path = expressions.index(index);
        if requirement.key.is_empty() {
            findings.required(rule, &path.field("key"), "must be the key of a label");
        }
        if requirement.operator.is_empty() {
            findings.required(rule, &path.field("operator"), format!("must be one of {}", OPERATORS.join(", ")));
        }
        require_values(requirement, rule, &path.field("values"), findings);
    }
}

/// Rejects null among the values.
fn require_values(requirement: &SelectorRequirement<'_>, rule: &'static str, path: &Path<'_>, findings: &mut Findings) {
    for (index, _) in requirement.values.iter().enumerate().filter(|(_, value)| value.is_none()) {
        findings.required(rule, &path.index(index), "must be a text, not null");
    }
}

/// The values that are there, with their places.
fn given<'r, 'a>(requirement: &'r SelectorRequirement<'a>) -> impl Iterator<Item = (usize, &'r Text<'a>)> {
    requirement.values.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_ref()?)))
}

/// Adds findings on the members that are there.
pub(super) fn validate_spelling(
    selector: &LabelSelector<'_>,
    rule: &'static str,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let labels = path.field("matchLabels");
    for (key, value) in &selector.match_labels {
        if let Some(problem) = names::qualified_name(key) {
            findings.invalid(rule, &labels, &**key, problem);
        }
        if let Some(problem) = names::label_value(value) {
            findings.invalid(rule, &labels.key(key), &**value, problem);
        }
    }
    let expressions = path.field("matchExpressions");
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let path = expressions.index(index);
        if !requirement.key.is_empty()
            && let Some(problem) = names::qualified_name(&requirement.key)
        {
            findings.invalid(rule, &path.field("key"), &*requirement.key, problem);
        }
        if !requirement.operator.is_empty() {
            validate_operator(requirement, &OPERATORS, rule, &path, findings);
        }
        for (index, value) in given(requirement) {
            if let Some(problem) = names::label_value(value) {
                findings.invalid(rule, &path.field("values").index(index), &**value, problem);
            }
        }
    }
}

fn validate_operator(
    requirement: &SelectorRequirement<'_>,
    supported: &[&str],
    rule: &'static str,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let values = path.field("values");
    match &*requirement.operator {
        operator if !supported.contains(&operator) => {
            findings.not_supported(rule, &path.field("operator"), operator, supported);
        }
        operator @ ("In" | "NotIn") if requirement.values.is_empty() => {
            findings.required(rule, &values, format!("operator {operator} needs at least one value"));
        }
        operator @ ("Exists" | "DoesNotExist") if !requirement.values.is_empty() => {
            findings.refuse(rule, &values, Cause::Forbidden, format!("operator {operator} takes no values"));
        }
        _ => {}
    }
}
