//! Values of the wrong type are told together with all other errors: the object is reviewed again without each of them.
//! No I/O.

use serde_json::Value;

use super::verdict::{Denial, Verdict};
use crate::decision::finding::{BadValue, Cause, Violation};

/// Most values of the wrong type that are told; each costs one more review.
const MOST: usize = 16;
/// Name of the rule.
const RULE: &str = "decode";

/// Adds to a verdict that denies one value of the wrong type in `object` the other errors; `review` is the verdict on
/// another state of the object. Returns the verdict unchanged when there are no others.
pub(super) fn with_the_rest(
    verdict: Verdict,
    mut object: Value,
    mut review: impl FnMut(&Value) -> Option<Denial>,
) -> Verdict {
    let mut violations: Vec<Violation> = Vec::new();
    let mut denial = verdict.denial.clone();
    while let Some(Denial::Undecodable { path, message }) = &denial {
        let known = violations.iter().any(|violation| violation.path == *path);
        // An object of another kind has other rules.
        let told = known || violations.len() == MOST || matches!(path.as_str(), "kind" | "apiVersion");
        let Some(value) = at(&mut object, path).filter(|_| !told) else { break };
        let cause = Cause::TypeInvalid(shown(std::mem::take(value)));
        let expected = message.rsplit_once(", expected ").map(|(_, expected)| format!("must be {expected}"));
        let detail = expected.unwrap_or_else(|| message.clone());
        violations.push(Violation { path: path.clone(), cause, detail, rule: RULE });
        denial = review(&object);
    }
    if let Some(Denial::Invalid(others)) = denial {
        // That a value is missing which is there, with the wrong type, is no error of its own.
        let typed: Vec<String> = violations.iter().map(|violation| violation.path.clone()).collect();
        let follows = |path: &str| typed.iter().any(|typed| is_within(path, typed) || is_within(typed, path));
        violations.extend(others.into_iter().filter(|other| !follows(&other.path)));
    }
    if violations.len() < 2 {
        return verdict;
    }
    Verdict { denial: Some(Denial::Invalid(violations)), ..verdict }
}

/// A value as the message shows it; of lists and objects only what they are.
fn shown(value: Value) -> BadValue {
    match value {
        Value::String(text) => BadValue::Text(text),
        Value::Array(_) => BadValue::Text("list".to_owned()),
        Value::Object(_) => BadValue::Text("object".to_owned()),
        scalar => BadValue::Json(scalar.to_string()),
    }
}

/// Whether `path` is `outer` or lies within it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The value at a path in Kubernetes' style, such as `spec.rules[0].name` and `metadata.labels[app]`.
fn at<'v>(object: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let (mut value, mut rest) = (object, path);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let step;
        (step, rest) = if let Some(inner) = rest.strip_prefix('[') {
            inner.split_once(']')?
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            name.split_at_checked(name.find(['.', '[']).unwrap_or(name.len()))?
        };
        value = match value {
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?)?,
            Value::Object(members) => members.get_mut(step)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_by_its_path() {
        let mut object = json!({"metadata": {"labels": {"a.b/c": 1}}, "spec": {"rules": [{"name": 2}, [3]]}});
        let paths = ["metadata.labels[a.b/c]", "spec.rules[0].name", "spec.rules[1][0]"];
        for (path, expected) in paths.into_iter().zip(1..) {
            assert_eq!(at(&mut object, path), Some(&mut json!(expected)), "{path}");
        }
        for path in ["", "spec.rules[2]", "spec.rules[x]", "spec.rules[0", "spec.name", "spec.rules[0].name.first"] {
            assert_eq!(at(&mut object, path), None, "{path}");
        }
    }

    #[test]
    fn an_error_that_stays_is_told_once_and_reviews_are_bounded() {
        let wrong = |path: &str| Denial::Undecodable { path: path.to_owned(), message: "expected i32".to_owned() };
        let object = json!({"a": (0..99).collect::<Vec<_>>()});
        let first = Verdict { denial: Some(wrong("a[0]")), ..Verdict::default() };
        let mut reviews = 0;
        let same = with_the_rest(first.clone(), object.clone(), |_| {
            reviews += 1;
            Some(wrong("a[0]"))
        });
        assert_eq!((same, reviews), (first.clone(), 1));
        let mut reviews = 0;
        let many = with_the_rest(first.clone(), object, |_| {
            reviews += 1;
            Some(wrong(&format!("a[{reviews}]")))
        });
        let Some(Denial::Invalid(told)) = many.denial else { panic!("{many:?}") };
        assert_eq!((told.len(), reviews), (MOST, MOST));
    }

    #[test]
    fn what_follows_from_a_wrong_type_is_not_told() {
        let wrong = Denial::Undecodable {
            path: "spec.rules[1]".to_owned(),
            message: "invalid type: integer `1`, expected an object".to_owned(),
        };
        let first = Verdict { denial: Some(wrong), ..Verdict::default() };
        let violation = |path: &str| Violation {
            path: path.to_owned(),
            cause: Cause::Required,
            detail: String::new(),
            rule: "required",
        };
        let others = ["spec.rules[1].name", "spec", "spec.rules[10].name", "spec.scaleTargetRef.name"].map(violation);
        let rest = Denial::Invalid(others.to_vec());
        let verdict = with_the_rest(first, json!({"spec": {"rules": [{}, 1]}}), |object| {
            assert_eq!(*object, json!({"spec": {"rules": [{}, null]}}));
            Some(rest.clone())
        });
        let Some(Denial::Invalid(told)) = verdict.denial else { panic!("{verdict:?}") };
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        let expected = [
            "spec.rules[1]: Invalid value: 1: must be an object",
            "spec.rules[10].name: Required value",
            "spec.scaleTargetRef.name: Required value",
        ];
        assert_eq!(told, expected);
    }
}
