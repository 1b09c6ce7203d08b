//! `matchConditions`: CEL over `object`, `oldObject` and `request`. No I/O.

use k8s_openapi::api::admissionregistration::v1::MatchCondition;
use kube::core::cel::KubeCelExt;
use kube::core::cel::cel::{Context, Program, Value as CelValue, to_value};
use serde_json::Value;

use super::request::{AdmissionRequest, Invocation, in_version, request_json};

struct Condition {
    expression: String,
    program: Result<Program, String>,
}

/// The conditions of one webhook.
pub(super) struct Conditions {
    conditions: Vec<Condition>,
    fails_open: bool,
}

impl Conditions {
    pub(super) fn compile(conditions: Vec<MatchCondition>, fails_open: bool) -> Self {
        let compile = |condition: MatchCondition| Condition {
            program: Program::compile(&condition.expression).map_err(|error| error.to_string()),
            expression: condition.expression,
        };
        Self { conditions: conditions.into_iter().map(compile).collect(), fails_open }
    }

    /// Whether all conditions are true. Errors: one that could not be evaluated, unless another is false or the webhook
    /// fails open.
    pub(super) fn hold(&self, request: &AdmissionRequest, invocation: &Invocation) -> Result<bool, String> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let mut context = Context::default().with_all();
        let variables = [
            ("object", in_version(request.object.as_ref(), &invocation.kind)),
            ("oldObject", in_version(request.old_object.as_ref(), &invocation.kind)),
            ("request", for_rules(request, invocation)),
        ];
        for (name, value) in variables {
            context.add_variable_from_value(name, to_value(value).unwrap_or(CelValue::Null));
        }
        let mut errors = Vec::new();
        for condition in &self.conditions {
            let outcome = match &condition.program {
                Ok(program) => program.execute(&context).map_err(|error| lower(&error.to_string())),
                Err(why) => Err(format!("compilation failed: {why}")),
            };
            match outcome {
                Ok(CelValue::Bool(true)) => {}
                Ok(CelValue::Bool(false)) => return Ok(false),
                Ok(_) => errors.push(format!("expression '{}' did not evaluate to bool", condition.expression)),
                Err(why) => errors.push(format!("expression '{}' resulted in error: {why}", condition.expression)),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            _ if self.fails_open => Ok(false),
            [only] => Err(only.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }
}

/// The request as input of the expressions: every member is set.
fn for_rules(request: &AdmissionRequest, invocation: &Invocation) -> Value {
    let mut out = request_json("", request, invocation);
    if let Some(members) = out.as_object_mut() {
        members.remove("uid");
        for key in ["subResource", "requestSubResource", "name", "namespace"] {
            members.entry(key).or_insert_with(|| Value::String(String::new()));
        }
    }
    out
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
