//! What tests with real programs are built of: processes that end with the test, ports, certificates. I/O.
//! Each of the two binaries of tests uses a part of it.
#![allow(dead_code)]

pub mod absent;
pub mod authority;
pub mod program;
