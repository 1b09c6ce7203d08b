//! JSON text of an object -> core, or the field path and the reason of an error. No I/O.
//!
//! The normal case is one pass without paths; only after an error the text is read again to find the path.

use std::fmt::{self, Write};

use serde::Deserialize;
use serde::de::{DeserializeSeed as _, Error as _};
use serde_json::Deserializer;
use serde_path_to_error::Segment;

use super::reader::{Over, Read, Whole};
use crate::decision::api_version::{GROUP, VERSION};
use crate::decision::subject::{CronFederatedHPA, FederatedHPA, ResourceBinding};

/// Why an object could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", path, if path.is_empty() { "" } else { ": " })]
pub struct DecodeError {
    /// Field path in Kubernetes' style; empty for the object as a whole.
    pub path: String,
    /// The found value and what was expected.
    pub message: String,
}

/// Decodes a FederatedHPA.
///
/// # Errors
/// When the text is not JSON, a value has the wrong type, or the object is of another kind.
pub fn federated_hpa(json: &str) -> Result<FederatedHPA<'_>, DecodeError> {
    checked(whole(json)?)
}

/// Decodes a CronFederatedHPA.
///
/// # Errors
/// When the text is not JSON, a value has the wrong type, or the object is of another kind.
pub fn cron_federated_hpa(json: &str) -> Result<CronFederatedHPA<'_>, DecodeError> {
    checked(whole(json)?)
}

/// Decodes a ResourceBinding.
///
/// # Errors
/// When the text is not JSON or a value has the wrong type.
pub fn resource_binding(json: &str) -> Result<ResourceBinding<'_>, DecodeError> {
    whole(json)
}

/// A kind whose objects are reviewed.
pub(crate) trait Reviewed {
    /// # Errors
    /// When it is of another kind.
    fn check(&self) -> Result<(), DecodeError>;
}

impl Reviewed for FederatedHPA<'_> {
    fn check(&self) -> Result<(), DecodeError> {
        check_kind("FederatedHPA", &self.api_version, &self.kind)
    }
}

impl Reviewed for CronFederatedHPA<'_> {
    fn check(&self) -> Result<(), DecodeError> {
        check_kind("CronFederatedHPA", &self.api_version, &self.kind)
    }
}

impl Reviewed for ResourceBinding<'_> {
    fn check(&self) -> Result<(), DecodeError> {
        Ok(())
    }
}

fn checked<T: Reviewed>(object: T) -> Result<T, DecodeError> {
    object.check().map(|()| object)
}

/// `object` with the members of `overlay`, JSON of a part of such an object, over its own; `None` where they cannot be
/// read.
pub(crate) fn overlaid<'a>(object: &FederatedHPA<'a>, overlay: &'a str) -> Option<FederatedHPA<'a>> {
    let mut object = object.clone();
    Over(&mut object).deserialize(&mut Deserializer::from_str(overlay)).ok()?;
    Some(object)
}

/// Decodes an object that stands within a larger text; `None` for null. Its errors say less than those of [`whole`].
pub(crate) fn within<'de, T: Read<'de> + Reviewed, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let mut object: Option<T> = None;
    object.read(deserializer)?;
    object.map(checked).transpose().map_err(D::Error::custom)
}

/// Reads the whole text as `T`.
pub(super) fn whole<'de, T: Read<'de>>(json: &'de str) -> Result<T, DecodeError> {
    let mut deserializer = Deserializer::from_str(json);
    let read = Whole::<T>::deserialize(&mut deserializer).and_then(|read| deserializer.end().map(|()| read.0));
    match read {
        Ok(_) if json.trim_ascii() == "null" => {
            Err(DecodeError { path: String::new(), message: "expected an object, got null".to_owned() })
        }
        Ok(object) => Ok(object),
        Err(error) => Err(locate::<T>(json, &error)),
    }
}

/// Reads the text again to find the path of `error`.
fn locate<'de, T: Read<'de>>(json: &'de str, error: &serde_json::Error) -> DecodeError {
    let message = message(error);
    let path = match serde_path_to_error::deserialize::<_, Whole<T>>(&mut Deserializer::from_str(json)) {
        Err(found) if error.is_data() => path(found.path()),
        _ => String::new(),
    };
    DecodeError { path, message }
}

