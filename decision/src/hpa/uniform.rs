//! The same algorithm for identical pods, by their number: fast enough to simulate a million pods. Pure.

use super::metric::Target;
use super::replicas::{Tolerance, Workload, ceil_to_replicas, settle, unchanged_or};
use crate::hpa::pod::Startup;

/// The pods of a workload, all identical.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    /// Replicas requested now.
    pub spec_replicas: i32,
    /// Pods whose samples count.
    pub counted: u32,
    /// Pods that exist and whose samples do not count yet.
    pub unready: u32,
    /// Distances that cause no scaling.
    pub tolerance: Tolerance,
}

impl Uniform {
    /// Replicas for a metric with the same `value` on each counted pod; `request` is the request of each pod, for a
    /// utilization. The result is that of [`super::replicas::replicas`] for such pods; `None` where no pod counts.
    #[must_use]
    pub fn replicas(&self, target: Target, value: i64, request: i64) -> Option<i32> {
        if self.counted == 0 {
            return None;
        }
        let pods = self.counted.saturating_add(self.unready);
        let workload = Workload {
            spec_replicas: self.spec_replicas,
            status_replicas: self.spec_replicas,
            calibration: 1.0,
            partial: None,
            pods: &[],
            spread: false,
            tolerance: self.tolerance,
            startup: Startup::default(),
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let now = self.ratio(target, value, request, self.counted);
        if matches!(target, Target::Value(_)) || self.unready == 0 || now <= 1.0 {
            return Some(unchanged_or(&workload, now, f64::from(self.counted)));
        }
        let then = self.ratio(target, value, request, pods);
        Some(settle(&workload, now, then, pods))
    }

    /// The ratio of the metric to its target, spread over this many pods.
    fn ratio(&self, target: Target, value: i64, request: i64, pods: u32) -> f64 {
        let all = i128::from(value).saturating_mul(self.counted.into());
        let share = |of: i128| all.checked_div(of.saturating_mul(pods.into()).max(1)).unwrap_or_default();
        match target {
            Target::Utilization(percent) => {
                let used = all.saturating_mul(100);
                let used = used.checked_div(i128::from(request).saturating_mul(pods.into())).unwrap_or_default();
                f64::from(i32::try_from(used).unwrap_or(i32::MAX)) / f64::from(percent)
            }
            Target::AverageValue(target) => to_f64(share(1)) / to_f64(target.into()),
            Target::Value(target) => to_f64(value.into()) / to_f64(target.into()),
        }
    }

    /// Replicas that a workload without replicas needs for a metric as a whole.
    #[must_use]
    pub fn from_none(target: Target, value: i64) -> Option<i32> {
        match target {
            Target::Value(target) => Some(ceil_to_replicas(to_f64(value.into()) / to_f64(target.into()))),
            Target::Utilization(_) | Target::AverageValue(_) => None,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the algorithm is defined on doubles")]
const fn to_f64(value: i128) -> f64 {
    value as f64
}
