//! Another load than the one that HPAs measure now, and what they would run for it. Pure.

use std::fmt;
use std::str::FromStr;

use crate::load::Load;
use crate::plan::{Cluster, Request};
use crate::split::Replicas;

/// A whole, in the unit of [`LoadFactor`].
const WHOLE: u64 = 1_000;
/// Greatest factor.
const MOST: f64 = 100.0;

/// By how much load is multiplied, in thousandths: `+30%`, `-20%` or `1.5x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadFactor(u64);

impl Default for LoadFactor {
    fn default() -> Self {
        Self(WHOLE)
    }
}

impl FromStr for LoadFactor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no change of load, such as +30%, -20% or 1.5x, of at most 100x");
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let factor = match (text.strip_suffix('%'), text.strip_suffix('x')) {
            (Some(percent), _) if percent.starts_with(['+', '-']) => number(percent).map(|part| 1.0 + part / 100.0),
            (_, Some(factor)) if !factor.starts_with(['+', '-']) => number(factor),
            _ => None,
        };
        let factor = factor.filter(|factor| (0.0..=MOST).contains(factor)).ok_or_else(wrong)?;
        // Within the limits, thousandths are far below the greatest integer.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Self((factor * 1_000.0).round() as u64))
    }
}

impl fmt::Display for LoadFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0.checked_div(WHOLE).unwrap_or_default();
        let rest = self.0.checked_rem(WHOLE).unwrap_or_default();
        let text = format!("{whole}.{rest:03}");
        write!(f, "{}x", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl LoadFactor {
    /// Whether load stays as it is.
    #[must_use]
    pub const fn is_unchanged(self) -> bool {
        self.0 == WHOLE
    }

    /// What the HPA of a cluster would want, by what it measures now, at least its min; `None` where it measures or
    /// scales nothing.
    fn wanted(self, request: &Request<'_>, cluster: &Cluster<'_>) -> Option<Replicas> {
        let load = cluster.load.filter(|_| !cluster.memory.scaled_to_zero)?;
        let load = self.scaled(load);
        let runs = cluster.current.filter(|runs| *runs > 0)?;
        let reacts = request.is_above(load) || request.would_scale_down(load);
        let wanted = if reacts { load.wanted(runs) } else { runs };
        Some(wanted.max(cluster.written().map_or(1, |written| written.min)))
    }

    fn scaled(self, load: Load) -> Load {
        let value = u128::from(load.value).saturating_mul(self.0.into()).checked_div(WHOLE.into()).unwrap_or_default();
        Load { value: value.try_into().unwrap_or(u64::MAX), ..load }
    }

    /// What each cluster of an object would run at this load, in their order: within its max and its free capacity, and
    /// all of them within `maxReplicas`.
    #[must_use]
    pub fn runs(self, request: &Request<'_>) -> Vec<AtLoad> {
        let mut left = request.total.max;
        for cluster in &request.clusters {
            left = left.saturating_sub(cluster.current.unwrap_or_default());
        }
        let at_load = |cluster: &Cluster<'_>| {
            let current = cluster.current.unwrap_or_default();
            let wanted = self.wanted(request, cluster).unwrap_or(current);
            let most = if request.policy.divides() { current.saturating_add(left) } else { request.total.max };
            let wanted = wanted.min(most.max(current));
            left = left.saturating_sub(wanted.saturating_sub(current));
            let max = cluster.written().map_or(current, |written| written.max);
            let room = current.saturating_add(cluster.available.unwrap_or_default());
            AtLoad { before: current, wanted, runs: wanted.min(max.min(room).max(current)) }
        };
        request.clusters.iter().map(at_load).collect()
    }
}

/// What a cluster would run at another load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLoad {
    /// What it runs now.
    pub before: Replicas,
    /// What its load would ask for.
    pub wanted: Replicas,
    /// What it would run for that.
    pub runs: Replicas,
}