/// The error; with its position in the text only when the text is not JSON.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() {
        return format!("the text is no JSON: {text}");
    }
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    for (rust, json) in [("sequence", "list"), ("map", "object")] {
        if let Some(rest) = text.strip_prefix("invalid type: ").and_then(|rest| rest.strip_prefix(rust)) {
            return format!("invalid type: {json}{rest}");
        }
    }
    text.to_owned()
}

/// Writing to a text cannot fail.
fn write_to(text: &mut String, part: fmt::Arguments<'_>) {
    let _ = text.write_fmt(part);
}

/// Members whose value is a map with keys of the user.
const MAPS: [&str; 3] = ["labels", "annotations", "matchLabels"];

/// A path in Kubernetes' style.
fn path(path: &serde_path_to_error::Path) -> String {
    let mut text = String::new();
    let mut in_map = false;
    for segment in path {
        match segment {
            Segment::Seq { index } => write_to(&mut text, format_args!("[{index}]")),
            Segment::Map { key } if in_map => write_to(&mut text, format_args!("[{key}]")),
            Segment::Map { key } => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
                in_map = MAPS.contains(&key.as_str());
                continue;
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
        in_map = false;
    }
    text
}

/// Checks that an object is of the kind that the endpoint serves; a missing `kind` or `apiVersion` passes, because the
/// API server has filled in both.
fn check_kind(expected: &str, api_version: &str, kind: &str) -> Result<(), DecodeError> {
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
    use super::{cron_federated_hpa, federated_hpa};

    fn place_of_error(json: &str) -> String {
        federated_hpa(json).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn the_place_of_an_error_is_named() {
        let cases = [
            (
                r#"{"metadata":{"labels":{"a.b/c":1}}}"#,
                "metadata.labels[a.b/c]: invalid type: integer `1`, expected a string",
            ),
            (
                r#"{"spec":{"metrics":[{},{"pods":[]}]}}"#,
                "spec.metrics[1].pods: invalid type: list, expected an object",
            ),
            (r#"{"spec":{"metrics":{}}}"#, "spec.metrics: invalid type: object, expected a list"),
            (
                r#"{"spec":{"scaleAssist":"yes"}}"#,
                "spec.scaleAssist: invalid type: string \"yes\", expected true or false",
            ),
            (
                r#"{"spec":{"maxReplicas":1.0}}"#,
                "spec.maxReplicas: invalid value: 1.0, expected a whole number from -2147483648 to 2147483647",
            ),
            (
                r#"{"metadata":{"creationTimestamp":"today"}}"#,
                "metadata.creationTimestamp: invalid value: \"today\", expected a time such as \"2026-01-31T08:30:00Z\"",
            ),
            (r#"{"spec":}"#, "the text is no JSON: expected value at line 1 column 9"),
            ("null", "expected an object, got null"),
        ];
        for (json, expected) in cases {
            assert_eq!(place_of_error(json), expected);
        }
    }

    #[test]
    fn names_count_by_letter_case_and_of_doubled_ones_the_last() {
        let json =
            r#"{"Spec":1,"spec":{"maxReplicas":1,"MaxReplicas":2,"maxReplicas":3,"min\u0052eplicas":2,"other":[{}]}}"#;
        let spec = federated_hpa(json).unwrap().spec.unwrap();
        assert_eq!((spec.min_replicas, spec.max_replicas), (Some(2), Some(3)));
    }

    #[test]
    fn null_is_as_good_as_nothing() {
        let json = r#"{"kind":null,"metadata":{"name":null,"labels":{"a":null},"finalizers":null,"generation":null},"spec":{"rules":[null,{"timeZone":null,"targetReplicas":-0}]},"status":null}"#;
        let cron = cron_federated_hpa(json).unwrap();
        assert_eq!(cron.metadata.labels.len(), 1);
        assert_eq!(cron.spec.rules.len(), 2);
        assert_eq!(cron.spec.rules.last().unwrap().target_replicas, Some(0));
    }

    #[test]
    fn a_list_has_an_end() {
        let json = format!(r#"{{"spec":{{"metrics":[{}{{}}]}}}}"#, "{},".repeat(10_000));
        assert_eq!(place_of_error(&json), "spec.metrics: invalid length, expected at most 10000 elements");
    }
}
