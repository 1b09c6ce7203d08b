//! Runs on one target: which values of a late run no later run has set, most often one of another object. Pure.
//!
//! The result of runs on one target is that of their instants in order: a value that a later run has set is not set by
//! an earlier one, regardless of how late that is.

use std::fmt;

use jiff::Timestamp;

use super::ledger::Action;
use super::settle::{Attempt, Outcome};

/// An executed run on the target.
#[derive(Clone, Copy)]
pub struct Later<'a> {
    /// Its object.
    pub object: &'a dyn fmt::Display,
    /// Name of its rule.
    pub rule: &'a str,
    /// When it was due.
    pub scheduled: Timestamp,
    /// The values that it has set.
    pub action: Action,
}

/// The values of a run due at `scheduled` that none of `executed` has set later.
///
/// # Errors
/// One sentence for the record of the run, when none is left.
pub fn what_stands(action: Action, scheduled: Timestamp, executed: &[Later<'_>]) -> Result<Action, String> {
    let sets_one = |run: &&Later<'_>| run.scheduled > scheduled && action.without(run.action) != action;
    let later = || executed.iter().filter(sets_one);
    let left = later().fold(action, |left, run| left.without(run.action));
    match later().max_by_key(|run| run.scheduled) {
        Some(Later { object, rule, scheduled, .. }) if left == Action::default() => Err(format!(
            "superseded: rule {rule:?} of CronFederatedHPA {object} sets the same target, and was due later, at {scheduled}"
        )),
        _ => Ok(left),
    }
}

/// Tells of `attempts`, all of `object`, what stands: of a run that was executed together with later ones, the values
/// that these left.
pub fn leave_what_stands(object: &dyn fmt::Display, attempts: &mut [Attempt]) {
    let before = attempts.to_vec();
    let executed = before.iter().filter_map(|attempt| {
        let Outcome::Executed(action) = attempt.outcome else { return None };
        Some(Later { object, rule: &attempt.rule, scheduled: attempt.scheduled, action })
    });
    let executed: Vec<Later<'_>> = executed.collect();
    for attempt in attempts {
        let Outcome::Executed(action) = attempt.outcome else { continue };
        attempt.outcome = match what_stands(action, attempt.scheduled, &executed) {
            Ok(left) => Outcome::Executed(left),
            Err(why) => Outcome::Superseded(why),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_runs_take_what_they_have_set_and_leave_the_rest() {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let action = |min, max| Action { replicas: None, min_replicas: min, max_replicas: max };
        let run = |minute, action| Later { object: &"prod/other", rule: "b", scheduled: at(minute), action };
        let left = |executed: &[Later<'_>]| what_stands(action(Some(2), Some(10)), at(8), executed);
        let both = action(Some(1), Some(9));
        assert_eq!(left(&[run(7, both), run(8, both)]), Ok(action(Some(2), Some(10))), "neither is later");
        let (max, min) = (run(30, action(None, Some(9))), run(20, action(Some(1), None)));
        assert_eq!(left(&[max]), Ok(action(Some(2), None)));
        assert_eq!(left(&[max, run(40, Action::default())]), Ok(action(Some(2), None)));
        let why = "superseded: rule \"b\" of CronFederatedHPA prod/other sets the same target, and was due later, at \
                   1970-01-01T00:30:00Z";
        assert_eq!(left(&[min, max]), Err(why.to_owned()));
    }
}
