//! String formats. No I/O.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

type Pattern = LazyLock<Option<Regex>>;

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: Pattern = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(UUID, r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
pattern!(UUID3, r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
pattern!(UUID4, r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$");
pattern!(UUID5, r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$");
pattern!(HEX_COLOR, r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
pattern!(SSN, r"^\d{3}[- ]?\d{2}[- ]?\d{4}$");
pattern!(OBJECT_ID, r"^[0-9a-f]{24}$");
pattern!(MAC, r"(?i)^([0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{4}(\.[0-9a-f]{4}){2})$");
pattern!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
pattern!(EMAIL, r"^[^@\s]+@[^@\s]+$");
pattern!(
    DURATION,
    r"^[+-]?(0|((\d+\.?\d*|\.\d+) ?(ns|us|µs|μs|ms|s|m|h))+|\d+ ?(nanos?|micros?|millis?|second|minute|hour|day|week)s?|\d+ ?[dw])$"
);
pattern!(SHORT_NAME, r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$");
pattern!(LONG_NAME, r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");

fn matches(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_none_or(|regex| regex.is_match(text))
}

fn prefix(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let within = |most: u8| bits.parse::<u8>().is_ok_and(|bits| bits <= most);
    (address.parse::<Ipv4Addr>().is_ok() && within(32)) || (address.parse::<Ipv6Addr>().is_ok() && within(128))
}

/// Whether the text has the format. Formats that are not implemented accept every text.
pub(super) fn holds(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "datetime" => text.parse::<jiff::Timestamp>().is_ok() && text.contains('T'),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => prefix(text),
        "mac" => matches(&MAC, text),
        "uuid" => matches(&UUID, text),
        "uuid3" => matches(&UUID3, text),
        "uuid4" => matches(&UUID4, text),
        "uuid5" => matches(&UUID5, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "ssn" => matches(&SSN, text),
        "bsonobjectid" => matches(&OBJECT_ID, text),
        "hostname" => text.len() <= 255 && matches(&HOSTNAME, text),
        "email" => matches(&EMAIL, text),
        "duration" => matches(&DURATION, text),
        "byte" => STANDARD.decode(text).is_ok(),
        "uri" => text.starts_with('/') || text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
        "k8sshortname" => matches(&SHORT_NAME, text),
        "k8slongname" => text.len() <= 253 && matches(&LONG_NAME, text),
        _ => true,
    }
}
