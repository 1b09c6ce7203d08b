//! Asks the user of a terminal for an agreement. Reads standard input.

use std::io::{BufRead, IsTerminal as _, Write};

/// Asks `question`, and returns whether the user of the terminal agrees. Otherwise prints `declined`, or that there is no
/// terminal to ask on.
pub(super) fn is_agreed(out: &mut impl Write, question: &str, declined: &str) -> bool {
    // A reader that exits early has seen enough.
    let _ = writeln!(out, "{question} Only `yes` is an agreement:");
    match agreed() {
        Ok(true) => true,
        Ok(false) => {
            let _ = writeln!(out, "{declined}");
            false
        }
        Err(why) => {
            let _ = writeln!(out, "{why}");
            false
        }
    }
}

/// Whether the user of the terminal agrees; `Err`: no terminal to ask on.
fn agreed() -> Result<bool, &'static str> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err("Nothing was done: there is no terminal to ask. --yes says that it is wanted.");
    }
    Ok(answer(&mut input.lock()))
}

fn answer(input: &mut impl BufRead) -> bool {
    let mut line = String::new();
    input.read_line(&mut line).is_ok() && line.trim() == "yes"
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn only_yes_is_an_agreement() {
        assert!(answer(&mut "yes\n".as_bytes()));
        for no in ["", "\n", "no\n", "y\n", "YES please\n"] {
            assert!(!answer(&mut no.as_bytes()), "{no:?}");
        }
    }
}
