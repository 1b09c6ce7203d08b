//! Bytes -> Request: the admission.k8s.io/v1 AdmissionReview. No I/O.
//!
//! The types of `kube::core::admission` decode the object into its own type together with the review around it: an
//! object with a value of a wrong type would leave no request to answer. Here an object is any JSON.

use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::decision::excerpt::excerpt;
use crate::decision::json::null_as_default;

/// Operation of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
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
}

impl From<String> for Operation {
    fn from(name: String) -> Self {
        Self::ALL.into_iter().find(|operation| operation.as_str() == name).unwrap_or(Self::Unknown)
    }
}

/// One admission request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Identifies the request; repeated in the response.
    pub uid: String,
    /// The operation.
    pub operation: Operation,
    /// Namespace of the object.
    #[serde(default, deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Name of the object; may be empty on CREATE.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// Whether nothing will be stored.
    #[serde(default, deserialize_with = "null_as_default")]
    pub dry_run: bool,
    /// Field manager that the client names; may be empty.
    #[serde(default, rename = "options", deserialize_with = "field_manager")]
    pub field_manager: String,
    /// The new object; absent on DELETE.
    pub object: Option<Value>,
    /// The stored object; absent on CREATE.
    pub old_object: Option<Value>,
}

/// The field manager in the options of a request. Options that cannot be read name none.
fn field_manager<'de, D: Deserializer<'de>>(options: D) -> Result<String, D::Error> {
    let options = Value::deserialize(options)?;
    Ok(options.get("fieldManager").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// Why a body is not a valid review.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the AdmissionReview cannot be decoded: {}{message}", FieldPath(path))]
pub struct Malformed {
    /// The uid, where the body is JSON that has one.
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

/// The whole body.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

/// The only supported version.
const API_VERSION: &str = "admission.k8s.io/v1";
/// The only supported kind.
const KIND: &str = "AdmissionReview";

/// Most bytes of memory that the values of a body may take. An update of the object with most takes some 40 MiB: 5,000
/// clusters in its spec and its status, as it is and as it was.
const MOST_MEMORY: usize = 64 << 20;

/// What the values of a body take in memory, about, without their texts.
fn memory(body: &[u8]) -> usize {
    let count = |byte: u8| body.iter().map(|one| usize::from(*one == byte)).sum::<usize>();
    // Sets of fields are full of empty maps, which have no room.
    let empty = body.windows(2).filter(|pair| *pair == b"{}").count();
    // A map has room for eleven members from the first one on.
    let maps = count(b'{').saturating_sub(empty);
    maps.saturating_mul(700).saturating_add(count(b',').saturating_add(count(b'[')).saturating_mul(64))
}

/// Reads a review.
///
/// # Errors
/// The body is not JSON, not an AdmissionReview of version v1, has too many values, or lacks the request, its uid or
/// its operation.
pub fn decode(body: &[u8]) -> Result<Request, Malformed> {
    if memory(body) > MOST_MEMORY {
        return Err(Malformed { uid: None, path: String::new(), message: "the body has too many values".to_owned() });
    }
    let review: Review = serde_json::from_slice(body).map_err(|error| diagnose(body, &error))?;
    let uid = review.request.as_ref().map(|request| request.uid.clone()).filter(|uid| !uid.is_empty());
    let refuse = |path: &str, message: String| Err(Malformed { uid: uid.clone(), path: path.to_owned(), message });
    for (path, given, served) in [("apiVersion", &review.api_version, API_VERSION), ("kind", &review.kind, KIND)] {
        if given != served {
            let given = excerpt(given, VALUE_LENGTH);
            return refuse(path, format!("{given:?} is not served, only {served:?}"));
        }
    }
    match review.request {
        Some(request) if !request.uid.is_empty() => Ok(request),
        Some(_) => refuse("request.uid", "required".to_owned()),
        None => refuse("request", "required".to_owned()),
    }
}

/// Characters of an invalid value that a message repeats.
const VALUE_LENGTH: usize = 64;
/// Characters of a decoder's message, which may repeat the input.
const MESSAGE: usize = 300;

/// The path of an error and the uid: of a body that is JSON.
fn diagnose(body: &[u8], error: &serde_json::Error) -> Malformed {
    let message = excerpt(&error.to_string(), MESSAGE).to_owned();
    if body.iter().all(u8::is_ascii_whitespace) {
        return Malformed { uid: None, path: String::new(), message: "the body is empty".to_owned() };
    }
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Malformed { uid: None, path: String::new(), message };
    };
    let uid = body.pointer("/request/uid").and_then(Value::as_str).filter(|uid| !uid.is_empty()).map(str::to_owned);
    let path = match serde_path_to_error::deserialize::<_, Review>(&body) {
        Err(error) if error.path().iter().len() > 0 => excerpt(&error.path().to_string(), MESSAGE).to_owned(),
        _ => String::new(),
    };
    Malformed { uid, path, message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Malformed, Operation, Request, decode};

    const HEAD: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":"#;

    fn request(request: &str) -> Result<Request, Malformed> {
        decode(format!("{HEAD}{request}}}").as_bytes())
    }

    #[test]
    fn the_members_of_a_request_are_read_and_others_skipped() {
        let request = request(
            r#"{"uid":"u-1","kind":{"kind":"X"},"operation":"UPDATE","namespace":"prod","name":"web","dryRun":true,
               "options":{"kind":"UpdateOptions","fieldManager":"me","dryRun":["All"]},"userInfo":{"groups":["a",{"b":[1,2]}]},"object":{"a":1},"oldObject":null}"#,
        )
        .unwrap();
        assert_eq!((&*request.uid, request.operation), ("u-1", Operation::Update));
        assert_eq!((&*request.namespace, &*request.name, request.dry_run), ("prod", "web", true));
        assert_eq!((request.object, request.old_object), (Some(json!({"a": 1})), None));
        assert_eq!(request.field_manager, "me");
    }

    #[test]
    fn options_of_any_form_are_no_reason_to_refuse_a_review() {
        for options in
            ["null", "{}", "[]", "[{\"fieldManager\":\"me\"}]", "7", "{\"fieldManager\":null}", "{\"fieldManager\":7}"]
        {
            let body = format!(r#"{{"uid":"u","operation":"UPDATE","options":{options}}}"#);
            assert_eq!(request(&body).unwrap().field_manager, "", "{options}");
        }
    }

    #[test]
    fn a_wrong_member_is_named_and_the_uid_kept() {
        let malformed = request(r#"{"uid":"u-1","operation":"CREATE","dryRun":"yes"}"#).unwrap_err();
        assert_eq!(malformed.uid.as_deref(), Some("u-1"));
        assert_eq!(malformed.path, "request.dryRun");
        assert!(malformed.message.contains("expected a boolean at line 1 column"), "{}", malformed.message);
        let malformed = request(r#"{"uid":"u-1"}"#).unwrap_err();
        assert_eq!((malformed.uid.as_deref(), &*malformed.path), (Some("u-1"), "request"));
        assert!(malformed.message.contains("missing field `operation`"), "{}", malformed.message);
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, place) in [
            (format!(r#"{HEAD}{{"uid":"u-1","object":{{"a":[1,"#), "EOF while parsing"),
            (format!(r#"{HEAD}{{"uid":"u-1","operation":"CREATE"}}}} x"#), "trailing characters at line 1"),
            (format!(r#"{HEAD}{{"operation":nope,"uid":"u-1"}}}}"#), "expected ident"),
            (" ".to_owned(), "the body is empty"),
        ] {
            let malformed = decode(text.as_bytes()).unwrap_err();
            assert_eq!(malformed.uid, None, "{text}");
            assert!(malformed.to_string().contains(place), "{malformed}");
        }
    }

    #[test]
    fn the_sets_of_fields_of_a_large_status_are_no_reason_to_refuse_a_review() {
        let clusters: Vec<String> = (0..5_000)
            .map(|number| {
                let fields = "\"f:minReplicas\":{},".repeat(12);
                format!(r#""k:{{\"clusterName\":\"member{number}\"}}":{{{fields}".":{{}}}}"#)
            })
            .collect();
        let object = format!(r#"{{"metadata":{{"managedFields":[{{"fieldsV1":{{{}}}}}]}}}}"#, clusters.join(","));
        let review =
            |object: &str| format!(r#"{{"uid":"u","operation":"UPDATE","object":{object},"oldObject":{object}}}"#);
        assert!(request(&review(&object)).is_ok());
        let hostile = format!("[{}]", vec![r#"{"a":0}"#; 100_000].join(","));
        assert_eq!(request(&review(&hostile)).unwrap_err().message, "the body has too many values");
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let text = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u","operation":"CREATE"}}"#;
        let malformed = decode(text.as_bytes()).unwrap_err();
        assert_eq!(malformed.uid.as_deref(), Some("u"));
        assert_eq!(
            malformed.to_string(),
            "the AdmissionReview cannot be decoded: apiVersion: \"admission.k8s.io/v1beta1\" is not served, only \"admission.k8s.io/v1\""
        );
    }
}
