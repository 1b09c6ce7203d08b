//! What is particular to a kind: its type, defaults, checks and conversions.

pub mod conversion;
pub mod defaults;
pub mod strategy;
pub mod typed;
pub mod validation;
