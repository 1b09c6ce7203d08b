//! What tests with real programs are built of: processes that end with the test, ports, certificates. I/O.

pub mod authority;
pub mod program;
