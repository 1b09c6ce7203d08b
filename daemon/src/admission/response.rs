//! Verdict -> the admission.k8s.io/v1 AdmissionReview response, written in one pass. No I/O.

use std::fmt::{Display, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;

use super::endpoint::Endpoint;
use super::verdict::{Denial, PatchOperation, Verdict};
use crate::decision::excerpt::excerpt;
use crate::decision::finding::{Violation, WARNING_CHARACTERS, Warning};

/// Most characters of all warnings together; the API server drops the rest.
pub const ALL_WARNINGS: usize = 4096;
/// Most violations of one object that are listed; the others are counted.
pub const CAUSES: usize = 200;
/// Characters of a name that a message repeats; no valid name is longer.
const NAME: usize = 253;
/// Characters of a decoder's message, which may repeat the input.
const DECODER: usize = 500;

/// The response to the review `uid` of the object `name`.
#[must_use]
pub fn write(endpoint: Endpoint, uid: &str, name: &str, verdict: &Verdict) -> Bytes {
    let status = verdict.denial.as_ref().map(|denial| match denial {
        Denial::Invalid(violations) => Status::invalid(endpoint, name, violations),
        Denial::Undecodable { path, message } => Status::undecodable(endpoint, name, path, message),
    });
    let patch = if verdict.denial.is_none() { encode_patch(&verdict.patch) } else { None };
    to_bytes(Response {
        uid,
        allowed: verdict.denial.is_none(),
        status,
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch,
        warnings: warnings(&verdict.warnings),
        audit_annotations: AuditAnnotations::of(verdict),
    })
}

/// A denial of the review `uid` without a rule: `code` and `reason` as in a Kubernetes Status.
#[must_use]
pub fn refuse(uid: &str, code: u16, reason: &'static str, message: &str) -> Bytes {
    to_bytes(Response {
        uid,
        allowed: false,
        status: Some(Status { result: "Failure", message: message.to_owned(), reason, details: None, code }),
        patch: None,
        patch_type: None,
        warnings: Vec::new(),
        audit_annotations: None,
    })
}

/// Capacity for the response to an admitted object without a patch.
const SHORT_ANSWER: usize = 192;

fn to_bytes(response: Response<'_>) -> Bytes {
    let mut out = Vec::with_capacity(SHORT_ANSWER);
    let review = Review { kind: "AdmissionReview", api_version: "admission.k8s.io/v1", response };
    // Writing to memory does not fail for these types.
    if serde_json::to_writer(&mut out, &review).is_err() {
        out.clear();
    }
    out.into()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    kind: &'static str,
    api_version: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<AuditAnnotations>,
}

/// A Kubernetes Status.
#[derive(Serialize)]
struct Status<'a> {
    #[serde(rename = "status")]
    result: &'static str,
    message: String,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'a>>,
    code: u16,
}

#[derive(Serialize)]
struct Details<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    group: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<StatusCause<'a>>,
}

#[derive(Serialize)]
struct StatusCause<'a> {
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    field: &'a str,
}

impl<'a> Status<'a> {
    /// In the format of kube-apiserver: `FederatedHPA.autoscaling.karmada.io "web" is invalid: [a, b]`.
    fn invalid(endpoint: Endpoint, name: &'a str, violations: &'a [Violation]) -> Self {
        let name = excerpt(name, NAME);
        let (kind, group) = (endpoint.kind(), endpoint.group());
        let listed = violations.iter().take(CAUSES);
        let mut causes: Vec<_> =
            listed.map(|v| StatusCause { reason: v.reason(), message: v.message(), field: v.path.as_str() }).collect();
        let unlisted = violations.len().saturating_sub(CAUSES);
        if unlisted > 0 {
            let message = format!("{unlisted} more errors are not listed");
            causes.push(StatusCause { reason: "FieldValueInvalid", message, field: "" });
        }
        let mut message = format!("{kind}.{group} {name:?} is invalid: ");
        let several = causes.len() > 1;
        if several {
            message.push('[');
        }
        for (index, cause) in causes.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let colon = if cause.field.is_empty() { "" } else { ": " };
            push(&mut message, format_args!("{separator}{}{colon}{}", cause.field, cause.message));
        }
        if several {
            message.push(']');
        }
        let details = Some(Details { name, group, kind, causes });
        Self { result: "Failure", message, reason: "Invalid", details, code: 422 }
    }

    fn undecodable(endpoint: Endpoint, name: &'a str, path: &'a str, what: &str) -> Self {
        let (name, path, what) = (excerpt(name, NAME), excerpt(path, DECODER), excerpt(what, DECODER));
        let (kind, group) = (endpoint.kind(), endpoint.group());
        let colon = if path.is_empty() { "" } else { ": " };
        let message = format!("{kind}.{group} {name:?} cannot be decoded: {path}{colon}{what}");
        let cause = StatusCause { reason: "FieldValueInvalid", message: what.to_owned(), field: path };
        let details = Some(Details { name, group, kind, causes: vec![cause] });
        Self { result: "Failure", message, reason: "BadRequest", details, code: 400 }
    }
}

