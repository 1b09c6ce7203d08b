//! Past recommendations that stabilize the replicas. Pure.

use jiff::{SignedDuration, Timestamp};

/// Most recommendations that are kept: one each second for an hour, the longest window.
const KEPT: usize = 3600;

/// Past recommendations with their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recommendations(Vec<(Timestamp, i32)>);

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
        if self.0.is_empty() {
            self.0.push((now, current));
        }
    }

    /// The highest of `desired` and the recommendations within the window. For an HPA without behavior.
    pub fn highest(&mut self, desired: i32, window_seconds: i32, now: Timestamp) -> (i32, Stabilized) {
        let window = SignedDuration::from_secs(window_seconds.into());
        self.0.retain(|(at, _)| now.duration_since(*at) <= window);
        let highest = self.0.iter().map(|(_, replicas)| *replicas).fold(desired, i32::max);
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
        let within = |seconds: i32| {
            self.0
                .iter()
                .filter(move |(at, _)| now.duration_since(*at) < window(seconds))
                .map(|(_, replicas)| *replicas)
        };
        let lowest = within(up_seconds).fold(desired, i32::min);
        let highest = within(down_seconds).fold(desired, i32::max);
        let held = current.max(lowest).min(highest);
        let longest = window(up_seconds.max(down_seconds));
        self.0.retain(|(at, _)| now.duration_since(*at) <= longest);
        self.keep(desired, now);
        let stabilized = match held == desired {
            true => Stabilized::No,
            false if desired >= current => Stabilized::Up,
            false => Stabilized::Down,
        };
        (held, stabilized)
    }

    fn keep(&mut self, desired: i32, now: Timestamp) {
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push((now, desired));
    }
}
