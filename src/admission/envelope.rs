//! Bytes -> Request: the admission.k8s.io/v1 AdmissionReview, borrowed from the request body. One pass; no I/O.
//!
//! Members that are not needed (`userInfo`, `requestKind`, ...) are skipped without being stored. A second, slower pass
//! runs only for a rejected body, to find the path of the error and the uid.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::uid::UidScan;
use crate::decision::excerpt::excerpt;

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

    fn named(name: &str) -> Self {
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
    /// The new object; absent on DELETE.
    pub object: Option<&'a RawValue>,
    /// The stored object; absent on CREATE.
    pub old_object: Option<&'a RawValue>,
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

/// Reads a review.
///
/// # Errors
/// The body is not JSON, not an AdmissionReview of version v1, or lacks the request, its uid or its operation.
pub fn decode(body: &[u8]) -> Result<Request<'_>, Malformed> {
    // Text that is known to be UTF-8 as a whole is not checked string by string.
    let text = std::str::from_utf8(body).map_err(|_| diagnose(body))?;
    let review: Review<'_> = serde_json::from_str(text).map_err(|_| diagnose(body))?;
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
    let mut json = serde_json::Deserializer::from_slice(body);
    if let Err(error) = serde_path_to_error::deserialize::<_, Review<'_>>(&mut json) {
        let path = error.path().to_string();
        let path = if path == "." || path == "?" { String::new() } else { path };
        let message = excerpt(&error.into_inner().to_string(), MESSAGE).to_owned();
        return Malformed { uid, path: excerpt(&path, MESSAGE).to_owned(), message };
    }
    let message = json.end().err().map_or_else(|| "not JSON".to_owned(), |error| error.to_string());
    Malformed { uid, path: String::new(), message }
}

/// The whole body.
#[derive(Default)]
struct Review<'a> {
    api_version: Text<'a>,
    kind: Text<'a>,
    request: Option<RawRequest<'a>>,
}

/// The members of `request` that are needed.
#[derive(Default)]
struct RawRequest<'a> {
    uid: Text<'a>,
    operation: Text<'a>,
    namespace: Text<'a>,
    name: Text<'a>,
    sub_resource: Text<'a>,
    dry_run: Option<bool>,
    object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
}

impl<'a> RawRequest<'a> {
    fn into_request(self) -> Request<'a> {
        Request {
            uid: self.uid.0,
            operation: Operation::named(&self.operation.0),
            namespace: self.namespace.0,
            name: self.name.0,
            sub_resource: self.sub_resource.0,
            dry_run: self.dry_run.unwrap_or_default(),
            object: self.object,
            old_object: self.old_object,
        }
    }
}

impl<'de> Deserialize<'de> for Review<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Review<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an AdmissionReview")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Review<'de>, A::Error> {
                let mut review = Review::default();
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        "apiVersion" => review.api_version = map.next_value()?,
                        "kind" => review.kind = map.next_value()?,
                        // It is not defined which of two would be stored.
                        "request" if review.request.is_some() => {
                            return Err(A::Error::custom("duplicate field `request`"));
                        }
                        "request" => review.request = map.next_value()?,
                        _ => skip(&mut map)?,
                    }
                }
                Ok(review)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for RawRequest<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawRequest<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an AdmissionRequest")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawRequest<'de>, A::Error> {
                let mut request = RawRequest::default();
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        "uid" => request.uid = map.next_value()?,
                        "operation" => request.operation = map.next_value()?,
                        "namespace" => request.namespace = map.next_value()?,
                        "name" => request.name = map.next_value()?,
                        "subResource" => request.sub_resource = map.next_value()?,
                        "dryRun" => request.dry_run = map.next_value()?,
                        "object" => request.object = map.next_value()?,
                        "oldObject" => request.old_object = map.next_value()?,
                        _ => skip(&mut map)?,
                    }
                }
                Ok(request)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|IgnoredAny| ())
}

/// A text that is borrowed unless it has escapes; null is the empty text.
#[derive(Default)]
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(v)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(v.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(Borrowing)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{Operation, decode};

    const HEAD: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":"#;

    fn body(request: &str) -> Vec<u8> {
        format!("{HEAD}{request}}}").into_bytes()
    }

    #[test]
    fn a_request_is_borrowed_from_the_body() {
        let body = body(
            r#"{"uid":"u-1","kind":{"kind":"X"},"operation":"UPDATE","namespace":"prod","name":"web","dryRun":true,
               "userInfo":{"groups":["a",{"b":[1,2]}]},"object":{"a":1},"oldObject":null}"#,
        );
        let request = decode(&body).unwrap();
        assert!(matches!(request.uid, Cow::Borrowed("u-1")));
        assert_eq!(request.operation, Operation::Update);
        assert_eq!((&*request.namespace, &*request.name, request.dry_run), ("prod", "web", true));
        assert_eq!(request.object.unwrap().get(), r#"{"a":1}"#);
        assert!(request.old_object.is_none());
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
