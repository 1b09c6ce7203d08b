//! The schema of Kubernetes' LabelSelector, whose types the derive loses. No I/O.

use decision::limits::{LABEL_KEY, LABEL_VALUE, REQUIREMENTS, VALUES};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// A selector of member clusters: all its lists and texts are bounded.
pub(super) fn of_clusters(_: &mut SchemaGenerator) -> Schema {
    let key = json!({"type": "string", "description": KEY, "maxLength": LABEL_KEY});
    let operator =
        json!({"type": "string", "description": OPERATOR, "enum": ["In", "NotIn", "Exists", "DoesNotExist"]});
    let value = json!({"type": "string", "maxLength": LABEL_VALUE});
    let mut properties = properties(&key, &operator, &value);
    for (member, bound) in [("matchLabels", "maxProperties"), ("matchExpressions", "maxItems")] {
        limit(properties.get_mut(member), bound, REQUIREMENTS);
    }
    let values = properties.get_mut("matchExpressions").and_then(|list| list.pointer_mut("/items/properties/values"));
    limit(values, "maxItems", VALUES);
    json_schema!({"type": "object", "properties": properties, ATOMIC: "atomic"})
}

/// The keyword of a map with one owner.
const ATOMIC: &str = "x-kubernetes-map-type";

/// Completes the derived selector `node` as in Kubernetes.
pub(super) fn complete(node: &mut Map<String, Value>) {
    if node.contains_key(ATOMIC) {
        return;
    }
    let text = json!({"type": "string"});
    let described = |description: &str| json!({"type": "string", "description": description});
    node.insert("properties".into(), properties(&described(KEY), &described(OPERATOR), &text).into());
    node.insert(ATOMIC.into(), json!("atomic"));
}

const KEY: &str = "Key of the label.";
const OPERATOR: &str = "`In`, `NotIn`, `Exists` or `DoesNotExist`.";

fn limit(schema: Option<&mut Value>, bound: &str, most: usize) {
    if let Some(schema) = schema.and_then(Value::as_object_mut) {
        schema.insert(bound.to_owned(), most.into());
    }
}

fn properties(key: &Value, operator: &Value, value: &Value) -> Map<String, Value> {
    let requirement = json!({
        "type": "object",
        "description": "One condition on a label.",
        "required": ["key", "operator"],
        "properties": {
            "key": key,
            "operator": operator,
            "values": {
                "type": "array",
                "description": "The values that are compared; none for `Exists` and `DoesNotExist`.",
                "items": value,
                "x-kubernetes-list-type": "atomic",
            },
        },
    });
    Map::from_iter([
        (
            "matchExpressions".to_owned(),
            json!({
                "type": "array",
                "description": "All of them must hold.",
                "items": requirement,
                "x-kubernetes-list-type": "atomic",
            }),
        ),
        (
            "matchLabels".to_owned(),
            json!({
                "type": "object",
                "description": "Each of these labels has this value.",
                "additionalProperties": value,
            }),
        ),
    ])
}
