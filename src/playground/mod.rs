//! An embedded control plane, for trying and for tests only. No room that ships in production knows it.

pub mod apiserver;
pub mod karmada;
