//! Since when plans are made again for objects for which none was possible for a while. No I/O.

use std::collections::HashMap;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::controller::key::Key;

/// The pauses of plans that this process saw, with their ends. Lost with the process: a new leader begins anew anyway.
#[derive(Debug, Default)]
pub struct Pauses(Mutex<HashMap<Key, Option<Timestamp>>>);

impl Pauses {
    /// No plan is made for the object.
    pub fn pause(&self, key: &Key) {
        self.0.lock().insert(key.clone(), None);
    }

    /// A plan is made at `now`. Returns when the last pause ended.
    pub fn end(&self, key: &Key, now: Timestamp) -> Option<Timestamp> {
        self.0.lock().get_mut(key).map(|end| *end.get_or_insert(now))
    }

    /// Forgets an object.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_with_the_first_plan_after_it() {
        let (pauses, key) = (Pauses::default(), Key::new("prod", "web"));
        let at = |second| Timestamp::constant(second, 0);
        assert_eq!(pauses.end(&key, at(10)), None, "there was none");
        pauses.pause(&key);
        assert_eq!([20, 30].map(|now| pauses.end(&key, at(now))), [Some(at(20)); 2]);
        pauses.pause(&key);
        pauses.pause(&key);
        assert_eq!(pauses.end(&key, at(40)), Some(at(40)));
        pauses.forget(&key);
        assert_eq!(pauses.end(&key, at(50)), None);
    }
}
