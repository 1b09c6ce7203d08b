//! Reads the members of a document one by one, and collects all errors. No I/O.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;

use jiff::SignedDuration;
use serde_json::{Map, Value};

use crate::decision::capacity::Thousandths;
use crate::decision::finding::{BadValue, Cause, Violation};
use crate::decision::quantity;
use crate::decision::split::Replicas;
use crate::decision::suggestion::{did_you_mean, nearest};
use crate::simulation::Second;

/// Longest time: a month.
pub(super) const LONGEST: Second = 31 * 86_400;
pub(super) const DAY: Second = 86_400;
/// Most replicas anywhere.
pub(super) const REPLICAS: Replicas = 10_000_000;
/// Name of the rule in findings.
const RULE: &str = "simulation";
/// Format of a time.
const TIME: &str = "a time such as 90s, 5m or 1h30m";

/// Errors of a document.
#[derive(Debug, Default)]
pub(super) struct Reader(RefCell<Vec<Violation>>);

impl Reader {
    pub(super) fn into_found(self) -> Vec<Violation> {
        self.0.into_inner()
    }

    pub(super) fn add(&self, path: &str, cause: Cause, detail: impl Into<String>) {
        self.0.borrow_mut().push(Violation { path: path.to_owned(), cause, detail: detail.into(), rule: RULE });
    }
}

/// The members of an object. An absent or invalid one reads as `None`; [`Fields::done`] reports unknown ones.
pub(super) struct Fields<'a> {
    reader: &'a Reader,
    path: String,
    members: Option<&'a Map<String, Value>>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The members of the object at a path.
    pub(super) fn of(reader: &'a Reader, path: impl Into<String>, value: &'a Value) -> Self {
        let path = path.into();
        if !value.is_object() && !value.is_null() {
            reader.add(&path, Cause::TypeInvalid(shown(value)), "must be an object with members");
        }
        Self { reader, path, members: value.as_object(), asked: Vec::new() }
    }

    /// The path of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A member unchanged; null counts as absent.
    pub(super) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        self.members?.get(name).filter(|value| !value.is_null())
    }

    fn read<T>(&mut self, name: &'static str, must: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.value(name)?;
        let read = read(value);
        if read.is_none() {
            let bad = shown(value);
            let same = matches!((value, must), (Value::Number(_) | Value::String(_), _));
            let cause = if same { Cause::Invalid(bad) } else { Cause::TypeInvalid(bad) };
            self.reader.add(&self.at(name), cause, format!("must be {must}"));
        }
        read
    }

    /// Reports that a member is missing.
    pub(super) fn missing(&self, name: &str, detail: &str) {
        self.reader.add(&self.at(name), Cause::Required, detail);
    }

    /// Reports that a member is invalid.
    pub(super) fn wrong(&self, name: &str, value: &str, detail: impl Into<String>) {
        self.reader.add(&self.at(name), Cause::Invalid(value.into()), detail);
    }

    /// Reports a member that belongs elsewhere.
    pub(super) fn elsewhere(&mut self, name: &'static str, detail: &str) {
        if self.members.is_some_and(|members| members.get(name).is_some_and(|value| !value.is_null())) {
            self.asked.push(name);
            self.reader.add(&self.at(name), Cause::Forbidden, detail);
        }
    }

    /// A whole number.
    pub(super) fn number<T>(&mut self, name: &'static str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + Display + Copy,
    {
        let must = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(name, &must, |value| T::try_from(value.as_u64()?).ok().filter(|number| range.contains(number)))
    }

    /// A priority: any whole number of 32 bits.
    pub(super) fn priority(&mut self, name: &'static str) -> Option<i32> {
        self.read(name, "a whole number such as 100 or -5", |value| i32::try_from(value.as_i64()?).ok())
    }

    /// A number of replicas with at most three decimals, in thousandths.
    pub(super) fn thousandths(&mut self, name: &'static str, most: u64) -> Option<u64> {
        let range = format!("a number of replicas from 0 to {most}, with at most three decimals");
        self.read(name, &range, |value| match value {
            Value::Number(number) => thousandths(&number.to_string(), most),
            _ => None,
        })
    }

    /// A time, in seconds.
    pub(super) fn time(&mut self, name: &'static str, range: RangeInclusive<Second>) -> Option<Second> {
        let must = format!("{TIME}, from {} to {}", clock(*range.start()), clock(*range.end()));
        self.read(name, &must, |value| {
            match value {
                Value::Number(number) => number.as_i64(),
                Value::String(text) => seconds(text),
                _ => None,
            }
            .filter(|seconds| range.contains(seconds))
        })
    }

    /// A text.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.read(name, "text", Value::as_str).filter(|text| !text.is_empty())
    }

    /// A boolean.
    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// One of these keywords.
    pub(super) fn word<T: Copy>(&mut self, name: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        if found.is_none() {
            let supported = words.iter().map(|(word, _)| (*word).to_owned()).collect();
            let detail = nearest(text, words.iter().map(|(word, _)| *word));
            let cause = Cause::NotSupported { value: text.into(), supported };
            self.reader.add(&self.at(name), cause, did_you_mean(detail).trim_start_matches(": ").to_owned());
        }
        found
    }

    /// Amounts of resources, in thousandths; `None` where the member is absent.
    pub(super) fn amounts(&mut self, name: &'static str) -> Option<BTreeMap<String, Thousandths>> {
        self.value(name)?;
        let entries = self.entries(name);
        let amount = |(key, path, value): (&str, String, &Value)| {
            let text = match value {
                Value::Number(number) => number.to_string(),
                Value::String(text) => text.clone(),
                _ => String::new(),
            };
            let amount = quantity::thousandths(&text).filter(|amount| *amount >= 0);
            if amount.is_none() {
                let detail = "must be an amount of the resource, such as 500m, 4 or 16Gi";
                self.reader.add(&path, Cause::Invalid(shown(value)), detail);
            }
            Some((key.to_owned(), amount?))
        };
        Some(entries.into_iter().filter_map(amount).collect())
    }

    /// A map of texts.
    pub(super) fn texts(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let entries = self.entries(name);
        let text = |(key, path, value): (&str, String, &Value)| {
            if value.as_str().is_none() {
                self.reader.add(&path, Cause::TypeInvalid(shown(value)), "must be text");
            }
            Some((key.to_owned(), value.as_str()?.to_owned()))
        };
        entries.into_iter().filter_map(text).collect()
    }

    /// The members of an object; `None` where it is absent.
    pub(super) fn fields(&mut self, name: &'static str) -> Option<Fields<'a>> {
        let value = self.value(name)?;
        Some(Self::of(self.reader, self.at(name), value))
    }

    /// The elements of a list, each with its path.
    pub(super) fn list(&mut self, name: &'static str, most: usize) -> Vec<Fields<'a>> {
        let list = self.read(name, "a list", Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if list.len() > most {
            self.reader.add(&self.at(name), Cause::TooLong { max: most }, format!("at most {most} elements are read"));
        }
        let elements = list.iter().take(most).enumerate();
        elements.map(|(at, value)| Self::of(self.reader, format!("{}[{at}]", self.at(name)), value)).collect()
    }

    /// The entries of an object whose keys are names.
    pub(super) fn entries(&mut self, name: &'static str) -> Vec<(&'a str, String, &'a Value)> {
        let members = self.read(name, "an object with members", Value::as_object);
        let entries = members.into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), format!("{}.{key}", self.at(name)), value)).collect()
    }

    /// Reports members that were not read.
    pub(super) fn done(self) {
        for name in self.members.into_iter().flat_map(Map::keys) {
            if !self.asked.contains(&name.as_str()) {
                let meant = did_you_mean(nearest(name, self.asked.iter().copied()));
                let detail = format!("there is no such member here{meant}");
                self.reader.add(&self.at(name), Cause::Forbidden, detail);
            }
        }
    }
}

