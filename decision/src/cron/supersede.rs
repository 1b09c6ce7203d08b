//! Runs on one target: which values of a late run a later run, most often of another object, has not overwritten. Pure.
//!
//! The result of runs on one target is that of their instants in order: a value that a later run sets is no longer set
//! by an earlier run, regardless of how late that is. A later run that is due is tried first, as it may be refused.

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
    /// Whether it was executed.
    pub executed: bool,
    /// Name of its rule.
    pub rule: String,
    /// Name of its object.
    pub object: String,
}

/// A due run beside later ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remainder {
    /// When the run was due.
    scheduled: Timestamp,
    /// What becomes of it.
    standing: Standing,
}

/// What becomes of a due run beside later ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It should still set these values.
    Sets(Action),
    /// This run has set the last of its values.
    Superseded(Later),
    /// This run sets one of its values, and must be tried first.
    Waits(Later),
}

impl Remainder {
    /// All of a run that was due at `scheduled`.
    #[must_use]
    pub const fn new(action: Action, scheduled: Timestamp) -> Self {
        Self { scheduled, standing: Standing::Sets(action) }
    }

    /// Takes off what `other` sets, if that is later.
    pub fn beside(&mut self, other: &Later) {
        let Standing::Sets(action) = self.standing else { return };
        let left = action.without(other.action);
        if other.scheduled <= self.scheduled || left == action {
            return;
        }
        self.standing = match (other.executed, left == Action::default()) {
            (true, true) => Standing::Superseded(other.clone()),
            (true, false) => Standing::Sets(left),
            (false, _) => Standing::Waits(other.clone()),
        };
    }

    /// Whether a run at `newest` may still make a difference.
    #[must_use]
    pub fn is_open_to(&self, newest: Timestamp) -> bool {
        matches!(self.standing, Standing::Sets(_)) && self.scheduled < newest
    }

    /// What becomes of it.
    #[must_use]
    pub fn standing(self) -> Standing {
        self.standing
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
        let (scheduled, rule, object) = (attempt.scheduled, attempt.rule.to_string(), object.to_string());
        Some(Later { scheduled, action, executed: true, rule, object })
    };
    let executed: Vec<Later> = attempts.iter().filter_map(executed).collect();
    for attempt in attempts {
        let Outcome::Executed(action) = attempt.outcome else { continue };
        let mut left = Remainder::new(action, attempt.scheduled);
        for later in &executed {
            left.beside(later);
        }
        match left.standing() {
            Standing::Sets(left) => attempt.outcome = Outcome::Executed(left),
            Standing::Superseded(later) | Standing::Waits(later) => {
                attempt.outcome = Outcome::Superseded(later.message());
            }
        }
    }
}

impl Later {
    /// One sentence for the record of the run that it supersedes.
    #[must_use]
    pub fn message(&self) -> String {
        format!("superseded: {self} sets the same target, and was due later, at {}", self.scheduled)
    }

    /// One sentence for a run that waits for it.
    #[must_use]
    pub fn wait(&self) -> String {
        format!("{self} sets the same target, was due later, at {}, and is tried first", self.scheduled)
    }
}

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {:?} of CronFederatedHPA {}", self.rule, self.object)
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
        Later { scheduled: at(scheduled), action, executed: true, rule: "b".into(), object: "prod/other".into() }
    }

    #[test]
    fn later_runs_of_others_take_what_they_set_and_leave_the_rest() {
        let action = Action { replicas: None, min_replicas: Some(2), max_replicas: Some(10) };
        let left = |others: &[Later]| {
            let mut left = Remainder::new(action, at("2026-11-20T08:00:00Z"));
            for other in others {
                left.beside(other);
            }
            left.standing()
        };
        let earlier = later("2026-11-20T07:59:00Z", Some(1), Some(9));
        assert_eq!(left(&[earlier]), Standing::Sets(action));
        let max = later("2026-11-20T08:30:00Z", None, Some(9));
        let rest = Standing::Sets(Action { max_replicas: None, ..action });
        assert_eq!(left(std::slice::from_ref(&max)), rest);
        let min = later("2026-11-20T08:20:00Z", Some(1), None);
        assert!(
            min.message().starts_with("superseded: rule \"b\" of CronFederatedHPA prod/other "),
            "{}",
            min.message()
        );
        assert_eq!(left(&[max.clone(), min.clone()]), Standing::Superseded(min.clone()));
        let due = Later { executed: false, ..min };
        assert_eq!(left(&[max.clone(), due.clone()]), Standing::Waits(due.clone()));
        assert_eq!(left(&[max, Later { action: Action::default(), ..due }]), rest, "it sets something else");
    }
}
