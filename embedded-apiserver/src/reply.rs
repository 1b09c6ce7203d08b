//! The response of a handler. No sockets.

use std::collections::BTreeSet;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde_json::{Value, json};

use super::status::StatusError;

/// Response of a handler.
#[derive(Debug)]
pub struct Reply {
    /// HTTP status code.
    pub code: u16,
    /// Body.
    pub body: Body,
    /// Media type.
    pub media_type: &'static str,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
    /// The object of the body, if it was built from one.
    pub value: Option<Value>,
}

/// Plain JSON.
pub const JSON: &str = "application/json";

impl Reply {
    /// JSON that is already encoded.
    pub fn bytes(code: u16, bytes: Bytes) -> Self {
        Self { code, body: Body::from(bytes), media_type: JSON, warnings: Vec::new(), value: None }
    }

    /// A value as JSON.
    pub fn value(code: u16, value: Value) -> Self {
        let bytes = serde_json::to_vec(&value).unwrap_or_default();
        Self { value: Some(value), ..Self::bytes(code, bytes.into()) }
    }

    /// Text.
    pub fn text(code: u16, text: &str) -> Self {
        Self { media_type: "text/plain; charset=utf-8", ..Self::bytes(code, Bytes::copy_from_slice(text.as_bytes())) }
    }

    /// Adds warnings, each text once.
    #[must_use]
    pub fn warn(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        let mut seen = BTreeSet::new();
        self.warnings.retain(|warning| seen.insert(warning.clone()));
        self
    }

    /// The object, if the reply was built from one.
    pub fn into_value(self) -> Value {
        self.value.unwrap_or_default()
    }

    /// The response over HTTP.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = http::StatusCode::from_u16(self.code).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        for warning in self.warnings {
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                headers.append(header::WARNING, value);
            }
        }
        response
    }
}

impl From<StatusError> for Reply {
    fn from(failure: StatusError) -> Self {
        if failure.header_only.is_some() {
            return Self::text(failure.code, &failure.message);
        }
        Self::value(failure.code, failure.body()).warn(failure.warnings.into_vec())
    }
}

/// `Status: Success`, the response of deletes.
pub fn success(details: &Value) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
