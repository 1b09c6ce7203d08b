//! An embedded control plane, for evaluation and tests only. No module of the production image uses it.

pub mod clock;
pub mod command;
pub mod fleet;
pub mod json;
pub mod karmada;
pub mod member;

pub mod objects;
pub mod pass;