impl AtLoad {
    /// Makes `cluster` what it would be. Of one that is `lost` all counts that its load would ask for: with more free
    /// capacity elsewhere it would have run there.
    pub fn enter(self, cluster: &mut Cluster<'_>, lost: bool) {
        let Self { before, wanted, runs } = self;
        let runs = if lost { wanted } else { runs };
        if runs == before {
            return;
        }
        cluster.current = Some(runs);
        cluster.hpa_current = cluster.hpa_current.map(|_| runs);
        cluster.hpa_desired = cluster.hpa_desired.map(|_| runs);
        if !lost {
            cluster.ready = cluster.ready.saturating_add(runs).saturating_sub(before).min(runs);
            let left = |free: Replicas| free.saturating_add(before).saturating_sub(runs);
            cluster.available = cluster.available.map(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Bounds, Hpa, HpaVersion, Policy};

    fn factor(text: &str) -> Result<u64, String> {
        text.parse::<LoadFactor>().map(|factor| factor.0)
    }

    #[test]
    fn a_change_is_a_percentage_with_its_sign_or_a_factor() {
        let all = ["+30%", "-20%", "1.5x", "0x", "100x", "+0%", "12.5x"].map(|text| factor(text).unwrap());
        assert_eq!(all, [1_300, 800, 1_500, 0, 100_000, 1_000, 12_500]);
        for wrong in ["30%", "1.5", "+1.5x", "-101%", "101x", "x", "%", "NaNx", "+inf%", ""] {
            assert!(factor(wrong).unwrap_err().contains("no change of load"), "{wrong}");
        }
        let shown = |text: &str| text.parse::<LoadFactor>().unwrap().to_string();
        assert_eq!(["+30%", "2x", "0.125x"].map(shown), ["1.3x", "2x", "0.125x"]);
    }

    fn cluster(name: &'static str, current: Replicas, max: Replicas, available: Replicas) -> Cluster<'static> {
        let written = Some(Bounds { min: 2, max });
        let version = HpaVersion::V2;
        let hpa = Hpa { written, version, confirmed: true, pending_max: max, scale_down_disabled: false };
        let load = Some(Load { value: 50, target: 50 });
        let (current, ready) = (Some(current), current);
        Cluster { name, current, ready, load, available: Some(available), hpa: Some(hpa), ..Cluster::default() }
    }

    fn runs(text: &str, clusters: Vec<Cluster<'static>>, max: Replicas) -> Vec<(Replicas, Replicas)> {
        let total = Bounds { min: 2, max };
        let request = Request { total, clusters, policy: Policy::DynamicWeighted, ..Request::default() };
        let found = text.parse::<LoadFactor>().unwrap().runs(&request);
        found.iter().map(|at| (at.wanted, at.runs)).collect()
    }

    #[test]
    fn hpas_run_what_the_load_asks_for_within_their_max_and_the_free_capacity() {
        let clusters = || vec![cluster("m1", 10, 12, 9), cluster("m2", 10, 20, 1), cluster("m3", 10, 20, 9)];
        assert_eq!(runs("+30%", clusters(), 60), [(13, 12), (13, 11), (13, 13)]);
        assert_eq!(runs("+30%", clusters(), 34), [(13, 12), (11, 11), (10, 10)], "within maxReplicas");
        assert_eq!(runs("-50%", clusters(), 60), [(5, 5); 3]);
        assert_eq!(runs("-90%", clusters(), 60), [(2, 2); 3], "their min");
        assert_eq!(runs("+5%", clusters(), 60), [(10, 10); 3], "the tolerance of HPAs");
    }

    #[test]
    fn what_does_not_run_or_measures_nothing_stays_as_it_is() {
        let idle = cluster("m1", 0, 9, 9);
        let blind = Cluster { load: None, ..cluster("m2", 4, 9, 9) };
        assert_eq!(runs("3x", vec![idle, blind], 60), [(0, 0), (4, 4)]);
    }

    #[test]
    fn a_lost_cluster_counts_with_all_that_its_load_asks_for() {
        let at = AtLoad { before: 4, wanted: 9, runs: 6 };
        let (mut lost, mut stays) = (cluster("m1", 4, 6, 5), cluster("m2", 4, 6, 5));
        at.enter(&mut lost, true);
        at.enter(&mut stays, false);
        assert_eq!((lost.current, lost.available), (Some(9), Some(5)));
        assert_eq!((stays.current, stays.ready, stays.available), (Some(6), 6, Some(3)));
    }
}
