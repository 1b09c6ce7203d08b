//! The verdict of a CRD on an object, as in kube-apiserver: defaulted, checked by schema, then by CEL. No I/O.

use std::sync::LazyLock;

use super::structural::{Fault, Structural};
use fhpa::api::crd;
use kube::core::cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use serde_json::Value;

/// One CRD, ready to judge objects.
pub struct Evaluator {
    structural: Structural,
    rules: CompiledSchema,
    validator: Validator,
}

/// The evaluators of both kinds, each made once.
static CRON_FEDERATED_HPA: LazyLock<Evaluator> = LazyLock::new(|| Evaluator::new(&crd::all().unwrap()[0]));
static FEDERATED_HPA: LazyLock<Evaluator> = LazyLock::new(|| Evaluator::new(&crd::all().unwrap()[1]));

/// The evaluator of a kind.
pub fn evaluator(kind: &str) -> &'static Evaluator {
    if kind == "FederatedHPA" { &FEDERATED_HPA } else { &CRON_FEDERATED_HPA }
}

impl Evaluator {
    fn new(crd: &Value) -> Self {
        let mut schema = crd::schema(crd).unwrap().clone();
        let structural = Structural::new(&schema).unwrap();
        without_type_of(&mut schema);
        let rules = compile_schema(&schema);
        assert!(!rules.has_errors(), "{:?}", rules.compilation_errors());
        Self { structural, rules, validator: Validator::new() }
    }

    /// All that the CRD says against the creation of `object`; nothing: it is stored.
    pub fn faults(&self, object: &Value) -> Vec<Fault> {
        let mut object = object.clone();
        // Both kinds have the status subresource: a status that comes with a new object is dropped.
        object.as_object_mut().map(|members| members.remove("status"));
        self.structural.complete(&mut object);
        let mut faults = self.structural.check(&object);
        if faults.iter().any(Fault::stops) {
            return faults;
        }
        if let Err(errors) = self.validator.validate_compiled(&self.rules, &object, None) {
            for error in errors.into_vec() {
                assert_eq!(error.kind, ErrorKind::ValidationFailure, "the evaluator cannot tell: {error:?}");
                faults.push(Fault { path: error.field_path, keyword: "cel".into(), message: error.message });
            }
        }
        faults
    }
}

/// The library knows no `type()`. Rules use it in one form, for quantities, which reads the same of a number's text.
fn without_type_of(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(rule)) = members.get_mut("rule") {
                *rule = with_text_of(rule);
            }
            members.values_mut().for_each(without_type_of);
        }
        Value::Array(items) => items.iter_mut().for_each(without_type_of),
        _ => {}
    }
}

/// `(type(X) == string ? X.matches(P) : X > 0)` as `string(X).matches(P)`.
fn with_text_of(rule: &str) -> String {
    let Some((before, after)) = rule.split_once("(type(") else { return rule.to_owned() };
    let (quantity, _) = after.split_once(')').unwrap();
    let (_, after) = after.split_once(".matches(").unwrap();
    let (pattern, _) = after.split_once(") : ").unwrap();
    format!("{before}string({quantity}).matches({pattern})")
}
