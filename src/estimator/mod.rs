//! A client of karmada-scheduler-estimator: how many replicas a cluster has room for. Does I/O in `grpc`.

pub mod grpc;
pub mod messages;
pub mod question;
