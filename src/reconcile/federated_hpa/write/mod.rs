//! What a reconcile writes: the workload's binding while it is taken over and let go, the HPAs of members, and replicas. Talks to
//! the API server.

pub mod apply;
pub mod leader_resync;
pub mod manifest;
pub mod preflight;
pub mod release;
pub mod takeover;
pub mod write_id;
pub mod writer;
