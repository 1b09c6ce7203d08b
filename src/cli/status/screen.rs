//! Where the text goes: a terminal that is redrawn, or a stream that grows. Writes to standard output.

use std::io::{self, IsTerminal as _};

use jiff::Timestamp;

use super::super::output::put;
use super::super::terminal::{Color, cut, size, wrapped};

/// Moves to the first line and removes all below.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// What a text is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The time that ages count from.
    pub(super) now: Timestamp,
    /// Whether each cluster is shown.
    pub(super) all_clusters: bool,
    /// Whether lines name their namespace.
    pub(super) all_namespaces: bool,
}

/// Standard output.
pub(super) struct Screen {
    color: Color,
    watch: bool,
    /// Whether it is a terminal, and the text is for people.
    terminal: bool,
    drawn: bool,
}

impl Screen {
    /// `table`: the text is for people, and may be made to fit.
    pub(super) fn new(color: Color, watch: bool, table: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
        Self { color, watch, terminal: table && std::io::stdout().is_terminal() && !dumb, drawn: false }
    }

    /// Shows `text`; false when the reader is gone.
    pub(super) fn show(&mut self, text: &str) -> io::Result<bool> {
        let redraw = self.terminal && self.watch;
        let before = match (redraw, self.drawn) {
            (true, _) => CLEAR,
            (false, true) => "\n",
            (false, false) => "",
        };
        self.drawn = true;
        let fitted = size().filter(|_| self.terminal).map(|(columns, lines)| {
            // The cursor needs the last line.
            let lines = if redraw { usize::from(lines).saturating_sub(1) } else { usize::MAX };
            fit(text, columns.into(), lines)
        });
        // A stream that drops colours would drop this, too.
        Ok(put(&mut io::stdout(), before)? && put(&mut self.color.stdout(), fitted.as_deref().unwrap_or(text))?)
    }
}

/// The part of `text` that fits. Rows of a table are cut; what is indented is prose, and is wrapped.
fn fit(text: &str, columns: usize, lines: usize) -> String {
    let fitted =
        text.lines().map(|line| if line.starts_with(' ') { wrapped(line, columns) } else { cut(line, columns) });
    let fitted = fitted.collect::<Vec<_>>().join("\n");
    let all = fitted.lines().count();
    if all <= lines {
        return fitted + "\n";
    }
    // The last line says what is missing.
    let kept: Vec<&str> = fitted.lines().take(lines.saturating_sub(1)).collect();
    let more = all.saturating_sub(kept.len());
    format!("{}\n... and {more} more lines: make the window higher\n", kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_made_to_fit_and_says_what_is_missing() {
        assert_eq!(fit("abcdef\ngh\n", 4, 9), "abc…\ngh\n");
        assert_eq!(fit("a\nb\nc\nd\n", 80, 3), "a\nb\n... and 2 more lines: make the window higher\n");
        assert_eq!(fit("  one two three\n", 9, 9), "  one two\n    three\n");
    }
}
