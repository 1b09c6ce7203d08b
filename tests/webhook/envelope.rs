//! Unusual bodies: the responses of Karmada's webhook compared with fhpa's, and the rule that a uid is never lost.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use http::Request;
use serde::Deserialize;
use serde_json::Value;

use super::router::{Notes, allowing, ask, desk};

#[derive(Deserialize)]
struct Vector {
    name: String,
    class: String,
    path: String,
    method: String,
    content_type: Option<String>,
    body_raw: Option<String>,
    body_expand: Option<Expansion>,
    http_status: u16,
    response: Value,
}

#[derive(Deserialize)]
struct Expansion {
    placeholder: String,
    repeat: String,
    times: usize,
}

impl Vector {
    fn body(&self) -> Option<String> {
        let raw = self.body_raw.as_ref()?;
        Some(match &self.body_expand {
            Some(e) => raw.replace(&e.placeholder, &e.repeat.repeat(e.times)),
            None => raw.clone(),
        })
    }
}

/// An answer, as far as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Allowed { uid: String },
    Denied { uid: String, code: u64 },
    Http(u16),
}

impl Answer {
    fn of(status: u16, body: &Value) -> Self {
        let response = &body["response"];
        let uid = response["uid"].as_str().unwrap_or_default().to_owned();
        match (status, response["allowed"].as_bool()) {
            (200, Some(true)) => Self::Allowed { uid },
            (200, Some(false)) => Self::Denied { uid, code: response["status"]["code"].as_u64().unwrap_or_default() },
            _ => Self::Http(status),
        }
    }

    fn summary(&self) -> String {
        let with = |uid: &str| if uid.is_empty() { ", no uid" } else { "" };
        match self {
            Self::Allowed { uid } => format!("allowed{}", with(uid)),
            Self::Denied { uid, code } => format!("denied {code}{}", with(uid)),
            Self::Http(status) => format!("HTTP {status}"),
        }
    }

    fn uid(&self) -> Option<&str> {
        match self {
            Self::Allowed { uid } | Self::Denied { uid, .. } => Some(uid),
            Self::Http(_) => None,
        }
    }
}

async fn answers() -> Vec<(Vector, Answer, Answer)> {
    let router = desk(allowing(), Arc::new(Notes::default()));
    let mut answers = Vec::new();
    for line in include_str!("../fixtures/upstream/admission_envelope.jsonl").lines() {
        let vector: Vector = serde_json::from_str(line).unwrap();
        let mut request = Request::builder().method(&*vector.method).uri(format!("/{}", vector.path));
        if let Some(content_type) = &vector.content_type {
            request = request.header("content-type", content_type);
        }
        let request = request.body(vector.body().map_or_else(Body::empty, Body::from)).unwrap();
        let (status, _, body) = ask(router.clone(), request).await;
        let ours = Answer::of(status.as_u16(), &serde_json::from_slice(&body).unwrap_or_default());
        let upstream = Answer::of(vector.http_status, &vector.response);
        answers.push((vector, upstream, ours));
    }
    answers
}

/// What we do otherwise on purpose: a POST of JSON with a uid always gets that uid back (upstream loses it in most
/// refusals); what is no JSON, too large or without a uid gets an error of HTTP; other methods get 405; other versions
/// and kinds are refused; 3 MiB is the limit; a charset parameter is fine; `request` given twice is refused.
#[tokio::test]
async fn the_answers_differ_from_upstreams_only_in_known_classes() {
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    for (vector, upstream, ours) in answers().await {
        let same = if upstream == ours { " (same)" } else { "" };
        let class = format!("{}: upstream {}, ours {}{same}", vector.class, upstream.summary(), ours.summary());
        *classes.entry(class).or_default() += 1;
    }
    let mut text = String::new();
    for (class, count) in classes {
        writeln!(text, "{count:2} {class}").unwrap();
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn the_uid_of_a_body_that_is_json_is_never_lost() {
    let mut kept = 0;
    for (vector, _, ours) in answers().await {
        if vector.method != "POST" || matches!(ours, Answer::Http(404 | 413 | 415)) {
            continue;
        }
        // What is nested too deep to be read here is skipped there, where no rule sees it.
        let Ok(body) = serde_json::from_str::<Value>(&vector.body().unwrap_or_default()) else {
            assert!(matches!(ours, Answer::Http(400) | Answer::Allowed { .. }), "{}: {ours:?}", vector.name);
            continue;
        };
        match body["request"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
            Some(uid) => {
                assert_eq!(ours.uid(), Some(uid), "{}", vector.name);
                kept += 1;
            }
            None => assert!(matches!(ours, Answer::Http(400)), "{}: {ours:?}", vector.name),
        }
    }
    assert_eq!(kept, 32);
}
