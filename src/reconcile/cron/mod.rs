//! CronFederatedHPA: watch (`entry`, `book`) -> `observe` -> `execute` -> `status`, one `turn` per object.

pub mod book;
pub mod entry;
pub mod execute;
pub mod lanes;
pub mod observe;
pub mod report;
pub mod status;
pub mod turn;
pub mod whole;
