//! `fhpa simulate`: its engine by laws, its command and its examples as snapshots.

mod command;
mod examples;
mod fleet;
mod laws;
