//! libFuzzer around the property of the same name. Run with `cargo +nightly fuzz run cron_parser`.
#![no_main]

#[path = "../properties/cron_parser.rs"]
mod cron_parser;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cron_parser::check(data));
