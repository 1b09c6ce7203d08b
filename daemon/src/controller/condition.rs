//! Conditions of objects: bounded, with the time of their last transition. No I/O.

use jiff::Timestamp;

use crate::api::hpa_status::Condition;
use crate::convert::instant::stored;
use crate::decision::excerpt::excerpt;

/// Most characters of a message.
const LONGEST: usize = 2048;

/// Status, reason and message of a condition.
pub type ConditionParts = (&'static str, &'static str, String);

/// The condition `type_` for `generation`. It keeps the transition time of `known` while the status is unchanged.
#[must_use]
pub fn condition(
    type_: &str,
    parts: ConditionParts,
    known: Option<&Condition>,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let (status, reason, message) = parts;
    let since = known.filter(|known| known.status == status).and_then(|known| known.last_transition_time.clone());
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        last_transition_time: since.or_else(|| stored(now)),
        reason: Some(reason.to_owned()),
        message: Some(excerpt(&message, LONGEST).to_owned()),
        observed_generation: generation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_stays_while_the_status_stays() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let parts = |status| (status, "Reason", "why".to_owned());
        let first = condition("Ready", parts("True"), None, Some(1), at(10));
        let again = condition("Ready", parts("True"), Some(&first), Some(2), at(20));
        let other = condition("Ready", parts("False"), Some(&again), Some(2), at(30));
        let since = [&first, &again, &other].map(|condition| condition.last_transition_time.as_ref().unwrap().0);
        assert_eq!(since, [at(10), at(10), at(30)]);
        assert_eq!(again.observed_generation, Some(2));
    }

    #[test]
    fn a_message_has_an_end() {
        let condition = condition("Ready", ("False", "Reason", "x".repeat(100_000)), None, None, Timestamp::UNIX_EPOCH);
        assert!(condition.message.unwrap().len() <= LONGEST);
    }
}
