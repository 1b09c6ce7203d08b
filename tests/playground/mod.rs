//! The playground.

mod client;
mod machinery;
