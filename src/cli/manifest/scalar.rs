//! The text of a scalar -> its value, as Kubernetes reads YAML (sigs.k8s.io/yaml: the types of YAML 1.1). No I/O.

use serde_json::Number;

use super::Content;

/// The value of a plain (unquoted, untagged) scalar. An error says why the value does not exist in JSON.
pub(super) fn plain(text: &str) -> Result<Content, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Content::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Content::Bool(false),
        _ if is_non_finite(text) => return Err(format!("{text} is no number that JSON can hold")),
        _ => number(text).map_or_else(|| Content::Text(text.to_owned()), Content::Number),
    })
}

/// The value of a scalar under a tag of the YAML core schema (`str`, `int`, ...).
pub(super) fn tagged(kind: &str, text: &str) -> Result<Content, String> {
    let content = match kind {
        "bool" | "int" | "float" | "null" => plain(text)?,
        _ => return Ok(Content::Text(text.to_owned())),
    };
    let fits = matches!(
        (kind, &content),
        ("bool", Content::Bool(_)) | ("int" | "float", Content::Number(_)) | ("null", Content::Null)
    );
    if fits { Ok(content) } else { Err(format!("{text:?} is no !!{kind}")) }
}

fn is_non_finite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    let digits = if text.starts_with('.') { text.to_owned() } else { text.replace('_', "") };
    integer(&digits).or_else(|| float(&digits))
}

fn integer(text: &str) -> Option<Number> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = rest.to_ascii_lowercase();
    let (radix, digits) = if let Some(hex) = lower.strip_prefix("0x") {
        (16, hex)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        (2, binary)
    } else if let Some(octal) = lower.strip_prefix("0o") {
        (8, octal)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, lower.as_str())
    } else {
        (10, lower.as_str())
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let signed = format!("{sign}{digits}");
    i64::from_str_radix(&signed, radix)
        .map(Number::from)
        .or_else(|_| u64::from_str_radix(&signed, radix).map(Number::from))
        .ok()
}

fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|part| {
        let part = part.strip_prefix(['+', '-']).unwrap_or(part);
        !part.is_empty() && digits(part)
    });
    if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) || !exponent_fits {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // Go writes a whole float as an integer, so the API server reads `10.0` as the replica count 10.
    #[allow(clippy::cast_possible_truncation)]
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

/// Below it every whole f64 is exact (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;
