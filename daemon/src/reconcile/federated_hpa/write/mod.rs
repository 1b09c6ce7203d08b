//! Writes of a reconcile: the workload's binding during takeover and release, the HPAs of members, and replicas. Talks
//! to the API server.

pub mod apply;
pub mod counted;
pub mod leader_resync;
pub mod release;
mod releases;
mod requested;
pub mod rewrite;
pub mod takeover;
mod unlabel;
pub mod work;
pub mod writer;
