//! What is known of a cluster -> input of the plan: one rule for the controller and for simulation. Pure.

use jiff::{SignedDuration, Timestamp};

use super::candidates::CandidateCluster;
use super::nodes::NodeOutlook;
use crate::load::Load;
use crate::plan::{
    Bounds, Cause, Cluster, ClusterState, Hpa, HpaVersion, Memory, Reach, UNCONFIRMED, UNREADY, is_ahead,
};
use crate::split::Replicas;

/// For so long what an HPA asked for may run unreported ([`Cluster::scaled_recently`]): Karmada may need minutes for
/// bindings.
const UNREPORTED: SignedDuration = SignedDuration::from_mins(5);
/// For so long what Karmada last reported of a cluster that answers again may be from before
/// ([`Cluster::back_recently`]).
const RETURNED: SignedDuration = SignedDuration::from_secs(10);

/// Free capacity for a workload in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Further replicas that would fit; `None` while unknown.
    pub available: Option<Replicas>,
    /// Replicas that would fit into the empty cluster; `None` while unknown.
    pub whole: Option<Replicas>,
}

/// Replicas of the workload in a cluster, as last reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replicated {
    /// All of them.
    pub replicas: Replicas,
    /// Those that are ready.
    pub ready: Replicas,
    /// Those of the newest template.
    pub updated: Replicas,
}

/// Status of the HPA that fhpa wrote, as last reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HpaReport {
    /// `currentReplicas`
    pub current: Option<Replicas>,
    /// `desiredReplicas`; what it wants now only once the write is confirmed.
    pub desired: Option<Replicas>,
    /// `lastScaleTime`
    pub scaled: Option<Timestamp>,
    /// The load that it measures; counts once the write is confirmed.
    pub load: Option<Load>,
    /// Whether it does not scale because no replicas are requested; counts once the write is confirmed.
    pub disabled: bool,
}

/// The HPA that fhpa wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenHpa {
    /// Its bounds, and whether they are confirmed.
    pub hpa: Hpa,
    /// When it was last written; `None` where that is not known.
    pub since: Option<Timestamp>,
    /// Its status.
    pub report: HpaReport,
}

/// The longest waits for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Until it confirms a write.
    pub unconfirmed: SignedDuration,
    /// Until its replicas are ready.
    pub unready: SignedDuration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { unconfirmed: UNCONFIRMED, unready: UNREADY }
    }
}

/// All that is known of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Whether it answers. The last status of one that does not stays, and never counts as ready.
    pub answers: bool,
    /// Since when; `None` where that is not known.
    pub answers_since: Option<Timestamp>,
    /// `None` until reported.
    pub replicated: Option<Replicated>,
    /// Unschedulable replicas; `None` while unknown.
    pub unschedulable: Option<Replicas>,
    /// Whether nodes come for these; `None` while the cluster has not been asked.
    pub outlook: Option<NodeOutlook>,
    /// `None` when there is certainly none.
    pub written: Option<WrittenHpa>,
    /// The API version that its HPA needs.
    pub version: HpaVersion,
    /// How its replicas can be written.
    pub reach: Reach,
    /// Its free capacity.
    pub room: Room,
    /// `maxResourceUsage` of `clusterHPAPreference`.
    pub share: Option<f64>,
    /// Its replicas in the binding, where it has an entry.
    pub entry: Option<Replicas>,
    /// Whether the binding has an eviction task for it.
    pub evicting: bool,
    /// When Karmada ends the eviction at the latest; `None` where it has no task, or one that waits for a user.
    pub eviction_ends: Option<Timestamp>,
    /// See [`Cluster::not_karmadas`].
    pub left_alone: bool,
    /// The target of the previous plan.
    pub target: Option<Bounds>,
    /// State kept by the previous plan.
    pub memory: Memory,
}

