//! FederatedHPAs in Distributed mode: every member cluster gets an HPA with its share (docs/design.md#distributed-mode,
//! docs/design.md#on-the-wire). A reconcile observes what watches brought, has `decision::plan` decide, writes the status
//! and makes the steps.

pub mod apply;
pub mod autoscaling_v1;
pub mod cache;
pub mod capacity;
pub mod conditions;
pub mod confirmation;
pub mod failover;
pub mod health;
pub mod inquiry;
pub mod leader_resync;
pub mod live_state;
pub mod manifest;
pub mod members;
pub mod names;
pub mod observe;
pub mod preflight;
mod reconcile;
pub mod release;
pub mod report;
pub mod shown;
pub mod status;
pub mod status_throttle;
mod sweep;
pub mod takeover;
mod telling;
pub mod whole;
pub mod worker;
pub mod write_id;
pub mod writer;
