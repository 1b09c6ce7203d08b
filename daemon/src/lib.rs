//! What runs beside a control plane: the admission webhook and the controller of fhpa.
//!
//! `convert` knows the wire types of `api` and the pure core, `decision`; `admission` and `runtime` are around them;
//! `controller` and `estimator` are the building blocks of `reconcile`; `install` manages their objects in the control
//! plane; `run` combines them into processes.

// Dependencies of tests only are not checked.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod admission;
pub mod controller;
pub mod convert;
pub mod estimator;
pub mod install;
pub mod reconcile;
pub mod run;
pub mod runtime;

pub use api;
pub use decision;
