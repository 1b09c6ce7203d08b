//! Allocations of one review, from the bytes of the request to the bytes of the answer.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    unreachable_pub
)]

mod corpus;

use std::hint::black_box;
use std::sync::Arc;

use fhpa::admission::{envelope, response};
use fhpa::decision::related_objects::NoRelatedObjects;
use fhpa::decision::validation::Settings;
use fhpa::run::process::{ReviewDependencies, judge};
use fhpa::runtime::clock;
use fhpa::runtime::zones::ZoneDatabase;

fn main() {
    let zones = Arc::new(ZoneDatabase::open());
    let judge = judge(Settings::default())(ReviewDependencies {
        related_objects: Arc::new(NoRelatedObjects),
        zones,
        preview: None,
        frozen: None,
        idle: None,
    });
    let now = clock::wall();
    println!("{:<28} {:>7}  {:>8} {:>8}  {:>8} {:>8}", "", "body", "envelope", "", "whole", "");
    println!("{:<28} {:>7}  {:>8} {:>8}  {:>8} {:>8}", "", "bytes", "allocs", "bytes", "allocs", "bytes");
    for case in corpus::cases() {
        let whole = || {
            let request = envelope::decode(case.endpoint, &case.body).unwrap();
            let verdict = judge(case.endpoint, &request, now);
            black_box(response::write(case.endpoint, &request.uid, &request.name, &verdict));
        };
        // What is made once (zones, tables) is not counted.
        whole();
        let decode = allocation_counter::measure(|| {
            black_box(envelope::decode(case.endpoint, &case.body).unwrap());
        });
        let all = allocation_counter::measure(whole);
        println!(
            "{:<28} {:>7}  {:>8} {:>8}  {:>8} {:>8}",
            case.name,
            case.body.len(),
            decode.count_total,
            decode.bytes_total,
            all.count_total,
            all.bytes_total
        );
    }
}
