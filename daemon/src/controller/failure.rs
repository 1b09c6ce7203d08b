//! Classified failures of requests to the API server, for the next attempt and for conditions and Events. No I/O.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kube::core::Status;

use crate::decision::backoff::ErrorClass;
use crate::decision::excerpt::excerpt;
use crate::runtime::control_plane::{of_tls, retry_after};
use crate::runtime::leader::LeaseLost;

/// Most characters of the API server's own message that a message repeats.
const QUOTED: usize = 512;

/// How many errors of a chain are searched for the innermost one.
const DEPTH: usize = 16;

/// Reasons of failures in conditions and Events.
pub mod reason {
    /// Another client wrote first.
    pub const CONFLICT: &str = "Conflict";
    /// The object does not exist.
    pub const NOT_FOUND: &str = "NotFound";
    /// The API server serves no such resource.
    pub const NOT_SERVED: &str = "NotServed";
    /// A role is missing.
    pub const FORBIDDEN: &str = "Forbidden";
    /// The credentials are not accepted.
    pub const UNAUTHORIZED: &str = "Unauthorized";
    /// A rule, a webhook or a policy rejected the request.
    pub const REJECTED: &str = "Rejected";
    /// The object would exceed the limit of the store.
    pub const TOO_LARGE: &str = "TooLarge";
    /// The API server is busy, restarting or unreachable.
    pub const UNREACHABLE: &str = "Unreachable";
    /// The object to scale does not exist.
    pub const TARGET_NOT_FOUND: &str = "TargetNotFound";
    /// The object to scale is being deleted.
    pub const TARGET_BEING_DELETED: &str = "TargetBeingDeleted";
    /// The API server serves no such kind.
    pub const TARGET_KIND_UNKNOWN: &str = "TargetKindUnknown";
    /// The kind has no `scale` subresource that can be written.
    pub const TARGET_NOT_SCALABLE: &str = "TargetNotScalable";
    /// `scaleTargetRef` is not a valid reference.
    pub const TARGET_INVALID: &str = "TargetInvalid";
    /// The rule sets no field that the target has.
    pub const RULE_TARGET_MISMATCH: &str = "RuleTargetMismatch";
    /// minReplicas would be above maxReplicas.
    pub const INVALID_BOUNDS: &str = "InvalidBounds";
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Determines the delay of the next attempt.
    pub class: ErrorClass,
    /// One of [`reason`], for conditions, Events and metrics.
    pub reason: &'static str,
    /// A sentence that says what to do. Bounded, without secrets.
    pub message: String,
    /// Minimum wait that the API server asks for.
    pub retry_after: Option<Duration>,
}

/// Why a write failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// This process no longer leads: the reconcile must end.
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    /// The write failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl WriteError {
    /// Maps the failure with `how`.
    #[must_use]
    pub fn map_failure(self, how: impl FnOnce(Failure) -> Failure) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(how(failure)),
            lost @ Self::LeaseLost(_) => lost,
        }
    }
}

/// Description of a request.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// `get`, `patch`, ... as roles name it.
    pub verb: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Resource with its subresource as roles name it, for example `deployments/scale`.
    pub resource: &'a str,
    /// The object, for example `Deployment prod/web`.
    pub object: &'a (dyn fmt::Display + Sync),
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.object)
    }
}

impl Failure {
    /// A failure without a wait from the server.
    pub fn new(class: ErrorClass, reason: &'static str, message: String) -> Self {
        Self { class, reason, message, retry_after: None }
    }

