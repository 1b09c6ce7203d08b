//! A metric beside its target. Pure.

use std::cmp::Ordering;

use crate::split::Replicas;

/// Thousandths of a replica.
pub const WHOLE: u64 = 1_000;

/// Load of a cluster: the metric that asks for most replicas, and its target, in the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The metric.
    pub value: u64,
    /// Its target; 0 means unknown.
    pub target: u64,
}

impl Load {
    /// Replicas that would bring the metric to its target: `ceil(replicas * value / target)`.
    #[must_use]
    pub fn wanted(self, replicas: Replicas) -> Replicas {
        let product = u128::from(replicas).saturating_mul(self.value.into());
        match product.checked_div(self.target.into()) {
            None => replicas,
            Some(floor) => {
                let cut = product.checked_rem(self.target.into()).is_some_and(|rest| rest > 0);
                floor.saturating_add(cut.into()).try_into().unwrap_or(Replicas::MAX)
            }
        }
    }

    /// Thousandths of replicas that run at least for this load: with ten of eleven an HPA, by its usual tolerance, adds
    /// none.
    #[must_use]
    pub fn least(self, replicas: Replicas) -> u64 {
        let whole = u128::from(WHOLE).saturating_mul(replicas.into());
        let scaled = whole.saturating_mul(self.value.into()).saturating_mul(10);
        let of = u128::from(self.target).saturating_mul(11);
        scaled.checked_div(of).unwrap_or(whole).try_into().unwrap_or(u64::MAX)
    }

    /// Whether the metric is above target by more than the usual tolerance of an HPA.
    #[must_use]
    pub fn is_above(self) -> bool {
        self.tenths(11) == Ordering::Greater
    }

    /// Whether the metric is above target by more than so many millionths of the target.
    #[must_use]
    pub fn is_above_by(self, millionths: u64) -> bool {
        const WHOLE: u128 = 1_000_000;
        let most = u128::from(self.target).saturating_mul(WHOLE.saturating_add(millionths.into()));
        self.target > 0 && u128::from(self.value).saturating_mul(WHOLE) > most
    }

    /// Whether the metric is below target by more than so many millionths of the target.
    #[must_use]
    pub fn is_below_by(self, millionths: u64) -> bool {
        const WHOLE: u128 = 1_000_000;
        let least = u128::from(self.target).saturating_mul(WHOLE.saturating_sub(millionths.into()));
        self.target > 0 && u128::from(self.value).saturating_mul(WHOLE) < least
    }

    /// Whether the metric is below target.
    #[must_use]
    pub fn is_below(self) -> bool {
        self.target > 0 && self.tenths(10) == Ordering::Less
    }

    /// Compares the metric with this many tenths of the target.
    fn tenths(self, tenths: u128) -> Ordering {
        let value = u128::from(self.value).saturating_mul(10);
        if self.target == 0 { Ordering::Equal } else { value.cmp(&u128::from(self.target).saturating_mul(tenths)) }
    }

    /// The greater of two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let cross = |a: Self, b: Self| u128::from(a.value).saturating_mul(b.target.into());
        if cross(self, other) >= cross(other, self) { self } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(value: u64, target: u64) -> Load {
        Load { value, target }
    }

    #[test]
    fn replicas_are_rounded_up_exactly() {
        for (value, target, replicas, wanted) in
            [(2, 3, 3, 2), (200, 100, 7, 14), (101, 100, 100, 101), (1001, 1000, 10, 11), (5, 0, 4, 4), (0, 5, 4, 0)]
        {
            assert_eq!(load(value, target).wanted(replicas), wanted, "{value}/{target} of {replicas}");
        }
        assert_eq!(load(u64::MAX, 1).wanted(Replicas::MAX), Replicas::MAX);
    }

    #[test]
    fn a_tenth_above_is_tolerated_and_none_below() {
        assert!(!load(110, 100).is_above() && load(111, 100).is_above());
        assert!(!load(100, 100).is_below() && load(99, 100).is_below());
        assert!(!load(1, 0).is_above() && !load(1, 0).is_below());
    }

    #[test]
    fn the_greater_load_is_that_of_the_greater_ratio() {
        assert_eq!(load(3, 4).max(load(70, 100)), load(3, 4));
        assert_eq!(load(3, 4).max(load(80, 100)), load(80, 100));
    }
}
