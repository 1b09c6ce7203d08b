//! An embedded control plane, for evaluation and tests only: Karmada's controllers and member clusters on API servers in
//! memory, in real or virtual time. The production image does not contain it.

// Dependencies of tests only are not checked.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod clock;
pub mod fleet;
pub mod json;
pub mod karmada;
pub mod member;
pub mod objects;
pub mod pass;
