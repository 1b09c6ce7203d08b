//! What fhpa itself added to a cluster lately to answer load: the policies of `behavior.scaleUp` bound all of it
//! together (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::{SignedDuration, Timestamp};

use crate::hpa::behavior::Rules;
use crate::hpa::limits::{Event, Events};
use crate::limits::RECENT_SCALE_UPS;
use crate::split::Replicas;

/// Replicas that were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleUp {
    /// How many.
    pub replicas: Replicas,
    /// When they were observed, in whole seconds, rounded up; `None`: they are requested, and may be added at any time.
    pub at: Option<Timestamp>,
}

/// The replicas that were added to a cluster, the oldest first; those that are requested last.
///
/// Bounded: more are added up, with the later time, so that none counts for a shorter time than it should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaleUps([Option<ScaleUp>; Self::MOST]);

impl ScaleUps {
    /// Most entries.
    pub const MOST: usize = RECENT_SCALE_UPS;

    /// As stored.
    #[must_use]
    pub fn of(all: impl IntoIterator<Item = ScaleUp>) -> Self {
        let mut all: Vec<ScaleUp> = all.into_iter().filter(|one| one.replicas > 0).collect();
        all.sort_by_key(|one| (one.at.is_none(), one.at));
        all.dedup_by(|later, one| {
            let same = later.at == one.at;
            one.replicas = one.replicas.saturating_add(if same { later.replicas } else { 0 });
            same
        });
        while all.len() > Self::MOST {
            // Where adding up costs least: few replicas, and soon after each other.
            let cost = |at: usize| {
                let (one, later) = (all.get(at)?, all.get(at.saturating_add(1))?);
                let seconds = later.at?.duration_since(one.at?).as_secs();
                Some((i64::from(one.replicas).saturating_mul(seconds), at))
            };
            let Some((_, at)) = (0..all.len()).filter_map(cost).min() else { break };
            let one = all.remove(at);
            if let Some(later) = all.get_mut(at) {
                later.replicas = later.replicas.saturating_add(one.replicas);
            }
        }
        let mut all = all.into_iter();
        Self([(); Self::MOST].map(|()| all.next()))
    }

    /// The entries, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = ScaleUp> {
        self.0.into_iter().flatten()
    }

    /// Without those that are requested.
    pub(super) fn observed(&self) -> Self {
        Self::of(self.iter().filter(|one| one.at.is_some()))
    }

    /// Replicas that are requested.
    pub(super) fn requested(&self) -> Replicas {
        self.iter().filter(|one| one.at.is_none()).fold(0, |sum, one| sum.saturating_add(one.replicas))
    }

    /// Adds replicas that are requested now.
    pub(super) fn request(&mut self, replicas: Replicas) {
        *self = Self::of(self.iter().chain([ScaleUp { replicas, at: None }]));
    }

    /// What was requested was added until `now`, if at all.
    pub(super) fn settle(&mut self, now: Timestamp) {
        let settled = |one: ScaleUp| ScaleUp { at: one.at.or(Some(whole_second(now))), ..one };
        *self = Self::of(self.iter().map(settled));
    }

    /// Forgets what no policy of `rules` counts any more.
    pub(super) fn forget(&mut self, rules: Option<&Rules>, now: Timestamp) {
        let longest = rules.map_or(0, Rules::longest_period);
        *self = Self::of(self.iter().filter(|one| counts(*one, longest, now)));
    }

    /// As changes of an HPA.
    pub(super) fn events(&self, now: Timestamp) -> Events {
        let event =
            |one: ScaleUp| Event { change: i32::try_from(one.replicas).unwrap_or(i32::MAX), at: one.at.unwrap_or(now) };
        Events { up: self.iter().map(event).collect(), down: Vec::new() }
    }

    /// When the policies of `rules` count less.
    pub(super) fn ends(&self, rules: &Rules) -> impl Iterator<Item = Timestamp> {
        let periods = rules.policies.iter().map(|policy| SignedDuration::from_secs(policy.period_seconds.into()));
        periods.flat_map(|period| self.iter().filter_map(move |one| one.at?.checked_add(period).ok()))
    }
}

/// Whether it is within the period. One that lies further in the future is of a clock that ran ahead.
fn counts(one: ScaleUp, seconds: i32, now: Timestamp) -> bool {
    one.at.is_none_or(|at| now.duration_since(at).abs() < SignedDuration::from_secs(seconds.into()))
}

/// Stored times have whole seconds: an earlier one would count for too short.
fn whole_second(now: Timestamp) -> Timestamp {
    let more = i64::from(now.subsec_nanosecond() > 0);
    Timestamp::from_second(now.as_second().saturating_add(more)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpa::behavior::{Policy, Select, Unit};

    const fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    fn told(all: &ScaleUps) -> Vec<(Replicas, Option<i64>)> {
        all.iter().map(|one| (one.replicas, one.at.map(Timestamp::as_second))).collect()
    }

    fn rules(period_seconds: i32) -> Rules {
        let policies = vec![Policy { unit: Unit::Pods, value: 4, period_seconds }];
        Rules { window_seconds: None, select: Select::Max, policies, tolerance: None }
    }

    #[test]
    fn what_is_requested_counts_until_it_is_observed_and_a_period_from_then() {
        let mut all = ScaleUps::default();
        all.request(2);
        all.request(1);
        all.forget(Some(&rules(15)), at(500));
        assert_eq!(told(&all), [(3, None)]);
        all.settle(Timestamp::constant(600, 1));
        assert_eq!(told(&all), [(3, Some(601))]);
        all.forget(Some(&rules(15)), at(615));
        assert_eq!(told(&all), [(3, Some(601))]);
        assert_eq!(all.ends(&rules(15)).collect::<Vec<_>>(), [at(616)]);
        all.forget(Some(&rules(15)), at(616));
        assert_eq!(all, ScaleUps::default());
    }

    #[test]
    fn more_than_there_is_place_for_is_added_up_and_counts_for_longer() {
        let one = |(replicas, second)| ScaleUp { replicas, at: Some(at(second)) };
        let all = ScaleUps::of([(9, 5), (1, 20), (1, 25), (1, 60), (1, 90)].map(one));
        assert_eq!(told(&all), [(9, Some(5)), (2, Some(25)), (1, Some(60)), (1, Some(90))]);
        let mut all = all;
        all.request(5);
        assert_eq!(told(&all), [(9, Some(5)), (2, Some(25)), (2, Some(90)), (5, None)]);
        assert_eq!(told(&ScaleUps::of([(1, 7), (0, 5), (2, 7)].map(one))), [(3, Some(7))]);
    }

    #[test]
    fn what_a_clock_that_ran_ahead_noted_is_forgotten() {
        let mut all = ScaleUps::of([ScaleUp { replicas: 3, at: Some(at(9_000)) }]);
        all.forget(Some(&rules(15)), at(1_000));
        assert_eq!(all, ScaleUps::default());
        let mut all = ScaleUps::of([ScaleUp { replicas: 3, at: Some(at(1_000)) }]);
        all.forget(None, at(1_000));
        assert_eq!(all, ScaleUps::default(), "no policy binds");
    }
}
