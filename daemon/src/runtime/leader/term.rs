//! The permission to write: it checks its time at every use, and ends before another process may take the Lease, even
//! when the task that renews it no longer runs. No I/O except clocks.
//!
//! The steady clock stops while a machine is suspended, so the progress of the wall clock counts, too.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::decision::freeze::Freeze;
use crate::decision::lease::{self, Timings};
use crate::runtime::clock;

/// The lease has expired: writes are no longer allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not lead any more")]
pub struct LeaseLost;

/// The permission to write to the control plane, while it lasts.
#[derive(Clone)]
pub struct Leader {
    term: Arc<Term>,
    /// Counts how often the controllers resumed in this term.
    resumed: u32,
    /// When they last did, or the term began.
    acts_since: Timestamp,
}

struct Term {
    start: Instant,
    /// Microseconds after `start`; 0 when the term has ended.
    until: AtomicU64,
    /// Microseconds after `start` at which another process may lead.
    expires: AtomicU64,
    /// Microseconds by which the wall clock was ahead of the steady one when the last renewal was sent.
    ahead: AtomicI64,
    /// The term ended while the steady clock was stopped: it is never extended again.
    lapsed: AtomicBool,
    clocks: Clocks,
    /// Value of the annotation `FREEZE`, as last read with the Lease.
    freeze: watch::Sender<Option<String>>,
    /// The freeze that the controllers confirm.
    frozen: Mutex<Option<Freeze>>,
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
pub(super) struct RenewalTime {
    pub(super) steady: Duration,
    /// As [`Clocks::ahead`].
    pub(super) ahead: i64,
}

impl Leader {
    pub(super) fn begin(
        start: Instant,
        clocks: Clocks,
        timings: Timings,
        renewal: RenewalTime,
        freeze: Option<String>,
    ) -> Self {
        let term = Term {
            start,
            until: AtomicU64::default(),
            expires: AtomicU64::default(),
            ahead: AtomicI64::default(),
            lapsed: AtomicBool::default(),
            clocks,
            freeze: watch::Sender::new(freeze),
            frozen: Mutex::default(),
        };
        let leader = Self { term: Arc::new(term), resumed: 0, acts_since: clock::wall() };
        leader.extend(timings, renewal);
        leader
    }

    pub(super) fn extend(&self, timings: Timings, renewal: RenewalTime) {
        let term = &*self.term;
        term.ahead.store(renewal.ahead, Ordering::Release);
        term.expires.store(micros(lease::expires(timings, renewal.steady)), Ordering::Release);
        term.until.store(micros(lease::acts_until(timings, renewal.steady)), Ordering::Release);
    }

    pub(super) fn end(&self) {
        self.term.until.store(0, Ordering::Release);
    }

    /// When it ends, as a time after its start.
    pub(super) fn until(&self) -> Duration {
        Duration::from_micros(self.term.until.load(Ordering::Acquire))
    }

    /// Whether both belong to one term, without a halt of the controllers in between.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.term, &other.term) && self.resumed == other.resumed
    }

    /// The same permission for controllers that were halted: they remember nothing of before, as in a new term.
    #[must_use]
    pub fn resumed(&self, times: u32, at: Timestamp) -> Self {
        Self { term: Arc::clone(&self.term), resumed: times, acts_since: at }
    }

    /// Since when the controllers act without a halt.
    #[must_use]
    pub const fn acts_since(&self) -> Timestamp {
        self.acts_since
    }

    /// Value of the Lease's annotation [`FREEZE`](crate::decision::freeze::FREEZE), and its changes.
    #[must_use]
    pub fn freeze(&self) -> watch::Receiver<Option<String>> {
        self.term.freeze.subscribe()
    }

    /// Records that the controllers are halted by this freeze, or by none.
    pub fn confirm(&self, frozen: Option<Freeze>) {
        *self.term.frozen.lock() = frozen;
    }

    /// The freeze that the controllers confirmed.
    pub(super) fn confirmed(&self) -> Option<Freeze> {
        self.term.frozen.lock().clone()
    }

    /// Publishes the annotation that was read with the Lease.
    pub(super) fn freezes(&self, freeze: Option<String>) {
        self.term.freeze.send_if_modified(|known| {
            let changed = *known != freeze;
            *known = freeze;
            changed
        });
    }

    /// Checked before every write.
    ///
    /// # Errors
    /// When the lease has expired.
    pub fn check(&self) -> Result<(), LeaseLost> {
        self.check_at(self.term.clocks.ahead())
    }

    fn check_at(&self, ahead: i64) -> Result<(), LeaseLost> {
        let term = &*self.term;
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
        let left = self.term.expires.load(Ordering::Acquire).saturating_sub(self.now());
        Ok(Duration::from_micros(left))
    }

    fn now(&self) -> u64 {
        micros(clock::steady().saturating_duration_since(self.term.start))
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
        let renewal = RenewalTime { steady: Duration::ZERO, ahead: 0 };
        Leader::begin(clock::steady(), Clocks::read(), Timings::default(), renewal, None)
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_slept_through_its_term_does_not_lead() {
        let leader = leader();
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(leader.check_at(5 * SECOND), Ok(()));
        assert_eq!(leader.check_at(-3600 * SECOND), Ok(()));
        assert_eq!(leader.check_at(7 * SECOND), Err(LeaseLost));
        // The term is never extended: changes in the meantime belong to the next one.
        leader.extend(Timings::default(), RenewalTime { steady: Duration::from_secs(4), ahead: 7 * SECOND });
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
