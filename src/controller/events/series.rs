//! Which records are repeats: an Event is created for the first, and counts the others, as the recorders of client-go
//! do. Pure: instants are passed in.
//!
//! What is recorded again within [`WINDOW`] is a repeat. Repeats within [`PAUSE`] of a request are written together, so
//! that a fault that repeats itself many times a second is one request in that time. At most [`MOST`] Events are
//! remembered; an older one is forgotten, and its next repeat is a new Event.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::time::Duration;

use tokio::time::Instant;

/// Longest time between two records that one Event counts. API servers keep an Event for an hour after its last
/// change.
pub const WINDOW: Duration = Duration::from_mins(30);

/// Shortest time between two requests about one Event.
pub const PAUSE: Duration = Duration::from_secs(10);

/// Most Events that are remembered.
pub const MOST: usize = 4096;

/// A request to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step<T> {
    /// What its records have in common.
    pub(super) key: u64,
    /// The last of the records.
    pub(super) record: T,
    /// Number of records that it is about.
    pub(super) records: u32,
    /// The Event that counts them; `None`: a new one.
    pub(super) known: Option<Stored>,
}

/// An Event as the API server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Its name.
    pub(super) name: Box<str>,
    /// Number of records that it is about.
    pub(super) count: u32,
}

/// An Event that was recorded lately, and the records that wait for it.
struct Recorded<T> {
    event: Option<Stored>,
    last: Instant,
    /// When the next request may be sent; `None`: one is in flight.
    next: Option<Instant>,
    /// Number and last of the records that wait for it.
    held: Option<Box<(u32, T)>>,
}

impl<T> Recorded<T> {
    fn is_idle(&self) -> bool {
        self.next.is_some() && self.held.is_none()
    }

    /// The request about the records that wait.
    fn step(&mut self, key: u64) -> Option<Step<T>> {
        let (records, record) = *self.held.take()?;
        self.next = None;
        Some(Step { key, record, records, known: self.event.clone() })
    }
}

/// What was recorded lately, by the key of the records.
pub(super) struct Series<T> {
    /// At most half of the most; once it is full, it replaces the older half.
    young: HashMap<u64, Recorded<T>>,
    old: HashMap<u64, Recorded<T>>,
    /// Those that wait for no request but the next, by its instant.
    due: BTreeSet<(Instant, u64)>,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), due: BTreeSet::new() }
    }
}

impl<T> Series<T> {
    /// Adds a record: the request to send now, or `None` when a later one includes it.
    pub(super) fn add(&mut self, key: u64, record: T, now: Instant) -> Option<Step<T>> {
        self.renew(key);
        let known = self
            .recorded(key)
            .filter(|recorded| !recorded.is_idle() || now.saturating_duration_since(recorded.last) < WINDOW);
        let Some(recorded) = known else { return Some(self.begin(key, (1, record), now)) };
        recorded.last = now;
        let waited = recorded.held.take();
        let records = waited.as_ref().map_or(0, |waited| waited.0).saturating_add(1);
        recorded.held = Some(Box::new((records, record)));
        match recorded.next {
            Some(next) if next <= now && waited.is_none() => recorded.step(key),
            Some(next) => {
                self.due.insert((next, key));
                None
            }
            None => None,
        }
    }

    /// The end of the request for `key`: the Event as it is now; `None`: there is none. Returns the next request, where
    /// the records that wait need an Event of their own.
    pub(super) fn ended(&mut self, key: u64, event: Option<Stored>, now: Instant) -> Option<Step<T>> {
        let recorded = self.recorded(key)?;
        let next = now.checked_add(PAUSE).unwrap_or(now);
        (recorded.event, recorded.next) = (event, Some(next));
        if recorded.event.is_none() {
            let held = recorded.held.take();
            self.forget(key);
            return held.map(|held| self.begin(key, *held, now));
        }
        if recorded.held.is_some() {
            self.due.insert((next, key));
        }
        None
    }

    /// When the next request is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The first request whose records wait for no other, whether it is due or not.
    pub(super) fn pop(&mut self) -> Option<Step<T>> {
        let (_, key) = self.due.pop_first()?;
        self.recorded(key)?.step(key)
    }

    fn recorded(&mut self, key: u64) -> Option<&mut Recorded<T>> {
        self.young.get_mut(&key).or_else(|| self.old.get_mut(&key))
    }

