//! Metrics of the runs of cron rules that wait for another attempt. No I/O.

use std::collections::{BTreeMap, HashMap};
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
    known: Arc<Mutex<Known>>,
}

/// How many runs wait, and the oldest instant, in seconds since 1970.
type Waits = (usize, i64);

/// What waits, with its sums: in a busy minute a hundred thousand objects change them.
#[derive(Debug, Default)]
struct Known {
    objects: HashMap<Box<str>, Waits>,
    runs: usize,
    /// How many objects have each oldest instant.
    oldest: BTreeMap<i64, usize>,
}

impl Known {
    fn put(&mut self, object: &str, waits: Waits) {
        let before = match self.objects.get_mut(object) {
            Some(known) => Some(std::mem::replace(known, waits)),
            None => self.objects.insert(object.into(), waits),
        };
        self.forget(before);
        self.runs = self.runs.saturating_add(waits.0);
        let same = self.oldest.entry(waits.1).or_default();
        *same = same.saturating_add(1);
    }

    fn take(&mut self, object: &str) {
        let before = self.objects.remove(object);
        self.forget(before);
    }

    fn forget(&mut self, before: Option<Waits>) {
        let Some((runs, oldest)) = before else { return };
        self.runs = self.runs.saturating_sub(runs);
        if let Some(same) = self.oldest.get_mut(&oldest) {
            *same = same.saturating_sub(1);
            if *same == 0 {
                self.oldest.remove(&oldest);
            }
        }
    }
}

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
            Some(waits) => known.put(object, waits),
            None => known.take(object),
        }
        self.runs.set(i64::try_from(known.runs).unwrap_or(i64::MAX));
        self.oldest.set(known.oldest.keys().next().copied().unwrap_or_default());
    }

    pub(super) fn clear(&self) {
        *self.known.lock() = Known::default();
        self.runs.set(0);
        self.oldest.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_objects_that_wait() {
        let overdue = Overdue::new(&mut Registry::default());
        let shown = || (overdue.runs.get(), overdue.oldest.get());
        overdue.set("a", Some((2, 100)));
        overdue.set("b", Some((1, 100)));
        overdue.set("c", Some((1, 50)));
        assert_eq!(shown(), (4, 50));
        overdue.set("c", Some((3, 200)));
        overdue.set("a", None);
        overdue.set("unknown", None);
        assert_eq!(shown(), (4, 100));
        overdue.set("b", None);
        assert_eq!(shown(), (3, 200));
        overdue.clear();
        assert_eq!(shown(), (0, 0));
    }
}
