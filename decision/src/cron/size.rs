//! How large an object with many rules may become: its spec and its status at full history, against the limit of the
//! store. Pure.
//!
//! Admission and the records share one bound: an object is admitted while the record of each failure can hold a
//! sentence, and no record exceeds its share.

use std::ops::RangeInclusive;

/// Bytes of an object that the store is sure to accept: etcd rejects requests above 1.5 MiB, and metadata needs some of
/// it.
const STORED: usize = 1_450 << 10;
/// Bytes of the message of one failed run: the fewest that can state a reason, and the most that are kept.
const MESSAGE: RangeInclusive<usize> = 96..=1024;
/// Bytes of a rule without its texts: in the spec, and once more in the annotation of `kubectl apply`.
const SPEC: usize = 300;
/// Bytes of an entry of the history without its name and records.
const ENTRY: usize = 110;
/// Bytes of the record of an executed run.
const EXECUTED: usize = 145;
/// Bytes of the record of a failed run, without its message.
const FAILED: usize = 95;

/// Numbers that determine the size of one rule.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    /// Bytes of its name.
    pub name: usize,
    /// Bytes of its schedule and its zone.
    pub timing: usize,
    /// Number of executions kept.
    pub successful_limit: usize,
    /// Number of failures kept.
    pub failed_limit: usize,
}

/// Bytes available for the message of each failed run; `None` when the object could exceed the limit of the store.
#[must_use]
pub fn of_messages(rules: impl IntoIterator<Item = Weight>) -> Option<usize> {
    let (mut fixed, mut failures) = (0_usize, 0_usize);
    for Weight { name, timing, successful_limit, failed_limit } in rules {
        let texts = name.saturating_mul(3).saturating_add(timing.saturating_mul(2));
        let records = successful_limit.saturating_mul(EXECUTED).saturating_add(failed_limit.saturating_mul(FAILED));
        fixed = fixed.saturating_add(SPEC + ENTRY).saturating_add(texts).saturating_add(records);
        failures = failures.saturating_add(failed_limit);
    }
    let left = STORED.checked_sub(fixed)?;
    let each = left.checked_div(failures).unwrap_or(*MESSAGE.end());
    (each >= *MESSAGE.start()).then(|| each.min(*MESSAGE.end()))
}

/// Truncates the message of a failed run at a character boundary.
#[must_use]
pub fn fit(message: &str, room: usize) -> &str {
    let ends = message.char_indices().map(|(start, character)| start.saturating_add(character.len_utf8()));
    let end = ends.take_while(|end| *end <= room).last().unwrap_or_default();
    message.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(count: usize, limit: usize) -> Option<usize> {
        let weight = Weight { name: 12, timing: 14, successful_limit: limit, failed_limit: limit };
        of_messages(std::iter::repeat_n(weight, count))
    }

    #[test]
    fn few_rules_keep_whole_messages_and_many_share_what_there_is() {
        assert_eq!(rules(10, 3), Some(1024));
        assert!(rules(500, 3).is_some_and(|room| (200..1024).contains(&room)), "{:?}", rules(500, 3));
        assert!(rules(crate::limits::RULES, 3).is_some());
        assert_eq!(rules(350, 32), None);
        assert_eq!(rules(10_000, 0), None);
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        assert_eq!((fit("\u{e9}\u{e9}", 3), fit("abc", 3), fit("", 0)), ("\u{e9}", "abc", ""));
    }
}
