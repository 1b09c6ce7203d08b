//! JSON values by their meaning: null is absent, and 1 is 1.0. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads null as the type's zero value.
///
/// # Errors
/// Those of `T`.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a list in which null stands for an element without members; of null there is none.
///
/// # Errors
/// Those of `T`.
pub fn optional_elements<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    let elements = Option::<Vec<Option<T>>>::deserialize(deserializer)?;
    Ok(elements.map(|elements| elements.into_iter().map(Option::unwrap_or_default).collect()))
}

/// As [`optional_elements`]; null is the empty list.
///
/// # Errors
/// Those of `T`.
pub fn elements<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    optional_elements(deserializer).map(Option::unwrap_or_default)
}

/// Reads a map in which null stands for an empty value; null is the empty map.
///
/// # Errors
/// Those of `K` and `V`.
pub fn entries<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Ord + Deserialize<'de>,
    V: Default + Deserialize<'de>,
{
    let entries = Option::<BTreeMap<K, Option<V>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(entries.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

/// Whether two values mean the same: 1 equals 1.0, and null equals absent.
#[must_use]
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            // Each pair of members is compared once: schemas are deep.
            a.iter().all(|(name, member)| same(member, b.get(name).unwrap_or(&Value::Null)))
                && b.iter().all(|(name, member)| member.is_null() || a.contains_key(name))
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value_and_null_is_absent() {
        assert!(same(&json!({"a": [1, {"b": 2.0}], "c": null}), &json!({"a": [1.0, {"b": 2, "d": null}]})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 1, "b": false})));
        assert!(!same(&json!([1]), &json!([1, 1])));
    }
}
