//! Cron schedules: syntax, next and previous runs, intervals (docs/cron.md#schedules). Pure.
//!
//! `text -> parser -> Schedule`, then `Schedule + zone + instant -> run`: the `cron` crate steps on wall-clock time
//! ([`Schedule`]'s walls) and `run` maps walls to instants by the clock-change rules (docs/cron.md#clock-changes).

pub mod doubts;
mod dst_effect;
mod field;
mod fixed_offset;
mod interval;
pub mod ledger;
mod local_time;
mod overlap;
mod parse_error;
mod parser;
mod run;
mod schedule;
mod sets;
pub mod settle;
pub mod size;
pub mod supersede;
mod syntax_help;
mod unsatisfiable;
pub mod upcoming;
pub mod zone_name;
pub mod zones;

pub use dst_effect::DstEffect;
pub use field::Field;
pub use fixed_offset::fixed_offset;
pub use overlap::{Prospect, first_overlap};
pub use parse_error::ScheduleError;
pub use schedule::Schedule;
