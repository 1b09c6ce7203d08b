//! The controller's process and its client.

mod authority;
mod client;
pub mod process;
mod real;
mod takeover;
mod uninstall;
