//! FederatedHPAs. In Distributed mode every member cluster gets an HPA with its share (docs/design.md#distributed-mode,
//! docs/design.md#on-the-wire): a reconcile observes the cache, calls `decision::plan`, writes the status and applies
//! the steps. In Centralized mode one computation scales the workload (docs/centralized.md#what-it-does).
//!
//! In order of reading: `cache`, `observe`, `manifest`, `ownership`, `write` and `status`; `worker`, which has what all reconciles
//! share; `reconcile` with its parts (`progress`, `preflight`, `adopt`, `publish`, `orphans`, ...); `scaling`, the same for
//! Centralized mode; `engine`, which runs them; and `drill`, `drills` and
//! `coverage`, which ask what a loss would mean.

mod adopt;
pub mod autoscaling_v1;
pub mod cache;
pub mod centralized;
pub mod coverage;
pub mod crd_fields;
pub mod drill;
pub mod drills;
mod engine;
mod evictions;
mod execute;
mod facts;
mod hold_again;
pub mod manifest;
pub mod names;
mod not_served;
pub mod observe;
mod orphans;
pub mod ownership;
mod pauses;
pub mod preflight;
mod progress;
mod publish;
mod reconcile;
mod release;
mod scaling;
pub mod status;
pub mod worker;
pub mod write;
pub mod write_id;
