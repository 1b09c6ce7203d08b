//! CEL rules of one node, evaluated by kube-cel and reported as in kube-apiserver. No I/O.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;
use kube::core::cel::cel::objects::OptionalValue;
use kube::core::cel::cel::{Context, Program, Value as CelValue, to_value};
use kube::core::cel::{CompiledSchema, ErrorKind, KubeCelExt, ValidationError, compile_schema, validate_compiled};
use serde_json::{Map, Value};

use crate::field::{Fault, FieldError};

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

/// The schema without the rules of nested nodes.
fn own_rules_only(schema: &Value) -> Value {
    const RULES: &str = "x-kubernetes-validations";
    let Some(members) = schema.as_object() else { return schema.clone() };
    let keep = |(key, value): (&String, &Value)| {
        let value = if key == RULES { value.clone() } else { without(value, RULES) };
        (key.clone(), value)
    };
    Value::Object(members.iter().map(keep).collect())
}

fn without(value: &Value, gone: &str) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, value)| *key != gone || !value.is_array());
            Value::Object(kept.map(|(key, value)| (key.clone(), without(value, gone))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| without(item, gone)).collect()),
        scalar => scalar.clone(),
    }
}
