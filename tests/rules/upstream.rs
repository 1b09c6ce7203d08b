//! Compared with the recorded decisions of Karmada's webhook: every line has the same decision, unless it is in a class
//! where the design is intentionally stricter or looser. A class is a predicate on the request, never a list of names.

use std::collections::BTreeMap;

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::{Operation, Request};
use fhpa::admission::verdict::Verdict;
use fhpa::decision::cron::{Schedule, zone_name};
use fhpa::decision::kinds;
use fhpa::decision::validation::Settings;
use serde_json::Value;

use super::normal;
use super::world::{Others, now, reviewer_with, said, zones};

/// One recorded decision.
struct Line {
    vector: Value,
    /// The object as it was sent.
    text: String,
}

impl Line {
    fn all(file: &str) -> Vec<Self> {
        let path = format!("{}/tests/fixtures/upstream/{file}", env!("CARGO_MANIFEST_DIR"));
        let content = std::fs::read_to_string(path).unwrap();
        content.lines().map(|line| Self::new(serde_json::from_str(line).unwrap())).collect()
    }

    fn new(vector: Value) -> Self {
        if let Some(raw) = vector.get("object_raw") {
            let text = raw.as_str().unwrap().to_owned();
            return Self { vector, text };
        }
        let mut object = vector["object"].clone();
        if let Some(expand) = vector.get("object_expand") {
            let path: Vec<&str> =
                expand["path"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
            let place = object.pointer_mut(&format!("/{}", path.join("/"))).unwrap();
            let times = usize::try_from(expand["times"].as_u64().unwrap()).unwrap();
            *place = expand["repeat"].as_str().unwrap().repeat(times).into();
        }
        let text = object.to_string();
        Self { vector, text }
    }

    fn name(&self) -> &str {
        self.vector["name"].as_str().unwrap()
    }

    fn allowed_upstream(&self) -> bool {
        self.vector["upstream"]["allowed"].as_bool().unwrap()
    }

    /// Our verdict; nothing where the text is no JSON, which the server answers for before the rules see it.
    fn verdict(&self, endpoint: Endpoint) -> Option<Verdict> {
        let object: Value = serde_json::from_str(&self.text).ok()?;
        let (operation, object, old_object) = match self.vector["operation"].as_str().unwrap() {
            "CREATE" => (Operation::Create, Some(object), None),
            "UPDATE" => (Operation::Update, Some(object.clone()), Some(object)),
            "DELETE" => (Operation::Delete, None, Some(object)),
            _ => (Operation::Unknown, Some(object), None),
        };
        let (name, namespace, uid) = ("web".to_owned(), "prod".to_owned(), "u".to_owned());
        let (dry_run, field_manager) = (false, String::new());
        let request = Request { uid, operation, namespace, name, dry_run, field_manager, object, old_object };
        // Karmada checks an object in the validating webhook only.
        let settings = Settings { deny_early: false, ..Settings::default() };
        Some(reviewer_with(Others::default(), settings).review(endpoint, &request, now()))
    }

    /// The object, `null` when the text is no JSON to `serde_json`.
    fn object(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// A reason to decide otherwise than Karmada.
struct Class {
    name: &'static str,
    /// Whether we refuse what Karmada admits; else we admit what it refuses.
    stricter: bool,
    holds: fn(&Line, &Value) -> bool,
    count: usize,
    example: &'static str,
}

const fn stricter(name: &'static str, holds: fn(&Line, &Value) -> bool, count: usize, example: &'static str) -> Class {
    Class { name, stricter: true, holds, count, example }
}

const fn looser(name: &'static str, holds: fn(&Line, &Value) -> bool, count: usize, example: &'static str) -> Class {
    Class { name, stricter: false, holds, count, example }
}

const fn bare_fraction(count: usize) -> Class {
    let name = "a fraction without quotes, which the schema refuses";
    stricter(name, |_, object| has_bare_fraction(object), count, "fhpa:quantity-number/005")
}

const fn generated_name(count: usize, example: &'static str) -> Class {
    let name = "a name that the API server generates before it asks Karmada";
    looser(name, |_, object| has_generated_name(object), count, example)
}

const FEDERATED: &[Class] = &[
    looser("deletions are never blocked", |line, _| line.vector["operation"] == "DELETE", 1, "fhpa:operation/001"),
    generated_name(1, "fhpa:meta-generateName-only/002"),
    looser(
        "External metrics are allowed",
        |_, object| metrics(object).any(|metric| metric["type"] == "External"),
        1,
        "fhpa:metric-many-sources/060",
    ),
    stricter(
        "a number that the API server cannot carry",
        |line, _| line.text.contains("e400"),
        1,
        "fhpa:quantity-number/010",
    ),
    bare_fraction(5),
    stricter("the target has no readable API version", |_, object| !has_api_version(object), 10, "fhpa:ref-shape/009"),
    stricter("a kind or a name that no URL can carry", |_, object| has_odd_reference(object), 6, "fhpa:ref-kind/012"),
    stricter(
        "an external source stands beside another one",
        |_, object| has_extra_external(object),
        3,
        "fhpa:metric-many-sources/061",
    ),
    stricter(
        "the target's type and the value given do not match",
        |_, object| has_mismatched_target(object),
        2,
        "fhpa:target-combos/077",
    ),
    stricter(
        "a negative tolerance, which no member cluster takes",
        |_, object| has_negative_tolerance(object),
        1,
        "fhpa:behavior-tolerance/008",
    ),
    stricter("a kind of Kubernetes that has no replicas", |_, object| has_no_replicas(object), 8, "fhpa:ref-kind/015"),
    stricter(
        "a condition of a selector has no key, with which it finds nothing",
        |_, object| has_condition_without_key(object),
        1,
        "fhpa:metric-selector/015",
    ),
    stricter(
        "the target is an autoscaler itself",
        |_, object| api_version(object).starts_with("autoscaling.karmada.io/"),
        2,
        "fhpa:ref-apiversion/002",
    ),
];

const CRON: &[Class] = &[
    looser("deletions are never blocked", |line, _| line.vector["operation"] == "DELETE", 0, ""),
    generated_name(1, "cron:meta-generateName-only/001"),
    looser(
        "a schedule that Kubernetes runs and Karmada does not know",
        |_, object| !any_rule(object, schedule_is_refused),
        1,
        "cron:schedule/065",
    ),
    stricter("the target has no readable API version", |_, object| !has_api_version(object), 19, "cron:ref-shape/009"),
    stricter(
        "a target of any version of the group is a FederatedHPA",
        |_, object| is_other_autoscaler(object),
        3,
        "cron:target-kind-rules/073",
    ),
    stricter("a kind or a name that no URL can carry", |_, object| has_odd_reference(object), 14, "cron:ref-kind/012"),
    stricter("no rules", |_, object| rules(object).is_empty(), 25, "cron:random-structured/004"),
    stricter("a rule has no name or a long one", |_, object| any_rule(object, has_bad_name), 16, "cron:rule-name/001"),
    stricter("a history limit out of range", |_, object| any_rule(object, has_bad_limit), 5, "cron:history-limits/004"),
    stricter(
        "a schedule that Kubernetes does not run or that never fires",
        |_, object| any_rule(object, schedule_is_refused),
        37,
        "cron:schedule/011",
    ),
    stricter("a time zone that is no IANA name", |_, object| any_rule(object, has_bad_zone), 13, "cron:timezone/006"),
    stricter("a kind of Kubernetes that has no replicas", |_, object| has_no_replicas(object), 13, "cron:ref-kind/016"),
];

fn metrics(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["metrics"].as_array().into_iter().flatten()
}

fn has_bare_fraction(object: &Value) -> bool {
    let bare = |value: &Value| value.is_f64() && value.as_f64().is_some_and(|number| number.fract() != 0.0);
    let mut sources = metrics(object).filter_map(Value::as_object).flat_map(|metric| metric.values());
    sources.any(|source| bare(&source["target"]["value"]) || bare(&source["target"]["averageValue"]))
        || ["scaleUp", "scaleDown"].iter().any(|way| bare(&object["spec"]["behavior"][way]["tolerance"]))
}

fn rules(object: &Value) -> &[Value] {
    object["spec"]["rules"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn any_rule(object: &Value, holds: fn(&Value) -> bool) -> bool {
    rules(object).iter().any(holds)
}

fn api_version(object: &Value) -> &str {
    object["spec"]["scaleTargetRef"]["apiVersion"].as_str().unwrap_or_default()
}

/// `version` or `group/version`, of letters, digits, dots and dashes.
fn has_api_version(object: &Value) -> bool {
    let parts: Vec<&str> = api_version(object).split('/').collect();
    let word =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
    parts.len() <= 2 && parts.iter().all(word)
}

fn has_generated_name(object: &Value) -> bool {
    let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default();
    text("name").is_empty() && !text("generateName").is_empty()
}

fn has_condition_without_key(object: &Value) -> bool {
    let sources = ["pods", "object", "external"];
    let selectors = metrics(object).flat_map(|metric| sources.map(|source| &metric[source]["metric"]["selector"]));
    let mut conditions = selectors.filter_map(|selector| selector["matchExpressions"].as_array()).flatten();
    conditions.any(|condition| condition["key"].as_str().unwrap_or_default().is_empty())
}

fn has_odd_reference(object: &Value) -> bool {
    let target = &object["spec"]["scaleTargetRef"];
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "-._~:@".contains(c));
    ["kind", "name"].iter().any(|member| target[member].as_str().unwrap_or_default().contains(odd))
}

fn has_extra_external(object: &Value) -> bool {
    metrics(object).any(|metric| metric["type"] != "External" && !metric["external"].is_null())
}

/// The type of a target, by which the controller goes, names a member that is not set, or one that its source does not
/// know.
fn has_mismatched_target(object: &Value) -> bool {
    metrics(object).any(|metric| {
        ["object", "external"].iter().any(|source| {
            let target = &metric[source]["target"];
            match target["type"].as_str() {
                Some("Utilization") => true,
                Some("Value") => target["value"].is_null(),
                Some("AverageValue") => target["averageValue"].is_null(),
                _ => false,
            }
        })
    })
}

fn has_negative_tolerance(object: &Value) -> bool {
    let behavior = &object["spec"]["behavior"];
    ["scaleUp", "scaleDown"].iter().any(|side| behavior[side]["tolerance"].as_str().is_some_and(|t| t.starts_with('-')))
}

fn has_no_replicas(object: &Value) -> bool {
    let kind = object["spec"]["scaleTargetRef"]["kind"].as_str().unwrap_or_default();
    kinds::has_replicas(api_version(object), kind).is_err()
}

/// In Karmada's group, but not in the version that its webhook looks for.
fn is_other_autoscaler(object: &Value) -> bool {
    let version = api_version(object);
    version.starts_with("autoscaling.karmada.io/") && version != "autoscaling.karmada.io/v1alpha1"
}

fn has_bad_name(rule: &Value) -> bool {
    let length = rule["name"].as_str().unwrap_or_default().chars().count();
    !(1..=32).contains(&length)
}

fn has_bad_limit(rule: &Value) -> bool {
    let out = |member: &str, least: i64| rule[member].as_i64().is_some_and(|limit| !(least..=32).contains(&limit));
    out("successfulHistoryLimit", 1) || out("failedHistoryLimit", 0)
}

fn schedule_is_refused(rule: &Value) -> bool {
    Schedule::parse(rule["schedule"].as_str().unwrap_or_default()).is_err()
}

fn has_bad_zone(rule: &Value) -> bool {
    rule["timeZone"].as_str().is_some_and(|zone| zone_name::find(&*zones(), zone).is_err())
}

/// Compares all decisions of a file; returns how many lines there are.
fn compare(file: &str, endpoint: Endpoint, classes: &[Class]) -> usize {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut unexplained = Vec::new();
    let lines = Line::all(file);
    for line in &lines {
        let verdict = line.verdict(endpoint);
        let allowed = verdict.as_ref().is_some_and(|verdict| verdict.denial.is_none());
        if allowed == line.allowed_upstream() {
            continue;
        }
        let object = line.object();
        let class = classes.iter().find(|class| class.stricter != allowed && (class.holds)(line, &object));
        match class {
            Some(class) => found.entry(class.name).or_default().push(line.name().to_owned()),
            None => unexplained.push(format!(
                "{}: Karmada says {}, we say {:?}",
                line.name(),
                line.vector["upstream"]["message"],
                verdict.as_ref().map_or("no JSON".to_owned(), said)
            )),
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let expected: BTreeMap<&str, (usize, &str)> = classes
        .iter()
        .filter(|class| class.count > 0)
        .map(|class| (class.name, (class.count, class.example)))
        .collect();
    let seen: BTreeMap<&str, (usize, &str)> =
        found.iter().map(|(name, lines)| (*name, (lines.len(), &*lines[0]))).collect();
    assert_eq!(seen, expected);
    lines.len()
}

#[test]
fn federated_hpas_are_judged_as_karmada_does() {
    assert_eq!(compare("admission_federatedhpa_validate.jsonl", Endpoint::ValidateFederatedHPA, FEDERATED), 1337);
}

#[test]
fn cron_federated_hpas_are_judged_as_karmada_does() {
    assert_eq!(compare("admission_cronfederatedhpa_validate.jsonl", Endpoint::ValidateCronFederatedHPA, CRON), 968);
}

#[test]
fn what_karmada_cannot_default_is_refused_by_us_too() {
    assert_eq!(compare("admission_federatedhpa_mutate.jsonl", Endpoint::MutateFederatedHPA, &[bare_fraction(4)]), 1318);
}

#[test]
fn defaulting_leads_to_the_object_that_karmada_makes() {
    let (mut compared, mut different) = (0, Vec::new());
    for line in Line::all("admission_federatedhpa_mutate.jsonl") {
        let Some(verdict) = line.verdict(Endpoint::MutateFederatedHPA) else { continue };
        let (true, None) = (line.allowed_upstream(), &verdict.denial) else { continue };
        let before = line.object();
        let ours = normal::object(without_copy(patched(before.clone(), &verdict)));
        let theirs = line.vector.get("mutated").cloned().unwrap_or(before);
        let theirs = normal::object(theirs);
        if ours != theirs {
            different.push(format!("{}:\n  ours {ours}\n  theirs {theirs}", line.name()));
        }
        compared += 1;
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!(compared, 1015);
}

/// The object without the copy of what only fhpa knows, which Karmada does not make.
fn without_copy(mut object: Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !name.starts_with("fhpa.karmada.io/"));
        }
        if metadata.get("annotations").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
            metadata.remove("annotations");
        }
    }
    object
}

/// `object` with the patch of `verdict`.
pub fn patched(mut object: Value, verdict: &Verdict) -> Value {
    let patch: json_patch::Patch = serde_json::from_value(serde_json::to_value(&verdict.patch).unwrap()).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    object
}

#[test]
fn defaulting_twice_changes_nothing_and_makes_what_karmada_admits() {
    let mut admitted = 0;
    for line in Line::all("admission_federatedhpa_mutate.jsonl") {
        let Some(verdict) = line.verdict(Endpoint::MutateFederatedHPA).filter(|verdict| verdict.denial.is_none())
        else {
            continue;
        };
        if line.vector["operation"] == "DELETE" || line.object().is_null() {
            continue;
        }
        let once = patched(line.object(), &verdict);
        let second = Line::new(serde_json::json!({"name": line.name(), "operation": "CREATE", "object": once}));
        let again = second.verdict(Endpoint::MutateFederatedHPA).unwrap();
        assert_eq!(again.patch, vec![], "{}", line.name());
        let ours = second.verdict(Endpoint::ValidateFederatedHPA).unwrap();
        let theirs = line.vector["validate_after_mutate"]["allowed"].as_bool();
        let class = FEDERATED.iter().any(|class| (class.holds)(&second, &once));
        if let Some(theirs) = theirs.filter(|_| !class) {
            assert_eq!(ours.denial.is_none(), theirs, "{}: {}", line.name(), said(&ours));
            admitted += usize::from(theirs);
        }
    }
    assert_eq!(admitted, 403);
}
