//! The text of a `timeZone` -> a zone, or what to write instead. Pure; the names come from [`Zones`].

use std::fmt;

use jiff::tz::TimeZone;

use super::zones::Zones;

/// Longest text that is parsed, in bytes; the longest IANA name has 32.
const MAX_LENGTH: usize = 64;

/// A text that is not the name of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneError {
    /// What is wrong and what to write.
    pub message: String,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ZoneError {}

/// The zone named `text`: an IANA name in exactly its case, aliases too (docs/design.md#time-zones).
///
/// # Errors
/// There is no such zone; the message says what to write.
pub fn find(zones: &dyn Zones, text: &str) -> Result<TimeZone, ZoneError> {
    if text.len() <= MAX_LENGTH
        && reserved(text).is_none()
        && let Some(zone) = zones.get(text)
    {
        return Ok(zone);
    }
    Err(refusal(zones, text))
}

/// Texts that other programs accept as a zone, and why they are not accepted here.
fn reserved(text: &str) -> Option<&'static str> {
    let folder = |folder: &str| text.get(..folder.len()).is_some_and(|head| head.eq_ignore_ascii_case(folder));
    match text {
        "" => Some("must not be empty; leave the field out or write an IANA name such as Europe/Berlin"),
        "Local" | "local" | "localtime" => {
            Some("would differ from machine to machine; write an IANA name such as Europe/Berlin")
        }
        "posixrules" | "Factory" => Some("is no place; write an IANA name such as Europe/Berlin"),
        _ if text.starts_with(['/', '.', '\\'])
            || text.contains("..")
            || text.contains("//")
            || text.contains("/./") =>
        {
            Some("is a path; write an IANA name such as Europe/Berlin")
        }
        _ if folder("posix/") || folder("right/") => Some("is a path; write the name without its folder"),
        _ => None,
    }
}

fn refusal(zones: &dyn Zones, text: &str) -> ZoneError {
    if text.len() > MAX_LENGTH {
        return ZoneError {
            message: format!(
                "has {} bytes, no time zone has so long a name; write an IANA name such as Europe/Berlin",
                text.len()
            ),
            suggestion: None,
        };
    }
    if let Some(why) = reserved(text) {
        let bare = text
            .split_once('/')
            .map(|(_, name)| name)
            .filter(|name| zones.get(name).is_some() && reserved(name).is_none());
        let message = bare.map_or_else(|| why.to_owned(), |name| format!("is a path; write {name}"));
        return ZoneError { message, suggestion: bare.map(str::to_owned) };
    }
    let other_case = zones.names().iter().any(|name| same(name, text));
    if let Some(error) = offset_refusal(text).filter(|_| !other_case) {
        return error;
    }
    match nearest(zones.names(), text) {
        Some(name) if name.eq_ignore_ascii_case(text) => ZoneError {
            message: format!("is not a time zone, case counts; write {name}"),
            suggestion: Some(name.to_owned()),
        },
        Some(name) => ZoneError {
            message: format!("is not a time zone; did you mean {name}?"),
            suggestion: Some(name.to_owned()),
        },
        None => ZoneError {
            message: "is not a time zone; write an IANA name such as Europe/Berlin".to_owned(),
            suggestion: None,
        },
    }
}

/// `UTC+8`, `+08:00`, `GMT-3`: a fixed offset. IANA has whole hours only, with the opposite sign.
fn offset_refusal(text: &str) -> Option<ZoneError> {
    let rest = text.trim();
    let rest = ["UTC", "GMT", "utc", "gmt"].iter().find_map(|prefix| rest.strip_prefix(prefix)).unwrap_or(rest).trim();
    let (west, digits) = match (rest.strip_prefix(['+']), rest.strip_prefix(['-', '\u{2212}'])) {
        (Some(digits), _) => (false, digits),
        (_, Some(digits)) => (true, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let hours: u8 = hours.parse().ok()?;
    let minutes: u8 = minutes.parse().ok()?;
    let sign = if west { '-' } else { '+' };
    let suggestion = match (minutes, hours) {
        (0, 0) => Some("Etc/UTC".to_owned()),
        (0, 1..=14) if !west || hours <= 12 => Some(format!("Etc/GMT{}{hours}", if west { '+' } else { '-' })),
        _ => None,
    };
    let message = match &suggestion {
        Some(name) => format!(
            "is an offset, not a place with its clock changes; write a name such as Europe/Berlin, or {name} for UTC{sign}{hours}"
        ),
        None => "is an offset, not a place with its clock changes; write a name such as Asia/Kolkata".to_owned(),
    };
    Some(ZoneError { message, suggestion })
}

/// The name that was most likely meant; `None` when no name is near.
fn nearest<'a>(names: &'a [String], text: &str) -> Option<&'a str> {
    let wanted = normal(text);
    let exact = |wanted: &str| names.iter().find(|name| same(name, wanted)).map(String::as_str);
    let city = wanted.rsplit('/').next().unwrap_or(&wanted);
    exact(&wanted)
        .or_else(|| exact(known_as(city)?))
        .or_else(|| {
            names.iter().find(|name| name.rsplit('/').next().is_some_and(|last| same(last, city))).map(String::as_str)
        })
        .or_else(|| misspelt(names, &wanted, false))
        .or_else(|| if city.len() > 4 { misspelt(names, city, true) } else { None })
}

