//! How many replicas fit into clusters.

mod estimator_cache;
mod grpc;
mod laws;
mod server;
