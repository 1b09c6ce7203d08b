//! All integration tests, in one binary.
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
#[cfg(feature = "playground")]
mod bed;
mod cli;
mod cluster;
mod crds;
mod cron;
mod hpa;
#[cfg(feature = "playground")]
mod leader;
#[cfg(feature = "playground")]
mod playground;
mod random;
mod rules;
mod structure;
mod webhook;
