//! Metrics of the runs of cron rules that wait for another attempt. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::registered;

/// Runs of cron rules that were due and wait for another attempt.
#[derive(Clone, Debug)]
pub(super) struct Overdue {
    runs: Gauge,
    oldest: Gauge,
    /// By object.
    known: Arc<Mutex<HashMap<Box<str>, Waits>>>,
}

/// How many runs wait, and the oldest instant, in seconds since 1970.
type Waits = (usize, i64);

impl Overdue {
    pub(super) fn new(r: &mut Registry) -> Self {
        Self {
            runs: registered(r, "cron_overdue_runs", "Runs that were due and wait for another attempt"),
            oldest: registered(
                r,
                "cron_oldest_overdue_timestamp_seconds",
                "When the oldest run was due that waits for another attempt; 0 while there is none",
            ),
            known: Arc::default(),
        }
    }

    /// Sets the runs of an object; `None` when none waits.
    pub(super) fn set(&self, object: &str, waits: Option<Waits>) {
        let mut known = self.known.lock();
        match waits {
            Some(waits) if known.get(object) == Some(&waits) => return,
            Some(waits) => _ = known.insert(object.into(), waits),
            None if known.remove(object).is_none() => return,
            None => {}
        }
        self.runs.set(known.values().map(|(runs, _)| i64::try_from(*runs).unwrap_or(i64::MAX)).sum());
        self.oldest.set(known.values().map(|(_, oldest)| *oldest).min().unwrap_or_default());
    }

    pub(super) fn clear(&self) {
        self.known.lock().clear();
        self.runs.set(0);
        self.oldest.set(0);
    }
}
