//! FederatedHPAs in Distributed mode: every member cluster gets an HPA with its share (docs/design.md#distributed-mode,
//! docs/design.md#on-the-wire). A reconcile observes the cache, calls `decision::plan`, writes the status and applies
//! the steps.

pub mod autoscaling_v1;
pub mod cache;
pub mod centralized;
mod handing_back;
pub mod names;
pub mod observe;
mod reconcile;
pub mod status;
mod sweep;
mod unserved;
pub mod wholeness;
pub mod worker;
pub mod write;
