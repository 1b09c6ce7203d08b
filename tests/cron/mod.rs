//! Tests of cron schedules.

mod cases;
mod command;
mod laws;
mod next;
mod reference;
mod smoke;
mod syntax;
mod zones;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::de::DeserializeOwned;

/// The lines of a fixture.
fn lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("{}/tests/fixtures/cron/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A zone of the bundled database, whatever the machine has.
fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}
mod ledger;