    fn begin(&mut self, key: u64, (records, record): (u32, T), now: Instant) -> Step<T> {
        self.forget(key);
        if self.young.len() >= MOST / 2 {
            // The end of a request, and what waits for it, are still to come.
            let busy: HashMap<_, _> = self.old.extract_if(|_, recorded| !recorded.is_idle()).collect();
            self.old = mem::replace(&mut self.young, busy);
        }
        if self.young.len() < MOST / 2 {
            self.young.insert(key, Recorded { event: None, last: now, next: None, held: None });
        }
        Step { key, record, records, known: None }
    }

    /// What is recorded again is not forgotten soon.
    fn renew(&mut self, key: u64) {
        if self.young.len() < MOST / 2
            && let Some(recorded) = self.old.remove(&key)
        {
            self.young.insert(key, recorded);
        }
    }

    fn forget(&mut self, key: u64) {
        self.young.remove(&key);
        self.old.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Instant {
        crate::runtime::clock::steady()
    }

    fn stored(count: u32) -> Stored {
        Stored { name: "web.1".into(), count }
    }

    /// A record was made, and its Event is stored.
    fn recorded(now: Instant) -> Series<&'static str> {
        let mut series = Series::default();
        assert_eq!(series.add(1, "a", now), Some(Step { key: 1, record: "a", records: 1, known: None }));
        assert_eq!(series.ended(1, Some(stored(1)), now), None);
        series
    }

    #[test]
    fn repeats_are_written_together_once_a_pause_is_over() {
        let now = start();
        let mut series = recorded(now);
        for record in ["b", "c", "d"] {
            assert_eq!(series.add(1, record, now + Duration::from_secs(1)), None);
        }
        assert_eq!(series.next(), Some(now + PAUSE));
        let all = Step { key: 1, record: "d", records: 3, known: Some(stored(1)) };
        assert_eq!(series.pop(), Some(all));
        assert_eq!((series.pop(), series.next()), (None, None));
    }

    #[test]
    fn a_repeat_after_a_pause_is_written_at_once() {
        let now = start();
        let mut series = recorded(now);
        let one = Step { key: 1, record: "b", records: 1, known: Some(stored(1)) };
        assert_eq!(series.add(1, "b", now + PAUSE), Some(one));
    }

    #[test]
    fn repeats_wait_for_the_request_in_flight() {
        let now = start();
        let mut series = Series::default();
        assert!(series.add(1, "a", now).is_some());
        assert_eq!((series.add(1, "b", now + PAUSE), series.pop()), (None, None));
        assert_eq!(series.ended(1, Some(stored(1)), now + PAUSE), None);
        assert_eq!(series.next(), Some(now + PAUSE + PAUSE));
        assert_eq!(series.pop().map(|step| step.records), Some(1));
    }

    #[test]
    fn repeats_of_what_could_not_be_stored_are_told_anew() {
        let now = start();
        let mut series = Series::default();
        assert!(series.add(1, "a", now).is_some());
        assert!(series.add(1, "b", now).is_none() && series.add(1, "c", now).is_none());
        assert_eq!(series.ended(1, None, now), Some(Step { key: 1, record: "c", records: 2, known: None }));
        assert_eq!(series.ended(1, None, now), None);
        assert_eq!(series.add(1, "d", now), Some(Step { key: 1, record: "d", records: 1, known: None }));
    }

    #[test]
    fn what_is_told_again_after_the_window_is_new() {
        let now = start();
        let mut series = recorded(now);
        assert_eq!(series.add(1, "b", now + WINDOW).and_then(|step| step.known), None);
        let mut series = recorded(now);
        let late = now + WINDOW - Duration::from_secs(1);
        assert_eq!(series.add(1, "b", late).and_then(|step| step.known), Some(stored(1)));
        series.ended(1, Some(stored(2)), late);
        // The window begins anew with each repeat.
        let later = late + WINDOW - Duration::from_secs(1);
        assert_eq!(series.add(1, "c", later).and_then(|step| step.known), Some(stored(2)));
    }

    #[test]
    fn however_much_is_told_as_many_events_are_remembered() {
        let now = start();
        let mut series = recorded(now);
        series.add(1, "waits", now);
        for key in 2..20_000 {
            assert!(series.add(key, "once", now).is_some());
            assert!(series.young.len() + series.old.len() <= MOST);
            series.ended(key, Some(stored(1)), now);
        }
        assert_eq!(series.pop().map(|step| step.key), Some(1), "what waits is not forgotten");
        assert!(series.add(19_999, "again", now).is_none(), "the last are known");
        assert!(series.add(2, "again", now).is_some_and(|step| step.known.is_none()), "the first are not");
        for key in 20_000..30_000 {
            // None of these ends.
            assert!(series.add(key, "once", now).is_some());
            assert!(series.young.len() + series.old.len() <= MOST);
        }
    }
}
