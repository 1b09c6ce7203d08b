//! The processes, built from the other modules: bind, start, watch, drain. Arguments, signals, exit codes.

mod args;
pub mod both;
pub mod controller;
pub mod estimators;
pub mod forecast;
pub mod hand_back;
pub mod process;
pub mod review_log;
pub mod review_metrics;
mod roles;
pub mod webhook;

pub use args::{CentralizedArgs, ControlPlaneArgs, LeaseArgs, ToleranceArgs, duration};

pub use crate::estimator::grpc::Address as EstimatorAddress;
