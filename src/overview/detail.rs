//! One FederatedHPA and what belongs to it -> the model. No I/O.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::gather::Objects;
use super::model::{Decision, Detail, MetricView, NextRun, Waiting};
use super::{Clock, clusters, conditions, cron, metric, summary};
use crate::api::hpa_status::MetricStatus;
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::convert::memory;

/// Most decisions that are shown.
const DECISIONS: usize = 10;
/// Most runs that are shown.
const RUNS: usize = 10;

/// The model of the first FederatedHPA of `objects`; `None` when there is none.
#[must_use]
pub fn detail(objects: &Objects, clock: Clock<'_>) -> Option<Detail> {
    let hpa = objects.federated_hpas.first()?;
    let events: Vec<ShownEvent> = objects.events.iter().filter_map(ShownEvent::of).collect();
    let related = Related {
        binding: objects.binding.as_ref(),
        clusters: objects.clusters.iter().collect(),
        crons: objects.cron_federated_hpas.iter().collect(),
        events: events.iter().collect(),
    };
    Some(Detail { unread: objects.unread.clone(), ..detail_of(hpa, &related, clock) })
}

/// What belongs to a FederatedHPA.
#[derive(Clone, Debug, Default)]
pub struct Related<'a> {
    /// The binding of its workload.
    pub binding: Option<&'a ResourceBinding>,
    /// The member clusters.
    pub clusters: Vec<&'a Cluster>,
    /// The CronFederatedHPAs of its namespace.
    pub crons: Vec<&'a CronFederatedHPA>,
    /// Events about it.
    pub events: Vec<&'a ShownEvent>,
}

/// An Event about a FederatedHPA, as far as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownEvent {
    /// Name of the Event.
    pub name: String,
    /// Name of the FederatedHPA.
    pub about: String,
    /// What it tells.
    pub decision: Decision,
    /// The `uid` of the FederatedHPA; an object of the same name may have been there before.
    uid: Option<String>,
}

impl ShownEvent {
    /// `None`: it is about an object of another kind.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        let regarding = event.regarding.as_ref().filter(|one| one.kind.as_deref() == Some("FederatedHPA"))?;
        let count = event.series.as_ref().map(|series| series.count).or(event.deprecated_count).unwrap_or(1).max(1);
        let decision = Decision {
            time: time(event).map(Time),
            type_: event.type_.clone().unwrap_or_default(),
            reason: event.reason.clone().unwrap_or_default(),
            message: event.note.clone().unwrap_or_default(),
            count,
        };
        Some(Self {
            name: event.metadata.name.clone().unwrap_or_default(),
            about: regarding.name.clone().unwrap_or_default(),
            decision,
            uid: regarding.uid.clone(),
        })
    }

    fn is_about(&self, hpa: &FederatedHPA) -> bool {
        let same = self.uid.is_none() || self.uid == hpa.metadata.uid;
        same && Some(&self.about) == hpa.metadata.name.as_ref()
    }
}

/// The model of `hpa`; nothing of it is unread.
#[must_use]
pub fn detail_of(hpa: &FederatedHPA, related: &Related<'_>, clock: Clock<'_>) -> Detail {
    let status = hpa.status.as_ref();
    let known = summary::conditions_of(status);
    let summary = summary::summary(hpa);
    let counts = summary.cluster_counts;
    let at_zero = counts.total > 0 && counts.scaled_to_zero == counts.total;
    Detail {
        summary,
        last_scale_time: status.and_then(|status| status.last_scale_time.clone()),
        conditions: conditions::views(known, at_zero),
        metrics: metrics(hpa),
        clusters: clusters::views(hpa, related.binding, &related.clusters),
        waits_for: waits(hpa, clock.now),
        decisions: decisions(hpa, &related.events),
        next_runs: runs(hpa, &related.crons, clock),
        unread: Vec::new(),
    }
}

