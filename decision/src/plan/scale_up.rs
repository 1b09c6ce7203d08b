//! `behavior.scaleUp` binds what fhpa itself adds to a cluster that serves: assists, waking, and a higher max for a
//! cluster at its max (docs/design.md#clusters-that-cannot-scale). The tolerance of `behavior.scaleDown` says which
//! load is low. Pure.
//!
//! Replacement of what ran elsewhere is not scaling, and is not bound.

use super::{Memory, Request, ScaleUps};
use crate::hpa::behavior::Select;
use crate::load::Load;
use crate::split::Replicas;

/// Millionths of the target by which a metric may differ from it, where the user says nothing: as an HPA.
const TOLERANCE: u64 = 100_000;
/// Millionths of one.
const WHOLE: f64 = 1e6;

impl Request<'_> {
    /// Whether fhpa may add replicas to answer load.
    pub(super) fn may_scale_up(&self) -> bool {
        self.scale_up.as_ref().is_none_or(|rules| rules.select != Select::Disabled)
    }

    /// Whether a metric is above its target by more than the tolerance.
    pub(crate) fn is_above(&self, load: Load) -> bool {
        load.is_above_by(self.tolerance())
    }

    /// Whether a metric is below its target, by more than the tolerance where the user names one.
    pub(super) fn is_below(&self, load: Load) -> bool {
        load.is_below_by(self.scale_down_tolerance.map_or(0, millionths))
    }

    /// Whether an HPA with this metric removes replicas, as far as rounding lets it.
    pub(crate) fn would_scale_down(&self, load: Load) -> bool {
        load.is_below_by(self.scale_down_tolerance.map_or(TOLERANCE, millionths))
    }

    fn tolerance(&self) -> u64 {
        self.scale_up.as_ref().and_then(|rules| rules.tolerance).map_or(TOLERANCE, millionths)
    }

    /// The most replicas that a cluster which runs or should run `current` may be asked to run: what the policies allow
    /// with what was added lately.
    pub(super) fn most(&self, current: Replicas, added: &ScaleUps) -> Replicas {
        let Some(rules) = &self.scale_up else { return Replicas::MAX };
        let now = i32::try_from(current).unwrap_or(i32::MAX);
        let most = added.events(self.now).most(now, rules, self.now);
        Replicas::try_from(most).unwrap_or_default().max(current)
    }

    /// Remembers that a cluster is asked for `more` replicas to answer load, where policies bind that.
    pub(super) fn remember(&self, memory: &mut Memory, more: Replicas) {
        if self.scale_up.is_some() {
            memory.scale_ups.request(more);
        }
    }

    /// Forgets what was added to a cluster before the periods of the policies; `requested` is whether what was asked
    /// for last may still be added.
    pub(super) fn expire(&self, memory: &mut Memory, requested: bool) {
        if !requested {
            memory.scale_ups.settle(self.now);
        }
        memory.scale_ups.forget(self.scale_up.as_ref(), self.now);
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn millionths(share: f64) -> u64 {
    (share * WHOLE).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpa::behavior::{Policy, Rules, Unit};

    fn request(select: Select, tolerance: Option<f64>) -> Request<'static> {
        let pods = Policy { unit: Unit::Pods, value: 2, period_seconds: 60 };
        let percent = Policy { unit: Unit::Percent, value: 100, period_seconds: 60 };
        let rules = Rules { window_seconds: None, select, policies: vec![pods, percent], tolerance };
        Request { scale_up: Some(rules), ..Request::default() }
    }

    #[test]
    fn without_words_of_the_user_nothing_is_bound() {
        let request = Request::default();
        assert!(request.may_scale_up());
        assert_eq!(request.most(3, &ScaleUps::default()), Replicas::MAX);
        let mut memory = Memory::default();
        request.remember(&mut memory, 3);
        assert_eq!(memory, Memory::default());
        assert!(
            !request.is_above(Load { value: 110, target: 100 }) && request.is_above(Load { value: 111, target: 100 })
        );
    }

    #[test]
    fn a_step_is_as_large_as_the_policies_allow() {
        let most = |select| request(select, None).most(5, &ScaleUps::default());
        assert_eq!((most(Select::Max), most(Select::Min)), (10, 7));
        assert!(!request(Select::Disabled, None).may_scale_up());
        assert_eq!(most(Select::Disabled), 5);
    }

    #[test]
    fn several_steps_within_a_period_are_one() {
        let now = jiff::Timestamp::constant(1_000, 0);
        let mut request = Request { now, ..request(Select::Min, None) };
        let mut memory = Memory::default();
        request.remember(&mut memory, 1);
        request.expire(&mut memory, true);
        assert_eq!(request.most(6, &memory.scale_ups), 7, "5 and 2");
        request.expire(&mut memory, false);
        request.remember(&mut memory, 1);
        assert_eq!(request.most(7, &memory.scale_ups), 7);
        request.now += jiff::SignedDuration::from_secs(60);
        request.expire(&mut memory, true);
        assert_eq!(request.most(7, &memory.scale_ups), 8, "the first no longer counts");
    }

    #[test]
    fn the_users_tolerance_counts() {
        let load = Load { value: 105, target: 100 };
        assert!(request(Select::Max, Some(0.04)).is_above(load) && !request(Select::Max, Some(0.05)).is_above(load));
        assert!(!request(Select::Max, Some(0.5)).is_above(Load { value: 150, target: 100 }));
        assert!(request(Select::Max, Some(0.0)).is_above(Load { value: 101, target: 100 }));
        let below = |tolerance, value| {
            let request = Request { scale_down_tolerance: tolerance, ..Request::default() };
            request.is_below(Load { value, target: 100 })
        };
        assert!(below(None, 99) && !below(None, 100));
        assert!(below(Some(0.2), 79) && !below(Some(0.2), 80));
        assert!(!below(Some(1.0), 0) && !below(Some(2.0), 0), "a tolerance of the whole target: no load is low");
    }
}