/// Appends to a text in memory, which does not fail.
fn push(text: &mut String, what: impl Display) {
    let _ = write!(text, "{what}");
}

/// Names of rules, for the audit log of the API server.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct AuditAnnotations {
    #[serde(skip_serializing_if = "String::is_empty")]
    denied_by: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    warned_by: String,
}

impl AuditAnnotations {
    fn of(verdict: &Verdict) -> Option<Self> {
        let denied_by = match &verdict.denial {
            None => String::new(),
            Some(Denial::Invalid(violations)) => names(violations.iter().map(|v| v.rule)),
            Some(Denial::Undecodable { .. }) => "undecodable".to_owned(),
        };
        let warned_by = names(verdict.warnings.iter().map(|w| w.rule));
        let empty = denied_by.is_empty() && warned_by.is_empty();
        (!empty).then_some(Self { denied_by, warned_by })
    }
}

/// The names of rules, each once, in the order of their findings, separated by commas.
#[must_use]
pub fn names(rules: impl Iterator<Item = &'static str>) -> String {
    let mut seen: Vec<&'static str> = Vec::new();
    for rule in rules {
        if !seen.contains(&rule) {
            seen.push(rule);
        }
    }
    seen.join(",")
}

fn encode_patch(patch: &[PatchOperation]) -> Option<String> {
    if patch.is_empty() {
        return None;
    }
    serde_json::to_vec(patch).ok().map(|json| STANDARD.encode(json))
}

/// Warnings as sent to the user: one line each, shortened, and bounded in total.
fn warnings(warnings: &[Warning]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(warnings.len());
    let mut left = ALL_WARNINGS;
    for (index, warning) in warnings.iter().enumerate() {
        let text = one_line(&warning.to_string());
        let length = text.chars().count();
        // Reserve space for the line that counts the rest.
        if length.saturating_add(COUNT) > left {
            out.push(format!("{} more warnings are not shown", warnings.len().saturating_sub(index)));
            break;
        }
        left = left.saturating_sub(length);
        out.push(text);
    }
    out
}

/// Most characters of the line that counts warnings.
const COUNT: usize = 48;
/// Characters that are kept of the end of a longer warning: what to write instead stands there.
const END: usize = 100;

