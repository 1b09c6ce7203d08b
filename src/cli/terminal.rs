//! Text for a terminal: colours, columns, no control characters. Writes to standard output.

use std::io::Stdout;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

pub(super) const BOLD: &str = "\x1b[1m";
pub(super) const GREEN: &str = "\x1b[1;32m";
pub(super) const RED: &str = "\x1b[1;31m";
pub(super) const YELLOW: &str = "\x1b[1;33m";
/// Ends each of the other styles.
pub(super) const PLAIN: &str = "\x1b[0m";

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

/// A line without characters that command a terminal or cannot be seen: names and values come from anywhere.
pub(super) fn printable(text: &str) -> String {
    escaped(text, |character| character.is_control() || is_hidden(character))
}

/// Says on standard error why a command ended. Messages have lines, and names from anywhere.
pub(super) fn complain(command: &str, problem: &impl std::fmt::Display) {
    let problem = escaped(&problem.to_string(), |character| {
        character.is_control() && !matches!(character, '\n' | '\t') || is_hidden(character)
    });
    anstream::eprintln!("{} {command}: {problem}", super::program::name());
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_escaped(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Characters without a shape, and those that turn the direction of the text around them.
const fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Lines with columns as wide as their content.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| visible(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let mut out = String::new();
    for line in lines {
        let pad = |(cell, width): (&String, &usize)| cell.clone() + &" ".repeat(width.saturating_sub(visible(cell)));
        let padded: Vec<String> = line.iter().zip(&widths).map(pad).collect();
        out.push_str(padded.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// The columns and lines of the terminal; `None` where standard output is none.
pub(super) fn size() -> Option<(u16, u16)> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(columns, lines)| (columns.0, lines.0))
}

/// Characters that take a column: all but those of styles.
fn visible(text: &str) -> usize {
    characters(text).filter(|(_, styles)| !styles).count()
}

/// A line that is not wider than `columns`.
pub(super) fn cut(line: &str, columns: usize) -> String {
    if visible(line) <= columns {
        return line.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut out = String::new();
    for (character, styles) in characters(line) {
        if !styles && room == 0 {
            break;
        }
        room = room.saturating_sub(usize::from(!styles));
        out.push(character);
    }
    if line.contains(PLAIN) {
        out.push_str(PLAIN);
    }
    out.push('…');
    out
}

/// A line as several that are not wider than `columns`, as far as words allow; all but the first are indented by two
/// more.
pub(super) fn wrapped(line: &str, columns: usize) -> String {
    let indent = line.chars().take_while(|character| *character == ' ').count().saturating_add(2);
    let (mut out, mut width) = (String::new(), 0_usize);
    for word in line.split_inclusive(' ') {
        if width > indent && width.saturating_add(visible(word.trim_end())) > columns {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            width = indent;
        }
        out.push_str(word);
        width = width.saturating_add(visible(word));
    }
    out
}

/// Each character, and whether it belongs to a style.
fn characters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut styles = false;
    text.chars().map(move |character| {
        let starts = character == '\x1b';
        let part = styles || starts;
        styles = starts || styles && character != 'm';
        (character, part)
    })
}

#[cfg(test)]
mod tests {
    use super::{GREEN, PLAIN, aligned, cut, printable, wrapped};

    #[test]
    fn a_name_that_would_command_the_terminal_is_text() {
        assert_eq!(printable("a\u{1b}[31m\u{7}\nb"), r"a\u{1b}[31m\u{7}\u{a}b");
        assert_eq!(printable("nimda\u{202e}\u{200b}ä 日本 🦀"), r"nimda\u{202e}\u{200b}ä 日本 🦀");
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them_and_lines_end_with_text() {
        let lines = [vec!["a", "b", ""], vec!["ccc", "d"], vec!["", "ä", "e"]];
        let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect());
        assert_eq!(aligned(&lines), "a    b\nccc  d\n     ä  e\n");
    }

    #[test]
    fn styles_take_no_column() {
        let green = |text: &str| format!("{GREEN}{text}{PLAIN}");
        let lines = [vec![green("a"), "b".to_owned()], vec!["ccc".to_owned(), "d".to_owned()]];
        assert_eq!(aligned(&lines), format!("{}    b\nccc  d\n", green("a")));
        assert_eq!(cut(&green("abcd"), 4), green("abcd"));
        assert_eq!(wrapped(&format!("  {} b c d", green("a")), 7), format!("  {} b c\n    d", green("a")));
        assert_eq!(wrapped("  unbreakable", 4), "  unbreakable");
        assert_eq!(cut(&format!("{} x", green("abcd")), 4), format!("{GREEN}abc{PLAIN}…"));
    }
}
