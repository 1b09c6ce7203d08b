//! The playground.

mod admission;
mod client;
mod command;
mod conformance;
mod deleted;
mod examples;
mod fleet;
mod kubectl;
mod machinery;
