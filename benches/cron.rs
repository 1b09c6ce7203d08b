//! The cron engine: parse, next run, shortest interval, clashes; next to floors measured in the same run.
//!
//! Floors: `floor/cron-utc` is the `cron` crate alone, stepping in UTC; `floor/jiff-zoned` is one lookup of a wall time
//! in a zone and back, which no mapping of walls to instants can do without.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::hint::black_box;
use std::str::FromStr;

use criterion::{Criterion, criterion_group, criterion_main};
use fhpa::decision::cron::zones::Zones;
use fhpa::decision::cron::{Prospect, Schedule, first_overlap, zone_name};
use fhpa::runtime::zones::ZoneDatabase;
use jiff::{Timestamp, ToSpan};

const ACCEPTED: [(&str, &str); 4] = [
    ("daily", "30 8 * * *"),
    ("weekdays", "*/15 9-17 * * MON-FRI"),
    ("macro", "@hourly"),
    ("lists", "0,5,10,15,20,25,30,35,40,45,50,55 1,3,5,7,9,11 1,15,28-31 JAN,MAR,DEC 0,6"),
];
const REFUSED: [(&str, &str); 3] = [("range", "61 * * * *"), ("never", "0 0 30 2 *"), ("six", "0 30 8 * * 1-5")];

/// Class, expression, and the same in the `cron` crate's seven fields where it can say it.
const CLASSES: [(&str, &str, Option<&str>); 8] = [
    ("every-minute", "* * * * *", Some("0 * * * * * *")),
    ("hourly", "30 * * * *", Some("0 30 * * * * *")),
    ("daily", "30 2 * * *", Some("0 30 2 * * * *")),
    ("weekdays", "*/15 9-17 * * 1-5", Some("0 */15 9-17 * * 2-6 *")),
    ("monthly", "0 0 1 * *", Some("0 0 0 1 * * *")),
    ("either-day", "0 0 13 * 5", None),
    ("yearly", "59 23 31 12 *", Some("0 59 23 31 12 * *")),
    ("leap-day", "0 0 29 2 *", Some("0 0 0 29 2 * *")),
];

fn start() -> Timestamp {
    "2026-11-20T10:17:23Z".parse().unwrap()
}

/// Where a walk starts again.
const END: Timestamp = Timestamp::constant(3_976_214_400, 0);

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for (name, text) in ACCEPTED.iter().chain(&REFUSED) {
        group.bench_function(*name, |b| b.iter(|| Schedule::parse(black_box(text))));
    }
    let hostile = "*,".repeat(8_000);
    group.bench_function("hostile-16KiB", |b| b.iter(|| Schedule::parse(black_box(&hostile))));
}

fn next(c: &mut Criterion) {
    let zones = ZoneDatabase::bundled();
    for name in ["UTC", "Europe/Berlin"] {
        let zone = zones.get(name).unwrap();
        let mut group = c.benchmark_group(format!("next/{name}"));
        for (class, text, _) in CLASSES {
            let schedule = Schedule::parse(text).unwrap();
            let mut at = start();
            // Walks on and starts again, so that all days and clock changes take part.
            group.bench_function(class, |b| {
                b.iter(|| {
                    at = schedule.next_after(&zone, at).filter(|at| *at < END).unwrap_or_else(start);
                    at
                });
            });
        }
    }
    let berlin = zones.get("Europe/Berlin").unwrap();
    let mut group = c.benchmark_group("previous/Europe/Berlin");
    for (class, text, _) in CLASSES {
        let schedule = Schedule::parse(text).unwrap();
        let mut at = start();
        group.bench_function(class, |b| {
            b.iter(|| {
                at = schedule
                    .previous_before(&berlin, at)
                    .filter(|at| *at > Timestamp::UNIX_EPOCH)
                    .unwrap_or_else(start);
                at
            });
        });
    }
}

fn floors(c: &mut Criterion) {
    let mut group = c.benchmark_group("floor/cron-utc");
    for (class, _, text) in CLASSES {
        let Some(text) = text else { continue };
        let schedule = cron::Schedule::from_str(text).unwrap();
        let first = chrono::DateTime::from_timestamp(start().as_second(), 0).unwrap();
        let mut at = first;
        group.bench_function(class, |b| {
            b.iter(|| {
                at = schedule.after(&at).next().filter(|at| at.timestamp() < END.as_second()).unwrap_or(first);
                at
            });
        });
    }
    group.finish();
    let zone = ZoneDatabase::bundled().get("Europe/Berlin").unwrap();
    let mut at = start();
    c.bench_function("floor/jiff-zoned", |b| {
        b.iter(|| {
            let wall = zone.to_datetime(at).checked_add(1.day()).unwrap();
            at = zone.to_timestamp(wall).unwrap();
            if at > END {
                at = start();
            }
            at
        });
    });
}

fn rules(c: &mut Criterion) {
    let zones = ZoneDatabase::bundled();
    let mut group = c.benchmark_group("rules");
    for (class, text, _) in CLASSES {
        let schedule = Schedule::parse(text).unwrap();
        group.bench_function(format!("shortest-interval/{class}"), |b| {
            b.iter(|| black_box(&schedule).shortest_interval());
        });
    }
    // Fifty rules, each with each: of one zone, and of two that never meet.
    for (name, other) in [("one-zone", "Europe/Berlin"), ("two-zones", "Asia/Kolkata")] {
        let pair = [zones.get("Europe/Berlin").unwrap(), zones.get(other).unwrap()];
        group.bench_function(format!("clashes-of-50/{name}"), |b| {
            b.iter(|| {
                let schedules: Vec<Schedule> =
                    (0..50).map(|rule| Schedule::parse(&format!("{rule} {} * * 1-5", rule % 24)).unwrap()).collect();
                let runs = schedules.iter().enumerate();
                let runs: Vec<Prospect<'_>> =
                    runs.map(|(index, schedule)| Prospect::new(schedule, &pair[index % 2], start())).collect();
                let (mut clashes, mut steps) = (0, 2_000);
                for (index, a) in runs.iter().enumerate() {
                    for b in &runs[index + 1..] {
                        clashes += usize::from(first_overlap(Timestamp::MAX, a, b, &mut steps).is_some());
                    }
                }
                clashes
            });
        });
    }
    group.bench_function("zone/found", |b| b.iter(|| zone_name::find(&zones, black_box("Asia/Shanghai"))));
    group.bench_function("zone/near-miss", |b| b.iter(|| zone_name::find(&zones, black_box("Asia/Shanghia"))));
    group.bench_function("database/first-zone", |b| b.iter(|| ZoneDatabase::open().get("Asia/Shanghai")));
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600))
        .sample_size(20);
    targets = parse, next, floors, rules
}
criterion_main!(benches);
