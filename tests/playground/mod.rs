//! The playground.

mod client;
mod conformance;
mod kubectl;
mod machinery;
