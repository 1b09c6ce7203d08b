//! CronFederatedHPA: watch (`entry`, `book`) -> `observe` -> `execute` -> `status`, one `turn` per object, handed out by
//! the `engine` when the `wheel` says so.

pub mod book;
pub mod engine;
pub mod entry;
pub mod execute;
pub mod observe;
pub mod report;
pub mod status;
pub mod turn;
pub mod wheel;
