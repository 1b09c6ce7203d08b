//! Text, whole numbers, booleans, times and quantities, with Go's rules. No I/O.

use std::borrow::Cow;
use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, Visitor};
use serde_json::value::RawValue;

use super::reader::Read;
use crate::decision::quantity::Quantity;
use crate::decision::subject::metadata::Time;

impl<'de> Read<'de> for Cow<'de, str> {
    const LONGEST_LIST: usize = usize::MAX;

    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Characters<'a, 'de>(&'a mut Cow<'de, str>);
        impl<'de> Visitor<'de> for Characters<'_, 'de> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_unit<E: Error>(self) -> Result<(), E> {
                Ok(())
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<(), E> {
                *self.0 = Cow::Borrowed(text);
                Ok(())
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
                *self.0 = Cow::Owned(text.to_owned());
                Ok(())
            }
        }
        deserializer.deserialize_any(Characters(self))
    }
}

impl<'de> Read<'de> for bool {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Truth<'a>(&'a mut bool);
        impl Visitor<'_> for Truth<'_> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false")
            }
            fn visit_unit<E: Error>(self) -> Result<(), E> {
                Ok(())
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
                *self.0 = value;
                Ok(())
            }
        }
        deserializer.deserialize_any(Truth(self))
    }
}

/// Characters of a value that an error repeats.
const VALUE_LENGTH: usize = 40;

/// The value as an error shows it, truncated when long.
fn shown(json: &str) -> Cow<'_, str> {
    match json.char_indices().nth(VALUE_LENGTH) {
        Some((end, _)) => Cow::Owned(format!("{}...", json.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(json),
    }
}

/// Numbers, by their spelling: `10.0` and `1e1` are not whole numbers in Go, `-0` is one.
macro_rules! numbers {
    ($($type:ty, $expected:literal;)*) => {$(
        impl<'de> Read<'de> for $type {
            fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                let json = <&RawValue>::deserialize(deserializer)?.get();
                if json != "null" {
                    *self = json.parse().map_err(|_| {
                        D::Error::custom(format_args!("invalid value: {}, expected {}", shown(json), $expected))
                    })?;
                }
                Ok(())
            }
        }
    )*};
}

numbers! {
    i32, "a whole number from -2147483648 to 2147483647";
    i64, "a whole number from -9223372036854775808 to 9223372036854775807";
}

impl<'de> Read<'de> for f64 {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        match json.parse() {
            Ok(number) => *self = number,
            Err(_) if json == "null" => {}
            Err(_) => {
                return Err(D::Error::custom(format_args!("invalid value: {}, expected a number", shown(json))));
            }
        }
        Ok(())
    }
}

impl<'de> Read<'de> for Quantity<'de> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        if json == "null" {
            *self = Self::new("0");
            return Ok(());
        }
        *self = match json.strip_prefix('"').and_then(|json| json.strip_suffix('"')) {
            Some(text) => Self::new(text.trim()),
            // The API server cannot store a number that it cannot parse, nor a fraction without quotes.
            None if json.parse().is_ok_and(|number: f64| number.is_infinite() || number.fract() != 0.0) => {
                Self { text: json, sign: None }
            }
            None => Self::new(json),
        };
        Ok(())
    }
}

/// A quantity that is rejected here when it cannot be parsed: where no rule would report it.
#[derive(Default)]
pub(super) struct StrictQuantity;

impl<'de> Read<'de> for StrictQuantity {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let mut quantity = Quantity::default();
        quantity.read(deserializer)?;
        match quantity.sign {
            Some(_) => Ok(()),
            None => Err(D::Error::custom(format_args!(
                "invalid value: {:?}, expected a quantity such as \"500m\", \"2\" or \"1Gi\"",
                shown(quantity.text)
            ))),
        }
    }
}

/// A value of any type that no rule reads.
#[derive(Default)]
pub(super) struct Anything;

impl<'de> Read<'de> for Anything {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| ())
    }
}

impl<'de> Read<'de> for Time<'de> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let mut text = Cow::Borrowed(NO_TIME);
        text.read(deserializer)?;
        if text != NO_TIME && !is_rfc3339(&text) {
            return Err(D::Error::custom(format_args!(
                "invalid value: {:?}, expected a time such as \"2026-01-31T08:30:00Z\"",
                shown(&text)
            )));
        }
        self.0 = text;
        Ok(())
    }
}

/// Go's zero time, the meaning of null.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// Whether Go's `time.Parse(time.RFC3339, ...)` accepts `text`.
fn is_rfc3339(text: &str) -> bool {
    parse_rfc3339(text.as_bytes()).is_some()
}

fn parse_rfc3339(text: &[u8]) -> Option<()> {
    let (year, rest) = number(text, 4, 4)?;
    let (month, rest) = number(rest.strip_prefix(b"-")?, 2, 2)?;
    let (day, rest) = number(rest.strip_prefix(b"-")?, 2, 2)?;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let (hour, rest) = number(rest.strip_prefix(b"T")?, 1, 2)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 2, 2)?;
    let (second, rest) = number(rest.strip_prefix(b":")?, 2, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = match rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b",")) {
        Some(fraction) => {
            let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).filter(|end| *end > 0)?;
            fraction.get(end..)?
        }
        None => rest,
    };
    if rest == b"Z" {
        return Some(());
    }
    let rest = rest.strip_prefix(b"+").or_else(|| rest.strip_prefix(b"-"))?;
    let (hours, rest) = number(rest, 2, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(b":")?, 2, 2)?;
    (rest.is_empty() && hours <= 24 && minutes <= 60).then_some(())
}

/// A decimal number of `least..=most` digits and the rest of the text.
fn number(text: &[u8], least: usize, most: usize) -> Option<(i16, &[u8])> {
    let digits = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if digits < least {
        return None;
    }
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.iter().fold(0, |sum, digit| sum * 10 + i16::from(digit - b'0')), rest))
}

#[cfg(test)]
mod tests {
    use super::is_rfc3339;

    #[test]
    fn times_are_taken_as_go_takes_them() {
        for good in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.123456Z",
            "2026-01-01T00:00:00+08:00",
            "2026-01-01T1:00:00,5-00:30",
            "2024-02-29T23:59:59Z",
        ] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "",
            "2026-01-01",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01t00:00:00z",
            "2026-01-01T00:00:00+0800",
            "2026-01-01T00:00:00Z ",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }
}
