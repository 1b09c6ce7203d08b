//! Whether to correct drift that another writer caused: at once, but not without end
//! (docs/operations.md#upgrades-of-karmada). Pure.

use jiff::{SignedDuration, Timestamp};

/// Minimum time without a change after which the history is forgotten.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// Corrections in a row after which the other writer is considered a conflict.
pub const ALLOWED: u32 = 5;
/// First and longest pause in a conflict.
const PAUSES: (SignedDuration, SignedDuration) = (SignedDuration::from_mins(1), SignedDuration::from_mins(30));

/// How often one object was corrected recently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriftBackoff {
    /// Corrections in a row.
    acts: u32,
    /// When the last one was.
    last: Option<Timestamp>,
}

/// What to do about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Correct it.
    Act,
    /// Another writer conflicts: check again at this instant.
    Pause(Timestamp),
}

impl DriftBackoff {
    /// What to do at `now`.
    #[must_use]
    pub fn step(self, now: Timestamp) -> Step {
        let Some(last) = self.last.filter(|_| self.acts >= ALLOWED && !self.is_over(now)) else { return Step::Act };
        match last.checked_add(self.pause()) {
            Ok(until) if until > now => Step::Pause(until),
            _ => Step::Act,
        }
    }

    /// The object was corrected at `now`.
    #[must_use]
    pub fn acted(self, now: Timestamp) -> Self {
        let acts = if self.is_over(now) { 1 } else { self.acts.saturating_add(1) };
        Self { acts, last: Some(now) }
    }

    /// Corrections in a row, including the last one.
    #[must_use]
    pub const fn acts(self) -> u32 {
        self.acts
    }

    /// Whether nothing happened for so long that earlier corrections do not count.
    fn is_over(self, now: Timestamp) -> bool {
        let quiet = WINDOW.max(self.pause().saturating_mul(2));
        self.last.is_none_or(|last| now.duration_since(last) >= quiet)
    }

    /// The pause after the last correction.
    fn pause(self) -> SignedDuration {
        let (first, longest) = PAUSES;
        let doubled = 1_i32.checked_shl(self.acts.saturating_sub(ALLOWED).min(16)).unwrap_or(i32::MAX);
        first.saturating_mul(doubled).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    /// Instants of corrections until `end`, when the other writer reverts each a second later.
    fn fight(backoff: &mut DriftBackoff, from: i64, end: i64) -> Vec<i64> {
        let (mut acts, mut now) = (Vec::new(), from);
        while now < end {
            match backoff.step(at(now)) {
                Step::Act => {
                    *backoff = backoff.acted(at(now));
                    acts.push(now);
                    now += 1;
                }
                Step::Pause(until) => now = until.duration_since(at(0)).as_secs(),
            }
        }
        acts
    }

    #[test]
    fn a_change_now_and_then_is_put_back_at_once() {
        let mut backoff = DriftBackoff::default();
        for day in 0..30 {
            assert_eq!(backoff.step(at(day * 86_400)), Step::Act);
            backoff = backoff.acted(at(day * 86_400));
        }
    }

    #[test]
    fn a_fight_is_met_with_pauses_that_grow_to_half_an_hour() {
        let acts = fight(&mut DriftBackoff::default(), 0, 4 * 3600);
        assert_eq!(acts.get(..6).unwrap(), [0, 1, 2, 3, 4, 64]);
        let pauses: Vec<i64> = acts.windows(2).skip(4).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.windows(2).all(|pair| pair[0] <= pair[1]), "{pauses:?}");
        assert_eq!((pauses.first(), pauses.last()), (Some(&60), Some(&1800)));
    }

    #[test]
    fn once_the_other_gave_up_a_change_is_put_back_at_once_again() {
        let mut backoff = DriftBackoff::default();
        fight(&mut backoff, 0, 7200);
        assert_eq!(fight(&mut backoff, 20_000, 20_004), [20_000, 20_001, 20_002, 20_003]);
    }
}
