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
// Without the playground some helpers have no user.
#![cfg_attr(not(feature = "playground"), allow(dead_code))]

#[cfg(feature = "playground")]
mod bed;
mod capacity;
mod certificates;
mod chart;
mod cli;
mod cluster;
#[cfg(feature = "playground")]
mod controller;
mod crds;
mod cron;
#[cfg(feature = "playground")]
mod dashboard;
#[cfg(feature = "playground")]
mod forecast;
#[cfg(feature = "playground")]
mod histories;
mod hpa;
#[cfg(feature = "playground")]
mod install;
#[cfg(feature = "playground")]
mod laws;
#[cfg(feature = "playground")]
mod leader;
#[cfg(feature = "playground")]
mod playground;
mod random;
#[cfg(feature = "playground")]
mod reconcile;
mod rig;
#[cfg(feature = "playground")]
mod rights;
mod rules;
mod simulation;
#[cfg(feature = "playground")]
mod status;
#[cfg(feature = "playground")]
mod stories;
#[cfg(feature = "playground")]
mod stream;
mod structure;
mod webhook;
