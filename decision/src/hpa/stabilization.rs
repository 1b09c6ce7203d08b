//! Past recommendations that stabilize the replicas. Pure.

use jiff::{SignedDuration, Timestamp};

/// Most recommendations that are kept: one each second for an hour, the longest window.
const KEPT: usize = 3600;

/// Past recommendations with their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recommendations {
    past: Vec<(Timestamp, i32)>,
    /// The replicas that were last kept because nothing was known. They only keep the replicas from falling: what is
    /// above its target after an outage does not wait.
    held: Option<(Timestamp, i32)>,
}

/// Effect of the window on a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stabilized {
    /// None.
    No,
    /// A recent recommendation was lower.
    Up,
    /// A recent recommendation was higher.
    Down,
}

impl Stabilized {
    /// Reason of the condition `AbleToScale`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::No => "ReadyForNewScale",
            Self::Up => "ScaleUpStabilized",
            Self::Down => "ScaleDownStabilized",
        }
    }

    /// Message of the condition `AbleToScale`.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::No => "recommended size matches current size",
            Self::Up => "recent recommendations were lower than current one, applying the lowest recent recommendation",
            Self::Down => {
                "recent recommendations were higher than current one, applying the highest recent recommendation"
            }
        }
    }
}

impl Recommendations {
    /// Records the current replicas as the first recommendation, so that a new controller does not scale down at once.
    pub fn begin(&mut self, current: i32, now: Timestamp) {
        if self.past.is_empty() {
            self.past.push((now, current));
        }
    }

    /// Whether one of them is later than `now`.
    pub(super) fn lies_ahead(&self, now: Timestamp) -> bool {
        self.past.iter().chain(&self.held).any(|(at, _)| *at > now)
    }

    /// Records that nothing was known at `now`, so that the current replicas stayed.
    pub const fn hold(&mut self, current: i32, now: Timestamp) {
        self.held = Some((now, current));
    }

    /// The highest of `desired` and the recommendations within the window. For an HPA without behavior.
    pub fn highest(&mut self, desired: i32, window_seconds: i32, now: Timestamp) -> (i32, Stabilized) {
        let window = SignedDuration::from_secs(window_seconds.into());
        self.past.retain(|(at, _)| now.duration_since(*at) <= window);
        let held = self.held.filter(|(at, _)| now.duration_since(*at) <= window);
        let highest = self.past.iter().chain(&held).map(|(_, replicas)| *replicas).fold(desired, i32::max);
        self.keep(desired, now);
        (highest, if highest == desired { Stabilized::No } else { Stabilized::Down })
    }

    /// The replicas nearest to `current` that every recommendation within the windows allows.
    pub fn nearest(
        &mut self,
        current: i32,
        desired: i32,
        up_seconds: i32,
        down_seconds: i32,
        now: Timestamp,
    ) -> (i32, Stabilized) {
        let window = |seconds: i32| SignedDuration::from_secs(seconds.into());
        let within = |seconds: i32| move |(at, _): &&(Timestamp, i32)| now.duration_since(*at) < window(seconds);
        let replicas = |(_, replicas): &(Timestamp, i32)| *replicas;
        let lowest = self.past.iter().filter(within(up_seconds)).map(replicas).fold(desired, i32::min);
        let upper = self.past.iter().chain(&self.held).filter(within(down_seconds));
        let highest = upper.map(replicas).fold(desired, i32::max);
        let held = current.max(lowest).min(highest);
        let longest = window(up_seconds.max(down_seconds));
        self.past.retain(|(at, _)| now.duration_since(*at) <= longest);
        self.keep(desired, now);
        let stabilized = match held == desired {
            true => Stabilized::No,
            false if desired >= current => Stabilized::Up,
            false => Stabilized::Down,
        };
        (held, stabilized)
    }

    fn keep(&mut self, desired: i32, now: Timestamp) {
        if self.past.len() >= KEPT {
            self.past.remove(0);
        }
        self.past.push((now, desired));
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{Recommendations, Stabilized};

    #[test]
    fn replicas_that_stayed_unknown_are_not_removed_at_once_and_delay_nothing_that_is_added() {
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let mut known = Recommendations::default();
        known.begin(9, at(0));
        known.hold(9, at(1000));
        assert_eq!(known.clone().nearest(9, 2, 60, 300, at(1015)), (9, Stabilized::Down));
        assert_eq!(known.clone().nearest(9, 2, 60, 300, at(1300)), (2, Stabilized::No));
        assert_eq!(known.clone().nearest(9, 20, 60, 300, at(1015)), (20, Stabilized::No));
        assert_eq!(known.clone().highest(2, 300, at(1300)), (9, Stabilized::Down));
        assert_eq!(known.highest(2, 300, at(1301)), (2, Stabilized::No));
    }
}
