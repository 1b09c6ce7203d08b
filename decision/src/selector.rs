//! A label selector as the `scale` subresource writes it: `app=web,tier in (front, back),!canary`. Pure.

use std::collections::BTreeMap;

/// Labels of an object.
pub type Labels = BTreeMap<Box<str>, Box<str>>;

/// A parsed selector of objects by their labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Requirement {
    key: Box<str>,
    /// The label has one of these values; with `without` it has none of them.
    values: Option<Box<[Box<str>]>>,
    without: bool,
}

impl Selector {
    /// Parses `text` like Kubernetes' `labels.Parse`, except for the operators `>` and `<`, which no `scale`
    /// subresource writes.
    ///
    /// # Errors
    /// A sentence that names the invalid part of the text; also for an empty text, which would select every pod.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = parts(text)?;
        if parts.iter().all(|part| part.is_empty()) {
            return Err("it is empty".to_owned());
        }
        parts.into_iter().map(requirement).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        self.0.iter().all(|Requirement { key, values, without }| {
            let label = labels.get(key);
            let has = match values {
                Some(values) => label.is_some_and(|label| values.contains(label)),
                None => label.is_some(),
            };
            has != *without
        })
    }

    /// A label that all selected objects have, if the selector says so.
    #[must_use]
    pub fn label(&self) -> Option<(&str, &str)> {
        self.0.iter().find_map(|requirement| match requirement {
            Requirement { key, values: Some(values), without: false } => match &**values {
                [value] => Some((&**key, &**value)),
                _ => None,
            },
            _ => None,
        })
    }
}

/// The parts of the text between commas outside parentheses.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_u32);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => {
                depth =
                    depth.checked_sub(1).ok_or_else(|| format!("{text:?} closes a parenthesis that is not open"))?;
            }
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default().trim());
                start = at.saturating_add(1);
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("{text:?} does not close a parenthesis"));
    }
    parts.push(text.get(start..).unwrap_or_default().trim());
    Ok(parts)
}

fn requirement(part: &str) -> Result<Requirement, String> {
    let one = |key: &str, value: &str, without| -> Result<Requirement, String> {
        let values = Some(Box::from([value.trim().into()]));
        Ok(Requirement { key: name(key, part)?, values, without })
    };
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement { key: name(key, part)?, values: None, without: true });
    }
    if let Some((key, value)) = part.split_once("!=") {
        return one(key, value, true);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return one(key, value, false);
    }
    let Some((head, values)) = part.split_once('(') else {
        return Ok(Requirement { key: name(part, part)?, values: None, without: false });
    };
    let values = values.strip_suffix(')').ok_or_else(|| format!("{part:?} has text after its values"))?;
    let values = Some(values.split(',').map(|value| value.trim().into()).collect());
    let words: Vec<&str> = head.split_whitespace().collect();
    match words.as_slice() {
        [key, "in"] => Ok(Requirement { key: name(key, part)?, values, without: false }),
        [key, "notin"] => Ok(Requirement { key: name(key, part)?, values, without: true }),
        _ => Err(format!("{part:?} has no operator in or notin")),
    }
}

fn name(key: &str, part: &str) -> Result<Box<str>, String> {
    let key = key.trim();
    if key.is_empty() || key.contains(|c: char| !c.is_ascii_alphanumeric() && !"-._/".contains(c)) {
        return Err(format!("{part:?} does not begin with the name of a label"));
    }
    Ok(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<Box<str>, Box<str>> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn a_selector_selects_what_kubernetes_selects_by_it() {
        let web = labels(&[("app", "web"), ("app.kubernetes.io/tier", "front"), ("empty", "")]);
        let cases = [
            ("app=web", true),
            ("app==web", true),
            ("app = web , app.kubernetes.io/tier in (front, back)", true),
            ("app=web,app.kubernetes.io/tier notin (front,back)", false),
            ("app!=web", false),
            ("other!=web", true),
            ("other notin (x)", true),
            ("app", true),
            ("!app", false),
            ("!canary,app in (web)", true),
            ("empty=", true),
            ("empty in ()", true),
            ("canary", false),
            ("app=web,canary", false),
        ];
        for (text, selects) in cases {
            assert_eq!(Selector::parse(text).unwrap().selects(&web), selects, "{text}");
        }
    }

    #[test]
    fn a_text_that_selects_nothing_in_particular_is_refused() {
        for text in
            ["", " ", ",", "app=web,", "=web", "a b=c", "app in (web", "app in web)", "app (web)", "in (web) x", "!"]
        {
            assert!(Selector::parse(text).is_err(), "{text:?}");
        }
    }
}
