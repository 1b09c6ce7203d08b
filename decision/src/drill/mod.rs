//! What would not run if clusters were lost: the failure domains of a fleet, the load before the loss, and what the
//! plans of one object leave uncovered. Pure.

mod domain;
mod load;
mod loss;
mod rounds;

pub use domain::{DomainKind, FailureDomain, all_domains};
pub use load::{AtLoad, LoadFactor};
pub use loss::{Loss, ObjectLoss, Shortage};
pub use rounds::{ROUNDS, Round};

pub use crate::limits::COVERED_LOSSES;
