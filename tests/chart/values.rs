//! values.yaml, values.schema.json and the tables of the chart's README agree.

use std::collections::BTreeMap;

use serde_json::Value;

use super::engine::{self, Outcome};
use super::renderings::{CASES, full_but};
use super::text;

/// Path, then default and meaning.
pub type Table = BTreeMap<String, (Value, String)>;

/// What can be set: a node of the schema without named properties.
fn leaves(schema: &Value, defaults: &Value, path: &str, table: &mut Table) {
    for (name, node) in schema["properties"].as_object().unwrap() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // Those of a chart that this one is a part of.
        if ["global", "enabled"].contains(&&*path) {
            continue;
        }
        let default = defaults.get(name).unwrap_or_else(|| panic!("{path} is not in values.yaml"));
        if node.get("properties").is_some() {
            assert_eq!(node["additionalProperties"], false, "{path} takes anything");
            leaves(node, default, &path, table);
        } else {
            let meaning = node["description"].as_str().unwrap_or_else(|| panic!("{path} has no description"));
            table.insert(path, (default.clone(), meaning.to_owned()));
        }
    }
    let unknown: Vec<&String> =
        defaults.as_object().unwrap().keys().filter(|name| schema["properties"].get(name).is_none()).collect();
    assert!(unknown.is_empty(), "not in the schema, below {path:?}: {unknown:?}");
}

fn schema() -> Value {
    serde_json::from_str(&text("charts/fhpa/values.schema.json")).unwrap()
}

/// All values: their paths, defaults and meanings.
pub fn table() -> Table {
    let mut table = Table::new();
    leaves(&schema(), &serde_saphyr::from_str(&text("charts/fhpa/values.yaml")).unwrap(), "", &mut table);
    table
}

/// As a table shows it.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        // Compact, but for a blank after each comma and colon.
        value => value.to_string().replace("\":", "\": ").replace(",\"", ", \""),
    }
}

#[test]
fn the_readme_lists_every_value_with_its_default_and_meaning() {
    let readme = text("charts/fhpa/README.md");
    let (_, tables) = readme.split_once("\n## Values\n").unwrap();
    let rows = tables.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').splitn(3, '|').map(str::trim).collect();
        let [path, default, meaning] = cells[..] else { panic!("{line}") };
        (path.trim_matches('`').to_owned(), (default.trim_matches('`').to_owned(), meaning.to_owned()))
    });
    let shown: BTreeMap<String, (String, String)> = rows.collect();
    let meant = table().into_iter().map(|(path, (default, meaning))| (path, (cell(&default), meaning)));
    let meant: BTreeMap<String, (String, String)> = meant.collect();
    for (path, row) in &meant {
        assert_eq!(shown.get(path), Some(row), "{path}");
    }
    assert_eq!(shown.len(), meant.len(), "rows without a value");
}

#[test]
fn the_comments_in_values_yaml_are_the_meanings_of_the_schema() {
    let values = text("charts/fhpa/values.yaml");
    let mut comment = String::new();
    let mut commented = Vec::new();
    for line in values.lines().map(str::trim) {
        match line.strip_prefix("# ") {
            Some(words) => {
                let between = if comment.is_empty() { "" } else { " " };
                comment = format!("{comment}{between}{words}");
            }
            None => {
                commented.push(std::mem::take(&mut comment));
            }
        }
    }
    for (path, (_, meaning)) in table() {
        assert!(commented.contains(&meaning), "{path}: no comment {meaning:?}");
    }
}

#[test]
fn the_defaults_are_admitted_by_the_schema() {
    let schema = schema();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let values: Value = serde_saphyr::from_str(&text("charts/fhpa/values.yaml")).unwrap();
    let errors: Vec<String> = validator.iter_errors(&values).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn a_log_level_that_the_processes_refuse_is_refused_by_the_schema() {
    let validator = jsonschema::draft7::new(&schema()).unwrap();
    let admitted = |level: &str| validator.is_valid(&serde_json::json!({"logs": {"level": level}}));
    assert!(["info", "off", "info,fhpa=debug", "fhpa=debug"].into_iter().all(admitted));
    assert!(!["", "warning", "info,", "info,fhpa"].into_iter().any(admitted));
}

/// Whether two cases make the same.
fn same(one: &Outcome, other: &Outcome) -> bool {
    let [one, other] = [one, other].map(|outcome| outcome.as_ref().unwrap_or_else(|error| panic!("{error}")));
    one.objects == other.objects && one.notes == other.notes
}

#[test]
fn every_value_has_an_effect() {
    let Some(outcomes) = engine::outcomes("the effect of each value") else { return };
    let mut idle = Vec::new();
    for (path, (default, _)) in table() {
        if let Some(without) = outcomes.get(&full_but(&path)) {
            if same(without, &outcomes["full"]) {
                idle.push(path);
            }
            continue;
        }
        let at = format!("/{}", path.replace('.', "/"));
        let set = |case: &&_| {
            CASES
                .iter()
                .any(|known| known.name == *case && known.values().pointer(&at).is_some_and(|value| *value != default))
        };
        let others = outcomes.keys().filter(|name| !name.starts_with("refused")).filter(|name| set(&name.as_str()));
        if !others.into_iter().any(|name| !same(&outcomes[name], &outcomes["default"])) {
            idle.push(path);
        }
    }
    assert_eq!(idle, [""; 0], "values that change nothing, or that no case sets");
}
