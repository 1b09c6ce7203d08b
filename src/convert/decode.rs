//! JSON text of an object -> core, or the place and the reason why not. No I/O.
//!
//! The good way is one pass without a path; only when that fails the text is read again to name the place.

use std::fmt::{self, Write};

use serde::Deserialize;
use serde_json::Deserializer;
use serde_path_to_error::Segment;

use super::reader::{Read, Whole};
use crate::decision::api_version::{GROUP, VERSION};
use crate::decision::subject::{CronFederatedHPA, FederatedHPA, ResourceBinding};

/// Why an object could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", path, if path.is_empty() { "" } else { ": " })]
pub struct DecodeError {
    /// Where, in Kubernetes' style; empty for the object as a whole.
    pub path: String,
    /// What is there and what was expected.
    pub message: String,
}

/// Decodes a FederatedHPA.
///
/// # Errors
/// When the text is no JSON, a value has the wrong type, or it is an object of another kind.
pub fn federated_hpa(json: &str) -> Result<FederatedHPA<'_>, DecodeError> {
    let object: FederatedHPA<'_> = whole(json)?;
    check_kind("FederatedHPA", &object.api_version, &object.kind)?;
    Ok(object)
}

/// Decodes a CronFederatedHPA.
///
/// # Errors
/// When the text is no JSON, a value has the wrong type, or it is an object of another kind.
pub fn cron_federated_hpa(json: &str) -> Result<CronFederatedHPA<'_>, DecodeError> {
    let object: CronFederatedHPA<'_> = whole(json)?;
    check_kind("CronFederatedHPA", &object.api_version, &object.kind)?;
    Ok(object)
}

/// Decodes a ResourceBinding.
///
/// # Errors
/// When the text is no JSON or a value has the wrong type.
pub fn resource_binding(json: &str) -> Result<ResourceBinding<'_>, DecodeError> {
    whole(json)
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

/// Reads the text again to find the place of `error`.
fn locate<'de, T: Read<'de>>(json: &'de str, error: &serde_json::Error) -> DecodeError {
    let message = message(error);
    let path = match serde_path_to_error::deserialize::<_, Whole<T>>(&mut Deserializer::from_str(json)) {
        Err(found) if error.is_data() => path(found.path()),
        _ => String::new(),
    };
    DecodeError { path, message }
}

/// What went wrong; where in the text only when the text is no JSON.
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

/// Checks that an object is of the kind that its path serves; a missing `kind` or `apiVersion` passes, as the API
/// server has filled both in.
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
