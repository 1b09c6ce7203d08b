//! An in-memory Kubernetes API server.

mod builtins;
pub mod field;
pub mod fields;
pub mod schema;
pub mod strategic;
