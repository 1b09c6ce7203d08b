//! Clocks of machines, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use fhpa::runtime::clock::{self, WallClock};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::at;

/// The time of day of one machine: runs with tokio's clock, and may be set.
#[derive(Clone)]
pub struct Wall {
    start: Timestamp,
    began: Instant,
    offset: Arc<AtomicI64>,
}

impl Wall {
    pub fn new(start: &str) -> Self {
        Self { start: at(start), began: clock::steady(), offset: Arc::default() }
    }

    /// A machine whose clock is ahead by so many seconds.
    pub fn ahead(&self, seconds: i64) -> Self {
        Self { offset: Arc::new(AtomicI64::new(seconds)), ..self.clone() }
    }

    /// Sets the clock forward, or back.
    pub fn jump(&self, seconds: i64) {
        self.offset.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Sets the clock right.
    pub fn correct(&self) {
        self.offset.store(0, Ordering::SeqCst);
    }

    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.began.elapsed()).unwrap();
        self.start + elapsed + SignedDuration::from_secs(self.offset.load(Ordering::SeqCst))
    }

    pub fn clock(&self) -> WallClock {
        let wall = self.clone();
        Arc::new(move || wall.now())
    }
}
