//! The properties of the fuzz targets on seeded random inputs.

#[path = "../../fuzz/properties/cron_parser.rs"]
mod cron_parser;
#[path = "../../fuzz/properties/zone_matcher.rs"]
mod zone_matcher;

use fhpa::decision::cron::zones::Zones;
use fhpa::runtime::zones::ZoneDatabase;

/// A generator of numbers that is the same everywhere (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Pieces put together, now and then with a byte that is changed.
    fn text(&mut self, pieces: &[&str], most: usize) -> Vec<u8> {
        let count = self.below(most);
        let mut bytes: Vec<u8> = (0..count).flat_map(|_| pieces[self.below(pieces.len())].bytes()).collect();
        if !bytes.is_empty() && self.below(4) == 0 {
            let at = self.below(bytes.len());
            bytes[at] = self.below(256) as u8;
        }
        bytes
    }
}

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
