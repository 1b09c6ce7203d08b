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

/// The zone named `text`: an IANA name in exactly its case, aliases too (docs/cron.md#schedules).
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
        _ if text.starts_with(['/', '.', '\\']) || has_path_step(text.as_bytes()) => {
            Some("is a path; write an IANA name such as Europe/Berlin")
        }
        _ if folder("posix/") || folder("right/") => Some("is a path; write the name without its folder"),
        _ => None,
    }
}

/// Whether `text` has `..`, `//` or `/./`.
fn has_path_step(text: &[u8]) -> bool {
    let pairs = text.iter().zip(text.iter().skip(1));
    pairs.clone().any(|pair| matches!(pair, (b'.', b'.') | (b'/', b'/')))
        || pairs.zip(text.iter().skip(2)).any(|three| matches!(three, ((b'/', b'.'), b'/')))
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
        .or_else(|| names.iter().find(|name| ends_with_part(name, city)).map(String::as_str))
        .or_else(|| misspelt(names, &wanted, false))
        .or_else(|| if city.len() > 4 { misspelt(names, city, true) } else { None })
}

/// Whether `part` is the part of `name` after its last slash; case does not count.
fn ends_with_part(name: &str, part: &str) -> bool {
    let ends = name.len().checked_sub(part.len()).and_then(|at| name.split_at_checked(at));
    ends.is_some_and(|(head, tail)| same(tail, part) && (head.is_empty() || head.ends_with('/')))
}

/// The name within few typing errors, of the whole or of the part after the last slash.
fn misspelt<'a>(names: &'a [String], wanted: &str, city: bool) -> Option<&'a str> {
    // One error in four letters, at most three.
    let most = (wanted.len() / 4).min(3);
    let characters_wanted = Characters::of(wanted);
    names
        .iter()
        .filter_map(|name| {
            let part = if city { name.rsplit('/').next().unwrap_or(name) } else { name };
            if part.len().abs_diff(wanted.len()) > most || characters_wanted.least_errors(part) > most {
                return None;
            }
            let distance = strsim::osa_distance(&part.to_ascii_lowercase(), wanted);
            (distance <= most).then_some((distance, name.as_str()))
        })
        .min()
        .map(|(_, name)| name)
}

/// How often a text has each character; some share a count, as do upper and lower case.
#[derive(Clone, Copy)]
struct Characters([i16; 32]);

impl Characters {
    fn of(text: &str) -> Self {
        let mut characters = Self([0; 32]);
        characters.add(text, 1);
        characters
    }

    fn add(&mut self, text: &str, times: i16) {
        for character in text.chars() {
            let place = usize::try_from(u32::from(character) % 32).ok();
            if let Some(count) = place.and_then(|place| self.0.get_mut(place)) {
                *count = count.saturating_add(times);
            }
        }
    }

    /// The fewest typing errors between a text of these characters and `other`: each that only one of them has takes
    /// one.
    fn least_errors(mut self, other: &str) -> usize {
        self.add(other, -1);
        // 32 counts of 16 bits fit a sum of 32.
        let more: u32 = self.0.iter().map(|count| u32::from((*count).max(0).unsigned_abs())).sum();
        let less: u32 = self.0.iter().map(|count| u32::from((*count).min(0).unsigned_abs())).sum();
        usize::try_from(more.max(less)).unwrap_or(usize::MAX)
    }
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
    use super::{Characters, ends_with_part, has_path_step};

    #[test]
    fn a_text_never_has_fewer_errors_than_its_characters_say() {
        let texts = ["Europe/Berlin", "europe/berlni", "Zürich", "zurich", "Asia/Tokyo", "tokio", "", "aaaa", "bab"];
        for one in texts {
            for other in texts {
                let errors = strsim::osa_distance(&one.to_ascii_lowercase(), &other.to_ascii_lowercase());
                assert!(Characters::of(one).least_errors(other) <= errors, "{one} {other}");
            }
        }
        assert_eq!(Characters::of("tokio").least_errors("Tokyo"), 1);
        assert_eq!(Characters::of("aab").least_errors("baa"), 0);
    }

    #[test]
    fn the_parts_of_a_name_are_those_between_its_slashes() {
        for name in ["Europe/Berlin", "UTC", "America/Indiana/Knox", ""] {
            for part in ["berlin", "Europe/Berlin", "UTC", "c", "knox", "lin", "", "é"] {
                let last = name.rsplit('/').next().unwrap();
                let expected = !part.contains('/') && last.eq_ignore_ascii_case(part);
                assert!(part.contains('/') || ends_with_part(name, part) == expected, "{name} {part}");
            }
        }
        for text in ["a..b", "a//b", "a/./b", "..", "a/.b", "a.b/c", "Europe/Berlin", "", "é/./", "/"] {
            let expected = ["..", "//", "/./"].iter().any(|step| text.contains(step));
            assert_eq!(has_path_step(text.as_bytes()), expected, "{text}");
        }
    }
}
