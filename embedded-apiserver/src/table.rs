//! Objects as `Table`s, for `kubectl get`. No I/O.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    age::age,
    jsonpath,
    object::{self, partial},
    printers::{self, Heading},
    resources::{Column, Resource, Version},
};

/// Further content of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// Metadata.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    Nothing,
}

impl Include {
    /// Reads `includeObject`.
    pub fn parse(text: &str) -> Self {
        match text {
            "Object" => Self::Object,
            "None" => Self::Nothing,
            _ => Self::Metadata,
        }
    }
}

/// A table of objects in the requested version.
pub fn table(
    resource: &Resource,
    version: &Version,
    rows: &[Value],
    include: Include,
    metadata: &Value,
    now: Timestamp,
) -> Value {
    let columns = columns(resource, version);
    let rows: Vec<Value> = rows.iter().map(|object| row(resource, version, object, include, now)).collect();
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns,
        "rows": rows})
}

fn columns(resource: &Resource, version: &Version) -> Vec<Value> {
    if let Some(headings) = printers::headings(resource) {
        return headings.iter().map(heading).collect();
    }
    let mut columns = vec![heading(&("Name", "string", 0))];
    if version.columns.is_empty() {
        columns.push(heading(&("Age", "date", 0)));
    }
    columns.extend(version.columns.iter().map(|column| {
        json!({"name": column.name, "type": column.kind, "format": "", "description": "", "priority": column.priority})
    }));
    columns
}

fn heading((name, kind, priority): &Heading) -> Value {
    // kubectl prints the column with this format with `-o name` and in errors.
    let format = if *name == "Name" { "name" } else { "" };
    let kind = if *kind == "date" { "string" } else { kind };
    json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority})
}

fn row(resource: &Resource, version: &Version, object: &Value, include: Include, now: Timestamp) -> Value {
    let cells = printers::cells(resource, object, now).unwrap_or_else(|| custom_cells(version, object, now));
    match include {
        Include::Nothing => json!({"cells": cells}),
        Include::Object => json!({"cells": cells, "object": object}),
        Include::Metadata => json!({"cells": cells, "object": partial(object, "PartialObjectMetadata")}),
    }
}

fn custom_cells(version: &Version, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![object::name(object).into()];
    if version.columns.is_empty() {
        cells.push(age(object::meta_str(object, "creationTimestamp"), now).into());
    }
    cells.extend(version.columns.iter().map(|column| custom_cell(column, object, now)));
    cells
}

fn custom_cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let Some(value) = jsonpath::first(object, &column.path).filter(|value| !value.is_null()) else {
        return Value::Null;
    };
    match (column.kind.as_str(), value) {
        ("date", Value::String(time)) => age(time, now).into(),
        ("integer" | "number" | "boolean", value) => value.clone(),
        (_, Value::String(text)) => text.clone().into(),
        (_, other) => other.to_string().into(),
    }
}
