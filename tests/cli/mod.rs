//! The command line as a user sees it: the real binary, its output as snapshots.

pub mod command;
mod completions;
mod documents;
mod examples;
mod files;
mod findings;
mod help;
pub mod output;
mod plan;
mod plan_centralized;
mod strangers;
mod trial;
