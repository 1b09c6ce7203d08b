//! Building blocks of tests with real programs: processes that end with the test, ports, certificates. I/O. Both test
//! binaries use parts of it.
#![allow(dead_code)]

pub mod absent;
pub mod authority;
pub mod kinds;
pub mod proc;
pub mod program;
