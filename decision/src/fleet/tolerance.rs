//! How long a cluster may fail before other clusters take over, and the known past of clusters
//! (docs/design.md#failover). Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::taint::{NO_EXECUTE, NOT_READY, Taint, Tolerated, Toleration, UNREACHABLE, tolerated};
use super::{Member, Readiness};
use crate::plan::Failed;

/// The wait of a cluster grows no longer after this many failures in a row.
const MOST_TIMES: u32 = 4;
/// A cluster that Karmada's own failover evicts again and again stays out no longer than one for which the wait grew
/// this many times: less than a failure is remembered, since the wait would begin anew otherwise.
const MOST_TIMES_OUT: u32 = 3;

/// How long to wait for failed clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureTolerance {
    /// Toleration of a cluster whose condition `Ready` is False, where the placement names none.
    pub not_ready: SignedDuration,
    /// Toleration of a cluster whose condition `Ready` is Unknown, where the placement names none.
    pub unreachable: SignedDuration,
    /// Failover pauses while more than this share of the fleet is not Ready; of two clusters only while both are.
    pub threshold: f64,
}

impl Default for FailureTolerance {
    fn default() -> Self {
        let five_minutes = SignedDuration::from_mins(5);
        Self { not_ready: five_minutes, unreachable: five_minutes, threshold: 0.5 }
    }
}

/// What is known of clusters from previous plans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterHistory<'a> {
    /// Clusters with an HPA or an entry in the binding.
    pub held: BTreeSet<&'a str>,
    /// Those of them that have an HPA which is being deleted, and nothing else.
    pub dying: BTreeSet<&'a str>,
    /// Clusters that owe replicas ([`Memory::owes`](crate::plan::Memory::owes)), whether or not they hold an HPA.
    pub known: BTreeSet<&'a str>,
    /// When Karmada's own failover evicted the workload from them.
    pub evicted: BTreeMap<&'a str, Timestamp>,
    /// Clusters that failed recently.
    pub failed: BTreeMap<&'a str, Failed>,
    /// When failover was last resumed after a pause: no toleration begins earlier.
    pub resumed: Option<Timestamp>,
    /// When the binding was last scheduled: an affinity group that is not in use was given up then at the latest.
    pub scheduled: Option<Timestamp>,
    /// Clusters that may fail over now, where failovers are rate-limited; `None`: all.
    pub may_fail: Option<BTreeSet<&'a str>>,
}

