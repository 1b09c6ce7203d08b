//! Pauses between the attempts of a watch that fails: they grow until something was received, not until a list was only
//! asked for. No I/O.

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
    said: Option<Instant>,
}

impl Retries {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, begun: steady(), failures: 0, said: None }
    }

    /// Something was received: whether the watch failed before.
    pub(super) fn succeeded(&mut self) -> bool {
        self.said = None;
        std::mem::take(&mut self.failures) > 0
    }

    /// The watch failed. Refusals are tried again at the pace of what only people mend, and nothing before the wait that
    /// the API server `asked` for.
    pub(super) fn failed(&mut self, refused: bool, asked: Option<Duration>) -> Pause {
        self.failures = self.failures.saturating_add(1);
        let class = if refused { ErrorClass::Refused } else { ErrorClass::Transient };
        // Different for each process, so that the replicas do not ask at the same instants.
        let key = (self.kind, self.begun);
        let now = steady();
        let due = self.said.is_none_or(|said| now.saturating_duration_since(said) >= LINE);
        if due {
            self.said = Some(now);
        }
        Pause { wait: backoff::wait(class, self.failures, &key, asked), say: due.then_some(self.failures) }
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
}
