//! Numbers of replicas of one cluster, by what is decided about it. Pure.

use super::row::Row;
use super::transition::{at_least_one, present};
use super::{Bounds, Cause, Cluster, ClusterState, Lost, Policy, Request};
use crate::decision::load::Load;
use crate::decision::split::Replicas;

impl Row<'_> {
    /// Lower limit of its max in a new assignment (docs/design.md#law-3-keep-ready-pods,
    /// docs/design.md#initial-assignment).
    ///
    /// Under StaticWeighted the user decides: the target is the split, and the transition keeps running replicas until
    /// they shrink by themselves.
    pub(super) fn low(&self, policy: Policy) -> Replicas {
        let least = self.cluster.limits.least;
        let low = match policy {
            Policy::Duplicated | Policy::StaticWeighted => least,
            Policy::DynamicWeighted | Policy::Aggregated => least.max(settles(self.cluster)),
            Policy::Prioritized => least.max(settles(self.cluster)).max(1),
        };
        low.min(self.high)
    }

    /// Its running replicas, or those that it was asked to run in place of others.
    pub(super) fn asked(&self) -> Replicas {
        self.cluster.may_run().max(self.memory.floor())
    }

    /// As [`Self::asked`], without the extra pods of a rollout.
    pub(super) fn stays_asked(&self) -> Replicas {
        self.cluster.stays().max(self.memory.floor())
    }

    /// As [`Self::asked`], and at least one where it has an entry: these must not be taken from it.
    pub(super) fn busy(&self) -> Replicas {
        present(self.cluster).max(self.memory.floor())
    }

    /// Lower limit of its max and of its min: its running replicas, its replacement replicas, and its lower threshold.
    pub(super) fn least(&self) -> Replicas {
        self.asked().max(self.cluster.limits.least)
    }

    /// Lower limit of its max while its min stays.
    pub(super) fn floor(&self) -> Replicas {
        self.least().max(self.bounds.min)
    }

    /// Requested replicas that it does not run.
    pub(super) fn short_of(&self) -> Replicas {
        self.memory.floor().saturating_sub(self.cluster.stays_ready())
    }

    /// Requested replicas that it cannot run, because no further pods can be scheduled there, or it does not answer and
    /// was waited for: what it did run may run still.
    pub(super) fn cannot_run(&self) -> Replicas {
        if self.cluster.state == ClusterState::Silent && self.cluster.overdue {
            return self.memory.floor().saturating_sub(self.cluster.may_run());
        }
        self.short_of().min(self.cluster.pending)
    }

    /// Replicas that it was asked to run and does not, or that its HPA may remove, because it does not ask for them yet.
    pub(super) fn unsure_of(&self) -> Replicas {
        let ready = self.cluster.stays_ready();
        let sure = if self.is_floor_in_effect() { ready } else { ready.min(self.may_want()) };
        self.memory.floor().saturating_sub(sure)
    }

    /// Replicas that its HPA wants, as far as that is known.
    pub(super) fn wants(&self) -> Replicas {
        self.cluster.desired.filter(|_| self.answers()).unwrap_or_default()
    }

    /// Replicas that its HPA may want: while its bounds are on their way, those that it wanted before. It would run these
    /// by itself, so they replace none of another cluster. An HPA that is being deleted will ask for none.
    pub(super) fn may_want(&self) -> Replicas {
        let stays = || self.cluster.hpa.is_some_and(|hpa| hpa.written.is_some());
        self.cluster.wished.filter(|_| self.answers() && stays()).unwrap_or_default()
    }

    /// As [`Self::asked`], without those that go: above its written max, or without an entry.
    pub(super) fn will_run(&self) -> Replicas {
        self.cluster.stays().min(kept(self.cluster)).max(self.memory.floor())
    }

    /// As [`Self::asked`], but ready ones only, without those that go.
    pub(super) fn serves(&self) -> Replicas {
        self.cluster.stays_ready().min(kept(self.cluster)).max(self.memory.floor())
    }

    /// Replicas that it should run at once, in place of others or to help them.
    pub(super) fn ordered(&self) -> Replicas {
        self.memory.assist.map_or(0, |assist| assist.replicas).max(self.memory.floor())
    }

    /// Replicas that it reports, or should run at once.
    pub(super) fn runs(&self) -> Replicas {
        self.cluster.current.unwrap_or_default().max(self.ordered())
    }

    /// As [`Self::runs`], or that it may run or want without being asked.
    pub(super) fn comes_to(&self) -> Replicas {
        self.runs().max(self.cluster.may_run()).max(self.may_want())
    }

    /// Further replicas that it can run in place of others, within its max and its free capacity; `None` where it cannot
    /// be asked. While the free capacity is unknown it is asked: replicas that do not become ready replace nothing.
    pub(super) fn spare(&self, all: bool) -> Option<Replicas> {
        let cluster = self.cluster;
        let pends = cluster.pending > 0 || self.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::Pending);
        // An HPA does not scale a workload at zero replicas.
        let stopped = !cluster.reach.scale && cluster.entry.is_some() && cluster.current == Some(0);
        let unready = cluster.entry.is_some() && cluster.ready == 0;
        let unsure = self.memory.zero || cluster.is_unknown() || unready;
        if !self.answers() || pends || stopped || unsure && !all || cluster.evicting || cluster.returned {
            return None;
        }
        let runs = self.comes_to();
        let ordered = runs.saturating_sub(cluster.current.unwrap_or_else(|| cluster.may_run()));
        let room = cluster.available.map_or(Replicas::MAX, |room| room.saturating_sub(ordered));
        Some(room.min(self.bounds.max.saturating_sub(runs)))
    }

    /// Replicas that others should run at once in its place, because it cannot scale:
    /// `ceil(ready * metric / target) - ready`, minus those already requested from others; for a cluster at its max only
    /// the part above that max. Without a metric: the unschedulable pods. (`ready`, not `current`: the metric is
    /// measured over running pods, so pending pods would count twice.)
    pub(super) fn shortfall(&self, request: &Request<'_>) -> Replicas {
        let Some(stuck) = self.memory.stuck.filter(|_| self.counts(request)) else { return 0 };
        let running = self.cluster.running();
        let wanted = self.cluster.load.map_or(self.cluster.current.unwrap_or_default(), |load| load.wanted(running));
        let has = match stuck.cause {
            Cause::Pending => running,
            Cause::AtMax => running.max(self.bounds.max),
        };
        wanted.saturating_sub(has).saturating_sub(self.memory.helped)
    }

    /// Headroom that it lacks at its max.
    pub(super) fn need(&self, request: &Request<'_>) -> Replicas {
        let full = self.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::AtMax);
        let may = || request.may_scale_up() && self.counts(request);
        if !full || !may() || !self.may_get(request) || !self.has_reacted(request) {
            return 0;
        }
        let wanted = self.cluster.load.map_or(0, |load: Load| load.wanted(self.cluster.running()));
        let room = self.cluster.available.unwrap_or(Replicas::MAX);
        wanted.min(self.high).saturating_sub(self.bounds.max).min(room)
    }

    /// Headroom that it does not want.
    pub(super) fn slack(&self, request: &Request<'_>) -> Replicas {
        let Some(desired) = self.cluster.desired.filter(|_| self.answers() && !self.is_stuck()) else { return 0 };
        if self.may_give(request) { self.bounds.max.saturating_sub(self.floor().max(desired)) } else { 0 }
    }

    /// Replicas that its load asks for beyond what it can run.
    pub(super) fn missing(&self, request: &Request<'_>) -> Replicas {
        let running = self.cluster.running();
        let load = self.cluster.load.filter(|load| request.is_above(*load));
        let most = running.saturating_add(self.cluster.available.unwrap_or_default()).min(self.bounds.max);
        load.map_or(0, |load| load.wanted(running)).saturating_sub(most.max(running))
    }

    /// The target with its replacement replicas as min, and where replicas cannot be written with those of an assist,
    /// too; `max` is that of the target, or above it.
    pub(super) fn floored(&self, max: Replicas) -> Bounds {
        let asked = self.memory.assist.filter(|_| !self.cluster.reach.scale).map_or(0, |assist| assist.replicas);
        Bounds { min: self.bounds.min.max(self.memory.floor()).max(asked).min(max), max }
    }

    /// Its ready replicas, and its min; 1 where there is already an entry. Unknown ones count as ready, but where others
    /// `told` theirs, not those of a cluster that has not begun.
    pub(super) fn ready(&self, told: bool) -> Replicas {
        let unknown = self.cluster.is_unknown() && !(told && self.cluster.is_unseen());
        let ready = if unknown { self.cluster.may_run() } else { self.cluster.ready };
        at_least_one(self.cluster, ready).max(self.bounds.min)
    }

    /// Owed replicas that no cluster has been asked to run yet.
    pub(super) fn due(&self) -> Replicas {
        self.memory.lost.map_or(0, |lost| lost.due)
    }

    /// Replicas that it still runs while it leaves, of those that others were asked for.
    pub(super) fn replaced(&self) -> Replicas {
        let Some(Lost { ran, due, .. }) = self.memory.lost else { return 0 };
        ran.saturating_sub(due).min(self.cluster.may_run())
    }
}

/// What stays of what it runs: a lower max that is on its way removes the rest, whatever is divided now. Replicas of
/// others are not cut for these.
fn settles(cluster: &Cluster<'_>) -> Replicas {
    let unconfirmed = cluster.hpa.filter(|hpa| !hpa.confirmed && cluster.state == ClusterState::Serving);
    let most = unconfirmed.and_then(|hpa| hpa.written).map_or(Replicas::MAX, |written| written.max);
    cluster.stays().min(most)
}

/// The most replicas that stay: those within its written max, as long as it has an entry.
fn kept(cluster: &Cluster<'_>) -> Replicas {
    let written = || cluster.hpa.and_then(|hpa| hpa.written).map_or(Replicas::MAX, |written| written.max);
    cluster.entry.map_or(0, |_| written())
}
