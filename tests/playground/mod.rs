//! The playground.

mod client;
