//! How many replicas clusters have room for.

mod grpc;
mod hearing;
mod laws;
mod server;