impl FailureTolerance {
    /// Returns the number of clusters that are not Ready, and of all, while more than the threshold are not.
    ///
    /// While both of two are not Ready nobody could take over; the pause is for the moment in which one of them is back
    /// and the other about to be (docs/design.md#failover).
    #[must_use]
    pub fn pauses(&self, members: &[Member<'_>]) -> Option<(usize, usize)> {
        let all = members.len();
        let unready = members.iter().filter(|member| member.readiness != Readiness::Ready).count();
        let [part, whole] = [unready, all].map(|count| u32::try_from(count).map_or(f64::MAX, f64::from));
        let counts = match all {
            0 | 1 => false,
            // One of two may fail on its own, whatever the threshold.
            2 => unready == all,
            _ => true,
        };
        (counts && part > whole * self.threshold).then_some((unready, all))
    }

    /// Until when a taint is tolerated: by the placement, else by these durations; twice as long for each recent
    /// failure of the cluster.
    #[must_use]
    pub fn tolerated(
        &self,
        taint: &Taint<'_>,
        tolerations: &[Toleration<'_>],
        failed: Option<Failed>,
        now: Timestamp,
    ) -> Tolerated {
        let default = match &*taint.key {
            NOT_READY => self.not_ready,
            UNREACHABLE => self.unreachable,
            _ => return tolerated(taint, tolerations, now),
        };
        if taint.effect != NO_EXECUTE || tolerations.iter().any(|toleration| toleration.tolerates(taint)) {
            return tolerated(taint, tolerations, now);
        }
        let times = failed.filter(|failed| !failed.is_forgotten(now)).map_or(0, |failed| failed.times.min(MOST_TIMES));
        let end = taint.added.unwrap_or(now).checked_add(doubled(default, times));
        end.map_or(Tolerated::Forever, Tolerated::Until)
    }

    /// Until when a cluster stays out that Karmada's own failover evicted: for the toleration of a failed cluster, twice
    /// as long for each recent failure before that.
    #[must_use]
    pub fn stays_out(&self, evicted: Timestamp, failed: Option<Failed>, now: Timestamp) -> Option<Timestamp> {
        let failed = failed.filter(|failed| !failed.is_forgotten(now));
        let before = failed.map_or(0, |failed| failed.times.saturating_sub(1)).min(MOST_TIMES_OUT);
        evicted.checked_add(doubled(self.not_ready, before)).ok()
    }
}

fn doubled(wait: SignedDuration, times: u32) -> SignedDuration {
    wait.checked_mul(1_i32.checked_shl(times).unwrap_or(i32::MAX)).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(ready: usize, unready: usize) -> Vec<Member<'static>> {
        let member = |readiness| Member { readiness, ..Member::default() };
        let mut all = vec![member(Readiness::Ready); ready];
        all.extend(vec![member(Readiness::NotReady(Timestamp::UNIX_EPOCH)); unready]);
        all
    }

    #[test]
    fn most_of_a_fleet_does_not_fail_at_once() {
        let pauses = |ready, unready| FailureTolerance::default().pauses(&fleet(ready, unready)).is_some();
        assert!(!pauses(2, 1) && pauses(1, 2) && pauses(0, 3));
        assert!(!pauses(2, 2) && pauses(5, 6) && !pauses(1000, 1000));
    }

    #[test]
    fn of_two_clusters_one_may_fail_and_not_both_at_once() {
        let pauses = |ready, unready| FailureTolerance::default().pauses(&fleet(ready, unready));
        assert_eq!([pauses(2, 0), pauses(1, 1), pauses(0, 2)], [None, None, Some((2, 2))]);
        assert_eq!([pauses(0, 1), pauses(0, 0)], [None, None], "nobody could take over");
        let half = FailureTolerance { threshold: 0.0, ..FailureTolerance::default() };
        assert_eq!(half.pauses(&fleet(1, 1)), None, "one of two may fail on its own");
        let never = FailureTolerance { threshold: 1.0, ..FailureTolerance::default() };
        assert_eq!(never.pauses(&fleet(0, 2)), None, "the user's word");
    }

    #[test]
    fn a_cluster_that_is_evicted_again_stays_out_for_longer_each_time() {
        let at = |second| Timestamp::constant(second, 0);
        let out = |failed, now| FailureTolerance::default().stays_out(at(1_000), failed, at(now)).unwrap();
        let failed = |times| Some(Failed { times, last: at(1_000) });
        assert_eq!([out(None, 1_010), out(failed(1), 1_010)], [at(1_300); 2]);
        assert_eq!([2, 3, 4].map(|times| out(failed(times), 1_010)), [at(1_600), at(2_200), at(3_400)]);
        assert_eq!(out(failed(9), 1_010), at(3_400), "it comes back before the failures are forgotten");
        assert_eq!(out(failed(9), 90_000), at(1_300), "long ago");
    }

    #[test]
    fn a_cluster_that_flaps_is_waited_for_longer_each_time() {
        let at = |second| Timestamp::constant(second, 0);
        let taint = Taint { key: NOT_READY.into(), effect: NO_EXECUTE.into(), added: Some(at(0)), ..Taint::default() };
        let until = |failed: Option<Failed>, now| FailureTolerance::default().tolerated(&taint, &[], failed, at(now));
        let failed = |times| Some(Failed { times, last: at(0) });
        assert_eq!(until(None, 10), Tolerated::Until(at(300)));
        assert_eq!(until(failed(1), 10), Tolerated::Until(at(600)));
        assert_eq!(until(failed(9), 10), Tolerated::Until(at(4800)));
        assert_eq!(until(failed(9), 90_000), Tolerated::Until(at(300)), "long ago");
        assert_eq!(until(failed(9), -61), Tolerated::Until(at(300)), "a clock that ran ahead noted that");
        let own = Toleration { key: NOT_READY.into(), operator: "Exists".into(), seconds: Some(30), ..<_>::default() };
        let until = FailureTolerance::default().tolerated(&taint, &[own], failed(1), at(10));
        assert_eq!(until, Tolerated::Until(at(30)), "the user's word");
    }
}
