//! Which records are repeats: an Event is created for the first, and counts the others, as the recorders of client-go
//! do. Pure: instants are passed in.
//!
//! Records that come within [`PAUSE`] of a request about their Event are written together, so that a fault that repeats
//! itself many times a second is one request in that time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Longest time between two records that one Event counts. API servers keep an Event for an hour after its last
/// change.
pub const WINDOW: Duration = Duration::from_mins(30);

/// Shortest time between two requests about one Event.
pub const PAUSE: Duration = Duration::from_secs(10);

/// Most Events that are remembered. A repeat of one that is forgotten is a new Event.
const MOST: usize = 4096;

/// A request to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Posting<T> {
    /// The last of its records.
    pub(super) record: T,
    /// The name of the Event.
    pub(super) name: Arc<str>,
    /// How often it was recorded; 1: it is to be created.
    pub(super) count: u32,
    /// How many of these the request tells first.
    pub(super) records: u32,
}

/// An Event that was recorded lately.
struct Recorded<T> {
    name: Arc<str>,
    count: u32,
    /// When the last request about it was sent.
    sent: Instant,
    /// Number and last of the records that no request has told.
    held: Option<(u32, T)>,
}

impl<T> Recorded<T> {
    /// The request about the records that are held.
    fn posting(&mut self, now: Instant) -> Option<Posting<T>> {
        let (records, record) = self.held.take()?;
        self.sent = now;
        Some(Posting { record, name: Arc::clone(&self.name), count: self.count, records })
    }

    fn is_fresh(&self, now: Instant) -> bool {
        self.held.is_some() || now.duration_since(self.sent) < WINDOW
    }
}

/// The Events that were recorded lately, by what their records have in common.
pub(super) struct Repeats<T> {
    recorded: HashMap<u64, Recorded<T>>,
    /// Those with records that wait, by the instant of their next request.
    due: BTreeSet<(Instant, u64)>,
}

impl<T> Default for Repeats<T> {
    fn default() -> Self {
        Self { recorded: HashMap::new(), due: BTreeSet::new() }
    }
}

impl<T> Repeats<T> {
    /// Adds a record, which gets an Event of that name if it is no repeat: the request to send now, or `None` when a later
    /// one includes it.
    pub(super) fn add(&mut self, key: u64, record: T, name: &str, now: Instant) -> Option<Posting<T>> {
        let Some(known) = self.recorded.get_mut(&key).filter(|known| known.is_fresh(now)) else {
            let name: Arc<str> = name.into();
            self.remember(key, Recorded { name: Arc::clone(&name), count: 1, sent: now, held: None }, now);
            return Some(Posting { record, name, count: 1, records: 1 });
        };
        known.count = known.count.saturating_add(1);
        let waiting = known.held.take().map_or(0, |(records, _)| records);
        known.held = Some((waiting.saturating_add(1), record));
        let due = known.sent.checked_add(PAUSE).unwrap_or(now);
        if due <= now && waiting == 0 {
            return known.posting(now);
        }
        self.due.insert((due, key));
        None
    }

    /// When the next request is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The next request, whether it is due or not.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Posting<T>> {
        let (_, key) = self.due.pop_first()?;
        self.recorded.get_mut(&key)?.posting(now)
    }

    /// Of too many, those that happened once are forgotten.
    fn remember(&mut self, key: u64, recorded: Recorded<T>, now: Instant) {
        self.recorded.remove(&key);
        if self.recorded.len() >= MOST {
            self.recorded.retain(|_, known| known.count > 1 && known.is_fresh(now));
        }
        if self.recorded.len() < MOST {
            self.recorded.insert(key, recorded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Told = Option<(&'static str, u32, u32)>;

    fn add(repeats: &mut Repeats<&'static str>, key: u64, record: &'static str, now: Instant) -> Told {
        told(repeats.add(key, record, "web.1", now))
    }

    fn told(posting: Option<Posting<&'static str>>) -> Told {
        posting.map(|posting| (posting.record, posting.count, posting.records))
    }

    #[test]
    fn repeats_are_written_together_once_a_pause_is_over_and_later_ones_at_once() {
        let now = crate::runtime::clock::steady();
        let mut repeats = Repeats::default();
        assert_eq!(add(&mut repeats, 1, "a", now), Some(("a", 1, 1)));
        for record in ["b", "c", "d"] {
            assert_eq!(add(&mut repeats, 1, record, now + Duration::from_secs(1)), None);
        }
        assert_eq!(repeats.next(), Some(now + PAUSE));
        assert_eq!(told(repeats.pop(now + PAUSE)), Some(("d", 4, 3)));
        assert_eq!((told(repeats.pop(now + PAUSE)), repeats.next()), (None, None));
        assert_eq!(add(&mut repeats, 1, "e", now + PAUSE + PAUSE), Some(("e", 5, 1)));
    }

    #[test]
    fn the_window_begins_anew_with_each_repeat() {
        let (now, late) = (crate::runtime::clock::steady(), WINDOW.checked_sub(Duration::from_secs(1)).unwrap());
        let mut repeats = Repeats::default();
        add(&mut repeats, 1, "a", now);
        assert_eq!(add(&mut repeats, 1, "b", now + late), Some(("b", 2, 1)));
        assert_eq!(add(&mut repeats, 1, "c", now + late + late), Some(("c", 3, 1)));
        assert_eq!(add(&mut repeats, 1, "d", now + late + late + WINDOW), Some(("d", 1, 1)));
    }

    #[test]
    fn however_much_is_recorded_as_many_events_are_remembered_and_first_of_all_those_that_repeat() {
        let now = crate::runtime::clock::steady();
        let mut repeats = Repeats::default();
        add(&mut repeats, 1, "a", now);
        assert_eq!(add(&mut repeats, 1, "waits", now), None);
        for key in 2..20_000 {
            assert_eq!(add(&mut repeats, key, "once", now), Some(("once", 1, 1)));
            assert!(repeats.recorded.len() <= MOST);
        }
        assert_eq!(add(&mut repeats, 19_999, "again", now), None, "the last are known");
        assert_eq!(add(&mut repeats, 2, "again", now), Some(("again", 1, 1)), "the first are not");
        assert_eq!(told(repeats.pop(now)), Some(("waits", 2, 1)), "what repeats is not forgotten");
    }
}
