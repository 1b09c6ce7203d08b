//! The playground.

mod client;
mod fleet;
mod machinery;
