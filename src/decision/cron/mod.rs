//! Cron schedules: syntax, next and previous runs, intervals (design: Admission, Cron). Pure.

pub mod zones;
