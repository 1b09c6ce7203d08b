//! fhpa: horizontal pod autoscaling over the member clusters of a Karmada control plane.
//!
//! The crates below it: `decision` (the pure core), `api` (wire types), `simulation` (the core in virtual time),
//! `fhpa-daemon` (webhook and controller) and `playground` (an embedded control plane). Here are the tools around them:
//! `overview` and `dashboard` show what runs, `recovery` corrects a restored control plane; `cli` and `main` start
//! these and the daemon.

// Dependencies of tests only are not checked.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod cli;
pub mod dashboard;
pub mod overview;
pub mod recovery;

pub use api;
pub use decision;
pub use fhpa_daemon::{admission, controller, convert, estimator, install, reconcile, run, runtime};
#[cfg(feature = "playground")]
pub use playground;
pub use simulation;