    /// Classifies an error of the client for the request `asked`.
    pub fn of(error: &kube::Error, asked: Asked<'_>) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(status, asked),
            kube::Error::BuildRequest(error) => {
                let message = format!("{} cannot be asked for: {}", asked.object, excerpt(&error.to_string(), QUOTED));
                Self::new(ErrorClass::Refused, reason::REJECTED, message)
            }
            kube::Error::Auth(_) => {
                let message = "the credentials of the kubeconfig could not be obtained; check its user and plugin";
                Self::new(ErrorClass::Transient, reason::UNREACHABLE, message.to_owned())
            }
            kube::Error::SerdeError(error) => {
                let Asked { verb, object, .. } = asked;
                let what = if error.is_data() {
                    "an object of another form"
                } else {
                    "no JSON, so it is no Kubernetes API server"
                };
                let detail = error.to_string();
                let message =
                    format!("what was asked to {verb} {object} answers with {what}: {}", excerpt(&detail, QUOTED));
                Self::new(ErrorClass::Transient, reason::UNREACHABLE, message)
            }
            error => {
                let why = of_tls(error).unwrap_or_else(|| innermost(error));
                let message = format!(
                    "the API server could not be reached to {} {}: {}",
                    asked.verb,
                    asked.object,
                    excerpt(&why, QUOTED)
                );
                Self::new(ErrorClass::Transient, reason::UNREACHABLE, message)
            }
        }
    }

    /// The API server did not respond in time.
    pub fn timed_out(asked: Asked<'_>, patience: Duration) -> Self {
        let message = format!(
            "the API server did not answer within {} s when asked to {} {}",
            patience.as_secs(),
            asked.verb,
            asked.object
        );
        Self::new(ErrorClass::Transient, reason::UNREACHABLE, message)
    }

    fn of_status(status: &Status, asked: Asked<'_>) -> Self {
        let (class, reason) = classify(status);
        let unexplained = format!("it gives no reason (code {})", status.code);
        let detail = if status.message.trim().is_empty() { &*unexplained } else { excerpt(&status.message, QUOTED) };
        let Asked { verb, group, resource, object } = asked;
        let message = match reason {
            reason::CONFLICT => format!("{object} was changed by another client at the same time; retrying: {detail}"),
            reason::NOT_FOUND => match missing_namespace(status, resource) {
                Some(name) => format!("namespace {name} does not exist, and {object} would be in it: create it"),
                None => format!("{object} does not exist"),
            },
            reason::NOT_SERVED => format!("the API server does not serve {resource} of group {group:?} for {object}"),
            reason::FORBIDDEN => format!(
                "the user of the kubeconfig may not {verb} {object}: allow it the verb {verb:?} on {resource:?} in API group \
                 {group:?}; the API server says: {detail}"
            ),
            reason::UNAUTHORIZED => {
                format!("the API server does not accept the credentials of the kubeconfig; renew them: {detail}")
            }
            reason::UNREACHABLE => {
                format!("the API server cannot {verb} {object} at present (code {}): {detail}", status.code)
            }
            _ => format!("the API server refuses to {verb} {object}: {detail}"),
        };
        Self { class, reason, message, retry_after: retry_after(status) }
    }
}

/// Class and reason of an error response.
fn classify(status: &Status) -> (ErrorClass, &'static str) {
    match status.code {
        _ if is_too_large(status) => (ErrorClass::Refused, reason::TOO_LARGE),
        408 | 429 | 500.. => (ErrorClass::Transient, reason::UNREACHABLE),
        // A webhook chooses the code of its denial.
        _ if is_denial(&status.message) => (ErrorClass::Refused, reason::REJECTED),
        401 => (ErrorClass::Refused, reason::UNAUTHORIZED),
        403 if is_about_roles(&status.message) => (ErrorClass::Refused, reason::FORBIDDEN),
        404 if names_an_object(status) => (ErrorClass::Missing, reason::NOT_FOUND),
        404 => (ErrorClass::Missing, reason::NOT_SERVED),
        409 => (ErrorClass::Conflict, reason::CONFLICT),
        _ => (ErrorClass::Refused, reason::REJECTED),
    }
}

/// Messages of etcd and its client, and the code of kube-apiserver itself.
fn is_too_large(status: &Status) -> bool {
    let words = ["etcdserver: request is too large", "trying to send message larger than max"];
    status.code == 413 || words.iter().any(|words| status.message.contains(words))
}

/// Message of kube-apiserver for a denial by a webhook.
fn is_denial(message: &str) -> bool {
    message.starts_with("admission webhook ") && message.contains(" denied the request")
}

/// Message of kube-apiserver's authorizers; admission plugins such as quotas also respond with 403.
fn is_about_roles(message: &str) -> bool {
    message.contains(": User \"") && message.contains("\" cannot ")
}

/// Whether a 404 is about one object, not about a path that is not served.
fn names_an_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.name.is_empty())
}

/// The namespace that a 404 is about, for another object in it.
fn missing_namespace<'a>(status: &'a Status, resource: &str) -> Option<&'a str> {
    let details = status.details.as_ref().filter(|_| resource != "namespaces")?;
    (details.kind == "namespaces").then_some(&details.name)
}

