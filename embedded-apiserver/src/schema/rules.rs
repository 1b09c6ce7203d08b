//! CEL rules of one node, evaluated by kube-cel and reported as in kube-apiserver. No I/O.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;
use kube::core::cel::cel::objects::OptionalValue;
use kube::core::cel::cel::{Context, Program, Value as CelValue, to_value};
use kube::core::cel::{CompiledSchema, ErrorKind, KubeCelExt, ValidationError, compile_schema, validate_compiled};
use serde_json::Value;

use super::check::{Old, old_item, old_member};
use super::node::{Node, own_rules_only};
use crate::field::{Fault, FieldError};
use crate::fields::element::same;

/// The compiled rules of one node.
#[derive(Debug)]
pub(super) struct Rules {
    plain: Vec<ValidationRule>,
    compiled: CompiledSchema,
    /// Rules that get the old value as an optional. The library passes the plain value, so they run here.
    optional: Vec<Optional>,
}

#[derive(Debug)]
struct Optional {
    rule: ValidationRule,
    program: Result<Program, String>,
    message: Option<Program>,
}

/// Result of a violated rule.
enum Broken<'a> {
    /// It is false; with its message expression or its message.
    False(&'a str),
    /// It could not be evaluated.
    Failed(&'a str),
    /// It could not be run.
    Unusable(&'a str),
}

fn sees_optional(rule: &ValidationRule) -> bool {
    rule.optional_old_self == Some(true) && rule.rule.contains("oldSelf")
}

impl Rules {
    pub(super) fn compile(rules: Vec<ValidationRule>, schema: &Value) -> Self {
        let (optional, plain): (Vec<ValidationRule>, Vec<ValidationRule>) = rules.into_iter().partition(sees_optional);
        let mut schema = own_rules_only(schema);
        if let Some(list) = schema.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut) {
            list.retain(|rule| {
                !optional.iter().any(|gone| rule.get("rule").and_then(Value::as_str) == Some(&gone.rule))
            });
        }
        let prepare = |rule: ValidationRule| Optional {
            program: Program::compile(&rule.rule).map_err(|error| error.to_string()),
            message: rule.message_expression.as_deref().and_then(|text| Program::compile(text).ok()),
            rule,
        };
        Self { plain, compiled: compile_schema(&schema), optional: optional.into_iter().map(prepare).collect() }
    }

    /// Errors of rules that do not compile, to reject a CustomResourceDefinition.
    pub(super) fn errors(&self) -> Vec<String> {
        let optional = self.optional.iter().filter_map(|rule| rule.program.as_ref().err().cloned());
        let others = self.compiled.compilation_errors().into_iter().map(ToString::to_string);
        others.chain(optional).collect()
    }

    /// The violations of the value at `path`. `unchanged` is whether the value did not change, so that only transition
    /// rules count.
    pub(super) fn check(
        &self,
        type_name: &str,
        path: &str,
        value: &Value,
        old: Option<&Value>,
        unchanged: bool,
    ) -> Vec<FieldError> {
        let mut found = Vec::new();
        let counts = !unchanged || self.plain.iter().any(|rule| rule.rule.contains("oldSelf"));
        if counts && let Err(errors) = validate_compiled(&self.compiled, value, old) {
            // A real server has functions that the library lacks, such as `type`: rules that cannot be evaluated pass.
            for error in errors.iter().filter(|error| error.kind != ErrorKind::UnsupportedReference) {
                let rule = self.plain.iter().find(|rule| rule.rule == error.rule);
                let about_change = rule.is_some_and(|rule| rule.rule.contains("oldSelf"));
                if !unchanged || about_change {
                    found.push(report(type_name, path, value, rule, &broken(error)));
                }
            }
        }
        found.extend(self.optional.iter().filter_map(|rule| rule.check(type_name, path, value, old)));
        found
    }
}

fn broken(error: &ValidationError) -> Broken<'_> {
    match error.kind {
        ErrorKind::ValidationFailure => Broken::False(&error.message),
        ErrorKind::EvaluationError => {
            Broken::Failed(error.message.strip_prefix("rule evaluation error: ").unwrap_or(&error.message))
        }
        _ => Broken::Unusable(&error.message),
    }
}

impl Optional {
    fn check(&self, type_name: &str, path: &str, value: &Value, old: Option<&Value>) -> Option<FieldError> {
        let said = |broken: Broken<'_>| Some(report(type_name, path, value, Some(&self.rule), &broken));
        let program = match &self.program {
            Ok(program) => program,
            Err(why) => return said(Broken::Unusable(why)),
        };
        let cel = |value: &Value| to_value(value).unwrap_or(CelValue::Null);
        let old = old.map_or_else(OptionalValue::none, |old| OptionalValue::of(cel(old)));
        let mut context = Context::default().with_all();
        context.add_variable_from_value("self", cel(value));
        context.add_variable_from_value("oldSelf", CelValue::Opaque(Arc::new(old)));
        match program.execute(&context) {
            Ok(CelValue::Bool(true)) => None,
            Ok(CelValue::Bool(false)) => {
                let message = self.message.as_ref().and_then(|message| message.execute(&context).ok());
                match message {
                    Some(CelValue::String(text)) => said(Broken::False(&text)),
                    _ => said(Broken::False("")),
                }
            }
            Ok(_) => said(Broken::Unusable("the rule does not evaluate to bool")),
            Err(error) => said(Broken::Failed(&error.to_string())),
        }
    }
}

fn report(
    type_name: &str,
    path: &str,
    value: &Value,
    rule: Option<&ValidationRule>,
    broken: &Broken<'_>,
) -> FieldError {
    let named = rule.and_then(|rule| rule.message.as_deref()).filter(|message| !message.is_empty());
    let shown = named.or(rule.map(|rule| rule.rule.as_str())).unwrap_or_default().trim().to_owned();
    let unusable = |detail: String| FieldError::new(Fault::Invalid, path, type_name, detail);
    let message = match broken {
        Broken::False(message) => message.trim(),
        Broken::Failed(why) => return unusable(format!("{} evaluating rule: {shown}", lower(why))),
        Broken::Unusable(why) => return unusable(format!("rule compile error: {why}")),
    };
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

/// `No such key: x` in the format of kube-apiserver: `no such key: x`.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The violations of CEL rules.
pub(super) fn check(node: &Node, new: &Value, old: Old<'_>, errors: &mut Vec<FieldError>) {
    let unchanged = old.is_some_and(|old| same(old, new));
    rules_at(node, "", new, old, unchanged, errors);
}

/// `unchanged` is whether this value, or the nearest parent with an old value, did not change.
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
