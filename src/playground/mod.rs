//! An embedded control plane, for trying and for tests only. No room that ships in production knows it.

pub mod clock;
pub mod command;
pub mod fleet;
pub mod json;
pub mod karmada;
pub mod member;

pub mod objects;
pub mod pass;
