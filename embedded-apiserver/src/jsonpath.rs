//! The subset of JSONPath that printer columns use. No I/O.

use serde_json::Value;

/// The first value at a path such as `.status.conditions[?(@.type=="Ready")].status`.
pub fn first<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    all(object, path).into_iter().next()
}

fn all<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    for step in steps(path) {
        found = found.into_iter().flat_map(|value| step.follow(value)).collect();
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(i64),
    Each,
    Where { path: String, equals: String },
}

impl Step {
    fn follow<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Key(key) => value.get(key).into_iter().collect(),
            Self::Index(index) => {
                let Some(list) = value.as_array() else { return Vec::new() };
                let at = usize::try_from(*index).ok().or_else(|| list.len().checked_sub(usize::try_from(-index).ok()?));
                at.and_then(|at| list.get(at)).into_iter().collect()
            }
            Self::Each => match value {
                Value::Array(list) => list.iter().collect(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            },
            Self::Where { path, equals } => {
                let list = value.as_array().into_iter().flatten();
                list.filter(|item| first(item, path).is_some_and(|found| text(found) == *equals)).collect()
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut letters = path.trim().trim_start_matches('$').chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '.' => {}
            '[' => {
                let (mut inside, mut depth) = (String::new(), 0);
                for letter in letters.by_ref() {
                    match letter {
                        '[' => depth += 1,
                        ']' if depth == 0 => break,
                        ']' => depth -= 1,
                        _ => {}
                    }
                    inside.push(letter);
                }
                steps.push(bracket(&inside));
            }
            first => {
                let mut key = String::new();
                let mut next = Some(first);
                while let Some(letter) = next {
                    key.push(if letter == '\\' { letters.next().unwrap_or('\\') } else { letter });
                    next = letters.next_if(|letter| !matches!(letter, '.' | '['));
                }
                steps.push(if key == "*" { Step::Each } else { Step::Key(key) });
            }
        }
    }
    steps
}

fn bracket(inside: &str) -> Step {
    let inside = inside.trim();
    if inside == "*" {
        return Step::Each;
    }
    if let Ok(index) = inside.parse() {
        return Step::Index(index);
    }
    let quotes: &[char] = &['\'', '"'];
    let condition = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')'));
    if let Some((path, equals)) = condition.and_then(|condition| condition.split_once("==")) {
        let path = path.trim().trim_start_matches('@').to_owned();
        return Step::Where { path, equals: equals.trim().trim_matches(quotes).to_owned() };
    }
    Step::Key(inside.trim_matches(quotes).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_paths_of_printer_columns_are_followed() {
        let object = json!({"metadata": {"labels": {"a.b/c": "x"}}, "status": {"conditions": [
            {"type": "A", "status": "False"}, {"type": "Ready", "status": "True"}], "n": [1, 2]}});
        for (path, expected) in [
            (".status.conditions[?(@.type==\"Ready\")].status", Some(json!("True"))),
            (".status.conditions[?(@.type=='A')].status", Some(json!("False"))),
            (".metadata.labels.a\\.b/c", Some(json!("x"))),
            (".metadata.labels['a.b/c']", Some(json!("x"))),
            (".status.n[1]", Some(json!(2))),
            (".status.n[-1]", Some(json!(2))),
            (".status.n[*]", Some(json!(1))),
            (".status.none", None),
        ] {
            assert_eq!(first(&object, path), expected.as_ref(), "{path}");
        }
    }
}
