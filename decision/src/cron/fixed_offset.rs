//! Zones that are no places: an offset that never changes, and what to write instead. Pure.

use jiff::Timestamp;

use super::zones::Zones;

/// Abbreviations that are zones: a place where clocks change from that time, and one where they do not.
const ABBREVIATIONS: [(&str, &str, &str); 3] = [
    ("EST", "America/New_York", "America/Panama"),
    ("MST", "America/Denver", "America/Phoenix"),
    ("HST", "America/Adak", "Pacific/Honolulu"),
];

/// A place at each offset in hours; one whose clocks change, where there is one.
const PLACES: [(i8, &str); 25] = [
    (-11, "Pacific/Pago_Pago"),
    (-10, "America/Adak"),
    (-9, "America/Anchorage"),
    (-8, "America/Los_Angeles"),
    (-7, "America/Denver"),
    (-6, "America/Chicago"),
    (-5, "America/New_York"),
    (-4, "America/Halifax"),
    (-3, "America/Sao_Paulo"),
    (-2, "America/Nuuk"),
    (-1, "Atlantic/Azores"),
    (1, "Europe/Berlin"),
    (2, "Europe/Helsinki"),
    (3, "Europe/Istanbul"),
    (4, "Asia/Dubai"),
    (5, "Asia/Karachi"),
    (6, "Asia/Dhaka"),
    (7, "Asia/Bangkok"),
    (8, "Asia/Shanghai"),
    (9, "Asia/Tokyo"),
    (10, "Australia/Sydney"),
    (11, "Pacific/Guadalcanal"),
    (12, "Pacific/Auckland"),
    (13, "Pacific/Tongatapu"),
    (14, "Pacific/Kiritimati"),
];

/// Said of a zone that is a fixed offset other than UTC; places without clock changes are none of these.
#[must_use]
pub fn fixed_offset(zones: &dyn Zones, name: &str, now: Timestamp) -> Option<String> {
    let abbreviation = ABBREVIATIONS.iter().find(|(known, ..)| *known == name);
    let place = if let Some((_, place, _)) = abbreviation {
        Some(*place)
    } else {
        let hours = hours(name)?;
        PLACES.iter().find(|(offset, _)| *offset == hours).map(|(_, place)| *place)
    };
    let minutes = zones.get(name)?.to_offset(now).seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let offset = format!("UTC{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
    let changes = place.and_then(|place| zones.get(place)).is_some_and(|zone| zone.following(now).next().is_some());
    let off = if changes { ", an hour off in summer where clocks change" } else { "" };
    let remedy = match (abbreviation, place) {
        (Some((_, place, fixed)), _) => format!("write {place}, or {fixed} where they do not"),
        (None, Some(place)) => format!("write the place, such as {place}"),
        (None, None) => "write the place".to_owned(),
    };
    Some(format!("{name:?} is {offset} all year{off}: {remedy}"))
}

/// The hours east of Greenwich of `Etc/GMT+5`, whose sign is the opposite one; `None` for other names and for none.
fn hours(name: &str) -> Option<i8> {
    let offset = name.strip_prefix("Etc/GMT").filter(|offset| offset.starts_with(['+', '-']))?;
    offset.parse::<i8>().ok()?.checked_neg().filter(|hours| *hours != 0)
}

#[cfg(test)]
mod tests {
    use super::{PLACES, hours};

    #[test]
    fn a_zone_of_etc_has_the_opposite_sign() {
        assert_eq!([hours("Etc/GMT+5"), hours("Etc/GMT-14"), hours("Etc/GMT+12")], [Some(-5), Some(14), Some(-12)]);
        for none in ["Etc/GMT+0", "Etc/GMT-0", "Etc/GMT0", "Etc/GMT", "GMT", "UTC", "Europe/Berlin", "GMT+5"] {
            assert_eq!(hours(none), None, "{none}");
        }
        assert!(PLACES.is_sorted());
    }
}
