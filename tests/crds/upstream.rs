//! The decisions of a kube-apiserver with Karmada's own CRDs and webhooks, compared with fhpa's line by line.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use super::structural::Fault;
use serde_json::Value;

use super::evaluator::{Evaluator, evaluator};

/// One object and what became of its creation.
pub struct Line {
    pub name: String,
    pub object: Value,
    /// Answer of kube-apiserver with Karmada's CRDs alone.
    pub schema: Answer,
    /// HTTP status with Karmada's webhooks too.
    pub end_to_end: i64,
    /// What our CRD says.
    pub faults: Vec<Fault>,
}

pub struct Answer {
    pub code: i64,
    pub message: String,
}

pub static FEDERATED: LazyLock<Vec<Line>> = LazyLock::new(|| {
    lines(include_str!("../fixtures/upstream/admission_federatedhpa_validate.jsonl"), evaluator("FederatedHPA"))
});
pub static CRON: LazyLock<Vec<Line>> = LazyLock::new(|| {
    lines(include_str!("../fixtures/upstream/admission_cronfederatedhpa_validate.jsonl"), evaluator("CronFederatedHPA"))
});

fn lines(text: &str, evaluator: &Evaluator) -> Vec<Line> {
    text.lines().filter_map(|text| line(&serde_json::from_str(text).unwrap(), evaluator)).collect()
}

/// `None` for what is no creation and for text that is not JSON.
fn line(line: &Value, evaluator: &Evaluator) -> Option<Line> {
    let code = |pointer| line.pointer(pointer).and_then(Value::as_i64);
    let object = match line.get("object_raw").and_then(Value::as_str) {
        Some(raw) => serde_json::from_str(raw).ok()?,
        None => line.get("object")?.clone(),
    };
    let message = line.pointer("/apiserver_schema/message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Line {
        name: line["name"].as_str().unwrap().to_owned(),
        schema: Answer { code: code("/apiserver_schema/code")?, message },
        end_to_end: code("/apiserver_e2e/code")?,
        faults: evaluator.faults(&object),
        object,
    })
}

/// Counts by `class`, with one example each, as a table.
fn table<'a>(lines: impl Iterator<Item = (&'a Line, String)>) -> String {
    let mut classes: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for (line, class) in lines {
        let (count, _) = classes.entry(class).or_insert((0, &line.name));
        *count += 1;
    }
    classes.into_iter().fold(String::new(), |mut table, (class, (count, example))| {
        writeln!(table, "{count:4}  {class}  (as {example})").unwrap();
        table
    })
}

/// The path of a fault, the same for all elements of a list.
fn place(fault: &Fault) -> String {
    fault.path.replace(|c: char| c.is_ascii_digit(), "")
}

fn refused(lines: &[Line]) -> impl Iterator<Item = (&Line, String)> {
    let stored = lines.iter().filter(|line| line.schema.code == 201 && line.end_to_end == 201);
    stored.filter_map(|line| line.faults.first().map(|fault| (line, format!("{} {}", place(fault), fault.keyword))))
}

