//! The rate of failovers over all objects (docs/design.md#failover). Pure.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::ledger::Standing;

/// A cluster that was admitted must fail over within this time, or it waits again.
const TURN: Duration = Duration::from_mins(1);
/// A cluster fails for all objects at once: so long they are gathered before the first fails over.
pub const GATHER: Duration = Duration::from_secs(1);
/// An object that did not ask for so long no longer waits: with many of them each takes its time to ask again.
pub const ASKS: Duration = Duration::from_mins(1);
/// Longest wait, regardless of the rate.
pub const MOST: Duration = Duration::from_secs(1000);

/// Who may fail over, and who waits: who comes first where capacity is scarce fails over first. Times are since any
/// moment, the same for all calls.
#[derive(Clone, Debug, Default)]
pub struct Failovers {
    /// When the next one may be admitted.
    next: Option<Duration>,
    /// Admitted clusters by name of the object, and when.
    admitted: HashMap<(String, String), Duration>,
    /// Objects that wait: when they asked first, and last.
    waiting: BTreeMap<Standing, (Duration, Duration)>,
}

impl Failovers {
    /// Which of the clusters of an object may fail over now, and after how long to ask for the others. `between`: the
    /// time between two failovers; `None`: none are admitted.
    pub fn ask(
        &mut self,
        standing: &Standing,
        clusters: &[&str],
        between: Option<Duration>,
        now: Duration,
    ) -> (Vec<String>, Option<Duration>) {
        self.admitted.retain(|_, since| now.saturating_sub(*since) < TURN);
        self.waiting.retain(|_, (_, last)| now.saturating_sub(*last) < ASKS);
        let mut admitted = Vec::new();
        for cluster in clusters {
            let who = (standing.name.clone(), (*cluster).to_owned());
            if self.admitted.contains_key(&who) {
                admitted.push(who.1);
                continue;
            }
            let Some(between) = between.map(|between| between.min(MOST)) else {
                return (admitted, Some(MOST));
            };
            let begun = self.waiting.get(standing).map_or(now, |(first, _)| *first);
            let gathers = GATHER.saturating_sub(now.saturating_sub(begun));
            let first = self.waiting.first_key_value().is_none_or(|(first, _)| first >= standing);
            let wait = self.next.map_or(Duration::ZERO, |next| next.saturating_sub(now));
            let wait = wait.max(gathers);
            if !wait.is_zero() || !first {
                self.waiting.insert(standing.clone(), (begun, now));
                return (admitted, Some(if wait.is_zero() { between } else { wait }));
            }
            self.next = now.checked_add(between);
            admitted.push(who.1.clone());
            self.admitted.insert(who, now);
        }
        self.waiting.remove(standing);
        (admitted, None)
    }

    /// Forgets that an object waits.
    pub fn forget(&mut self, name: &str) {
        self.waiting.retain(|standing, _| standing.name != name);
    }
}
