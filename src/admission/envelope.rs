//! Bytes -> Request: the admission.k8s.io/v1 AdmissionReview, borrowed from the request body. No I/O.
//!
//! One pass, which decodes the object too. Where it fails, a pass that skips the objects takes its place: then an object
//! of a wrong type does not prevent the review, and its error is found by decoding it alone. A third, slower pass runs
//! only for a rejected body, to find the path of the error and the uid.

mod members;

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeSeed as _;
use serde_json::Deserializer;

use super::endpoint::Endpoint;
use super::object::Object;
use super::uid::UidScan;
use crate::decision::excerpt::excerpt;
use members::{InPlace, Review, ReviewMembers};

/// Operation of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// A deleted object.
    Delete,
    /// A connection to a subresource.
    Connect,
    /// Anything else.
    Unknown,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Create, Self::Update, Self::Delete, Self::Connect, Self::Unknown];

    /// The name on the wire; `UNKNOWN` for anything else.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Unknown => "UNKNOWN",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|operation| operation.as_str() == name).unwrap_or(Self::Unknown)
    }
}

/// One admission request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Identifies the request; repeated in the response.
    pub uid: Cow<'a, str>,
    /// The operation.
    pub operation: Operation,
    /// Namespace of the object.
    pub namespace: Cow<'a, str>,
    /// Name of the object; may be empty on CREATE.
    pub name: Cow<'a, str>,
    /// Subresource, empty for the object itself.
    pub sub_resource: Cow<'a, str>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Field manager that the client names; may be empty.
    pub field_manager: Cow<'a, str>,
    /// The new object; absent on DELETE.
    pub object: Option<Object<'a>>,
    /// The stored object; absent on CREATE.
    pub old_object: Option<Object<'a>>,
}

/// Why a body is not a valid review.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the AdmissionReview cannot be decoded: {}{message}", FieldPath(path))]
pub struct Malformed {
    /// The uid, where the body has one.
    pub uid: Option<String>,
    /// Path of the member, for example `request.dryRun`; empty for the body itself.
    pub path: String,
    /// The error at the path.
    pub message: String,
}

/// A path as the start of a message.
struct FieldPath<'a>(&'a str);

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

/// The only supported version.
const API_VERSION: &str = "admission.k8s.io/v1";
/// The only supported kind.
const KIND: &str = "AdmissionReview";

/// Reads a review that was sent to `endpoint`.
///
/// # Errors
/// The body is not JSON, not an AdmissionReview of version v1, or lacks the request, its uid or its operation.
pub fn decode(endpoint: Endpoint, body: &[u8]) -> Result<Request<'_>, Malformed> {
    // Text that is known to be UTF-8 as a whole is not checked string by string.
    let text = std::str::from_utf8(body).map_err(|_| diagnose(body))?;
    let skipping = |_| read(text, None);
    let review = read(text, InPlace::of(endpoint, text)).or_else(skipping).map_err(|_| diagnose(body))?;
    let refuse = |path: &str, message: String| Malformed { uid: UidScan::of(body), path: path.to_owned(), message };
    if review.api_version.0 != API_VERSION {
        let given = excerpt(&review.api_version.0, VALUE_LENGTH);
        return Err(refuse("apiVersion", format!("{given:?} is not served, only {API_VERSION:?}")));
    }
    if review.kind.0 != KIND {
        let given = excerpt(&review.kind.0, VALUE_LENGTH);
        return Err(refuse("kind", format!("{given:?} is not served, only {KIND:?}")));
    }
    let request = review.request.ok_or_else(|| refuse("request", "required".to_owned()))?;
    if request.uid.0.is_empty() {
        return Err(Malformed { uid: None, path: "request.uid".to_owned(), message: "required".to_owned() });
    }
    if request.operation.0.is_empty() {
        return Err(refuse("request.operation", "required".to_owned()));
    }
    Ok(request.into_request())
}

fn read<'a>(text: &'a str, in_place: Option<InPlace<'a>>) -> serde_json::Result<Review<'a>> {
    let mut json = Deserializer::from_str(text);
    let review = ReviewMembers(in_place).deserialize(&mut json)?;
    json.end()?;
    Ok(review)
}

/// Characters of an invalid value that a message repeats.
const VALUE_LENGTH: usize = 64;
/// Characters of a decoder's message, which may repeat the input.
const MESSAGE: usize = 300;

