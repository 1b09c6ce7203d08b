//! The pure core: rules, schedules and plans. No kube, no tokio, no clock, no randomness, no I/O.

pub mod amount;
pub mod cron;
pub mod finding;
pub mod hpa;
pub mod neighbours;
pub mod path;
