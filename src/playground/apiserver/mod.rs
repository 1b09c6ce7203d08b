//! An in-memory Kubernetes API server.

pub mod admission;
mod builtins;
pub mod field;
pub mod fields;
pub mod openapi;
pub mod schema;
pub mod strategic;
