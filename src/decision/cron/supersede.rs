//! Runs on one target: which values of a late run a later run, most often of another object, has not overwritten. Pure.
//!
//! The result of runs on one target is that of their instants in order: a value that a later run sets is no longer set
//! by an earlier run, regardless of how late that is.

use std::fmt;

use jiff::Timestamp;

use super::ledger::Action;
use super::settle::{Attempt, Outcome};

/// A run of another object on the same target, due or executed, or an executed one of the same object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// When it was due.
    pub scheduled: Timestamp,
    /// The values that it sets, or has set.
    pub action: Action,
    /// Name of its rule.
    pub rule: String,
    /// Name of its object.
    pub object: String,
}

/// What later runs leave of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remainder {
    /// When the run was due.
    scheduled: Timestamp,
    /// The values that it should still set.
    left: Action,
    /// The run that sets the last of its values, when none is left.
    by: Option<Later>,
}

impl Remainder {
    /// All of a run that was due at `scheduled`.
    #[must_use]
    pub const fn new(action: Action, scheduled: Timestamp) -> Self {
        Self { scheduled, left: action, by: None }
    }

    /// Takes off what `other` sets, if that is later.
    pub fn beside(&mut self, other: &Later) {
        if self.by.is_some() || other.scheduled <= self.scheduled {
            return;
        }
        self.left = self.left.without(other.action);
        if self.left == Action::default() {
            self.by = Some(other.clone());
        }
    }

    /// Whether a run at `newest` may still take something off.
    #[must_use]
    pub fn is_open_to(&self, newest: Timestamp) -> bool {
        self.by.is_none() && self.scheduled < newest
    }

    /// The values that the run should still set.
    ///
    /// # Errors
    /// No value is left: returns the run that sets the last of them.
    pub fn result(self) -> Result<Action, Later> {
        match self.by {
            None => Ok(self.left),
            Some(later) => Err(later),
        }
    }
}

/// Tells of `attempts`, all of `object`, what stands: of a run that was executed together with later ones, the values
/// that these left.
pub fn leave_what_stands(object: &dyn fmt::Display, attempts: &mut [Attempt]) {
    if attempts.len() < 2 {
        return;
    }
    let executed = |attempt: &Attempt| {
        let Outcome::Executed(action) = attempt.outcome else { return None };
        Some(Later { scheduled: attempt.scheduled, action, rule: attempt.rule.to_string(), object: object.to_string() })
    };
    let executed: Vec<Later> = attempts.iter().filter_map(executed).collect();
    for attempt in attempts {
        let Outcome::Executed(action) = attempt.outcome else { continue };
        let mut left = Remainder::new(action, attempt.scheduled);
        for later in &executed {
            left.beside(later);
        }
        attempt.outcome = match left.result() {
            Ok(left) => Outcome::Executed(left),
            Err(later) => Outcome::Superseded(later.message()),
        };
    }
}

impl Later {
    /// One sentence for the record of the run that it supersedes.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { scheduled, action: _, rule, object } = self;
        format!(
            "superseded: rule {rule:?} of CronFederatedHPA {object} sets the same target, and was due later, at {scheduled}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn later(scheduled: &str, min: Option<i32>, max: Option<i32>) -> Later {
        let action = Action { replicas: None, min_replicas: min, max_replicas: max };
        Later { scheduled: at(scheduled), action, rule: "b".into(), object: "prod/other".into() }
    }

    #[test]
    fn later_runs_of_others_take_what_they_set_and_leave_the_rest() {
        let action = Action { replicas: None, min_replicas: Some(2), max_replicas: Some(10) };
        let left = |others: &[Later]| {
            let mut left = Remainder::new(action, at("2026-11-20T08:00:00Z"));
            for other in others {
                left.beside(other);
            }
            left.result().map_err(|later| later.message())
        };
        assert_eq!(left(&[later("2026-11-20T07:59:00Z", Some(1), Some(9))]), Ok(action));
        let max = later("2026-11-20T08:30:00Z", None, Some(9));
        assert_eq!(left(std::slice::from_ref(&max)), Ok(Action { max_replicas: None, ..action }));
        let both = left(&[max, later("2026-11-20T08:20:00Z", Some(1), None)]).unwrap_err();
        assert!(both.starts_with("superseded: rule \"b\" of CronFederatedHPA prod/other "), "{both}");
    }
}
