//! The shell: sockets, files, signals, clocks, metrics, TLS.

pub mod webhook;
