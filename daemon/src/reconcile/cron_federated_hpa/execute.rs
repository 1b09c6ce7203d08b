//! Due runs -> writes to the target (apply). Talks to the API server by `Targets`.
//!
//! Runs of one object are combined into one write: the result of running them one after the other
//! (docs/cron.md#late-runs). Only when the API server rejects that, each is attempted separately, so that one invalid
//! rule does not stop the others.

use std::sync::Arc;

use jiff::Timestamp;

use super::entry::Entry;
use crate::controller::failure::{Failure, WriteError, reason};
use crate::controller::intern;
use crate::controller::key::Key;
use crate::decision::backoff::ErrorClass;
use crate::decision::cron::ledger::{Action, Due, Rule};
use crate::decision::cron::settle::{Attempt, Outcome};
use crate::decision::cron::supersede::leave_what_stands;
use crate::reconcile::scale_target::Targets;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Leader, LeaseLost};

/// Writes to targets.
pub struct Executor {
    /// The targets.
    pub targets: Arc<Targets>,
    /// The time of day.
    pub clock: WallClock,
}

/// A run to execute.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// When it was due.
    pub due: &'a Due,
    /// Its rule.
    pub rule: &'a Rule<'a>,
    /// The values of the rule that should still be set.
    pub action: Action,
}

/// Result of due runs.
#[derive(Debug, Default)]
pub struct Executed {
    /// One attempt for each run, in their order.
    pub attempts: Vec<Attempt>,
    /// Why some were not executed; the last failure, when there were several.
    pub failure: Option<Failure>,
}

impl Executed {
    /// Whether there were runs and each was executed.
    #[must_use]
    pub fn is_all_done(&self) -> bool {
        self.failure.is_none() && !self.attempts.is_empty()
    }
}

impl Executor {
    /// Executes `runs`, in their order, and tells of each what it left.
    ///
    /// # Errors
    /// When this process no longer leads: the result of a write in flight is then unknown.
    pub async fn execute(
        &self,
        leader: &Leader,
        key: &Key,
        entry: &Arc<Entry>,
        runs: &[Run<'_>],
    ) -> Result<Executed, LeaseLost> {
        let mut executed = self.attempt(leader, key, entry, runs).await?;
        leave_what_stands(key, &mut executed.attempts);
        Ok(executed)
    }

    async fn attempt(
        &self,
        leader: &Leader,
        key: &Key,
        entry: &Arc<Entry>,
        runs: &[Run<'_>],
    ) -> Result<Executed, LeaseLost> {
        let Some(together) = runs.iter().map(|run| run.action).reduce(Action::then) else {
            return Ok(Executed::default());
        };
        match self.set(leader, key, entry, together).await? {
            Err(failure) if failure.class == ErrorClass::Refused && is_about_values(&failure) && runs.len() > 1 => {
                self.one_by_one(leader, key, entry, runs).await
            }
            result => {
                let at = self.now();
                let attempt = |run: &Run<'_>| attempted(run, at, &result);
                Ok(Executed { attempts: runs.iter().map(attempt).collect(), failure: result.clone().err() })
            }
        }
    }

    /// A rejected run is abandoned when a later one follows: a retry after that one would revert it.
    async fn one_by_one(
        &self,
        leader: &Leader,
        key: &Key,
        entry: &Arc<Entry>,
        runs: &[Run<'_>],
    ) -> Result<Executed, LeaseLost> {
        let mut executed = Executed::default();
        for (position, run) in runs.iter().enumerate() {
            let result = self.set(leader, key, entry, run.action).await?;
            let mut attempt = attempted(run, self.now(), &result);
            let Err(failure) = result else {
                executed.attempts.push(attempt);
                continue;
            };
            let refused = failure.class == ErrorClass::Refused;
            if refused && position.saturating_add(1) < runs.len() {
                attempt.outcome = Outcome::GivenUp(failure.message.clone());
            }
            executed.attempts.push(attempt);
            executed.failure = Some(failure);
            if !refused {
                // The rest is retried together.
                break;
            }
        }
        Ok(executed)
    }

    async fn set(
        &self,
        leader: &Leader,
        key: &Key,
        entry: &Entry,
        action: Action,
    ) -> Result<Result<(), Failure>, LeaseLost> {
        match self.targets.set(leader, &entry.target(key), action).await {
            Ok(_) => Ok(Ok(())),
            Err(WriteError::LeaseLost(lost)) => Err(lost),
            Err(WriteError::Failed(failure)) => Ok(Err(failure)),
        }
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

/// Whether another rule might be accepted.
fn is_about_values(failure: &Failure) -> bool {
    matches!(failure.reason, reason::REJECTED | reason::INVALID_BOUNDS | reason::RULE_TARGET_MISMATCH)
}

fn attempted(run: &Run<'_>, at: Timestamp, result: &Result<(), Failure>) -> Attempt {
    let Run { due, rule, action } = run;
    let outcome = match result {
        Ok(()) => Outcome::Executed(*action),
        Err(failure) => Outcome::Postponed(failure.message.clone()),
    };
    Attempt { rule: intern::text(rule.name), scheduled: due.scheduled, at, outcome }
}
