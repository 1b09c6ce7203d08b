//! fhpa: horizontal pod autoscaling over the member clusters of a Karmada control plane.
//!
//! The crates below it: `decision` (the pure core), `api` (wire types), `simulation` (the core in virtual time) and
//! `fhpa-daemon` (webhook and controller). Here are the tools around them: `overview` and `dashboard` show what runs,
//! `recovery` corrects a restored control plane, `playground` is an embedded one; `cli` and `main` start these and the
//! daemon.

// Dependencies of tests only are not checked.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod cli;
pub mod dashboard;
pub mod overview;
#[cfg(feature = "playground")]
pub mod playground;
pub mod recovery;

pub use api;
pub use decision;
pub use fhpa_daemon::{admission, controller, convert, estimator, install, reconcile, run, runtime};
pub use simulation;
