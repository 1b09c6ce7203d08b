//! The pure core: rules, schedules and plans. No kube, no tokio, no clock, no randomness, no I/O.

pub mod api_version;
pub mod backoff;
pub mod capacity;
pub mod cron;
pub mod defaults;
pub mod drift_backoff;
pub mod excerpt;
pub mod few;
pub mod finding;
pub mod fleet;
pub mod health;
pub mod hpa;
pub mod json;
pub mod kinds;
pub mod lease;
pub mod mirror;
pub mod names;
pub mod path;
pub mod plan;
pub mod quantity;
pub mod related_objects;
pub mod showing;
pub mod split;
pub mod subject;
pub mod suggestion;
pub mod validation;
