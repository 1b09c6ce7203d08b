//! `fhpa simulate`: its engine by laws, its command and its examples as snapshots.

mod centralized;
mod command;
mod examples;
mod fleet;
mod fleets;
mod laws;
mod workloads;
