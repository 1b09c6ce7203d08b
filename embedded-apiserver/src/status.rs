//! Errors as `Status` objects, with the messages of kube-apiserver. No I/O.

use std::num::NonZeroU16;

use serde_json::{Value, json};

use super::field::FieldError;

/// Subject of an error.
#[derive(Debug, Clone, Default)]
pub struct StatusDetails {
    /// API group; empty for core.
    pub group: String,
    /// Plural resource name, or the kind for `Invalid`.
    pub resource: String,
    /// Name of the object; may be empty.
    pub name: String,
}

impl StatusDetails {
    /// A subject from its three parts.
    pub fn new(group: &str, resource: &str, name: &str) -> Self {
        Self { group: group.to_owned(), resource: resource.to_owned(), name: name.to_owned() }
    }

    /// `deployments.apps "x"`.
    fn quoted(&self) -> String {
        format!("{} \"{}\"", qualified(&self.resource, &self.group), self.name)
    }

    fn details(&self) -> Value {
        let mut details = json!({});
        for (key, value) in [("name", &self.name), ("group", &self.group), ("kind", &self.resource)] {
            if !value.is_empty() {
                super::object::put_at(&mut details, &[key], Value::String(value.clone()));
            }
        }
        details
    }
}

/// `deployments.apps`, or `pods` for the core group.
pub fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

/// One finding of a validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid` or similar.
    pub reason: String,
    /// The text without the path.
    pub message: String,
    /// Path of the field.
    pub field: String,
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Self { reason: error.fault.reason().into(), message: error.message(), field: error.field.clone() }
    }
}

impl Cause {
    /// `Required value`.
    pub fn required(field: &str, detail: &str) -> Self {
        let message = if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self { reason: "FieldValueRequired".into(), message, field: field.into() }
    }

    /// `Invalid value: <value>: <detail>`.
    pub fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self {
            reason: "FieldValueInvalid".into(),
            message: format!("Invalid value: {value}: {detail}"),
            field: field.into(),
        }
    }

    /// `Forbidden: <detail>`.
    pub fn forbidden(field: &str, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden".into(), message: format!("Forbidden: {detail}"), field: field.into() }
    }

    /// `Unsupported value: <value>: supported values: ...`.
    pub fn unsupported(field: &str, value: &Value, supported: &[&str]) -> Self {
        let list = supported.iter().map(|one| format!("\"{one}\"")).collect::<Vec<_>>().join(", ");
        Self {
            reason: "FieldValueNotSupported".into(),
            message: format!("Unsupported value: {value}: supported values: {list}"),
            field: field.into(),
        }
    }
}

/// An error of a request.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct StatusError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason; may be empty.
    pub reason: String,
    /// The message for the user.
    pub message: String,
    /// `details`, if any.
    pub details: Option<Value>,
    /// Token with which an expired list can continue.
    pub continue_token: Option<Box<str>>,
    /// Warnings from before the error.
    pub warnings: Box<[String]>,
    /// Seconds of `Retry-After` in a response that is no `Status` but only the message.
    pub header_only: Option<NonZeroU16>,
}

impl StatusError {
    /// An error without details.
    pub fn plain(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            continue_token: None,
            warnings: Box::default(),
            header_only: None,
        }
    }

    fn about(code: u16, reason: &str, subject: &StatusDetails, message: String) -> Self {
        Self { details: Some(subject.details()), ..Self::plain(code, reason, message) }
    }

    /// Adds the warnings from before the error.
    #[must_use]
    pub fn after(mut self, mut warnings: Vec<String>) -> Self {
        warnings.extend(std::mem::take(&mut self.warnings));
        self.warnings = warnings.into();
        self
    }

    /// 404 for an object.
    pub fn not_found(subject: &StatusDetails) -> Self {
        Self::about(404, "NotFound", subject, format!("{} not found", subject.quoted()))
    }

    /// 409 for a name that is taken.
    pub fn already_exists(subject: &StatusDetails) -> Self {
        Self::about(409, "AlreadyExists", subject, format!("{} already exists", subject.quoted()))
    }

    /// 409 for a stale write or a precondition.
    pub fn conflict(subject: &StatusDetails, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}: {why}", subject.quoted());
        Self::about(409, "Conflict", subject, message)
    }

    /// 409 for a write on an old resource version.
    pub fn modified(subject: &StatusDetails) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(subject, why)
    }

    /// 403.
    pub fn forbidden(subject: &StatusDetails, why: &str) -> Self {
        Self::about(403, "Forbidden", subject, format!("{} is forbidden: {why}", subject.quoted()))
    }

    /// 422 with causes. The subject names the kind, not the resource.
    pub fn invalid(subject: &StatusDetails, causes: &[Cause]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = match cause.field.as_str() {
                "" => cause.message.clone(),
                field => format!("{field}: {}", cause.message),
            };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let text = match texts.as_slice() {
            [only] => only.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut failure = Self::about(422, "Invalid", subject, format!("{} is invalid: {text}", subject.quoted()));
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        if let Some(details) = failure.details.as_mut() {
            super::object::put_at(details, &["causes"], Value::Array(causes));
        }
        failure
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, "BadRequest", message)
    }

    /// 404 for an unknown path.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self { details: Some(json!({})), ..Self::plain(404, "NotFound", message) }
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: Some(json!({})), ..Self::plain(405, "MethodNotAllowed", message) }
    }

    /// 415 with the accepted types.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let list = accepted.join(", ");
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {list}");
        Self::plain(415, "UnsupportedMediaType", message)
    }

    /// 410 for a resource version that is no longer in the log.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::plain(410, "Expired", message)
    }

    /// 410 for a watch.
    pub fn too_old(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// 504 for a resource version that does not exist yet.
    pub fn too_large(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let details = json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1});
        Self { details: Some(details), ..Self::plain(504, "Timeout", format!("Timeout: {message}")) }
    }

    /// 429.
    pub fn too_many_requests(seconds: u64) -> Self {
        let message = "Too many requests, please try again later.";
        Self { details: Some(json!({"retryAfterSeconds": seconds})), ..Self::plain(429, "TooManyRequests", message) }
    }

    /// 429 as priority and fairness sends it: a text, and the delay in the header only.
    pub fn too_many_requests_in_text(seconds: NonZeroU16) -> Self {
        Self { details: None, header_only: Some(seconds), ..Self::too_many_requests(0) }
    }

    /// 500.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        let text = message.to_string();
        let details = json!({"causes": [{"message": text}]});
        Self { details: Some(details), ..Self::plain(500, "InternalError", format!("Internal error occurred: {text}")) }
    }

    /// The `Status` object.
    pub fn body(&self) -> Value {
        let metadata = self.continue_token.as_ref().map_or_else(|| json!({}), |token| json!({"continue": token}));
        let mut body = json!({"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "code": self.code});
        if !self.reason.is_empty() {
            super::object::put_at(&mut body, &["reason"], Value::String(self.reason.clone()));
        }
        if let Some(details) = &self.details {
            super::object::put_at(&mut body, &["details"], details.clone());
        }
        body
    }

    /// Seconds after which the client may retry.
    pub fn retry_after(&self) -> Option<u64> {
        if let Some(seconds) = self.header_only {
            return Some(seconds.get().into());
        }
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }
}
