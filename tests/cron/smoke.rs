//! The properties of the fuzz targets on seeded random inputs.

#[path = "../../fuzz/properties/cron_parser.rs"]
mod cron_parser;
#[path = "../../fuzz/properties/zone_matcher.rs"]
mod zone_matcher;

use fhpa::decision::cron::zones::Zones;
use fhpa::runtime::zones::ZoneDatabase;

use crate::random::Random;

const PIECES: [&str; 40] = [
    " ",
    " ",
    " ",
    " ",
    " ",
    "*",
    "*",
    "*",
    "?",
    "/",
    "-",
    ",",
    "0",
    "1",
    "2",
    "5",
    "7",
    "12",
    "29",
    "31",
    "59",
    "60",
    "+",
    "MON",
    "sun",
    "FEB",
    "L",
    "W",
    "#",
    "@",
    "@hourly",
    "@every ",
    "TZ=",
    "\t",
    "\u{a0}",
    "\u{3000}",
    "99999999999999999999",
    "h",
    "é",
    "\0",
];

#[test]
fn random_schedules_keep_the_property_of_the_fuzz_target() {
    let mut random = Random(0x5eed);
    for _ in 0..30_000 {
        cron_parser::check(&random.text(&PIECES, 24));
    }
    // Mostly five fields, so that many are accepted.
    let values = ["*", "*", "0", "5", "7", "1-5", "*/2", "*/15", "3,4", "1-7/2", "2/3", "?", "MON", "JAN", "31", "12"];
    for _ in 0..3_000 {
        let fields: Vec<&str> = (0..5).map(|_| values[random.below(values.len())]).collect();
        cron_parser::check(fields.join(" ").as_bytes());
    }
}

#[test]
fn random_zones_keep_the_property_of_the_fuzz_target() {
    let zones = ZoneDatabase::bundled();
    let mut random = Random(0x5eed);
    for _ in 0..1_500 {
        let name = &zones.names()[random.below(zones.names().len())];
        let pieces = [name.as_str(), name.as_str(), "/", "..", " ", "UTC", "+8", "a", "é", "posix/", "_"];
        zone_matcher::check(&random.text(&pieces, 4));
    }
}
