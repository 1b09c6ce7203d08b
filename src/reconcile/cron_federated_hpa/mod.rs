//! CronFederatedHPA: watch (`entry`, `cache`) -> `observe` -> `execute` -> `status`, one `reconcile` per object.

pub mod cache;
pub mod entry;
pub mod execute;
pub mod lanes;
pub mod observe;
pub mod reconcile;
pub mod report;
pub mod status;
pub mod whole;
