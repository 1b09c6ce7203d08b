//! Cron schedules: syntax, next and previous runs, intervals (docs/design.md#schedules, docs/design.md#cron). Pure.
//!
//! `text -> parser -> Schedule`, then `Schedule + zone + instant -> run`: the `cron` crate steps on wall-clock time
//! ([`Schedule`]'s walls) and `run` maps walls to instants by the clock-change rules (docs/design.md#cron).

mod calendar;
mod clash;
mod field;
mod interval;
pub mod ledger;
mod never;
mod oddity;
mod parser;
mod refusal;
pub mod room;
mod run;
mod schedule;
pub mod settle;
pub mod supersede;
mod wall;
pub mod zone_name;
pub mod zones;

pub use clash::{Outlook, first_clash, first_clash_before};
pub use field::Field;
pub use oddity::Oddity;
pub use refusal::ScheduleError;
pub use schedule::Schedule;
