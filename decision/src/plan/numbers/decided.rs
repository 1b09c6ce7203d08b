//! Numbers of replicas of one cluster, by its target and memory. Pure.

use crate::plan::row::Row;
use crate::plan::{Bounds, Cause, ClusterState, Lost, Policy, Request};
use crate::split::Replicas;

/// What it runs or should run.
impl Row<'_> {
    /// `replicas` that it runs, or those that it was asked to run in place of others.
    pub(in crate::plan) fn or_asked(&self, replicas: Replicas) -> Replicas {
        replicas.max(self.memory.replacement_replicas())
    }

    /// As [`Self::or_asked`], with those that are due and that it was not asked to run yet.
    pub(in crate::plan) fn or_due(&self, replicas: Replicas) -> Replicas {
        replicas.max(self.memory.replacement_total())
    }

    /// Its running replicas, or those that it was asked to run in place of others.
    pub(in crate::plan) fn asked(&self) -> Replicas {
        self.or_asked(self.cluster.may_run())
    }

    /// As [`Self::asked`], and at least one where it has an entry: these must not be taken from it.
    pub(in crate::plan) fn busy(&self) -> Replicas {
        self.or_asked(self.cluster.at_least_entry(self.cluster.may_run()))
    }

    /// Its ready replicas, and its min; 1 where there is already an entry. Unknown ones count as ready, but where others
    /// `told` theirs, not those of a cluster that has not begun.
    pub(in crate::plan) fn ready_or_min(&self, told: bool) -> Replicas {
        let unknown = self.cluster.is_unknown() && !(told && self.cluster.is_unseen());
        let ready = if unknown { self.cluster.may_run() } else { self.cluster.ready };
        self.cluster.at_least_entry(ready).max(self.bounds.min)
    }

    /// Replicas that its HPA wants, as far as that is known.
    pub(in crate::plan) fn wants(&self) -> Replicas {
        self.cluster.hpa_desired_confirmed().filter(|_| self.answers()).unwrap_or_default()
    }

    /// Replicas that its HPA may want: while its bounds are on their way, those that it wanted before, which it would run
    /// by itself. An HPA that is being deleted will ask for none.
    pub(in crate::plan) fn may_want(&self) -> Replicas {
        let asks = self.answers() && self.cluster.written().is_some();
        self.cluster.hpa_desired.filter(|_| asks).unwrap_or_default()
    }

    /// Replicas that it reports, or should run at once.
    pub(in crate::plan) fn reported_or_ordered(&self) -> Replicas {
        self.cluster.current.unwrap_or_default().max(self.memory.ordered())
    }

    /// Replicas that it reports, may run or want by itself, or should run at once.
    pub(in crate::plan) fn comes_to(&self) -> Replicas {
        self.reported_or_ordered().max(self.cluster.may_run()).max(self.may_want())
    }

    /// Its entry: the current one within its bounds; a new one is its min, or 0 where it may be at zero.
    ///
    /// Members keep their own replicas, so an entry within the bounds is not changed here: it follows what runs later,
    /// and the binding is not written after every scaling.
    pub(in crate::plan) fn next_entry(&self, bounds: Bounds) -> Replicas {
        let least = bounds.min.min(bounds.max);
        let current = self.cluster.current;
        match self.cluster.entry {
            None if self.memory.scaled_to_zero => 0,
            None => least,
            Some(0) if self.memory.scaled_to_zero && current.unwrap_or_default() == 0 => 0,
            Some(entry) if (least..=bounds.max).contains(&entry) => entry,
            Some(entry) => current.unwrap_or(entry).clamp(least, bounds.max),
        }
    }
}

