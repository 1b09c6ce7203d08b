//! A client of karmada-scheduler-estimator: how many replicas fit into a cluster. I/O in `grpc`.

pub mod grpc;
pub mod messages;
pub mod query;
