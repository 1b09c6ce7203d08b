//! Writes of a reconcile: the workload's binding during takeover and release, the HPAs of members, and replicas. Talks
//! to the API server.

mod adopt;
pub mod apply;
pub mod leader_resync;
pub mod manifest;
pub mod preflight;
pub mod release;
pub mod takeover;
pub mod write_id;
pub mod writer;
