//! CronFederatedHPA: watch (`intake`, `cache`) -> `observe` -> `execute` -> `status`, one `reconcile` per
//! object.

pub mod cache;
pub mod crd_fields;
pub mod entry;
pub mod execute;
pub mod intake;
pub mod observe;
pub mod read_before_run;
pub mod reconcile;
pub mod report;
pub mod restore;
pub mod shared_target;
pub mod status;
