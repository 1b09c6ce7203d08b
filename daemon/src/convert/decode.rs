//! An object of a review -> what the rules read, and the errors of its types. No I/O.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::wrong_types::{self, MOST, WrongType};
use crate::decision::api_version::{GROUP, VERSION};
use crate::decision::excerpt::excerpt;
use crate::decision::finding::{Findings, Violation};
use crate::decision::subject::{CronFederatedHPA, FederatedHPA};
use crate::decision::validation::{Subject, ValidationContext};

/// Why an object could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", path, if path.is_empty() { "" } else { ": " })]
pub struct DecodeError {
    /// Field path in Kubernetes' style; empty for the object as a whole.
    pub path: String,
    /// The found value and what was expected.
    pub message: String,
}

/// A kind whose objects are reviewed.
pub trait Reviewed: DeserializeOwned + Subject {
    /// Its name.
    const KIND: &'static str;
}

impl Reviewed for FederatedHPA<'static> {
    const KIND: &'static str = "FederatedHPA";
}

impl Reviewed for CronFederatedHPA<'static> {
    const KIND: &'static str = "CronFederatedHPA";
}

/// An object, as far as its values have the right type. Its findings are those of the types and those of the rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<T> {
    /// The object; a value of the wrong type is absent.
    pub object: T,
    /// The values of the wrong type.
    pub wrong: Vec<Violation>,
}

/// Characters of a value that an error repeats.
const VALUE_LENGTH: usize = 40;

/// Decodes an object of kind `T`.
///
/// # Errors
/// When it is no object, or one of another kind.
pub fn decode<T: Reviewed>(object: &Value) -> Result<Decoded<T>, DecodeError> {
    if !object.is_object() {
        let message = format!("expected an object, got {}", excerpt(&object.to_string(), VALUE_LENGTH));
        return Err(DecodeError { path: String::new(), message });
    }
    check_kind(T::KIND, object)?;
    let wrong = wrong_types::find(T::KIND, object);
    let sound = match wrong.len() {
        0 => Cow::Borrowed(object),
        MOST.. => Cow::Owned(json!({})),
        _ => Cow::Owned(wrong_types::removed(object.clone(), &wrong)),
    };
    // Only an error is worth to note where each value is.
    let object = T::deserialize(&*sound).or_else(|_| {
        serde_path_to_error::deserialize(&*sound).map_err(|error| {
            let path = error.path().to_string();
            DecodeError { path, message: error.into_inner().to_string() }
        })
    })?;
    let wrong = wrong.into_iter().map(|WrongType { violation, .. }| violation).collect();
    Ok(Decoded { object, wrong })
}

impl<T: Reviewed> Subject for Decoded<T> {
    fn findings(&self, around: &ValidationContext<'_>) -> Findings {
        let Findings { violations, warnings } = self.object.findings(around);
        Findings { violations: self.with_types(violations), warnings }
    }

    fn violations(&self, around: &ValidationContext<'_>) -> Vec<Violation> {
        self.with_types(self.object.violations(around))
    }

    fn same_spec(&self, stored: &Self) -> bool {
        self.wrong == stored.wrong && self.object.same_spec(&stored.object)
    }

    fn is_being_deleted(&self) -> bool {
        self.object.is_being_deleted()
    }
}

impl<T> Decoded<T> {
    /// The errors of the types and those of the rules, without what only follows from the former: that a value is
    /// missing which is there, with the wrong type, is no error of its own.
    fn with_types(&self, rules: Vec<Violation>) -> Vec<Violation> {
        if self.wrong.len() >= MOST {
            return self.wrong.clone();
        }
        let follows = |path: &str| self.wrong.iter().any(|w| is_within(path, &w.path) || is_within(&w.path, path));
        let own = rules.into_iter().filter(|violation| !follows(&violation.path));
        self.wrong.iter().cloned().chain(own).collect()
    }
}