/// The classes are those of docs/validation.md#refused: the type of a target matches its value, a source stands alone
/// (`external` too, which Karmada's webhook forgets), the tolerance a member's HPA takes is not negative, the API
/// version is given.
#[test]
fn a_federated_hpa_that_karmada_stores_is_stored_unless_the_design_is_stricter() {
    insta::assert_snapshot!(table(refused(&FEDERATED)), @r#"
    1  spec.behavior.scaleDown.tolerance cel  (as fhpa:behavior-tolerance/008)
    3  spec.metrics[].external cel  (as fhpa:metric-many-sources/061)
    2  spec.metrics[].object.target.type cel  (as fhpa:target-combos/077)
    7  spec.scaleTargetRef.apiVersion cel  (as fhpa:ref-shape/009)
    "#);
}

/// The classes are those of docs/validation.md#refused: rules are not empty, the time zone is neither empty nor `Local`,
/// the kind fits the API group in every version, the API version is given.
#[test]
fn a_cron_federated_hpa_that_karmada_stores_is_stored_unless_the_design_is_stricter() {
    insta::assert_snapshot!(table(refused(&CRON)), @r#"
     4  spec.rules cel  (as cron:ref-apiversion/006)
    27  spec.rules minItems  (as cron:random-structured/004)
    14  spec.rules[].timeZone cel  (as cron:timezone/007)
     4  spec.rules[].timeZone minLength  (as cron:timezone/006)
    15  spec.scaleTargetRef.apiVersion cel  (as cron:ref-shape/009)
    "#);
}

#[test]
fn most_of_what_karmada_stores_is_looked_at() {
    let stored = |lines: &[Line]| lines.iter().filter(|line| line.schema.code == 201 && line.end_to_end == 201).count();
    assert_eq!((stored(&FEDERATED), stored(&CRON)), (441, 350));
}

/// Whether only metadata, kind or version are at fault, which no schema of ours describes.
fn is_about_metadata(message: &str) -> bool {
    let about = [
        ": metadata.",
        ": [metadata.",
        " kind: Invalid value",
        "'Kind' is missing",
        "ObjectMeta",
        "OwnerReference",
        "parsing time",
        "GroupVersion",
    ];
    message.contains("does not match the expected API version") || about.iter().any(|about| message.contains(about))
}

#[test]
fn what_karmadas_schema_refuses_is_refused() {
    for lines in [&*FEDERATED, &*CRON] {
        for line in lines {
            let known = line.schema.code == 201 || is_about_metadata(&line.schema.message);
            assert!(known || !line.faults.is_empty(), "{} is stored, was refused: {}", line.name, line.schema.message);
        }
    }
}

fn by_verdict(lines: &[Line]) -> String {
    table(lines.iter().filter(|line| (line.schema.code, line.end_to_end) != (201, 201)).map(|line| {
        let ours = match (line.faults.is_empty(), line.schema.code) {
            (false, _) => "refused".to_owned(),
            (true, 201) => format!("stored, {}", line.name.split('/').next().unwrap()),
            (true, _) => "stored, the metadata is wrong".to_owned(),
        };
        (line, format!("Karmada's schema {}, its webhooks {}: {ours}", line.schema.code, line.end_to_end))
    }))
}

/// What the CRD leaves to the webhook: schedules, time zones, names of resources; and metadata to the API server.
#[test]
fn most_of_what_karmadas_webhooks_refuse_is_refused_by_the_schema() {
    insta::assert_snapshot!(by_verdict(&FEDERATED), @r#"
      4  Karmada's schema 201, its webhooks 400: stored, fhpa:status-other  (as fhpa:status-other/007)
      4  Karmada's schema 201, its webhooks 400: stored, fhpa:status-replicas  (as fhpa:status-replicas/006)
      1  Karmada's schema 201, its webhooks 400: stored, fhpa:status-shape  (as fhpa:status-shape/004)
    419  Karmada's schema 201, its webhooks 403: refused  (as fhpa:ref-shape/008)
      6  Karmada's schema 201, its webhooks 403: stored, fhpa:container-resource-name  (as fhpa:container-resource-name/019)
      1  Karmada's schema 201, its webhooks 403: stored, fhpa:metric-many-sources  (as fhpa:metric-many-sources/060)
     26  Karmada's schema 400, its webhooks 400: refused  (as fhpa:typemeta-kind/003)
     26  Karmada's schema 400, its webhooks 400: stored, the metadata is wrong  (as fhpa:typemeta-kind/002)
      5  Karmada's schema 422, its webhooks 201: refused  (as fhpa:quantity-number/005)
      4  Karmada's schema 422, its webhooks 201: stored, the metadata is wrong  (as fhpa:typemeta-kind/004)
    191  Karmada's schema 422, its webhooks 400: refused  (as fhpa:spec-shape/004)
     93  Karmada's schema 422, its webhooks 403: refused  (as fhpa:wrong-kind-object/001)
     25  Karmada's schema 422, its webhooks 422: refused  (as fhpa:many-errors/002)
     66  Karmada's schema 422, its webhooks 422: stored, the metadata is wrong  (as fhpa:meta-name/002)
    "#);
    insta::assert_snapshot!(by_verdict(&CRON), @r#"
    155  Karmada's schema 201, its webhooks 403: refused  (as cron:ref-shape/008)
      6  Karmada's schema 201, its webhooks 403: stored, cron:random-mutation  (as cron:random-mutation/025)
      6  Karmada's schema 201, its webhooks 403: stored, cron:random-structured  (as cron:random-structured/114)
     16  Karmada's schema 201, its webhooks 403: stored, cron:schedule  (as cron:schedule/016)
     32  Karmada's schema 201, its webhooks 403: stored, cron:timezone  (as cron:timezone/002)
     26  Karmada's schema 400, its webhooks 400: refused  (as cron:typemeta-kind/003)
     33  Karmada's schema 400, its webhooks 400: stored, the metadata is wrong  (as cron:typemeta-kind/001)
    269  Karmada's schema 422, its webhooks 422: refused  (as cron:wrong-kind-object/001)
     69  Karmada's schema 422, its webhooks 422: stored, the metadata is wrong  (as cron:typemeta-kind/005)
    "#);
}