impl Observation {
    /// The cluster at `now`, and when the wait for it ends.
    #[must_use]
    pub fn cluster<'a>(
        &self,
        candidate: &CandidateCluster<'a>,
        waits: Waits,
        now: Timestamp,
    ) -> (Cluster<'a>, Option<Timestamp>) {
        let CandidateCluster { name, chosen, deleted, state, settings } = *candidate;
        let report = self.written.map(|written| written.report).unwrap_or_default();
        let confirmed = self.written.is_some_and(|written| written.hpa.confirmed);
        let heard = Some(report).filter(|_| self.answers && confirmed).unwrap_or_default();
        // Some kinds report neither zero replicas nor a generation, which looks like no report.
        let none = heard.disabled.then_some(0);
        let ready = self.ready();
        let (unresponsive, due) = self.unresponsive(ready, waits, now);
        let recent = |scaled: Timestamp| scaled.checked_add(UNREPORTED).is_ok_and(|end| end > now);
        let reported = self.reported(now);
        let due = [due, reported].into_iter().flatten().min();
        let cluster = Cluster {
            name,
            is_candidate: chosen,
            deleted,
            state,
            weight: settings.weight,
            priority: settings.priority,
            limits: settings.limits,
            usage_limit: self.share.and_then(|share| Some(Cluster::usage_limit_of(self.room.whole?, share))),
            current: self.current(report).or(none),
            hpa_current: report.current,
            ready,
            rolling: self.replicated.is_some_and(|replicated| replicated.updated < replicated.replicas),
            pending: self.pending(),
            no_nodes: self.no_nodes(),
            available: self.room.available,
            hpa_desired: report.desired.filter(|_| self.answers),
            load: heard.load,
            reach: self.reach,
            hpa: self.written.map(|written| written.hpa),
            version: self.version,
            entry: self.entry.or_else(|| self.taken_back(candidate, ready)),
            evicting: self.evicting,
            eviction_ends: self.eviction_ends,
            not_karmadas: self.left_alone,
            unresponsive,
            scaled_recently: self.answers && report.scaled.is_some_and(recent),
            back_recently: reported.is_some(),
            target: self.target,
            memory: self.memory,
        };
        (cluster, due)
    }

    /// The replicas of a candidate that Karmada still evicts although nothing speaks against the cluster any more. While
    /// some are ready it counts as one that has them in the binding: Karmada ends an eviction after its own time limit,
    /// whether or not others run as many, and gives the cluster nothing before.
    fn taken_back(&self, candidate: &CandidateCluster<'_>, ready: Replicas) -> Option<Replicas> {
        let ends = self.evicting && self.eviction_ends.is_some() && ready > 0;
        let serves = candidate.chosen && candidate.state == ClusterState::Serving;
        self.replicated.filter(|_| ends && serves).map(|replicated| replicated.replicas)
    }

    /// Replicas that are not ready in a cluster that answers: unschedulable ones are part of them, the others may just
    /// be starting.
    #[must_use]
    pub fn unready(&self) -> Replicas {
        let replicated = self.replicated.filter(|_| self.answers).unwrap_or_default();
        replicated.replicas.saturating_sub(replicated.ready)
    }

    /// A rollout that ends old pods before it starts new ones reports none in between: the HPA tells what is asked for.
    fn current(&self, report: HpaReport) -> Option<Replicas> {
        let replicas = self.replicated?.replicas;
        let recreates = replicas == 0 && self.entry.is_some() && !self.memory.scaled_to_zero;
        let Some(WrittenHpa { hpa, .. }) = self.written.filter(|_| recreates) else { return Some(replicas) };
        let asked = report.current.map_or(0, |current| report.desired.map_or(current, |desired| desired.min(current)));
        Some(asked.min(hpa.ceiling()))
    }

    fn ready(&self) -> Replicas {
        self.replicated.filter(|_| self.answers).map_or(0, |replicated| replicated.ready)
    }

    fn pending(&self) -> Replicas {
        let unready = self.unready();
        let pends = self.memory.scale_up_blocked.is_some_and(|blocked| blocked.cause.is_pending());
        // Until a source responds, the previous state applies: a new leader has not queried yet.
        let before = if pends { unready } else { 0 };
        self.unschedulable.unwrap_or(before).min(unready)
    }

    /// Until the cluster responds, the previous state applies here, too.
    fn no_nodes(&self) -> bool {
        let known = || self.memory.scale_up_blocked.is_some_and(|blocked| blocked.cause == Cause::NoNodes);
        self.outlook.as_ref().map_or_else(known, |outlook| matches!(outlook, NodeOutlook::NotComing { .. }))
    }

    /// When at the latest what is reported of its workload is from after it answered again; `None` where it is.
    fn reported(&self, now: Timestamp) -> Option<Timestamp> {
        let since = self.answers_since.filter(|_| self.answers && self.entry.is_some())?;
        // By a clock that is behind, it would be waited for until that has caught up.
        since.checked_add(RETURNED).ok().filter(|end| !is_ahead(since, now) && *end > now)
    }

    /// Whether the wait for the cluster has ended, and else when it will.
    fn unresponsive(&self, ready: Replicas, waits: Waits, now: Timestamp) -> (bool, Option<Timestamp>) {
        let Some(WrittenHpa { hpa, since: Some(since), .. }) = self.written else { return (false, None) };
        let patience = if !hpa.confirmed {
            waits.unconfirmed
        } else if ready < hpa.written.unwrap_or_default().min {
            waits.unready
        } else {
            return (false, None);
        };
        let due = since.checked_add(patience).unwrap_or(Timestamp::MAX);
        if due <= now { (true, None) } else { (false, Some(due)) }
    }
}

#[cfg(test)]
mod tests;
