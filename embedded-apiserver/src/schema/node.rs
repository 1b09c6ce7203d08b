//! The structural schema of a custom kind, compiled once. No I/O.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use regex::Regex;
use serde_json::Value;

use super::rules::Rules;

/// Further members of an object.
#[derive(Debug, Default)]
pub(super) enum Others {
    /// Not specified.
    #[default]
    Unsaid,
    /// Any.
    Any,
    /// Not allowed.
    Never,
    /// Those that match a schema.
    Like(Box<Node>),
}

/// A bound and whether it is exclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) at: f64,
    pub(super) exclusive: bool,
}

/// How a list is merged, which determines its uniqueness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListType {
    /// As one value.
    #[default]
    Atomic,
    /// Elements are unique.
    Set,
    /// Keys are unique.
    Map,
}

/// The schema of one path.
#[allow(clippy::struct_excessive_bools, reason = "the schema language has that many switches")]
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) types: Vec<String>,
    pub(super) nullable: bool,
    pub(super) format: String,
    pub(super) maximum: Option<Bound>,
    pub(super) minimum: Option<Bound>,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: Option<(String, Regex)>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique: bool,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) enum_: Vec<Value>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) others: Others,
    pub(super) items: Option<Box<Node>>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    pub(super) default: Option<Value>,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) list_type: ListType,
    pub(super) keys: Vec<String>,
    pub(super) rules: Option<Rules>,
}

impl Node {
    /// The schema of a member.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        match (self.properties.get(name), &self.others) {
            (Some(node), _) => Some(node),
            (None, Others::Like(node)) => Some(node),
            _ => None,
        }
    }

    /// The type in the format of CEL errors.
    pub(super) fn type_name(&self) -> &str {
        self.types.first().map_or("", String::as_str)
    }

    /// Whether this node or any below has CEL rules.
    pub(super) fn has_rules(&self) -> bool {
        let others = match &self.others {
            Others::Like(node) => node.has_rules(),
            _ => false,
        };
        self.rules.is_some()
            || others
            || self.items.as_ref().is_some_and(|node| node.has_rules())
            || self.properties.values().chain(&self.all_of).any(Self::has_rules)
    }

    /// Compiles a schema. Errors include the path in the schema.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let props: JSONSchemaProps =
            serde_json::from_value(schema.clone()).map_err(|error| format!("{ROOT}: Invalid value: {error}"))?;
        if props.type_.as_deref().is_none_or(str::is_empty) {
            return Err(format!("{ROOT}.type: Required value: must not be empty at the root"));
        }
        if props.type_.as_deref() != Some("object") {
            let given = props.type_.unwrap_or_default();
            return Err(format!("{ROOT}.type: Invalid value: {given:?}: must be object at the root"));
        }
        node(props, schema, ROOT, true)
    }
}

const ROOT: &str = "spec.validation.openAPIV3Schema";

const FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// The format, if the server supports it for this type.
fn known_format(type_: Option<&str>, format: Option<String>) -> String {
    let format = format.unwrap_or_default();
    let known = match type_.unwrap_or_default() {
        "" | "string" => FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format.as_str(), "int32" | "int64"),
        "number" => matches!(format.as_str(), "float" | "double"),
        _ => false,
    };
    if known { format } else { String::new() }
}

fn below<'a>(schema: &'a Value, key: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    schema.get(key).unwrap_or(&NOTHING)
}

fn json(value: JSON) -> Value {
    value.0
}

/// The schemas of one junctor. They describe values only, so that they need no type.
fn junctor(list: Option<Vec<JSONSchemaProps>>, schema: &Value, key: &str, path: &str) -> Result<Vec<Node>, String> {
    let raw = below(schema, key);
    let each = list.into_iter().flatten().enumerate().map(|(at, props)| {
        let raw = raw.get(at).unwrap_or(&Value::Null);
        node(props, raw, &format!("{path}.{key}[{at}]"), false)
    });
    each.collect()
}

fn typed(props: &JSONSchemaProps, path: &str, what: &str) -> Result<(), String> {
    let free =
        props.x_kubernetes_int_or_string == Some(true) || props.x_kubernetes_preserve_unknown_fields == Some(true);
    if props.type_.as_deref().is_none_or(str::is_empty) && !free {
        return Err(format!("{path}.type: Required value: must not be empty for specified {what}"));
    }
    Ok(())
}

/// A regular expression with its text.
fn compiled(pattern: Option<String>, path: &str) -> Result<Option<(String, Regex)>, String> {
    let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else { return Ok(None) };
    match Regex::new(&pattern) {
        Ok(regex) => Ok(Some((pattern, regex))),
        Err(error) => Err(format!(
            "{path}.pattern: Invalid value: {pattern:?}: must be a valid regular expression, but isn't: {error}"
        )),
    }
}

