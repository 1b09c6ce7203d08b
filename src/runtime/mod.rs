//! The shell: sockets, files, signals, clocks, metrics, TLS.

pub mod clock;
pub mod webhook;
