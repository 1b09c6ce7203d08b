//! fhpa: horizontal pod autoscaling over the member clusters of a Karmada control plane.
//!
//! The modules and the dependencies between them: `decision` (pure core) and `api` (wire) are crates of their own, of
//! which `api` takes only limits and how null is read from `decision`; `convert` knows both; `simulation`, a crate, too,
//! runs the core in virtual time; `admission` and `runtime` are around them; `controller` and `estimator` are the
//! building blocks of `reconcile`; `install` manages their objects in the control plane; `overview` and `dashboard` show
//! what runs; `run` combines them into processes; `cli` and `main` start these.

// Dependencies of tests only are not checked.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod admission;
pub mod cli;
pub mod controller;
pub mod convert;
pub mod dashboard;
pub mod estimator;
pub mod install;
pub mod overview;
#[cfg(feature = "playground")]
pub mod playground;
pub mod reconcile;
pub mod run;
pub mod runtime;

pub use api;
pub use decision;
pub use simulation;
