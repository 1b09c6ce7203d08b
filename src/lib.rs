//! fhpa: horizontal pod autoscaling over the member clusters of a Karmada control plane.
//!
//! The modules and the arrows between them: `api` (wire) and `decision` (pure core) never import each other
//! (`limits`, bare numbers, is known to both);
//! `convert` knows both; `simulation` lets the core act in virtual time; `admission`, `reconcile` and `runtime` sit around
//! them; `install` puts what they need into the control plane; `run` makes processes of them; `cli` and
//! `main` start these.

// Dependencies of tests alone are no matter of this.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod admission;
pub mod api;
pub mod cli;
pub mod convert;
pub mod decision;
pub mod install;
pub mod limits;
#[cfg(feature = "playground")]
pub mod playground;
pub mod reconcile;
pub mod run;
pub mod runtime;
pub mod simulation;
