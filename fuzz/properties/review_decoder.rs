//! Any bytes as a review: the answer is a review of bounded size that keeps the uid of a body that is JSON, and nothing
//! panics. Shared by the fuzz target and the tests.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use fhpa::admission::body::LARGE;
use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::router::ReviewFn;
use fhpa::admission::{envelope, response};
use fhpa::decision::related_objects::NoRelatedObjects;
use fhpa::decision::validation::Settings;
use fhpa::run::process::{ReviewDependencies, judge};
use fhpa::runtime::zones::ZoneDatabase;
use jiff::Timestamp;

static JUDGE: LazyLock<ReviewFn> = LazyLock::new(|| {
    let zones = Arc::new(ZoneDatabase::open());
    judge(Settings::default())(ReviewDependencies {
        related_objects: Arc::new(NoRelatedObjects),
        zones,
        preview: None,
        frozen: None,
        idle: None,
    })
});

/// Bytes that an answer may have, whatever was asked: 256 violations and warnings of bounded length, told twice.
const MAX_ANSWER: usize = 1 << 20;

/// Panics when the property does not hold.
pub fn check(data: &[u8]) {
    let Some((endpoint, body)) = request(data) else { return };
    let answer = answer(endpoint, &body);
    assert!(answer.len() <= MAX_ANSWER, "an answer of {} bytes to a body of {}", answer.len(), body.len());
    let answer: serde_json::Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    // One with too many values is not decoded.
    if let Some(uid) = uid(&body).filter(|_| body.len() <= LARGE) {
        assert_eq!(answer["response"]["uid"], uid.as_str(), "{}", String::from_utf8_lossy(&body));
    }
}

/// The first byte chooses the path and whether the rest is a whole body or the object in a sound one.
pub fn request(data: &[u8]) -> Option<(Endpoint, Cow<'_, [u8]>)> {
    let (choice, rest) = data.split_first()?;
    let endpoint = Endpoint::ALL[usize::from(choice >> 1) % Endpoint::ALL.len()];
    Some((endpoint, if choice & 1 == 0 { Cow::Borrowed(rest) } else { Cow::Owned(wrapped(rest)) }))
}

/// `object` as the new and the stored object of an update.
fn wrapped(object: &[u8]) -> Vec<u8> {
    let head = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","operation":"UPDATE","object":"#;
    [&head[..], object, br#","oldObject":"#, object, b"}}"].concat()
}

/// What the server answers.
pub fn answer(endpoint: Endpoint, body: &[u8]) -> Bytes {
    let now = Timestamp::from_second(1_800_000_000).expect("a timestamp");
    match envelope::decode(body) {
        Ok(request) => {
            let verdict = JUDGE(endpoint, &request, now);
            assert!(verdict.denial.is_none() || verdict.patch.is_empty(), "refused and patched");
            response::write(endpoint, &request.uid, &request.name, &verdict)
        }
        Err(malformed) => {
            let uid = malformed.uid.as_deref().unwrap_or_default();
            response::refuse(uid, 400, "BadRequest", &malformed.to_string())
        }
    }
}

/// The uid of a body that is JSON throughout, read in another way than the server does.
fn uid(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    // Of a member that is given twice, the two readers may take different ones.
    if text.matches("uid").count() != 1 || text.matches("request").count() != 1 || text.contains('\\') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value["request"]["uid"].as_str().filter(|uid| !uid.is_empty()).map(str::to_owned)
}
