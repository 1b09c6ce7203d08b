//! Pauses between the attempts of a watch that fails: they grow until something was received or the watch is open, not
//! until a list was only asked for. No I/O.

use std::time::Duration;

use tokio::time::Instant;

use crate::decision::backoff::{self, ErrorClass};
use crate::runtime::clock::steady;

/// While a watch fails, a line is logged this often.
const LINE: Duration = Duration::from_mins(1);

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    /// How long to wait for the next attempt.
    pub(super) wait: Duration,
    /// Whether to log it, and how often the watch has failed in a row.
    pub(super) say: Option<u32>,
}

/// The failures of one watch in a row.
#[derive(Debug)]
pub(super) struct Retries {
    kind: &'static str,
    begun: Instant,
    failures: u32,
    /// Those of the failures that were refusals.
    refusals: u32,
    said: Option<Instant>,
}

impl Retries {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, begun: steady(), failures: 0, refusals: 0, said: None }
    }

    /// Something was received, or the watch is open: whether it failed before.
    pub(super) fn succeeded(&mut self) -> bool {
        self.said = None;
        self.refusals = 0;
        std::mem::take(&mut self.failures) > 0
    }

    /// Whether the watch fails.
    pub(super) const fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// How often the watch was refused in a row.
    pub(super) const fn refusals(&self) -> u32 {
        self.refusals
    }

    /// The watch failed. Refusals are tried again at the pace of what only people mend, and nothing before the wait that
    /// the API server `asked` for. An API server that has just started refuses what it will serve in a moment, so the
    /// failures while it was down make the pauses after a refusal no longer.
    pub(super) fn failed(&mut self, refused: bool, asked: Option<Duration>) -> Pause {
        self.failures = self.failures.saturating_add(1);
        self.refusals = self.refusals.saturating_add(refused.into());
        let (class, times) = if refused {
            (ErrorClass::Refused, self.refusals)
        } else {
            (ErrorClass::Transient, self.failures.saturating_sub(self.refusals))
        };
        // Different for each process, so that the replicas do not ask at the same instants.
        let key = (self.kind, self.begun);
        let now = steady();
        let due = self.said.is_none_or(|said| now.saturating_duration_since(said) >= LINE);
        if due {
            self.said = Some(now);
        }
        Pause { wait: backoff::wait(class, times, &key, asked), say: due.then_some(self.failures) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_a_line_comes_once_a_minute() {
        let mut retries = Retries::new("FederatedHPA");
        let (mut attempts, mut lines) = (0, Vec::new());
        let begun = steady();
        while begun.elapsed() < Duration::from_mins(30) {
            let Pause { wait, say } = retries.failed(true, None);
            attempts += 1;
            lines.extend(say);
            tokio::time::sleep(wait).await;
        }
        assert!((30..=50).contains(&attempts), "{attempts}");
        // A pause just short of a minute makes every second attempt the one that is logged.
        assert!(lines.len() <= 31 && lines.len() >= 14, "{lines:?}");
        assert_eq!(lines[0], 1);
        assert!(retries.succeeded() && !retries.succeeded());
        assert_eq!(retries.failed(false, None).say, Some(1));
        assert_eq!(retries.failed(false, Some(Duration::from_secs(9))).wait, Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_of_an_outage_and_of_refusals_grow_on_their_own() {
        let mut retries = Retries::new("FederatedHPA");
        for _ in 0..9 {
            retries.failed(false, None);
        }
        assert!(retries.failed(true, None).wait <= Duration::from_secs(2));
        assert!(retries.failed(false, None).wait > Duration::from_secs(11), "by turns they grow, too");
        let second = retries.failed(true, None).wait;
        assert!(second >= Duration::from_secs(3) && second <= Duration::from_secs(4), "{second:?}");
        assert!(retries.is_failing() && retries.refusals() == 2);
        assert!(retries.succeeded() && !retries.is_failing() && retries.refusals() == 0);
    }
}
