//! Writes of a reconcile: the workload's binding during takeover and release, the HPAs of members, and replicas. Talks
//! to the API server.

pub mod apply;
pub mod binding_replicas;
pub mod leader_resync;
mod member_scales;
pub mod release;
mod releases;
pub mod resend;
pub mod takeover;
mod unlabel;
pub mod work;
pub mod writer;
