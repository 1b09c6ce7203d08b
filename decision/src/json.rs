//! Comparison of JSON values by meaning. Pure.

use serde_json::Value;

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
