//! How many replicas fit into clusters.

mod grpc;
mod hearing;
mod laws;
mod server;