/// The name within few typing errors, of the whole or of the part after the last slash.
fn misspelt<'a>(names: &'a [String], wanted: &str, city: bool) -> Option<&'a str> {
    // One error in four letters, at most three.
    let most = (wanted.len() / 4).min(3);
    let characters_wanted = characters(wanted);
    names
        .iter()
        .filter_map(|name| {
            let part = if city { name.rsplit('/').next().unwrap_or(name) } else { name };
            if part.len().abs_diff(wanted.len()) > most || least_errors(characters(part), characters_wanted) > most {
                return None;
            }
            let distance = strsim::osa_distance(&part.to_ascii_lowercase(), wanted);
            (distance <= most).then_some((distance, name.as_str()))
        })
        .min()
        .map(|(_, name)| name)
}

/// The fewest typing errors between texts of these characters: each that only one of them has takes one.
fn least_errors(one: u64, other: u64) -> usize {
    let errors = (one & !other).count_ones().max((other & !one).count_ones());
    usize::try_from(errors).unwrap_or(usize::MAX)
}

/// The set of the characters of a text, in which some share a bit; case does not count.
fn characters(text: &str) -> u64 {
    text.chars().fold(0, |set, character| set | 1_u64.wrapping_shl(character.to_ascii_lowercase().into()))
}

fn same(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

/// Lower case, spaces as underscores.
fn normal(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace(' ', "_").replace('\\', "/")
}

/// Places and abbreviations that are often written but are not IANA names. An abbreviation maps to the place most
/// likely meant.
const KNOWN_AS: [(&str, &str); 52] = [
    ("abu_dhabi", "Asia/Dubai"),
    ("aest", "Australia/Sydney"),
    ("aedt", "Australia/Sydney"),
    ("barcelona", "Europe/Madrid"),
    ("bangalore", "Asia/Kolkata"),
    ("beijing", "Asia/Shanghai"),
    ("bengaluru", "Asia/Kolkata"),
    ("boston", "America/New_York"),
    ("brt", "America/Sao_Paulo"),
    ("bst", "Europe/London"),
    ("cdt", "America/Chicago"),
    ("central_standard_time", "America/Chicago"),
    ("cest", "Europe/Berlin"),
    ("chengdu", "Asia/Shanghai"),
    ("chennai", "Asia/Kolkata"),
    ("china_standard_time", "Asia/Shanghai"),
    ("cst", "America/Chicago"),
    ("delhi", "Asia/Kolkata"),
    ("eastern_standard_time", "America/New_York"),
    ("edt", "America/New_York"),
    ("eest", "Europe/Helsinki"),
    ("frankfurt", "Europe/Berlin"),
    ("geneva", "Europe/Zurich"),
    ("guangzhou", "Asia/Shanghai"),
    ("hangzhou", "Asia/Shanghai"),
    ("hamburg", "Europe/Berlin"),
    ("hkt", "Asia/Hong_Kong"),
    ("hyderabad", "Asia/Kolkata"),
    ("ist", "Asia/Kolkata"),
    ("jst", "Asia/Tokyo"),
    ("kst", "Asia/Seoul"),
    ("mdt", "America/Denver"),
    ("milan", "Europe/Rome"),
    ("msk", "Europe/Moscow"),
    ("mumbai", "Asia/Kolkata"),
    ("munich", "Europe/Berlin"),
    ("new_delhi", "Asia/Kolkata"),
    ("nyc", "America/New_York"),
    ("osaka", "Asia/Tokyo"),
    ("pacific_standard_time", "America/Los_Angeles"),
    ("pdt", "America/Los_Angeles"),
    ("pst", "America/Los_Angeles"),
    ("rio_de_janeiro", "America/Sao_Paulo"),
    ("san_francisco", "America/Los_Angeles"),
    ("seattle", "America/Los_Angeles"),
    ("sgt", "Asia/Singapore"),
    ("shenzhen", "Asia/Shanghai"),
    ("st_petersburg", "Europe/Moscow"),
    ("tel_aviv_yafo", "Asia/Tel_Aviv"),
    ("tokyo_standard_time", "Asia/Tokyo"),
    ("w._europe_standard_time", "Europe/Berlin"),
    ("washington", "America/New_York"),
];

fn known_as(city: &str) -> Option<&'static str> {
    KNOWN_AS.iter().find(|(known, _)| *known == city).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::{characters, least_errors};

    #[test]
    fn a_text_never_has_fewer_errors_than_its_characters_say() {
        let texts = ["Europe/Berlin", "europe/berlni", "Zürich", "zurich", "Asia/Tokyo", "tokio", "", "aaaa", "bab"];
        for one in texts {
            for other in texts {
                let errors = strsim::osa_distance(&one.to_ascii_lowercase(), &other.to_ascii_lowercase());
                assert!(least_errors(characters(one), characters(other)) <= errors, "{one} {other}");
            }
        }
        assert_eq!(least_errors(characters("tokio"), characters("Tokyo")), 1);
    }
}
