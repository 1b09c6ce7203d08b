//! libFuzzer around the property of the same name. Run with `cargo +nightly fuzz run zone_matcher`.
#![no_main]

#[path = "../properties/zone_matcher.rs"]
mod zone_matcher;

libfuzzer_sys::fuzz_target!(|data: &[u8]| zone_matcher::check(data));
