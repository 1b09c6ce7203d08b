//! Numbers of replicas of one cluster, by what is seen of it. Pure.

use crate::plan::{Cluster, ClusterState, Hpa, Memory, Request};
use crate::split::Replicas;

impl Hpa {
    /// The greatest `maxReplicas` that may be in effect.
    #[must_use]
    pub fn ceiling(&self) -> Replicas {
        let written = self.written.unwrap_or_default().max;
        if self.confirmed { written } else { written.max(self.pending_max) }
    }
}

impl Memory {
    /// Fewest replicas that it runs in place of other clusters.
    #[must_use]
    pub fn replacement_replicas(&self) -> Replicas {
        self.replacement_min.map_or(0, |min| min.replicas)
    }

    /// Further ones that are due and that no cluster was asked to run yet.
    #[must_use]
    pub fn replacement_uncovered(&self) -> Replicas {
        self.replacement_min.map_or(0, |min| min.uncovered)
    }

    /// Both.
    #[must_use]
    pub fn replacement_total(&self) -> Replicas {
        self.replacement_replicas().saturating_add(self.replacement_uncovered())
    }
}

/// What runs.
impl Cluster<'_> {
    /// Replicas that run or are starting, and are never removed for other clusters: those that are ready, also while they
    /// restart, or reported without the unschedulable ones (docs/design.md#law-3-keep-ready-pods).
    #[must_use]
    pub fn running(&self) -> Replicas {
        self.ready.max(self.current.unwrap_or_default().saturating_sub(self.pending))
    }

    /// As [`Self::running`]; where the cluster has the workload and does not tell its replicas, those that its HPA last
    /// reported or asked for, else its entry, as far as its HPA leaves them: unknown replicas are not none.
    #[must_use]
    pub fn may_run(&self) -> Replicas {
        let hpa_asks = || self.hpa_current.map(|last| last.max(self.hpa_desired.unwrap_or_default()));
        let known = if self.is_unknown() && !self.not_karmadas { hpa_asks().or(self.entry) } else { None };
        let left = self.hpa.filter(|hpa| hpa.written.is_some()).map_or(Replicas::MAX, |hpa| hpa.ceiling());
        self.running().max(known.unwrap_or_default().min(left)).max(self.unreported())
    }

    /// `desiredReplicas` of its HPA within the bounds last written; `None` while unknown.
    #[must_use]
    pub fn hpa_desired_confirmed(&self) -> Option<Replicas> {
        self.hpa_desired.filter(|_| self.hpa.is_some_and(|hpa| hpa.confirmed))
    }

    /// Replicas that its HPA asked for a short while ago, within its max: the HPA may be reported before the workload.
    fn unreported(&self) -> Replicas {
        let asks = self.scaled_recently && !self.memory.scaled_to_zero && self.current.is_some();
        let most = self.written().filter(|_| asks).map_or(0, |written| written.max);
        // In the moment in which an HPA scales up it still reports the replicas from before.
        self.hpa_current.and(self.hpa_desired).unwrap_or_default().min(most).saturating_sub(self.pending)
    }

    /// Whether its HPA wants fewer replicas than run, as far as its load is known.
    pub(in crate::plan) fn wants_fewer(&self) -> bool {
        self.load.is_none_or(|load| load.wanted(self.ready) < self.running())
    }

    /// During a rollout the fewest replicas that its HPA may have requested, as last reported; otherwise no limit.
    fn surge_begins_at(&self) -> Replicas {
        let reported = self.hpa_current.filter(|_| self.rolling);
        reported.map_or(Replicas::MAX, |last| self.hpa_desired_confirmed().map_or(last, |desired| desired.min(last)))
    }

    /// Ready replicas, without the extra ones of a rollout.
    #[must_use]
    pub fn ready_without_surge(&self) -> Replicas {
        self.ready.min(self.surge_begins_at())
    }

    /// As [`Self::may_run`], without the extra pods of a rollout: they end with it, so they replace none of another
    /// cluster, and none leaves to make room for them.
    #[must_use]
    pub fn may_run_without_surge(&self) -> Replicas {
        self.may_run().min(self.surge_begins_at())
    }

    /// As [`Self::may_run_without_surge`]; none while they are unknown.
    pub(in crate::plan) fn known_without_surge(&self) -> Replicas {
        if self.is_unknown() { 0 } else { self.may_run_without_surge() }
    }

    /// Reported replicas without the extra ones of a rollout; `None` until reported.
    #[must_use]
    pub fn reported_without_surge(&self) -> Option<Replicas> {
        Some(self.current?.min(self.surge_begins_at()))
    }

    /// The max that keeps what [`Self::may_run`]: extra pods of a rollout need none above the one that is written.
    #[must_use]
    pub fn max_to_keep(&self) -> Replicas {
        self.may_run().min(self.may_run_without_surge().max(self.written().unwrap_or_default().max))
    }

    /// `replicas`, and at least one where it has an entry: an HPA without one may wait like a new cluster.
    pub(in crate::plan) fn at_least_entry(&self, replicas: Replicas) -> Replicas {
        replicas.max(self.entry.is_some().into())
    }

    /// Replicas that it runs, or last reported; `away`: of its workload and its HPA, which are reported seconds apart, the
    /// report with more replicas.
    pub(in crate::plan) fn last_ran(&self, away: bool) -> Replicas {
        let last = if away { self.current.max(self.hpa_current) } else { self.current.or(self.hpa_current) };
        let reported = last.or(self.entry).unwrap_or_default().saturating_sub(self.pending);
        if away { reported } else { self.may_run().max(if self.entry.is_none() { reported } else { 0 }) }
    }
}

