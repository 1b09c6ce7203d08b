//! Kubernetes quantities (`500m`, `2Gi`) as numbers, and back. Pure.

/// `text` in thousandths, rounded up as in Kubernetes; `None` when it is not a quantity or does not fit.
#[must_use]
pub fn milli(text: &str) -> Option<i64> {
    i64::try_from(thousandths(text)?).ok()
}

/// Like [`milli`], with a larger range, such as for all bytes of a cluster.
#[must_use]
pub fn thousandths(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let end = rest.bytes().position(|byte| !byte.is_ascii_digit() && byte != b'.').unwrap_or(rest.len());
    let (digits, suffix) = rest.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || whole.len() > 20 || fraction.len() > 12 || fraction.contains('.') {
        return None;
    }
    let number: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (times, over) = unit(suffix)?;
    let parts = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?.checked_mul(over)?;
    let product = number.checked_mul(times)?.checked_mul(1000)?;
    let up = product.checked_add(parts.checked_sub(1)?)?.checked_div(parts)?;
    Some(if negative { -product.checked_div(parts)? } else { up })
}

/// `text` as a whole number, rounded up.
#[must_use]
pub fn whole(text: &str) -> Option<i64> {
    let thousandths = milli(text)?;
    Some(thousandths.div_euclid(1000).saturating_add(i64::from(thousandths.rem_euclid(1000) != 0)))
}

/// Multiplier and divisor of a suffix.
fn unit(suffix: &str) -> Option<(i128, i128)> {
    let binary = |power: u32| Some((1_i128.checked_shl(power.checked_mul(10)?)?, 1));
    Some(match suffix {
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1000),
        "" => (1, 1),
        "k" => (1000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000, 1),
        "Ki" => return binary(1),
        "Mi" => return binary(2),
        "Gi" => return binary(3),
        "Ti" => return binary(4),
        "Pi" => return binary(5),
        "Ei" => return binary(6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
            if exponent < 0 { (1, power) } else { (power, 1) }
        }
    })
}

/// Thousandths as Kubernetes prints them: `1500m`, `2`.
#[must_use]
pub fn from_milli(value: i64) -> String {
    if value % 1000 == 0 { decimal(value / 1000) } else { format!("{value}m") }
}

/// A whole number as Kubernetes prints it: `2`, `2k`.
#[must_use]
pub fn decimal(value: i64) -> String {
    let suffixes = ["", "k", "M", "G", "T", "P", "E"];
    shortest(value, 1000, &suffixes)
}

/// A number of bytes: `64Mi`, `1500`.
#[must_use]
pub fn binary(value: i64) -> String {
    let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    shortest(value, 1024, &suffixes)
}

fn shortest(mut value: i64, base: i64, suffixes: &[&str]) -> String {
    let mut suffixes = suffixes.iter();
    let mut suffix = suffixes.next().copied().unwrap_or_default();
    while value != 0 && value % base == 0 {
        let Some(next) = suffixes.next() else { break };
        suffix = next;
        value /= base;
    }
    format!("{value}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::{binary, decimal, from_milli, milli, whole};

    #[test]
    fn quantities_become_numbers() {
        let cases = [
            ("500m", Some(500)),
            ("2", Some(2000)),
            ("1.5", Some(1500)),
            (".5", Some(500)),
            ("1Ki", Some(1_024_000)),
            ("1e3", Some(1_000_000)),
            ("1E-3", Some(1)),
            ("100u", Some(1)),
            ("-1.5", Some(-1500)),
            ("+1k", Some(1_000_000)),
            ("", None),
            ("abc", None),
            ("1.2.3", None),
            ("1K", None),
            (".", None),
            ("9999999999999E", None),
        ];
        for (text, expected) in cases {
            assert_eq!(milli(text), expected, "{text}");
        }
        assert_eq!((whole("1500m"), whole("64Mi"), whole("-1500m")), (Some(2), Some(67_108_864), Some(-1)));
    }

    #[test]
    fn numbers_become_quantities() {
        assert_eq!([from_milli(1500), from_milli(2000), decimal(2000), decimal(0)], ["1500m", "2", "2k", "0"]);
        assert_eq!([binary(67_108_864), binary(1500), binary(0)], ["64Mi", "1500", "0"]);
    }
}
