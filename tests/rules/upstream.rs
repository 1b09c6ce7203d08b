//! Against the recorded decisions of Karmada's webhook.

use std::collections::BTreeMap;

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::{Operation, Request};
use serde_json::Value;
use serde_json::value::RawValue;

use super::world::{Others, now, reviewer, said};

struct Line {
    vector: Value,
    text: String,
}

fn lines(file: &str) -> Vec<Line> {
    let path = format!("{}/tests/fixtures/upstream/{file}", env!("CARGO_MANIFEST_DIR"));
    let content = std::fs::read_to_string(path).unwrap();
    content
        .lines()
        .map(|line| {
            let vector: Value = serde_json::from_str(line).unwrap();
            let text = text(&vector);
            Line { vector, text }
        })
        .collect()
}

fn text(vector: &Value) -> String {
    if let Some(raw) = vector.get("object_raw") {
        return raw.as_str().unwrap().to_owned();
    }
    let mut object = vector["object"].clone();
    if let Some(expand) = vector.get("object_expand") {
        let path: Vec<&str> = expand["path"].as_array().unwrap().iter().map(|step| step.as_str().unwrap()).collect();
        let place = object.pointer_mut(&format!("/{}", path.join("/"))).unwrap();
        *place = expand["repeat"].as_str().unwrap().repeat(expand["times"].as_u64().unwrap() as usize).into();
    }
    object.to_string()
}

fn operation(vector: &Value) -> Operation {
    match vector["operation"].as_str() {
        Some("CREATE") => Operation::Create,
        Some("UPDATE") => Operation::Update,
        Some("DELETE") => Operation::Delete,
        _ => Operation::Unknown,
    }
}

fn run(file: &str, endpoint: Endpoint) {
    let reviewer = reviewer(Others::default());
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut n = 0;
    for line in lines(file) {
        let upstream = line.vector["upstream"]["allowed"].as_bool().unwrap();
        let Ok(object) = serde_json::from_str::<&RawValue>(&line.text) else {
            assert!(!upstream);
            continue;
        };
        let operation = operation(&line.vector);
        let (object, old) = match operation {
            Operation::Delete => (None, Some(object)),
            Operation::Update => (Some(object), Some(object)),
            _ => (Some(object), None),
        };
        let request = Request {
            uid: "u".into(),
            operation,
            namespace: "prod".into(),
            name: "web".into(),
            sub_resource: "".into(),
            dry_run: false,
            object,
            old_object: old,
        };
        let verdict = reviewer.review(endpoint, &request, now());
        n += 1;
        if verdict.denial.is_none() != upstream {
            wrong.entry(line.vector["class"].as_str().unwrap().to_owned()).or_default().push(format!(
                "{} ours: {} | upstream {}",
                line.vector["name"],
                said(&verdict),
                line.vector["upstream"]["message"]
            ));
        }
    }
    println!("{file}: {n}, {} differ", wrong.values().map(Vec::len).sum::<usize>());
    for (class, lines) in wrong {
        println!("  {class} {}", lines.len());
        for line in lines.iter().take(4) {
            println!("     {}", line.chars().take(400).collect::<String>());
        }
    }
}

#[test]
fn probe() {
    run("admission_federatedhpa_validate.jsonl", Endpoint::ValidateFederatedHPA);
    run("admission_federatedhpa_mutate.jsonl", Endpoint::MutateFederatedHPA);
    run("admission_cronfederatedhpa_validate.jsonl", Endpoint::ValidateCronFederatedHPA);
}
