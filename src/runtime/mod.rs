//! The shell: sockets, files, signals, clocks, metrics, TLS.

pub mod clock;
pub mod leader;
pub mod webhook;
pub mod zones;