/// Whether `path` is `outer` or lies within it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Checks that an object is of the kind that the endpoint serves; a missing `kind` or `apiVersion` passes, because the
/// API server has filled in both.
fn check_kind(expected: &str, object: &Value) -> Result<(), DecodeError> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if !kind.is_empty() && kind != expected {
        let message = format!("expected an object of kind {expected}, got kind {kind:?}");
        return Err(DecodeError { path: "kind".to_owned(), message });
    }
    let ours = api_version.split_once('/') == Some((GROUP, VERSION));
    if !ours && !matches!(api_version, "" | "/") {
        let message = format!("expected {GROUP}/{VERSION}, got {api_version:?}");
        return Err(DecodeError { path: "apiVersion".to_owned(), message });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(object: &Value) -> Vec<String> {
        let decoded: Decoded<FederatedHPA<'static>> = decode(object).unwrap();
        decoded.wrong.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_value_of_the_wrong_type_is_named_by_its_place() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": 1}, "finalizers": [7], "creationTimestamp": "today"},
            "spec": {"metrics": [{}, {"pods": []}], "scaleAssist": "yes", "maxReplicas": 1.0, "minReplicas": 3_000_000_000_i64,
                "clusterAffinity": [], "behavior": {"scaleUp": {"tolerance": {}, "policies": {}}}},
            "status": {"desiredReplicas": "1"}
        });
        assert_eq!(
            wrong(&object),
            [
                "metadata.creationTimestamp: Invalid value: \"today\": must be a time such as \"2026-01-31T08:30:00Z\"",
                "metadata.finalizers[0]: Invalid value: 7: must be a string",
                "metadata.labels[a.b/c]: Invalid value: 1: must be a string",
                "spec.behavior.scaleUp.policies: Invalid value: \"object\": must be a list",
                "spec.behavior.scaleUp.tolerance: Invalid value: \"object\": must be a quantity such as \"500m\", \"2\" or \"1Gi\"",
                "spec.clusterAffinity: Invalid value: \"list\": must be an object",
                "spec.maxReplicas: Invalid value: 1.0: must be a whole number from -2147483648 to 2147483647",
                "spec.metrics[1].pods: Invalid value: \"list\": must be an object",
                "spec.minReplicas: Invalid value: 3000000000: must be a whole number from -2147483648 to 2147483647",
                "spec.scaleAssist: Invalid value: \"yes\": must be true or false",
                "status.desiredReplicas: Invalid value: \"1\": must be a whole number from -2147483648 to 2147483647",
            ]
        );
    }

    #[test]
    fn null_is_as_good_as_nothing() {
        let object = json!({"kind": null, "metadata": {"name": null, "labels": null, "generation": null},
            "spec": {"rules": [null, {"timeZone": null, "targetReplicas": 0}]}, "status": null});
        let cron: Decoded<CronFederatedHPA<'static>> = decode(&object).unwrap();
        assert!(cron.wrong.is_empty());
        assert_eq!(cron.object.spec.rules.len(), 2);
        assert_eq!(cron.object.spec.rules.last().unwrap().target_replicas, Some(0));
    }

    #[test]
    fn of_many_values_of_the_wrong_type_the_first_are_told() {
        assert_eq!(wrong(&json!({"spec": {"metrics": vec![1; 100]}})).len(), MOST);
    }

    #[test]
    fn a_list_has_an_end() {
        let object = json!({"spec": {"metrics": vec![json!({}); 10_001]}});
        assert_eq!(wrong(&object), ["spec.metrics: Too many: 10001: must have at most 100 items"]);
    }

    #[test]
    fn an_object_of_another_kind_is_not_decoded() {
        let refused = |object: Value| decode::<FederatedHPA<'static>>(&object).unwrap_err().to_string();
        assert_eq!(refused(Value::Null), "expected an object, got null");
        assert_eq!(refused(json!([])), "expected an object, got []");
        assert_eq!(
            refused(json!({"kind": "CronFederatedHPA"})),
            "kind: expected an object of kind FederatedHPA, got kind \"CronFederatedHPA\""
        );
        assert!(refused(json!({"apiVersion": "autoscaling/v2"})).starts_with("apiVersion: expected"));
    }
}
