//! libFuzzer around the property of the same name. Run with `cargo +nightly fuzz run review_decoder`.
#![no_main]

#[path = "../properties/review_decoder.rs"]
mod review_decoder;

libfuzzer_sys::fuzz_target!(|data: &[u8]| review_decoder::check(data));
