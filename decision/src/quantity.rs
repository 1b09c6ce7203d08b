//! Kubernetes quantities (`500m`, `2Gi`, `1e3`): what is accepted, and the sign. Pure.
//!
//! Accepts exactly what `resource.ParseQuantity` of apimachinery accepts, its odd corners included (`e3` is zero, `1.`
//! is one).

mod value;

use std::cmp::Ordering;

use serde::{Deserialize, Deserializer};
use serde_json::Number;

pub use value::{binary, decimal, from_milli, milli, thousandths, whole};

/// A quantity as the user wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    /// The text of the user, without outer blanks; a number in its decimal spelling.
    pub text: String,
    /// Whether it is less than, equal to or greater than zero; `None` when the text is not a quantity.
    pub sign: Option<Ordering>,
}

impl Quantity {
    /// Reads a quantity; one that cannot be parsed has no sign.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let sign = sign(&text);
        Self { text, sign }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum AsWritten {
            Text(String),
            Number(Number),
        }
        Ok(match AsWritten::deserialize(deserializer)? {
            AsWritten::Text(text) => Self::new(trimmed(&text)),
            // The API server cannot store a fraction without quotes.
            AsWritten::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
                Self { text: number.to_string(), sign: None }
            }
            AsWritten::Number(number) => Self::new(number.to_string()),
        })
    }
}

/// The text of a quantity without the outer blanks that Kubernetes ignores.
#[must_use]
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() && !character.is_control())
}

/// Digits that fit the exact arithmetic of apimachinery; longer numbers go through its decimal parser.
const EXACT_DIGITS: i64 = 18;

/// Compares the quantity `text` with zero; `None` when it is not a quantity. Values nearer to zero than 1n count as 1n.
#[must_use]
pub fn sign(text: &str) -> Option<Ordering> {
    if text.is_empty() {
        return None;
    }
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)?),
        Some(b'+') => (false, text.get(1..)?),
        _ => (false, text),
    };
    let significant = rest.trim_start_matches('0');
    let leading_zeros = rest.len() - significant.len();
    if significant.is_empty() {
        return Some(Ordering::Equal);
    }
    let (whole, rest) = split_digits(significant);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    let unit = Unit::parse(suffix)?;
    // A bare `.` or suffix is zero with exact arithmetic and an error with the decimal parser.
    if leading_zeros + whole.len() + fraction.len() == 0 && !unit.is_exact(1, fraction.len()) {
        return None;
    }
    let zero = !whole.bytes().chain(fraction.bytes()).any(|digit| digit != b'0');
    Some(match (zero, negative) {
        (true, _) => Ordering::Equal,
        (false, true) => Ordering::Less,
        (false, false) => Ordering::Greater,
    })
}

/// Splits off the leading ASCII digits.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Factor of a suffix.
enum Unit {
    /// Ten to the power.
    Decimal(i64),
    /// A power of two.
    Binary,
}

impl Unit {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => Self::Binary,
            _ => Self::Decimal(exponent(suffix)?),
        })
    }

    /// Whether apimachinery computes with 64-bit integers for this number.
    fn is_exact(&self, digits: i64, fraction: usize) -> bool {
        let fraction = i64::try_from(fraction).unwrap_or(i64::MAX);
        match self {
            Self::Decimal(exponent) => digits + fraction <= EXACT_DIGITS && exponent - fraction >= -9,
            Self::Binary => fraction == 0,
        }
    }
}

/// The exponent of `e3`, `E-3`; truncated to 32 bits as in apimachinery.
fn exponent(suffix: &str) -> Option<i64> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = digits.parse().ok()?;
    let [a, b, c, d, ..] = exponent.to_le_bytes();
    Some(i32::from_le_bytes([a, b, c, d]).into())
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{self, Equal, Greater, Less};

    use super::sign;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        let cases: &[(&str, Option<Ordering>)] = &[
            ("1", Some(Greater)),
            ("500m", Some(Greater)),
            ("1.", Some(Greater)),
            (".5", Some(Greater)),
            ("+1Gi", Some(Greater)),
            ("1e3", Some(Greater)),
            ("1E-400", Some(Greater)),
            ("000100", Some(Greater)),
            ("0.00000000000000000001", Some(Greater)),
            ("-3", Some(Less)),
            ("0", Some(Equal)),
            ("-0m", Some(Equal)),
            ("0.0", Some(Equal)),
            ("0e99", Some(Equal)),
            (".", Some(Equal)),
            ("+", Some(Equal)),
            ("e3", Some(Equal)),
            (".e-10", None),
            ("", None),
            ("abc", None),
            ("1K", None),
            ("1ki", None),
            ("1i", None),
            ("1e", None),
            ("1e+", None),
            ("1e+-5", None),
            ("1 ", None),
            ("1.2.3", None),
            ("1KiB", None),
            ("1e99999999999999999999", None),
            ("١", None),
        ];
        for (text, expected) in cases {
            assert_eq!(sign(text), *expected, "{text:?}");
        }
    }
}