fn node(props: JSONSchemaProps, schema: &Value, path: &str, structural: bool) -> Result<Node, String> {
    let int_or_string = props.x_kubernetes_int_or_string == Some(true);
    let types: Vec<String> = if int_or_string {
        vec!["integer".to_owned(), "string".to_owned()]
    } else {
        props.type_.iter().filter(|type_| !type_.is_empty()).cloned().collect()
    };
    if structural && props.type_.as_deref() == Some("array") && props.items.is_none() {
        return Err(format!("{path}.items: Required value: must be specified"));
    }
    let pattern = compiled(props.pattern, path)?;
    let (properties, items, others) =
        inner(props.properties, props.items, props.additional_properties, schema, path, structural)?;
    let bound =
        |at: Option<f64>, exclusive: Option<bool>| at.map(|at| Bound { at, exclusive: exclusive == Some(true) });
    Ok(Node {
        nullable: props.nullable == Some(true),
        format: known_format(props.type_.as_deref(), props.format),
        maximum: bound(props.maximum, props.exclusive_maximum),
        minimum: bound(props.minimum, props.exclusive_minimum),
        multiple_of: props.multiple_of,
        max_length: props.max_length,
        min_length: props.min_length,
        pattern,
        max_items: props.max_items,
        min_items: props.min_items,
        unique: props.unique_items == Some(true),
        max_properties: props.max_properties,
        min_properties: props.min_properties,
        required: props.required.unwrap_or_default(),
        enum_: props.enum_.into_iter().flatten().map(json).collect(),
        all_of: junctor(props.all_of, schema, "allOf", path)?,
        any_of: junctor(props.any_of, schema, "anyOf", path)?,
        one_of: junctor(props.one_of, schema, "oneOf", path)?,
        not: match props.not {
            Some(not) => Some(Box::new(node(*not, below(schema, "not"), &format!("{path}.not"), false)?)),
            None => None,
        },
        default: props.default.map(json).filter(|default| !default.is_null()),
        preserve: props.x_kubernetes_preserve_unknown_fields == Some(true),
        embedded: props.x_kubernetes_embedded_resource == Some(true),
        list_type: match props.x_kubernetes_list_type.as_deref() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map,
            _ => ListType::Atomic,
        },
        keys: props.x_kubernetes_list_map_keys.unwrap_or_default(),
        rules: props
            .x_kubernetes_validations
            .filter(|rules| !rules.is_empty())
            .map(|rules| Rules::compile(rules, schema)),
        types,
        properties,
        others,
        items,
    })
}

type Inner = (BTreeMap<String, Node>, Option<Box<Node>>, Others);

fn inner(
    properties: Option<BTreeMap<String, JSONSchemaProps>>,
    items: Option<JSONSchemaPropsOrArray>,
    others: Option<JSONSchemaPropsOrBool>,
    schema: &Value,
    path: &str,
    structural: bool,
) -> Result<Inner, String> {
    let raw = below(schema, "properties");
    let mut members = BTreeMap::new();
    for (name, props) in properties.into_iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        if structural {
            typed(&props, &path, "object fields")?;
        }
        let member = node(props, below(raw, &name), &path, structural)?;
        members.insert(name, member);
    }
    let items = match items {
        Some(JSONSchemaPropsOrArray::Schema(props)) => {
            let path = format!("{path}.items");
            if structural {
                typed(&props, &path, "array items")?;
            }
            Some(Box::new(node(*props, below(schema, "items"), &path, structural)?))
        }
        Some(JSONSchemaPropsOrArray::Schemas(_)) => {
            return Err(format!("{path}.items: Forbidden: items must be a schema object and not an array"));
        }
        None => None,
    };
    let others = match others {
        None => Others::Unsaid,
        Some(JSONSchemaPropsOrBool::Bool(true)) => Others::Any,
        Some(JSONSchemaPropsOrBool::Bool(false)) => Others::Never,
        Some(JSONSchemaPropsOrBool::Schema(props)) => {
            let path = format!("{path}.additionalProperties");
            if structural {
                typed(&props, &path, "object fields")?;
            }
            Others::Like(Box::new(node(*props, below(schema, "additionalProperties"), &path, structural)?))
        }
    };
    if structural && !members.is_empty() && matches!(others, Others::Any | Others::Like(_)) {
        return Err(format!(
            "{path}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
        ));
    }
    Ok((members, items, others))
}
