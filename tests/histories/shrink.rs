//! A failing history -> a shorter one that fails by the same law. No I/O of its own.

use std::collections::BTreeMap;

use super::operation::{History, Step};

/// Plays at most.
const MOST: usize = 60;

/// Which law, or which sentence about rest: the rest of what is said differs with each moment.
fn law(why: &str) -> &str {
    let first = why.lines().next().unwrap_or_default();
    match first.split_once(" law ") {
        Some((_, rest)) => rest.split(" is broken").next().unwrap_or_default(),
        None => first.split(':').next().unwrap_or_default().trim_end_matches(char::is_numeric),
    }
}

/// The shortest that was found, and what it says.
pub fn shrink(history: &History, why: &str, play: &dyn Fn(&History) -> Option<String>) -> (History, String) {
    let (mut best, mut said) = (history.clone(), why.to_owned());
    let mut left = MOST;
    let mut fails = |history: &History, said: &mut String| {
        if left == 0 {
            return false;
        }
        left -= 1;
        match play(history) {
            Some(why) if law(&why) == law(said) => {
                *said = why;
                true
            }
            _ => false,
        }
    };
    // Halves, quarters, ... single steps are left out.
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < best.steps.len() {
            let end = (at + size).min(best.steps.len());
            let steps: Vec<Step> = best.steps[..at].iter().chain(&best.steps[end..]).cloned().collect();
            let shorter = History { steps, ..best.clone() };
            if fails(&shorter, &mut said) {
                best = shorter;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    for at in 0..best.steps.len() {
        let mut calmer = best.clone();
        calmer.steps[at].then = 20;
        if best.steps[at].then != 20 && fails(&calmer, &mut said) {
            best = calmer;
        }
    }
    let new = History { migrated: false, ..best.clone() };
    if best.migrated && fails(&new, &mut said) {
        best = new;
    }
    let alike = History { odd: BTreeMap::new(), ..best.clone() };
    if !best.odd.is_empty() && fails(&alike, &mut said) {
        best = alike;
    }
    (best, said)
}

#[test]
fn a_history_shrinks_to_what_breaks_the_law() {
    use super::operation::Operation;
    let step = |replica| Step { what: Operation::Kill { replica }, then: 20 };
    let history = History {
        clusters: 2,
        guarded: false,
        migrated: false,
        odd: BTreeMap::new(),
        steps: [0, 1, 0, 7, 0, 1, 9, 0].map(step).to_vec(),
    };
    let fails = |history: &History| {
        let has = |replica| history.steps.iter().any(|step| step.what == Operation::Kill { replica });
        (has(7) && has(9)).then(|| format!("now law 3 (pods) is broken by {}", history.steps.len()))
    };
    let (shrunk, why) = shrink(&history, "then law 3 (pods) is broken by 8", &fails);
    assert_eq!(shrunk.steps, [step(7), step(9)]);
    assert_eq!(why, "now law 3 (pods) is broken by 2");
}
