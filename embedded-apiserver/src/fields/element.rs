//! One step of a field path in `metadata.managedFields`. No I/O.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

/// A JSON value with the total order and the equality that ownership sets use: `1` equals `1.0`.
#[derive(Clone, Debug)]
pub(crate) struct Ordered(pub Value);

impl Ordered {
    const fn rank(value: &Value) -> u8 {
        match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

/// Compares two JSON values; numbers by value.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) => match (l.as_i64(), r.as_i64()) {
            (Some(l), Some(r)) => l.cmp(&r),
            _ => l.as_f64().unwrap_or_default().total_cmp(&r.as_f64().unwrap_or_default()),
        },
        (Value::String(l), Value::String(r)) => l.cmp(r),
        (Value::Bool(l), Value::Bool(r)) => l.cmp(r),
        (Value::Array(l), Value::Array(r)) => {
            let first = l.iter().zip(r).map(|(l, r)| compare(l, r)).find(|order| order.is_ne());
            first.unwrap_or_else(|| l.len().cmp(&r.len()))
        }
        (Value::Object(l), Value::Object(r)) => compare_objects(l, r),
        _ => Ordered::rank(left).cmp(&Ordered::rank(right)),
    }
}

fn compare_objects(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let sorted = |map: &Map<String, Value>| {
        let mut keys: Vec<String> = map.keys().cloned().collect();
        keys.sort();
        keys
    };
    let (l, r) = (sorted(left), sorted(right));
    for (lk, rk) in l.iter().zip(&r) {
        let values = || match (left.get(lk), right.get(rk)) {
            (Some(lv), Some(rv)) => compare(lv, rv),
            _ => Ordering::Equal,
        };
        let order = lk.cmp(rk).then_with(values);
        if order.is_ne() {
            return order;
        }
    }
    l.len().cmp(&r.len())
}

/// Whether two JSON values are equal in meaning.
#[must_use]
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    /// A member of an object.
    Field(String),
    /// An element of a list of kind `map`: its key members, sorted by name.
    Key(Vec<(String, Ordered)>),
    /// An element of a list of kind `set`.
    Value(Ordered),
    /// An element of an atomic list.
    Index(usize),
}

impl Element {
    /// Reads `f:name`, `k:{...}`, `v:...` or `i:n`. `None`: an unknown form, which is dropped.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (form, rest) = text.split_once(':')?;
        match form {
            "f" => Some(Self::Field(rest.to_owned())),
            "v" => Some(Self::Value(Ordered(serde_json::from_str(rest).ok()?))),
            "i" => Some(Self::Index(rest.parse().ok()?)),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
                let mut keys: Vec<_> = keys.into_iter().map(|(name, value)| (name, Ordered(value))).collect();
                keys.sort();
                Some(Self::Key(keys))
            }
            _ => None,
        }
    }

    /// The form in `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", value.0),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(keys) => {
                let members: Vec<String> =
                    keys.iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.0)).collect();
                format!("k:{{{}}}", members.join(","))
            }
        }
    }
}

/// A value in the format of conflict messages.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(map) => map.iter().map(|(k, v)| format!("{k}={}", shown(v))).collect::<Vec<_>>().concat(),
        other => other.to_string(),
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> =
                    keys.iter().map(|(name, value)| format!("{name}={}", shown(&value.0))).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", shown(&value.0)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The path in the format of conflict messages: `.spec.containers[name="web"].image`.
pub(crate) fn path_text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}
