//! An in-memory Kubernetes API server.

mod builtins;
pub mod fields;
pub mod strategic;