/// Reports a cluster that is not in the scenario.
pub(super) fn known(name: &str, path: &str, names: &BTreeSet<&str>, reader: &Reader) {
    if !names.contains(name) {
        let meant = did_you_mean(nearest(name, names.iter().copied()));
        reader.add(path, Cause::Invalid(name.into()), format!("there is no such cluster in the scenario{meant}"));
    }
}

fn shown(value: &Value) -> BadValue {
    match value {
        Value::String(text) => BadValue::Text(text.clone()),
        Value::Number(number) => BadValue::Json(number.to_string()),
        Value::Object(_) => BadValue::Json("an object".to_owned()),
        Value::Array(_) => BadValue::Json("a list".to_owned()),
        Value::Bool(_) | Value::Null => BadValue::Json(value.to_string()),
    }
}

/// `90s`, `1h30m` or whole seconds.
pub(super) fn seconds(text: &str) -> Option<Second> {
    let text = text.trim();
    text.parse::<Second>().ok().or_else(|| {
        let time: SignedDuration = text.parse().ok()?;
        (time.subsec_nanos() == 0).then_some(time.as_secs())
    })
}

/// A decimal number up to `most`, in thousandths.
pub(super) fn thousandths(text: &str, most: u64) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    let number = whole.checked_mul(1000)?.checked_add(part)?;
    (number <= most.saturating_mul(1000)).then_some(number)
}

/// A time in the format for users: `90s`, `5m`, `1h30m`.
pub(super) fn clock(second: Second) -> String {
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    let mut text = String::new();
    for (number, unit) in [(hours, 'h'), (minutes, 'm'), (seconds, 's')].into_iter().filter(|(number, _)| *number > 0) {
        text.push_str(&number.to_string());
        text.push(unit);
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{clock, seconds, thousandths};

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(["90", "90s", "5m", "1h30m", "2h 5s"].map(seconds), [90, 90, 300, 5400, 7205].map(Some));
        assert_eq!(["", "5", "x", "1.5s", "5 minutes ago"].map(seconds), [None, Some(5), None, None, Some(-300)]);
        assert_eq!([0, 59, 60, 3661].map(clock), ["0s", "59s", "1m", "1h1m1s"]);
    }

    #[test]
    fn decimals_are_read_exactly() {
        assert_eq!(["3", "0.5", "2.125"].map(|text| thousandths(text, 9)), [3000, 500, 2125].map(Some));
        assert_eq!(["10", "-1", "1.2345", "1e3", "."].map(|text| thousandths(text, 9)), [None; 5]);
    }
}
