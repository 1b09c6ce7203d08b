//! What users want to see of a running system: objects of a control plane -> one model, for every way to show it
//! (docs/cli.md#a-running-system). `gather` talks to the API server and only reads; all else is without I/O.

pub mod advice;
pub mod age;
mod cluster;
mod clusters;
mod conditions;
mod cron;
mod detail;
pub mod drawing;
pub mod gather;
mod list;
mod metric;
pub mod model;
mod summary;

pub use cluster::{cluster, cluster_use, eviction};
pub use clusters::views as cluster_views;
pub use cron::{Clock, cron_detail, sets, summary as cron_summary};
pub use detail::{Related, ShownEvent, detail, detail_of};
pub use list::overview;
pub use summary::summary;
