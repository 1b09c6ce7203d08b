//! CronFederatedHPA: watch (`intake`, `cache`) -> `observe` -> `execute` -> `status`, one `reconcile` per
//! object.

pub mod cache;
pub mod confirm;
pub mod entry;
pub mod execute;
pub mod intake;
pub mod observe;
pub mod reconcile;
pub mod report;
pub mod restore;
pub mod shared_target;
pub mod status;
pub mod whole;
