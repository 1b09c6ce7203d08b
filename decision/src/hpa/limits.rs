//! How far the replicas may move at once, by the policies and past changes. Pure.

use jiff::{SignedDuration, Timestamp};

use super::behavior::{Policy, Rules, Select, Unit};
use super::replicas::ceil_to_replicas;

/// A past change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of replicas added or removed.
    pub change: i32,
    /// Time of the change.
    pub at: Timestamp,
}

/// The changes of both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Added replicas.
    pub up: Vec<Event>,
    /// Removed replicas.
    pub down: Vec<Event>,
}

/// The limit on the number of replicas, with its reason and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No limit.
    None,
    /// `maxReplicas`.
    Max,
    /// `minReplicas`.
    Min,
    /// The speed of scaling up.
    UpRate,
    /// The speed of scaling down.
    DownRate,
}

impl Bound {
    /// Reason of the condition `ScalingLimited`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::None => "DesiredWithinRange",
            Self::Max => "TooManyReplicas",
            Self::Min => "TooFewReplicas",
            Self::UpRate => "ScaleUpLimit",
            Self::DownRate => "ScaleDownLimit",
        }
    }

    /// Message of the condition `ScalingLimited`.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::None => "the desired count is within the acceptable range",
            Self::Max => "the desired replica count is more than the maximum replica count",
            Self::Min => "the desired replica count is less than the minimum replica count",
            Self::UpRate => "the desired replica count is increasing faster than the maximum scale rate",
            Self::DownRate => "the desired replica count is decreasing faster than the maximum scale rate",
        }
    }
}

/// The replicas that an HPA may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// `minReplicas`.
    pub min: i32,
    /// `maxReplicas`.
    pub max: i32,
}

impl Events {
    /// Whether one of them is later than `now`.
    pub(super) fn lies_ahead(&self, now: Timestamp) -> bool {
        self.up.iter().chain(&self.down).any(|event| event.at > now)
    }

    /// Records a change under `rules`, those of its direction. The slot of a change that is older than every policy of
    /// that direction is reused.
    pub fn record(&mut self, before: i32, after: i32, longest_up: i32, longest_down: i32, now: Timestamp) {
        let (events, longest) =
            if after > before { (&mut self.up, longest_up) } else { (&mut self.down, longest_down) };
        let event = Event { change: after.saturating_sub(before).saturating_abs(), at: now };
        let period = SignedDuration::from_secs(longest.into());
        match events.iter_mut().rev().find(|old| now.duration_since(old.at) > period) {
            Some(old) => *old = event,
            None => events.push(event),
        }
    }

    fn change_in(events: &[Event], period_seconds: i32, now: Timestamp) -> i32 {
        let period = SignedDuration::from_secs(period_seconds.into());
        let recent = events.iter().filter(|event| now.duration_since(event.at) < period);
        recent.fold(0, |sum, event| sum.saturating_add(event.change))
    }

    /// The replicas at the start of the policy's period.
    fn start(&self, current: i32, policy: &Policy, now: Timestamp) -> i32 {
        let came = Self::change_in(&self.up, policy.period_seconds, now);
        let went = Self::change_in(&self.down, policy.period_seconds, now);
        current.saturating_sub(came).saturating_add(went)
    }

    /// The most replicas that `rules` allow now.
    #[must_use]
    pub fn most(&self, current: i32, rules: &Rules, now: Timestamp) -> i32 {
        let proposals = rules.policies.iter().map(|policy| {
            let start = self.start(current, policy, now);
            match policy.unit {
                Unit::Pods => start.saturating_add(policy.value),
                Unit::Percent => ceil_to_replicas(f64::from(start) * (1.0 + f64::from(policy.value) / 100.0)),
            }
        });
        match rules.select {
            Select::Disabled => current,
            Select::Min => proposals.min().unwrap_or(i32::MAX),
            Select::Max => proposals.max().unwrap_or(i32::MIN),
        }
    }

    /// The fewest replicas that `rules` allow now.
    #[must_use]
    pub fn fewest(&self, current: i32, rules: &Rules, now: Timestamp) -> i32 {
        let proposals = rules.policies.iter().map(|policy| {
            let start = self.start(current, policy, now);
            match policy.unit {
                Unit::Pods => start.saturating_sub(policy.value),
                Unit::Percent => cut_to_replicas(f64::from(start) * (1.0 - f64::from(policy.value) / 100.0)),
            }
        });
        match rules.select {
            Select::Disabled => current,
            Select::Min => proposals.max().unwrap_or(i32::MIN),
            Select::Max => proposals.min().unwrap_or(i32::MAX),
        }
    }

    /// `desired`, limited by the policies and the range.
    #[must_use]
    pub fn limit(
        &self,
        current: i32,
        desired: i32,
        range: Range,
        up: &Rules,
        down: &Rules,
        now: Timestamp,
    ) -> (i32, Bound) {
        if desired > current {
            let rate = self.most(current, up, now).max(current);
            let (most, bound) = if range.max > rate { (rate, Bound::UpRate) } else { (range.max, Bound::Max) };
            if desired > most {
                return (most, bound);
            }
        } else if desired < current {
            let rate = self.fewest(current, down, now).min(current);
            let (fewest, bound) = if range.min < rate { (rate, Bound::DownRate) } else { (range.min, Bound::Min) };
            if desired < fewest {
                return (fewest, bound);
            }
        }
        (desired, Bound::None)
    }
}

/// `desired` within the range, for an HPA without behavior: at most twice the current replicas, or four.
#[must_use]
pub fn limit_plain(current: i32, desired: i32, range: Range) -> (i32, Bound) {
    let rate = current.saturating_mul(2).max(4);
    let (most, bound) = if range.max > rate { (rate, Bound::UpRate) } else { (range.max, Bound::Max) };
    if desired < range.min {
        (range.min, Bound::Min)
    } else if desired > most {
        (most, bound)
    } else {
        (desired, Bound::None)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn cut_to_replicas(value: f64) -> i32 {
    value as i32
}
