//! How long the API server asks its clients to wait. Its priority and fairness, and proxies before it, say so in the
//! header `Retry-After` of a text alone: here that becomes the `Status` that callers read. No I/O.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::response::Parts;
use kube::core::Status;
use kube::core::response::StatusDetails;

/// Longest wait that is taken, in seconds: a proxy that is maintained may name hours, and another webhook a day.
const LONGEST: u32 = 60;

/// The wait that an error names; `None` where it names none.
#[must_use]
pub fn retry_after(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    (seconds > 0).then(|| Duration::from_secs(seconds.min(LONGEST).into()))
}

/// The body of an error: with a header `Retry-After` in seconds a `Status` that names them, else as it is.
pub(super) fn in_status(head: &mut Parts, body: Bytes) -> Bytes {
    let Some(seconds) = seconds(head).filter(|seconds| *seconds > 0) else { return body };
    let code = head.status.as_u16();
    let mut status = serde_json::from_slice(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body);
        Status::failure(text.trim(), head.status.canonical_reason().unwrap_or_default()).with_code(code)
    });
    if retry_after(&status).is_some() {
        return body;
    }
    let nothing = || StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    };
    status.details.get_or_insert_with(nothing).retry_after_seconds = seconds;
    let Ok(text) = serde_json::to_vec(&status) else { return body };
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    text.into()
}

/// The header in seconds. Kubernetes sends no date.
fn seconds(head: &Parts) -> Option<u32> {
    head.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    /// The wait that is read from an answer, and its message.
    fn told(header: &str, body: &str) -> (Option<u64>, String) {
        let answer = Response::builder().status(429).header(RETRY_AFTER, header).header(CONTENT_LENGTH, body.len());
        let (mut head, ()) = answer.body(()).unwrap().into_parts();
        let bytes = in_status(&mut head, Bytes::copy_from_slice(body.as_bytes()));
        let Ok(status) = serde_json::from_slice::<Status>(&bytes) else {
            return (None, String::from_utf8(bytes.to_vec()).unwrap());
        };
        assert_eq!(status.code, 429);
        (retry_after(&status).map(|wait| wait.as_secs()), status.message)
    }

    #[test]
    fn the_header_is_read_where_the_status_names_no_wait() {
        let busy = "Too many requests, please try again later.";
        assert_eq!(told("3", &format!("{busy}\n")), (Some(3), busy.to_owned()));
        assert_eq!(told("3", r#"{"kind": "Status", "code": 429, "message": "busy"}"#), (Some(3), "busy".to_owned()));
        let own = r#"{"kind": "Status", "code": 429, "message": "busy", "details": {"retryAfterSeconds": 7}}"#;
        assert_eq!(told("3", own), (Some(7), "busy".to_owned()));
    }

    #[test]
    fn what_is_no_number_of_seconds_changes_nothing_and_hours_are_not_waited_for() {
        for header in ["0", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "-1"] {
            assert_eq!(told(header, "busy"), (None, "busy".to_owned()), "{header}");
        }
        assert_eq!(told("86400", "busy").0, Some(60));
        let own = r#"{"kind": "Status", "code": 429, "message": "busy", "details": {"retryAfterSeconds": 86400}}"#;
        assert_eq!(told("3", own).0, Some(60));
    }
}