/// The innermost error: "connection refused" rather than "client error".
fn innermost(error: &kube::Error) -> String {
    let mut deepest: &dyn Error = error;
    for _ in 0..DEPTH {
        match deepest.source() {
            Some(source) => deepest = source,
            None => break,
        }
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use kube::core::response::StatusDetails;

    use super::*;

    const ASKED: Asked<'_> =
        Asked { verb: "patch", group: "apps", resource: "deployments/scale", object: &"Deployment prod/web" };

    fn failure(code: u16, message: &str, details: Option<StatusDetails>) -> Failure {
        let status = Status { code, message: message.into(), details, ..Status::default() };
        Failure::of(&kube::Error::Api(Box::new(status)), ASKED)
    }

    fn of(code: u16, message: &str) -> (ErrorClass, &'static str) {
        let failure = failure(code, message, None);
        (failure.class, failure.reason)
    }

    #[test]
    fn every_code_has_its_class() {
        let user = "deployments.apps \"web\" is forbidden: User \"fhpa\" cannot patch resource \"deployments/scale\"";
        for code in [408, 429, 500, 502, 503, 504] {
            assert_eq!(of(code, "busy"), (ErrorClass::Transient, "Unreachable"), "{code}");
        }
        assert_eq!(of(401, "Unauthorized"), (ErrorClass::Refused, "Unauthorized"));
        assert_eq!(of(403, user), (ErrorClass::Refused, "Forbidden"));
        assert_eq!(of(403, "pods \"a\" is forbidden: exceeded quota: q"), (ErrorClass::Refused, "Rejected"));
        assert_eq!(of(404, "the server could not find the requested resource"), (ErrorClass::Missing, "NotServed"));
        assert_eq!(of(409, "the object has been modified"), (ErrorClass::Conflict, "Conflict"));
        assert_eq!(of(422, "is invalid"), (ErrorClass::Refused, "Rejected"));
        assert_eq!(of(400, "bad"), (ErrorClass::Refused, "Rejected"));
        assert_eq!(of(413, "limit is 3145728"), (ErrorClass::Refused, "TooLarge"));
        assert_eq!(of(500, "etcdserver: request is too large"), (ErrorClass::Refused, "TooLarge"));
        let client =
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3051123 vs. 2097152)";
        assert_eq!(of(500, client), (ErrorClass::Refused, "TooLarge"));
    }

    #[test]
    fn a_denial_is_a_refusal_whatever_code_the_webhook_chose() {
        for code in [400, 403, 404, 409, 422] {
            let detail = "admission webhook \"freeze.example.com\" denied the request: User \"a\" cannot do this now";
            assert_eq!(of(code, detail), (ErrorClass::Refused, "Rejected"), "{code}");
        }
    }

    #[test]
    fn a_namespace_that_is_missing_is_told_from_the_object_in_it() {
        let details = |kind: &str| serde_json::from_value(serde_json::json!({"kind": kind, "name": "prod"})).unwrap();
        let of = |kind: &str| failure(404, "not found", Some(details(kind)));
        let space = of("namespaces");
        let said = "namespace prod does not exist, and Deployment prod/web would be in it: create it";
        assert_eq!((&*space.message, space.reason), (said, "NotFound"));
        assert_eq!(of("deployments").message, "Deployment prod/web does not exist");
    }

    #[test]
    fn a_missing_role_is_named() {
        let detail = "deployments.apps \"web\" is forbidden: User \"fhpa\" cannot patch resource \"deployments/scale\"";
        let message = failure(403, detail, None).message;
        assert!(message.contains("the verb \"patch\" on \"deployments/scale\" in API group \"apps\""), "{message}");
    }

    #[test]
    fn the_servers_word_on_when_to_come_back_is_kept() {
        let details: StatusDetails = serde_json::from_str(r#"{"retryAfterSeconds": 7}"#).unwrap();
        assert_eq!(failure(429, "busy", Some(details)).retry_after, Some(Duration::from_secs(7)));
        assert_eq!(failure(429, "busy", None).retry_after, None);
    }

    #[test]
    fn a_message_has_an_end() {
        assert!(failure(422, &"x".repeat(100_000), None).message.len() < 1_000);
    }
}
