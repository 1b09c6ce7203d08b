//! The playground.

mod client;
mod fleet;
