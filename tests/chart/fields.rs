//! The list of the fields of both kinds is generated from their definitions. `UPDATE_REFERENCE=1 cargo test --test all --
//! chart::fields` writes it again.

use fhpa::api::crd;
use serde_json::Value;

use super::reference::{exchange, head, row};
use super::{path, text};

const GUIDE: &str = "charts/fhpa/docs/fields.md";

/// Fields that a HorizontalPodAutoscaler of Kubernetes has in the same form.
const OF_AN_HPA: [&str; 3] = ["behavior", "currentMetrics", "metrics"];

/// The type of a field, with its limits.
fn shape(field: &Value) -> String {
    let kind = field["type"].as_str().unwrap_or("any");
    let number = |name: &str| field[name].as_f64().map(|limit| limit.to_string());
    let mut said = vec![match (kind, field["format"].as_str()) {
        ("string", Some("date-time")) => "time".to_owned(),
        ("array", _) => format!("list of {}s", field["items"]["type"].as_str().unwrap_or("value")),
        ("object", _) if field["additionalProperties"].is_object() => "map of strings".to_owned(),
        _ => kind.to_owned(),
    }];
    if let (low, high @ Some(_)) | (low @ Some(_), high) = (number("minimum"), number("maximum")) {
        said.push(format!("{}..{}", low.unwrap_or_default(), high.unwrap_or_default()));
    }
    said.extend(number("maxItems").map(|most| format!("at most {most}")));
    said.extend(number("maxLength").map(|most| format!("at most {most} characters")));
    said.join(", ")
}

/// A row for each field below `at`. A part that has the same fields as an earlier one is named by that one.
fn fields(at: &str, node: &Value, before: &mut Vec<(String, Value)>, out: &mut String) {
    let required = |name: &str| node["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    for (name, field) in node["properties"].as_object().into_iter().flatten() {
        let is_root = at.is_empty();
        if is_root && ["apiVersion", "kind", "metadata"].contains(&&**name) {
            continue;
        }
        let here = if is_root { name.clone() } else { format!("{at}.{name}") };
        let (inner, below) = match &field["items"] {
            Value::Null => (field, here.clone()),
            items => (items, format!("{here}[]")),
        };
        let parts = &inner["properties"];
        let earlier = before.iter().find(|(_, known)| known == parts).map(|(earlier, _)| earlier.clone());
        let same = match earlier {
            _ if OF_AN_HPA.contains(&&**name) => " Its fields are those of an HPA (`autoscaling/v2`).".to_owned(),
            Some(earlier) => format!(" Its fields are those of `{earlier}`."),
            None => String::new(),
        };
        let must = if required(name) { ", required" } else { "" };
        let said = field["description"].as_str().unwrap_or_else(|| panic!("{here} has no description"));
        out.push_str(&row(&[&format!("`{here}`"), &(shape(field) + must), &format!("{said}{same}")]));
        if same.is_empty() {
            if parts.is_object() {
                before.push((below.clone(), parts.clone()));
            }
            fields(&below, inner, before, out);
        }
    }
}

#[test]
fn the_list_of_fields_is_made_from_the_definitions() {
    let before = text(GUIDE);
    let mut guide = before.clone();
    for definition in crd::all().unwrap() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        let mut table = head(&["field", "type", "meaning"]);
        fields("", crd::schema(definition).unwrap(), &mut Vec::new(), &mut table);
        assert!(table.lines().count() > 30, "{table}");
        let (now, new) = exchange(&guide, kind, &format!("\n{table}\n"));
        if std::env::var_os("UPDATE_REFERENCE").is_none() {
            assert_eq!(now.trim(), table.trim(), "{GUIDE} differs from the definition of {kind}");
        }
        guide = new;
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() && guide != before {
        std::fs::write(path(GUIDE), &guide).unwrap();
    }
}
