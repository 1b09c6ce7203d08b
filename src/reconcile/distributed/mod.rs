//! FederatedHPAs in Distributed mode: every member cluster gets an HPA with its share (docs/design.md#distributed-mode,
//! docs/design.md#on-the-wire). A turn observes what watches brought, has `decision::plan` decide, writes the status
//! and makes the steps.

pub mod apply;
pub mod capacity;
pub mod confirmation;
pub mod failover;
pub mod fresh;
pub mod health;
pub mod inquiry;
pub mod manifest;
pub mod members;
pub mod names;
pub mod observe;
pub mod older;
pub mod pace;
pub mod preflight;
pub mod release;
pub mod report;
pub mod says;
pub mod seen;
pub mod shown;
pub mod sight;
pub mod status;
mod sweep;
pub mod takeover;
mod telling;
pub mod token;
mod turn;
pub mod whole;
pub mod worker;
pub mod writer;
