//! The controller's process and its client.

mod client;
mod process;
mod real;
mod takeover;
