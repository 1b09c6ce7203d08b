//! The playground.

mod client;
mod command;
mod fleet;
mod machinery;
