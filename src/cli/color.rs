//! Colours: on a terminal only, unless set otherwise. Writes to standard output.

use std::io::Stdout;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

/// When to print in colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Standard output, without colours where they are disabled.
    pub(super) fn stdout(self) -> AutoStream<Stdout> {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        AutoStream::new(std::io::stdout(), choice)
    }
}