/// What it may have.
impl Cluster<'_> {
    /// `current - pending + available`, within the share that the workload may use.
    #[must_use]
    pub fn capacity(&self) -> Replicas {
        let settled = self.current.unwrap_or_default().saturating_sub(self.pending);
        settled.saturating_add(self.available.unwrap_or_default()).min(self.usage_limit.unwrap_or(Replicas::MAX))
    }

    /// Replicas that `maxResourceUsage` of `clusterHPAPreference` allows where `whole` replicas would fit into the
    /// empty cluster, rounded down; a share outside 0..=1 is clamped.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn usage_limit_of(whole: Replicas, share: f64) -> Replicas {
        // The small addend repairs products such as 0.29 * 100 that are slightly below a whole number.
        let replicas = (f64::from(whole) * share.clamp(0.0, 1.0) + 1e-9).floor();
        (replicas as Replicas).min(whole)
    }

    /// Further replicas that fit into it and into the share that the workload may use.
    pub(in crate::plan) fn free(&self) -> Replicas {
        let room = self.usage_limit.map_or(Replicas::MAX, |limit| limit.saturating_sub(self.may_run()));
        self.available.unwrap_or_default().min(room)
    }

    /// Upper limit of its max: the user's threshold, and the measured share that the workload may use, which removes no
    /// running pods; of a silent cluster no more than it has.
    pub(in crate::plan) fn highest_max(&self, request: &Request<'_>) -> Replicas {
        let limit = self.usage_limit.map_or(Replicas::MAX, |limit| limit.max(self.may_run()));
        let silent = match (self.state, self.hpa) {
            (ClusterState::Silent, Some(hpa)) => hpa.ceiling(),
            _ => Replicas::MAX,
        };
        request.total.max.min(self.limits.most).min(limit).min(silent)
    }

    /// The greatest max that may be in effect.
    pub(in crate::plan) fn ceiling(&self) -> Replicas {
        self.hpa.map_or(0, |hpa| hpa.ceiling())
    }

    /// The max that a write to the cluster may keep: the greatest that may be in effect there; where all of these
    /// together are `above` the budget, as after another policy, only the lower one that may be in effect already.
    pub(in crate::plan) fn certain_max(&self, above: bool) -> Replicas {
        if above { self.written().unwrap_or_default().max } else { self.ceiling() }
    }

    /// What stays of what it runs: a lower max that is on its way removes the rest, and others keep theirs for none of it.
    pub(in crate::plan) fn after_pending_lower(&self) -> Replicas {
        let lowers = self.state == ClusterState::Serving && self.is_unconfirmed();
        let most = self.written().filter(|_| lowers).map_or(Replicas::MAX, |written| written.max);
        self.may_run_without_surge().min(most)
    }

    /// Those of its `replicas` that stay: the ones within its written max, as long as it has an entry.
    pub(in crate::plan) fn staying(&self, replicas: Replicas) -> Replicas {
        self.entry.map_or(0, |_| self.written().map_or(replicas, |written| replicas.min(written.max)))
    }

    /// Replicas that a leaving cluster may still run: none when it has left the binding, and at most the max last
    /// written for it while it leaves, so that several such clusters do not release twice.
    ///
    /// A max that it has not confirmed releases nothing that its HPA added since. Nothing was written to one that never
    /// had an HPA.
    pub(in crate::plan) fn max_while_leaving(&self) -> Replicas {
        let (Some(_), Some(hpa)) = (self.entry, self.hpa) else {
            return self.entry.map_or(0, |_| self.may_run());
        };
        let Some(written) = hpa.written else { return 0 };
        let kept = self.memory.lost.map_or(Replicas::MAX, |lost| {
            let more = self.may_run().saturating_sub(lost.replicas);
            written.max.saturating_add(more)
        });
        self.may_run().min(kept.max(written.max).min(hpa.ceiling()))
    }

    /// What a leaving cluster has of the `due` replicas, and more: what it runs, was asked to run in place of others and
    /// does not yet, or no longer runs because its max was lowered.
    pub(in crate::plan) fn covers(&self, due: Replicas) -> Replicas {
        let running = self.may_run();
        let lowered = self.written().is_some_and(|written| written.max <= running);
        running.max(self.memory.replacement_total()).max(if lowered { due } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Bounds, Cluster, Hpa, HpaVersion};

    #[test]
    fn a_share_of_a_cluster_is_rounded_down() {
        let caps = [(100, 0.29), (10, 0.25), (7, 1.0), (3, 0.1), (5, -1.0), (5, 2.0), (5, f64::NAN)];
        assert_eq!(caps.map(|(whole, share)| Cluster::usage_limit_of(whole, share)), [29, 2, 7, 0, 0, 5, 0]);
    }

    #[test]
    fn capacity_is_what_runs_and_what_would_fit() {
        let cluster = Cluster { current: Some(10), pending: 4, available: Some(3), ..Cluster::default() };
        assert_eq!((cluster.capacity(), cluster.running()), (9, 6));
        assert_eq!(Cluster { usage_limit: Some(7), ..cluster }.capacity(), 7);
        assert_eq!(Cluster { ready: 8, ..cluster }.running(), 8);
    }

    #[test]
    fn unknown_replicas_are_not_none() {
        let entered = Cluster { entry: Some(3), ..Cluster::default() };
        assert_eq!((entered.running(), entered.may_run()), (0, 3));
        assert_eq!(Cluster { hpa_current: Some(5), ..entered }.may_run(), 5);
        assert_eq!(Cluster { not_karmadas: true, ..entered }.may_run(), 0);
        assert_eq!(Cluster { current: Some(0), hpa_current: Some(5), ..entered }.may_run(), 0);
        // A cluster that lost it and got it back: its HPA still tells what there was.
        let written = Some(Bounds { min: 2, max: 2 });
        let hpa = |confirmed| {
            Some(Hpa { written, version: HpaVersion::V2, confirmed, pending_max: 9, scale_down_disabled: false })
        };
        assert_eq!(Cluster { hpa_current: Some(5), hpa: hpa(true), ..entered }.may_run(), 2);
        assert_eq!(Cluster { hpa_current: Some(5), hpa: hpa(false), ..entered }.may_run(), 5);
        assert_eq!(Cluster { entry: None, hpa_current: Some(5), ..entered }.may_run(), 0);
    }
}
