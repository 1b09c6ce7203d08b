//! CEL rules of one place, evaluated by kube-cel and reported as kube-apiserver does. No I/O.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;
use kube::core::cel::{CompiledSchema, ErrorKind, ValidationError, compile_schema, validate_compiled};
use serde_json::Value;

use super::check::{Old, old_item, old_member};
use super::node::{Node, own_rules_only};
use crate::playground::apiserver::field::{Fault, FieldError};
use crate::playground::apiserver::fields::element::same;

/// The compiled rules of one place.
#[derive(Debug)]
pub(super) struct Rules {
    rules: Vec<ValidationRule>,
    compiled: CompiledSchema,
}

impl Rules {
    pub(super) fn compile(rules: Vec<ValidationRule>, schema: &Value) -> Self {
        Self { rules, compiled: compile_schema(&own_rules_only(schema)) }
    }

    /// Rules that do not compile, for the refusal of a custom resource definition.
    pub(super) fn errors(&self) -> Vec<String> {
        self.compiled.compilation_errors().into_iter().map(ToString::to_string).collect()
    }

    /// The violations of the value at `path`. `unchanged`: the value is as it was, so that only rules about the change
    /// count.
    pub(super) fn check(
        &self,
        type_name: &str,
        path: &str,
        value: &Value,
        old: Option<&Value>,
        unchanged: bool,
    ) -> Vec<FieldError> {
        let Err(errors) = validate_compiled(&self.compiled, value, old) else { return Vec::new() };
        let found = errors.iter().filter_map(|error| {
            let rule = self.rules.iter().find(|rule| rule.rule == error.rule);
            let about_change = rule.is_some_and(|rule| rule.rule.contains("oldSelf"));
            (!unchanged || about_change).then(|| report(type_name, path, value, rule, error))
        });
        found.collect()
    }
}

fn report(
    type_name: &str,
    path: &str,
    value: &Value,
    rule: Option<&ValidationRule>,
    error: &ValidationError,
) -> FieldError {
    let named = rule.and_then(|rule| rule.message.as_deref()).filter(|message| !message.is_empty());
    let shown = named.unwrap_or(&error.rule).trim().to_owned();
    if error.kind != ErrorKind::ValidationFailure {
        let detail = match error.kind {
            ErrorKind::EvaluationError => {
                let why = error.message.strip_prefix("rule evaluation error: ").unwrap_or(&error.message);
                format!("{} evaluating rule: {shown}", lower(why))
            }
            _ => format!("rule compile error: {}", error.message),
        };
        return FieldError::new(Fault::Invalid, path, type_name, detail);
    }
    let message = error.message.trim();
    let usable = !message.is_empty() && !message.contains('\n');
    let detail = match (rule.and_then(|rule| rule.message_expression.as_deref()), named) {
        (Some(_), _) if usable => message.to_owned(),
        (_, Some(named)) => named.trim().to_owned(),
        (_, None) => format!("failed rule: {shown}"),
    };
    let field_path = rule.and_then(|rule| rule.field_path.as_deref()).unwrap_or_default();
    let field = format!("{path}{field_path}");
    let value = (!matches!(type_name, "object" | "array")).then(|| value.clone());
    match rule.and_then(|rule| rule.reason.as_deref()) {
        Some("FieldValueForbidden") => FieldError::bare(Fault::Forbidden, &field, detail),
        Some("FieldValueRequired") => FieldError::bare(Fault::Required, &field, detail),
        Some("FieldValueDuplicate") => {
            FieldError { detail: String::new(), value, ..FieldError::bare(Fault::Duplicate, &field, "") }
        }
        _ => FieldError { value, ..FieldError::bare(Fault::Invalid, &field, detail) },
    }
}

/// `No such key: x` as kube-apiserver writes it: `no such key: x`.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The violations of CEL rules.
pub(super) fn check(node: &Node, new: &Value, old: Old<'_>, errors: &mut Vec<FieldError>) {
    let unchanged = old.is_some_and(|old| same(old, new));
    rules_at(node, "", new, old, unchanged, errors);
}

/// `unchanged`: this place, or the nearest one above that has an old value, is as it was.
fn rules_at(node: &Node, path: &str, value: &Value, old: Old<'_>, unchanged: bool, errors: &mut Vec<FieldError>) {
    if value.is_null() {
        return;
    }
    let old = old.filter(|old| !old.is_null());
    if let Some(rules) = &node.rules {
        errors.extend(rules.check(node.type_name(), path, value, old, unchanged));
    }
    for one in &node.all_of {
        if let Some(rules) = &one.rules {
            errors.extend(rules.check(node.type_name(), path, value, old, unchanged));
        }
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let Some(of) = node.member(name).filter(|of| of.has_rules()) else { continue };
                let declared = node.properties.contains_key(name);
                let below = if declared { format!("{path}.{name}") } else { format!("{path}[{name}]") };
                let was = old_member(path, name, old);
                let unchanged = was.map_or(unchanged, |was| same(was, member));
                rules_at(of, &below, member, was, unchanged, errors);
            }
        }
        Value::Array(items) => {
            let Some(of) = node.items.as_ref().filter(|of| of.has_rules()) else { return };
            for (at, item) in items.iter().enumerate() {
                let was = old_item(node, item, old);
                let unchanged = was.map_or(unchanged, |was| same(was, item));
                rules_at(of, &format!("{path}[{at}]"), item, was, unchanged, errors);
            }
        }
        _ => {}
    }
}
