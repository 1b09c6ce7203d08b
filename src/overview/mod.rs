//! What users want to see of a running system: objects of a control plane -> one model, for every way to show it
//! (docs/cli.md#a-running-system). `gather` talks to the API server and only reads; all else is without I/O.

pub mod advice;
mod clusters;
mod conditions;
mod cron;
mod detail;
pub mod gather;
mod metric;
pub mod model;
mod summary;

pub use cron::Clock;
pub use detail::detail;
pub use summary::overview;
