//! The load over time, in thousandths of the load of a replica at its target. Pure; whole numbers only, so that a run
//! is the same on every machine.

/// Seconds since the start.
pub type Second = i64;

/// Seconds of a day.
const DAY: Second = 86_400;
/// Duration of a random deviation, in seconds.
const NOISE: Second = 20;

/// A load over time: the sum of steps, ramps and a daily shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curve {
    /// Steps and ramps, by time.
    pub points: Vec<Point>,
    /// A shape that repeats each day.
    pub daily: Option<Daily>,
    /// Greatest deviation, in percent.
    pub noise: u8,
    /// Seed of the deviations.
    pub seed: u64,
}

/// A change of the load to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Start of the change.
    pub at: Second,
    /// Duration of the change; 0: a step.
    pub ramp: Second,
    /// New value, in thousandths.
    pub load: u64,
}

/// A smooth daily cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Daily {
    /// Least load, in thousandths, twelve hours from the peak.
    pub low: u64,
    /// Greatest load, in thousandths.
    pub high: u64,
    /// Second of the day with the greatest load.
    pub peak: Second,
}

impl Curve {
    /// The load at that second, in thousandths.
    #[must_use]
    pub fn at(&self, second: Second) -> u64 {
        let load = self.pointed(second).saturating_add(self.daily.map_or(0, |daily| daily.at(second)));
        if self.noise == 0 {
            return load;
        }
        let chance = mixed(self.seed ^ second.div_euclid(NOISE).cast_unsigned());
        let width = u64::from(self.noise).saturating_mul(20);
        let thousandths =
            1000_u64.saturating_sub(width / 2).saturating_add(chance.checked_rem(width.max(1)).unwrap_or(0));
        load.saturating_mul(thousandths) / 1000
    }

    fn pointed(&self, second: Second) -> u64 {
        let begun = self.points.partition_point(|point| point.at <= second);
        let mut reached = 0;
        let mut last: Option<Point> = None;
        for point in self.points.iter().take(begun) {
            reached = last.map_or(0, |last| last.towards(reached, point.at));
            last = Some(*point);
        }
        last.map_or(0, |last| last.towards(reached, second))
    }

    /// Points that connect rows with straight lines, each `(second, load)`, ordered by time.
    #[must_use]
    pub fn through(rows: &[(Second, u64)]) -> Vec<Point> {
        let first = rows.first().map(|(at, load)| Point { at: *at, ramp: 0, load: *load });
        let more = rows.windows(2).filter_map(|pair| match pair {
            [(from, _), (to, load)] => Some(Point { at: *from, ramp: to.saturating_sub(*from), load: *load }),
            _ => None,
        });
        first.into_iter().chain(more).collect()
    }
}

impl Point {
    /// The load at `second` when the change began at `from`.
    fn towards(self, from: u64, second: Second) -> u64 {
        let passed = second.saturating_sub(self.at).max(0);
        if passed >= self.ramp {
            return self.load;
        }
        between(from, self.load, passed.unsigned_abs().into(), self.ramp.unsigned_abs().into())
    }
}

impl Daily {
    fn at(self, second: Second) -> u64 {
        let from_peak = second.saturating_sub(self.peak).rem_euclid(DAY);
        let away = from_peak.min(DAY.saturating_sub(from_peak)).unsigned_abs();
        // Smooth at both ends: 3x^2 - 2x^3, in millionths.
        let x = u128::from(away).saturating_mul(2_000_000) / u128::from(DAY.unsigned_abs());
        let smooth = x * x / 1_000_000 * 3_000_000u128.saturating_sub(2 * x) / 1_000_000;
        between(self.high, self.low, smooth, 1_000_000)
    }
}

fn between(from: u64, to: u64, part: u128, whole: u128) -> u64 {
    let part = part.min(whole);
    let sum =
        u128::from(from).saturating_mul(whole.saturating_sub(part)).saturating_add(u128::from(to).saturating_mul(part));
    u64::try_from(sum.checked_div(whole).unwrap_or_default()).unwrap_or(u64::MAX)
}

/// splitmix64: one number from another, well mixed.
pub(super) const fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Curve, Daily, Point};

    fn point(at: i64, ramp: i64, load: u64) -> Point {
        Point { at, ramp, load }
    }

    #[test]
    fn steps_and_ramps_follow_each_other() {
        let curve =
            Curve { points: vec![point(0, 0, 1000), point(10, 10, 3000), point(15, 0, 500)], ..Curve::default() };
        assert_eq!([0, 9, 10, 12, 14, 15, 99].map(|at| curve.at(at)), [1000, 1000, 1000, 1400, 1800, 500, 500]);
        assert_eq!(Curve { points: vec![point(5, 0, 7)], ..Curve::default() }.at(4), 0);
    }

    #[test]
    fn a_ramp_that_is_cut_off_goes_on_from_where_it_is() {
        let curve = Curve { points: vec![point(0, 0, 0), point(10, 10, 1000), point(15, 5, 0)], ..Curve::default() };
        assert_eq!([15, 16, 20].map(|at| curve.at(at)), [500, 400, 0]);
    }

    #[test]
    fn rows_are_joined_by_straight_lines() {
        let curve = Curve { points: Curve::through(&[(0, 0), (10, 1000), (20, 500)]), ..Curve::default() };
        assert_eq!([0, 5, 10, 15, 20, 30].map(|at| curve.at(at)), [0, 500, 1000, 750, 500, 500]);
    }

    #[test]
    fn a_day_has_one_peak() {
        let daily = Some(Daily { low: 1000, high: 9000, peak: 14 * 3600 });
        let curve = Curve { daily, ..Curve::default() };
        assert_eq!([2, 8, 14, 20, 26].map(|hour| curve.at(hour * 3600)), [1000, 5000, 9000, 5000, 1000]);
    }

    #[test]
    fn noise_stays_within_its_percent_and_is_the_same_each_time() {
        let curve = Curve { points: vec![point(0, 0, 100_000)], noise: 5, seed: 3, ..Curve::default() };
        let loads: Vec<u64> = (0..1000).map(|at| curve.at(at * 20)).collect();
        assert!(loads.iter().all(|load| (95_000..=105_000).contains(load)));
        assert!(loads.iter().any(|load| *load < 97_000) && loads.iter().any(|load| *load > 103_000));
        assert_eq!(curve.at(500), curve.clone().at(500));
    }
}