/// The limits of its bounds, and headroom.
impl Row<'_> {
    /// Its bounds with a min that asks for its replacement replicas, and where replicas cannot be written for those of an
    /// assist, too; `max` is that of its target, or above it.
    pub(in crate::plan) fn with_requests(&self, max: Replicas) -> Bounds {
        let asked = self.memory.assist.filter(|_| !self.cluster.reach.scale).map_or(0, |assist| assist.replicas);
        let least = self.bounds.min.max(self.memory.replacement_replicas()).max(self.held);
        Bounds { min: least.max(asked).min(max), max }
    }

    /// Lower limit of its max in a new assignment; under StaticWeighted the user decides, and the transition keeps running
    /// replicas until they shrink by themselves (docs/design.md#law-3-keep-ready-pods).
    pub(in crate::plan) fn lowest_when_assigned(&self, policy: Policy) -> Replicas {
        let least = self.cluster.limits.least;
        let low = match policy {
            Policy::Duplicated | Policy::StaticWeighted => least,
            Policy::DynamicWeighted | Policy::Aggregated => least.max(self.cluster.after_pending_lower()),
            Policy::Prioritized => least.max(self.cluster.after_pending_lower()).max(1),
        };
        low.min(self.high)
    }

    /// Lower limit of its max and of its min: its running replicas, its replacement replicas, and its lower threshold.
    pub(in crate::plan) fn least(&self) -> Replicas {
        self.asked().max(self.cluster.limits.least)
    }

    /// Lower limit of its max while its min stays.
    pub(in crate::plan) fn lowest_max(&self) -> Replicas {
        self.least().max(self.bounds.min)
    }

    /// Headroom that it does not want.
    pub(in crate::plan) fn headroom_unwanted(&self, request: &Request<'_>) -> Replicas {
        let Some(desired) = self.cluster.hpa_desired_confirmed().filter(|_| self.answers() && !self.is_blocked())
        else {
            return 0;
        };
        if self.may_give(request) { self.bounds.max.saturating_sub(self.lowest_max().max(desired)) } else { 0 }
    }

    /// Headroom that it lacks at its max.
    pub(in crate::plan) fn headroom_lacked(&self, request: &Request<'_>) -> Replicas {
        let full = self.memory.scale_up_blocked.is_some_and(|blocked| blocked.cause == Cause::AtMax);
        let may = || request.may_scale_up() && self.counts(request);
        if !full || !may() || !self.may_get(request) || !self.has_reacted(request) {
            return 0;
        }
        let wanted = self.cluster.load.map_or(0, |load| load.wanted(self.cluster.running()));
        let room = self.cluster.available.unwrap_or(Replicas::MAX);
        wanted.min(self.high).saturating_sub(self.bounds.max).min(room)
    }

    /// Replicas that it is asked for and cannot run: its unschedulable pods, or what its load asks for and nobody was asked
    /// for instead.
    pub(in crate::plan) fn lacks(&self, request: &Request<'_>) -> Replicas {
        match self.memory.scale_up_blocked.filter(|_| self.counts(request)).map(|blocked| blocked.cause) {
            Some(Cause::Pending | Cause::NoNodes) => self.shortfall(request).max(self.cluster.pending),
            Some(Cause::AtMax) if request.may_scale_up() => self.shortfall(request),
            Some(Cause::AtMax) | None => 0,
        }
    }

    /// Replicas that its load asks for beyond what it can run.
    pub(in crate::plan) fn overload(&self, request: &Request<'_>) -> Replicas {
        let running = self.cluster.running();
        let load = self.cluster.load.filter(|load| request.is_above(*load));
        let most = running.saturating_add(self.cluster.available.unwrap_or_default()).min(self.bounds.max);
        load.map_or(0, |load| load.wanted(running)).saturating_sub(most.max(running))
    }

    /// Replicas that others should run at once in its place, because it cannot scale:
    /// `ceil(ready * metric / target) - ready`, minus those already requested from others; for a cluster at its max only
    /// the part above that max. Without a metric: the unschedulable pods. (`ready`, not `current`: the metric is
    /// measured over running pods, so pending pods would count twice.)
    pub(in crate::plan) fn shortfall(&self, request: &Request<'_>) -> Replicas {
        let Some(blocked) = self.memory.scale_up_blocked.filter(|_| self.counts(request)) else { return 0 };
        let running = self.cluster.running();
        let wanted = self.cluster.load.map_or(self.cluster.current.unwrap_or_default(), |load| load.wanted(running));
        let has = match blocked.cause {
            Cause::Pending | Cause::NoNodes => running,
            Cause::AtMax => running.max(self.bounds.max),
        };
        wanted.saturating_sub(has).saturating_sub(self.memory.covered_replicas)
    }
}

/// Replacement.
impl Row<'_> {
    /// Owed replicas that no cluster has been asked to run yet.
    pub(in crate::plan) fn uncovered(&self) -> Replicas {
        self.memory.lost.map_or(0, |lost| lost.uncovered)
    }

    /// Replicas that it still runs while it leaves, of those that others were asked for.
    pub(in crate::plan) fn replaced(&self) -> Replicas {
        let Some(Lost { replicas, uncovered, .. }) = self.memory.lost else { return 0 };
        replicas.saturating_sub(uncovered).min(self.cluster.may_run())
    }

    /// Requested replicas that it does not run.
    pub(in crate::plan) fn short_of(&self) -> Replicas {
        self.memory.replacement_replicas().saturating_sub(self.cluster.ready_without_surge())
    }

    /// Requested replicas that it cannot run, because no further pods can be scheduled there, or it does not answer and
    /// was waited for: what it did run may run still.
    pub(in crate::plan) fn cannot_run(&self) -> Replicas {
        if self.cluster.state == ClusterState::Silent && self.cluster.unresponsive {
            return self.memory.replacement_replicas().saturating_sub(self.cluster.may_run());
        }
        self.short_of().min(self.cluster.pending)
    }

    /// Replicas that it was asked to run and does not, or that its HPA may remove, because it does not ask for them yet.
    pub(in crate::plan) fn unsure_of(&self) -> Replicas {
        let ready = self.cluster.ready_without_surge();
        let sure = if self.is_min_in_effect() { ready } else { ready.min(self.may_want()) };
        self.memory.replacement_replicas().saturating_sub(sure)
    }

    /// Further replicas that it can run in place of others, within its max and its free capacity; `None` where it cannot
    /// be asked. While the free capacity is unknown it is asked: replicas that do not become ready replace nothing.
    pub(in crate::plan) fn room_for_others(&self, all: bool) -> Option<Replicas> {
        self.room_up_to(self.bounds.max, all)
    }

    /// As [`Self::room_for_others`], with another max.
    pub(in crate::plan) fn room_up_to(&self, max: Replicas, all: bool) -> Option<Replicas> {
        let cluster = self.cluster;
        let pends = cluster.pending > 0 || self.is_pending();
        // An HPA does not scale a workload at zero replicas.
        let stopped = !cluster.reach.scale && cluster.entry.is_some() && cluster.current == Some(0);
        let unready = cluster.entry.is_some() && cluster.ready == 0;
        let unsure = self.memory.scaled_to_zero || cluster.is_unknown() || unready;
        if !self.answers() || pends || stopped || unsure && !all || cluster.evicting || cluster.back_recently {
            return None;
        }
        let runs = self.comes_to();
        let ordered = runs.saturating_sub(cluster.current.unwrap_or_else(|| cluster.may_run()));
        let room = cluster.available.map_or(Replicas::MAX, |room| room.saturating_sub(ordered));
        Some(room.min(max.saturating_sub(runs)))
    }
}
