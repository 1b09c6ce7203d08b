//! A reason of a condition -> what to do, from the page that users read about it. No I/O.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The page. Its rows have the form `| reason | where | what it means | what to do |`.
const PAGE: &str = include_str!("../../charts/fhpa/docs/troubleshoot.md");
/// How the words of a row begin that asks for nothing.
const NOTHING: &str = "nothing";

/// What to do about a condition with this reason; `None`: the page has no such reason, or there is nothing to do.
#[must_use]
pub fn to_do(reason: &str) -> Option<&'static str> {
    rows().get(reason).map(String::as_str).filter(|words| *words != NOTHING)
}

/// Whether the page says that a condition with this reason asks for nothing, at least for the time being.
#[must_use]
pub fn is_harmless(reason: &str) -> bool {
    rows().get(reason).is_none_or(|words| words.starts_with(NOTHING))
}

/// Reason -> what to do. Of two rows with one reason the first counts.
fn rows() -> &'static HashMap<&'static str, String> {
    static ROWS: OnceLock<HashMap<&'static str, String>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = HashMap::new();
        for line in PAGE.lines() {
            if let Some((reason, words)) = row(line) {
                rows.entry(reason).or_insert(words);
            }
        }
        rows
    })
}

/// The reason and the last cell of a row about a reason.
fn row(line: &'static str) -> Option<(&'static str, String)> {
    let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ");
    let reason = cells.next()?.strip_suffix('`')?;
    let is_reason = reason.starts_with(|first: char| first.is_ascii_uppercase()) && !reason.contains(' ');
    let words = cells.nth(2)?;
    (is_reason && cells.next().is_none()).then(|| (reason, plain(words)))
}

/// Text without marks: `[a](b)` becomes `a`.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(name, tail)| Some((name, tail.split_once(')')?.1)));
        out.push_str(before);
        let Some((name, tail)) = link else {
            out.push('[');
            rest = after;
            continue;
        };
        out.push_str(name);
        rest = tail;
    }
    out.push_str(rest);
    out.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_to_do_without_its_marks() {
        assert_eq!(to_do("BindingNotFound"), Some("create a PropagationPolicy that does"));
        assert_eq!(to_do("UpstreamControllersRunning"), Some("switch them off: install.md"));
        assert_eq!((to_do("Assigned"), to_do("NoSuchReason")), (None, None));
        assert!(to_do("KindNotAllowed").is_some_and(|words| words.starts_with("fhpa install --scale-kind")));
    }

    #[test]
    fn a_reason_that_asks_for_nothing_is_harmless() {
        assert!(is_harmless("MemberHPAsReady") && is_harmless("WaitingForMembers") && is_harmless("Unheard"));
        assert!(!is_harmless("CapacityUnknown") && !is_harmless("PartialMetrics"));
    }

    #[test]
    fn each_row_is_understood_without_the_one_above() {
        assert!(rows().len() > 90, "only {} rows were found", rows().len());
        let leaning: Vec<_> = rows().iter().filter(|(_, words)| words.starts_with("as ")).collect();
        assert!(leaning.is_empty(), "{leaning:?}");
    }

    #[test]
    fn links_become_their_words_and_a_lone_bracket_stays() {
        assert_eq!(plain("see `a` in [b](c.md#d), [e"), "see a in b, [e");
    }
}