/// Finds the path of the error: the slow pass.
fn diagnose(body: &[u8]) -> Malformed {
    let uid = UidScan::of(body);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Malformed { uid, path: String::new(), message: "the body is empty".to_owned() };
    }
    let mut json = Deserializer::from_slice(body);
    if let Err(error) = serde_path_to_error::deserialize::<_, Review<'_>>(&mut json) {
        let path = error.path().to_string();
        let path = if path == "." || path == "?" { String::new() } else { path };
        let message = excerpt(&error.into_inner().to_string(), MESSAGE).to_owned();
        return Malformed { uid, path: excerpt(&path, MESSAGE).to_owned(), message };
    }
    let message = json.end().err().map_or_else(|| "not JSON".to_owned(), |error| error.to_string());
    Malformed { uid, path: String::new(), message }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{Malformed, Operation, Request};
    use crate::admission::endpoint::Endpoint;

    const HEAD: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":"#;

    fn decode(body: &[u8]) -> Result<Request<'_>, Malformed> {
        super::decode(Endpoint::ValidateFederatedHPA, body)
    }

    fn body(request: &str) -> Vec<u8> {
        format!("{HEAD}{request}}}").into_bytes()
    }

    #[test]
    fn a_request_is_borrowed_from_the_body() {
        let body = body(
            r#"{"uid":"u-1","kind":{"kind":"X"},"operation":"UPDATE","namespace":"prod","name":"web","dryRun":true,
               "options":{"kind":"UpdateOptions","fieldManager":"me","dryRun":["All"]},"userInfo":{"groups":["a",{"b":[1,2]}]},"object":{"a":1},"oldObject":null}"#,
        );
        let request = decode(&body).unwrap();
        assert!(matches!(request.uid, Cow::Borrowed("u-1")));
        assert_eq!(request.operation, Operation::Update);
        assert_eq!((&*request.namespace, &*request.name, request.dry_run), ("prod", "web", true));
        assert_eq!(request.object.unwrap().text(), r#"{"a":1}"#);
        assert!(request.old_object.is_none());
        assert!(matches!(request.field_manager, Cow::Borrowed("me")));
    }

    #[test]
    fn options_of_any_form_are_no_reason_to_refuse_a_review() {
        for options in
            ["null", "{}", "[]", "[{\"fieldManager\":\"me\"}]", "7", "{\"fieldManager\":null}", "{\"fieldManager\":7}"]
        {
            let body = body(&format!(r#"{{"uid":"u","operation":"UPDATE","options":{options}}}"#));
            assert_eq!(decode(&body).unwrap().field_manager, "", "{options}");
        }
    }

    #[test]
    fn a_wrong_member_is_named_and_the_uid_kept() {
        let malformed = decode(&body(r#"{"uid":"u-1","operation":"CREATE","dryRun":"yes"}"#)).unwrap_err();
        assert_eq!(malformed.uid.as_deref(), Some("u-1"));
        assert_eq!(malformed.path, "request.dryRun");
        assert!(malformed.message.contains("expected a boolean at line 1 column"), "{}", malformed.message);
    }

    #[test]
    fn the_uid_survives_a_body_cut_short_and_one_with_a_tail() {
        for (text, place) in [
            (format!(r#"{HEAD}{{"uid":"u-1","object":{{"a":[1,"#), "EOF while parsing"),
            (format!(r#"{HEAD}{{"uid":"u-1","operation":"CREATE"}}}} x"#), "trailing characters at line 1"),
            (format!(r#"{HEAD}{{"operation":nope,"uid":"u-1"}}}}"#), "request.operation: expected ident"),
        ] {
            let malformed = decode(text.as_bytes()).unwrap_err();
            assert_eq!(malformed.uid.as_deref(), Some("u-1"), "{text}");
            assert!(malformed.to_string().contains(place), "{malformed}");
        }
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let text = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u"}}"#;
        let malformed = decode(text.as_bytes()).unwrap_err();
        assert_eq!(malformed.uid.as_deref(), Some("u"));
        assert_eq!(
            malformed.to_string(),
            "the AdmissionReview cannot be decoded: apiVersion: \"admission.k8s.io/v1beta1\" is not served, only \"admission.k8s.io/v1\""
        );
    }

    #[test]
    fn lists_are_not_taken_for_objects() {
        assert!(decode(br#"["AdmissionReview","admission.k8s.io/v1",{}]"#).is_err());
        assert_eq!(decode(&body(r#"["u","CREATE"]"#)).unwrap_err().path, "request");
    }
}
