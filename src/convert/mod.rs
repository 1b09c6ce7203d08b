//! Wire <-> core, one file per kind: the only folder that knows both. No I/O.

pub mod hpa;
