//! The permission to write: it checks its time at every use, and ends before another process may take the Lease, even
//! when the task that renews it no longer runs. No I/O except clocks.
//!
//! The steady clock stops while a machine is suspended, so the progress of the wall clock counts, too.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::decision::lease::{self, Timings};
use crate::runtime::clock;

/// The lease has expired: writes are no longer allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not lead any more")]
pub struct LeaseLost;

/// The permission to write to the control plane, while it lasts.
#[derive(Clone)]
pub struct Leader(Arc<Term>);

struct Term {
    start: Instant,
    /// Microseconds after `start`; 0 when the term has ended.
    until: AtomicU64,
    /// Microseconds after `start` at which another process may lead.
    expires: AtomicU64,
    /// Microseconds by which the wall clock was ahead of the steady one when the last renewal was sent.
    ahead: AtomicI64,
    /// The term ended while the steady clock stood still: it is never extended again.
    lapsed: AtomicBool,
    clocks: Clocks,
}

/// The wall clock and the steady clock of the machine, first read together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    wall: Timestamp,
    machine: std::time::Instant,
}

impl Clocks {
    pub(super) fn read() -> Self {
        Self { wall: clock::wall(), machine: clock::monotonic() }
    }

    /// Microseconds by which the wall clock is ahead of its first reading plus the elapsed steady time.
    pub(super) fn ahead(&self) -> i64 {
        let wall = clock::wall().duration_since(self.wall).as_micros();
        let machine = clock::monotonic().saturating_duration_since(self.machine).as_micros();
        i64::try_from(wall.saturating_sub_unsigned(machine)).unwrap_or(i64::MAX)
    }
}

/// The time at which a renewal was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) steady: Duration,
    /// As [`Clocks::ahead`].
    pub(super) ahead: i64,
}

impl Leader {
    pub(super) fn begin(start: Instant, clocks: Clocks, timings: Timings, sent: Sent) -> Self {
        let term = Term {
            start,
            until: AtomicU64::default(),
            expires: AtomicU64::default(),
            ahead: AtomicI64::default(),
            lapsed: AtomicBool::default(),
            clocks,
        };
        let leader = Self(Arc::new(term));
        leader.extend(timings, sent);
        leader
    }

    pub(super) fn extend(&self, timings: Timings, sent: Sent) {
        let term = &*self.0;
        term.ahead.store(sent.ahead, Ordering::Release);
        term.expires.store(micros(lease::expires(timings, sent.steady)), Ordering::Release);
        term.until.store(micros(lease::acts_until(timings, sent.steady)), Ordering::Release);
    }

    pub(super) fn end(&self) {
        self.0.until.store(0, Ordering::Release);
    }

    /// When it ends, as a time after its start.
    pub(super) fn until(&self) -> Duration {
        Duration::from_micros(self.0.until.load(Ordering::Acquire))
    }

    /// Whether both belong to one term.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Checked before every write.
    ///
    /// # Errors
    /// When the lease has expired.
    pub fn check(&self) -> Result<(), LeaseLost> {
        self.check_at(self.0.clocks.ahead())
    }

    fn check_at(&self, ahead: i64) -> Result<(), LeaseLost> {
        let term = &*self.0;
        // A wall clock that was set back is ignored.
        let unseen = ahead.saturating_sub(term.ahead.load(Ordering::Acquire)).max(0).unsigned_abs();
        let (now, until) = (self.now(), term.until.load(Ordering::Acquire));
        if now < until && now.saturating_add(unseen) >= until {
            term.lapsed.store(true, Ordering::Release);
        }
        if now < until && !term.lapsed.load(Ordering::Acquire) { Ok(()) } else { Err(LeaseLost) }
    }

    /// Time limit of a write that begins now: after it another process may lead.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn room(&self) -> Result<Duration, LeaseLost> {
        self.check()?;
        let left = self.0.expires.load(Ordering::Acquire).saturating_sub(self.now());
        Ok(Duration::from_micros(left))
    }

    fn now(&self) -> u64 {
        micros(clock::steady().saturating_duration_since(self.0.start))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leader").field("leads", &self.check().is_ok()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn leader() -> Leader {
        let sent = Sent { steady: Duration::ZERO, ahead: 0 };
        Leader::begin(clock::steady(), Clocks::read(), Timings::default(), sent)
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_slept_through_its_term_does_not_lead() {
        let leader = leader();
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(leader.check_at(5 * SECOND), Ok(()));
        assert_eq!(leader.check_at(-3600 * SECOND), Ok(()));
        assert_eq!(leader.check_at(7 * SECOND), Err(LeaseLost));
        // The term is never extended: changes in the meantime belong to the next one.
        leader.extend(Timings::default(), Sent { steady: Duration::from_secs(4), ahead: 7 * SECOND });
        assert_eq!(leader.check_at(7 * SECOND), Err(LeaseLost));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_has_no_more_time_than_is_left_until_somebody_else_may_lead() {
        let leader = leader();
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(leader.room(), Ok(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(leader.room(), Err(LeaseLost));
    }
}
