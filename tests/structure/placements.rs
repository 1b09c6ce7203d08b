//! The table of what a placement can say holds every field of Karmada's API, and says what the code does.

use std::collections::BTreeMap;
use std::fs;

use fhpa::decision::fleet::unsupported::unsupported;
use serde_json::{Value, json};

use super::sources::root;

/// Fields of `spec` of a ResourceBinding in Karmada's definition, those of its placement as paths.
const FIELDS: &str = include_str!("../fixtures/karmada/binding-fields.txt");

/// Rows of the table under a heading: the field, and the next cell.
pub fn rows(heading: &str) -> BTreeMap<String, String> {
    let page = fs::read_to_string(root().join("docs/placement.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = section.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.map(|row| (row[1].trim_matches('`').to_owned(), row[2].clone())).collect()
}

/// The row of a field, or of the nearest one that has it.
fn row<'r>(rows: &'r BTreeMap<String, String>, path: &str) -> Option<&'r str> {
    let has = |row: &str| path == row || path.strip_prefix(row).is_some_and(|rest| rest.starts_with('.'));
    rows.iter().filter(|(row, _)| has(row)).max_by_key(|(row, _)| row.len()).map(|(_, said)| said.as_str())
}

/// A placement in which only this field is set.
fn only(path: &str) -> Value {
    let text = match path.rsplit('.').next().unwrap() {
        "replicaSchedulingType" => json!("Divided"),
        "replicaDivisionPreference" => json!("Weighted"),
        "dynamicWeight" => json!("AvailableReplicas"),
        "spreadByField" => json!("zone"),
        "operator" => json!("Exists"),
        _ => json!("set"),
    };
    path.rsplit('.').fold(text, |value, name| json!({name: value}))
}

#[test]
fn the_table_of_placements_has_every_field_of_karmadas_api_and_says_what_happens() {
    let rows = rows("Fields");
    let mut leaves = 0;
    for path in FIELDS.lines().filter_map(|line| line.strip_prefix("placement.")) {
        let said = row(&rows, path).unwrap_or_else(|| panic!("docs/placement.md does not say what happens to {path}"));
        let parent = FIELDS.lines().any(|line| line.starts_with(&format!("placement.{path}.")));
        if parent {
            continue;
        }
        leaves += 1;
        let found = unsupported(&only(path));
        assert_eq!(said == "reported", !found.is_empty(), "{path} is {said}, and reported are {found:?}");
    }
    assert!(leaves > 30, "{leaves}");
    for row in rows.keys() {
        assert!(FIELDS.lines().any(|line| line == format!("placement.{row}")), "{row} is no field of a placement");
    }
}

#[test]
fn the_table_of_bindings_has_every_field_of_karmadas_api() {
    let fields: Vec<&str> = FIELDS.lines().filter(|line| !line.contains('.')).collect();
    assert_eq!(rows("Bindings").into_keys().collect::<Vec<_>>(), fields);
}
