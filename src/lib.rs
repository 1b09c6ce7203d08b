//! fhpa: horizontal pod autoscaling over the member clusters of a Karmada control plane.
//!
//! The modules and the arrows between them: `api` (wire) and `decision` (pure core) never import each other;
//! `convert` knows both; `admission` and `runtime` sit around them; `cli` and `main` put the pieces together.

pub mod admission;
pub mod api;
pub mod cli;
pub mod convert;
pub mod decision;
#[cfg(feature = "playground")]
pub mod playground;
pub mod runtime;
