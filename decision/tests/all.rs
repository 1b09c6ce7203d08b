//! Tests of the core by what it exports, in one binary.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::pedantic,
    clippy::string_slice
)]

mod assignment;
#[allow(dead_code)]
#[path = "../../tests/random.rs"]
mod random;