/// The text without control characters, which the API server rejects in a warning header; a longer one without its
/// middle.
fn one_line(text: &str) -> String {
    const DOTS: &str = " ... ";
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let length = text.chars().count();
    if length <= WARNING_CHARACTERS {
        return text.chars().map(printable).collect();
    }
    let begin = WARNING_CHARACTERS.saturating_sub(END).saturating_sub(DOTS.len());
    let end = text.chars().skip(length.saturating_sub(END));
    text.chars().take(begin).chain(DOTS.chars()).chain(end).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ALL_WARNINGS, CAUSES, WARNING_CHARACTERS, write};
    use crate::admission::endpoint::Endpoint;
    use crate::admission::verdict::{Denial, PatchOperation, Verdict};
    use crate::decision::finding::{Cause, Violation, Warning};
    use crate::decision::path::Path;

    fn answer(verdict: &Verdict) -> Value {
        let bytes = write(Endpoint::ValidateFederatedHPA, "u-1", "web", verdict);
        let mut review: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(review["kind"], "AdmissionReview");
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
        review["response"].take()
    }

    fn violation(field: &str) -> Violation {
        Violation::new("bounds", &Path::Root("spec").field(field), Cause::Invalid(0.into()), "must be greater than 0")
    }

    #[test]
    fn an_admitted_object_gets_the_shortest_answer() {
        assert_eq!(answer(&Verdict::allowed()), json!({"uid": "u-1", "allowed": true}));
    }

    #[test]
    fn a_denial_lists_each_violation_as_a_cause() {
        let denial = Some(Denial::Invalid(vec![violation("minReplicas"), violation("maxReplicas")]));
        let cause = |field: &str| json!({"reason": "FieldValueInvalid", "message": "Invalid value: 0: must be greater than 0", "field": field});
        assert_eq!(
            answer(&Verdict { denial, ..Verdict::default() }),
            json!({
                "uid": "u-1", "allowed": false,
                "status": {
                    "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": "FederatedHPA.autoscaling.karmada.io \"web\" is invalid: [spec.minReplicas: Invalid value: 0: must be greater than 0, spec.maxReplicas: Invalid value: 0: must be greater than 0]",
                    "details": {"name": "web", "group": "autoscaling.karmada.io", "kind": "FederatedHPA",
                                "causes": [cause("spec.minReplicas"), cause("spec.maxReplicas")]}
                },
                "auditAnnotations": {"denied-by": "bounds"}
            })
        );
    }

    #[test]
    fn a_single_violation_stands_without_brackets_and_hundreds_are_counted() {
        let one = answer(&Verdict { denial: Some(Denial::Invalid(vec![violation("a")])), ..Verdict::default() });
        assert!(
            one["status"]["message"]
                .as_str()
                .unwrap()
                .ends_with("is invalid: spec.a: Invalid value: 0: must be greater than 0")
        );
        let many = vec![violation("a"); CAUSES + 7];
        let many = answer(&Verdict { denial: Some(Denial::Invalid(many)), ..Verdict::default() });
        let causes = many["status"]["details"]["causes"].as_array().unwrap();
        assert_eq!(causes.len(), CAUSES + 1);
        assert_eq!(causes[CAUSES]["message"], "7 more errors are not listed");
    }

    #[test]
    fn an_undecodable_object_is_a_bad_request_with_its_place() {
        let denial = Some(Denial::Undecodable { path: "spec.maxReplicas".into(), message: "expected i32".into() });
        let status = answer(&Verdict { denial, ..Verdict::default() })["status"].take();
        assert_eq!((status["code"].as_u64(), status["reason"].as_str()), (Some(400), Some("BadRequest")));
        assert_eq!(
            status["message"],
            "FederatedHPA.autoscaling.karmada.io \"web\" cannot be decoded: spec.maxReplicas: expected i32"
        );
        assert_eq!(status["details"]["causes"][0]["field"], "spec.maxReplicas");
    }

    #[test]
    fn a_patch_travels_as_base64_and_never_with_a_denial() {
        use base64::Engine as _;
        let patch = vec![PatchOperation::Add { path: "/spec/minReplicas".into(), value: json!(1) }];
        let response = answer(&Verdict { patch: patch.clone(), ..Verdict::default() });
        assert_eq!(response["patchType"], "JSONPatch");
        let json = base64::engine::general_purpose::STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
        assert_eq!(json, br#"[{"op":"add","path":"/spec/minReplicas","value":1}]"#);
        let denied =
            answer(&Verdict { denial: Some(Denial::Invalid(vec![violation("a")])), patch, ..Verdict::default() });
        assert!(denied["patch"].is_null() && denied["patchType"].is_null());
    }

    #[test]
    fn a_warning_is_sent_whole_up_to_what_an_api_server_passes_on_and_a_longer_one_keeps_its_end() {
        let warning = |text: &str| Warning::new("w", &Path::Root("spec"), text);
        let fitting = format!("{}: did you mean \"apps/v1\"?", "x".repeat(210));
        let longer = format!("{}\nwrite \"apps/v1\"", "\u{e9}".repeat(300));
        let response = answer(&Verdict { warnings: vec![warning(&fitting), warning(&longer)], ..Verdict::default() });
        assert_eq!(response["warnings"][0], format!("spec: {fitting}"));
        let cut = response["warnings"][1].as_str().unwrap();
        assert_eq!(cut.chars().count(), WARNING_CHARACTERS);
        assert!(cut.starts_with("spec: \u{e9}") && cut.ends_with("\u{e9} write \"apps/v1\""), "{cut}");
        assert_eq!(response["auditAnnotations"], json!({"warned-by": "w"}));
    }

    #[test]
    fn warnings_are_bounded_in_total_and_the_others_are_counted() {
        let warning = Warning::new("w", &Path::Root(""), "\u{e9}".repeat(100));
        for count in [40, 90] {
            let response = answer(&Verdict { warnings: vec![warning.clone(); count], ..Verdict::default() });
            let sent = response["warnings"].as_array().unwrap();
            assert!(sent.iter().map(|w| w.as_str().unwrap().chars().count()).sum::<usize>() <= ALL_WARNINGS);
            assert!(sent.len() >= 40, "{}", sent.len());
            if count > sent.len() {
                let rest = count - (sent.len() - 1);
                assert_eq!(sent.last().unwrap(), &format!("{rest} more warnings are not shown"));
            }
        }
    }
}
