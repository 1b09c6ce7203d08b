//! The processes, put together of rooms: what is bound, started, watched, drained. Arguments, signals, exit codes.

pub mod process;
pub mod webhook;