/// The metrics over all clusters: as the status has them, or else from the HPAs of all members.
fn metrics(hpa: &FederatedHPA) -> Vec<MetricView> {
    let spec = hpa.spec.metrics.as_deref().unwrap_or_default();
    let Some(status) = &hpa.status else { return metric::views(spec, &[]) };
    if let Some(current) = &status.current_metrics {
        return metric::views(spec, current);
    }
    // Those that are not well are no mean of all.
    let members = status.aggregated_status.iter().flatten().filter(|_| status.aggregated_status_omitted.is_none());
    let members: Vec<(i32, &[MetricStatus])> = members
        .map(|member| {
            let current = member.status.current_metrics.as_deref().unwrap_or_default();
            (member.status.current_replicas.unwrap_or_default(), current)
        })
        .collect();
    metric::means(spec, &members)
}

/// What the conditions wait for, the controller's answer to an edit, and clusters that others help soon.
fn waits(hpa: &FederatedHPA, now: Timestamp) -> Vec<Waiting> {
    let status = hpa.status.as_ref();
    let mut waits = Vec::new();
    let observed = status.and_then(|status| status.observed_generation);
    if hpa.metadata.generation.is_some() && observed != hpa.metadata.generation {
        waits.push(Waiting {
            reason: "SpecNotObserved".to_owned(),
            message: "the controller has not answered the last change of the spec yet".to_owned(),
            since: None,
            to_do: "if it stays, see whether a controller leads: fhpa doctor".to_owned(),
        });
    }
    waits.extend(conditions::awaited(summary::conditions_of(status)));
    let delay = SignedDuration::from_secs(hpa.spec.autoscale_multi_cluster_delay.unwrap_or_default().into());
    let helps = hpa.spec.scale_assist.unwrap_or(true);
    let shares = status.and_then(|status| status.cluster_hpa_desired.as_ref()).into_iter().flatten();
    for share in shares.filter(|_| helps) {
        let Some(blocked) = memory::read(share).1.scale_up_blocked else { continue };
        let Some(due) = blocked.counts_from(delay) else { continue };
        if due > now {
            let seconds = due.duration_since(now).as_secs();
            waits.push(Waiting {
                reason: share.scale_up_blocked_reason.clone().unwrap_or_default(),
                message: format!("{} cannot scale up; others help in {seconds} s", share.cluster_name),
                since: share.scale_up_blocked_time.clone(),
                to_do: String::new(),
            });
        }
    }
    waits
}

/// The newest Events of the object first; equal ones in a row are one.
fn decisions(hpa: &FederatedHPA, events: &[&ShownEvent]) -> Vec<Decision> {
    let mut events: Vec<&ShownEvent> = events.iter().copied().filter(|event| event.is_about(hpa)).collect();
    let time = |event: &ShownEvent| event.decision.time.as_ref().map(|time| time.0);
    events.sort_by_key(|event| (std::cmp::Reverse(time(event)), event.name.clone()));
    let mut decisions: Vec<Decision> = Vec::new();
    for ShownEvent { decision, .. } in events {
        let full = decisions.len() >= DECISIONS;
        match decisions.last_mut() {
            Some(last) if last.reason == decision.reason && last.message == decision.message => {
                last.count = last.count.saturating_add(decision.count);
            }
            _ if full => break,
            _ => decisions.push(decision.clone()),
        }
    }
    decisions
}

/// When an Event last took place.
fn time(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().map(|series| series.last_observed_time.0);
    let of_event = || event.event_time.as_ref().map(|time| time.0);
    let older = || event.deprecated_last_timestamp.as_ref().map(|time| time.0);
    series.or_else(of_event).or_else(older).or_else(|| event.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

/// The next runs of rules that move the object.
fn runs(hpa: &FederatedHPA, crons: &[&CronFederatedHPA], clock: Clock<'_>) -> Vec<NextRun> {
    let crons = crons.iter().copied().filter(|one| cron::moves(one, hpa));
    let mut runs: Vec<NextRun> = crons.flat_map(|one| cron::next_runs(one, clock)).collect();
    runs.sort_by(|a, b| (a.time.0, &a.name, &a.rule).cmp(&(b.time.0, &b.name, &b.rule)));
    runs.truncate(RUNS);
    runs
}
