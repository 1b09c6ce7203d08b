//! `behavior.scaleUp` binds what fhpa itself adds to a cluster that serves: assists, waking, and a higher max for a
//! cluster at its max (docs/design.md#clusters-that-cannot-scale). The tolerance of `behavior.scaleDown` says which
//! load is low. Pure.
//!
//! Replacement of what ran elsewhere is not scaling, and is not bound.

use super::Request;
use crate::decision::hpa::behavior::Select;
use crate::decision::hpa::limits::Events;
use crate::decision::load::Load;
use crate::decision::split::Replicas;

/// Millionths of the target by which a metric may be above it, where the user says nothing: as an HPA.
const TOLERANCE: u64 = 100_000;
/// Millionths of one.
const WHOLE: f64 = 1e6;

impl Request<'_> {
    /// Whether fhpa may add replicas to answer load.
    pub(super) fn may_scale_up(&self) -> bool {
        self.scale_up.as_ref().is_none_or(|rules| rules.select != Select::Disabled)
    }

    /// Whether a metric is above its target by more than the tolerance.
    pub(super) fn is_above(&self, load: Load) -> bool {
        load.is_above_by(self.tolerance())
    }

    /// Whether a metric is below its target, by more than the tolerance where the user names one.
    pub(super) fn is_below(&self, load: Load) -> bool {
        load.is_below_by(self.scale_down_tolerance.map_or(0, millionths))
    }

    fn tolerance(&self) -> u64 {
        self.scale_up.as_ref().and_then(|rules| rules.tolerance).map_or(TOLERANCE, millionths)
    }

    /// The most replicas that a cluster with `current` may be asked to run at once: one step of the policies.
    pub(super) fn most_at_once(&self, current: Replicas) -> Replicas {
        let Some(rules) = &self.scale_up else { return Replicas::MAX };
        let now = i32::try_from(current).unwrap_or(i32::MAX);
        let most = Events::default().most(now, rules, self.now);
        Replicas::try_from(most).unwrap_or_default().max(current)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn millionths(share: f64) -> u64 {
    (share * WHOLE).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::hpa::behavior::{Policy, Rules, Unit};

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
        assert_eq!(request.most_at_once(3), Replicas::MAX);
        assert!(
            !request.is_above(Load { value: 110, target: 100 }) && request.is_above(Load { value: 111, target: 100 })
        );
    }

    #[test]
    fn a_step_is_as_large_as_the_policies_allow() {
        assert_eq!(request(Select::Max, None).most_at_once(5), 10);
        assert_eq!(request(Select::Min, None).most_at_once(5), 7);
        let disabled = request(Select::Disabled, None);
        assert!(!disabled.may_scale_up());
        assert_eq!(disabled.most_at_once(5), 5);
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
