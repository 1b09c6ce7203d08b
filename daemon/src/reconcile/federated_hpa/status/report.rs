//! Reports reconciles to users (Events, log). Posts nothing itself.

use std::borrow::Cow;
use std::sync::Arc;

use tracing::{debug, info, warn};

use super::conditions;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::controller::events::{Events, Record, Severity};
use crate::controller::failure::Failure;
use crate::decision::backoff::ErrorClass;
use crate::decision::few::Few;
use crate::decision::plan::{ClusterState, Note, Plan, Request, Why};
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::names;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;

/// Reason of the Event that other clusters should run the replicas of a cluster.
const REPLACEMENT_STARTED: &str = "ReplacementStarted";

/// Reports events.
pub struct Reporter {
    /// The Events.
    pub events: Events,
    /// The counters.
    pub metrics: Arc<ControllerMetrics>,
    /// The time of day.
    pub clock: WallClock,
}

impl Reporter {
    /// Reports a changed assignment.
    pub fn assigned(&self, leader: &Leader, entry: &FederatedHpaEntry, plan: &Plan<'_>) {
        let share =
            |share: &crate::decision::plan::Share<'_>| format!("{} {} ({})", share.cluster, share.target, share.reason);
        let taking_part = plan.shares.iter().filter(|share| share.kept().is_some());
        let note = Few(&taking_part.map(share).collect::<Vec<_>>()).to_string();
        let first = entry.object.status.as_ref().is_none_or(|status| status.assignment_hash.is_none());
        let reason = if first { "Assigned" } else { "Reassigned" };
        self.record_normal(leader, entry, reason, note);
    }

    /// Reports clusters that leave although their replicas do not run elsewhere.
    pub fn unreplaced(&self, leader: &Leader, entry: &FederatedHpaEntry, plan: &Plan<'_>) {
        let late = |note: &&Note| matches!(note, Note::LeftUnreplaced { .. });
        if let Some(note) = plan.notes.iter().find(late) {
            info!(object = %entry.key(), "{}: {note}", note.code());
            self.record_event(leader, entry, Severity::Warning, note.code(), note.to_string());
        }
    }

    /// Counts and logs writes that would break a law by what is known.
    pub fn refused(&self, entry: &FederatedHpaEntry, plan: &Plan<'_>) {
        for refusal in &plan.refusals {
            self.metrics.refused(refusal.law);
            debug!(object = %entry.key(), law = refusal.law.code(), "{refusal}");
        }
    }

    /// Reports decisions beside bounds: clusters that cannot scale, assists, and scaling to and from zero.
    pub fn helped(&self, leader: &Leader, entry: &FederatedHpaEntry, request: &Request<'_>, plan: &Plan<'_>) {
        for share in &plan.shares {
            let known = request.clusters.iter().find(|cluster| cluster.name == share.cluster);
            let before = known.map(|cluster| cluster.memory).unwrap_or_default();
            let after = share.memory;
            if let Some(lost) = after.lost.filter(|_| before.lost.is_none()) {
                let note = format!(
                    "{} is leaving or has failed: other clusters take over its {} replicas",
                    share.cluster, lost.replicas
                );
                self.metrics.replacements.inc();
                if known.is_some_and(|cluster| cluster.state == ClusterState::Lost) {
                    self.metrics.failovers.inc();
                }
                self.record_normal(leader, entry, REPLACEMENT_STARTED, note);
            }
            let cause = after.scale_up_blocked.map(|stuck| stuck.cause);
            if let Some(cause) = cause.filter(|cause| before.scale_up_blocked.map(|stuck| stuck.cause) != Some(*cause))
            {
                self.record_normal(leader, entry, "ScaleUpBlocked", format!("{} cannot scale: {cause}", share.cluster));
            }
            let ordered = after.ordered();
            if ordered > before.ordered() {
                let note = format!("{} takes over {ordered} replicas: {}", share.cluster, Why::ScaleAssisted);
                self.record_normal(leader, entry, Why::ScaleAssisted.code(), note);
            }
            let why = if after.scaled_to_zero { Why::ScaledToZero } else { Why::ScaledFromZero };
            if after.scaled_to_zero != before.scaled_to_zero {
                self.record_normal(leader, entry, why.code(), format!("{} {why}", share.cluster));
            }
        }
    }

    fn record_normal(&self, leader: &Leader, entry: &FederatedHpaEntry, reason: &'static str, note: String) {
        info!(object = %entry.key(), reason, "{note}");
        self.record_event(leader, entry, Severity::Normal, reason, note);
    }

    /// Reports that the replicas of a Centralized workload were changed.
    pub fn rescaled(&self, leader: &Leader, entry: &FederatedHpaEntry, replicas: i32, why: &str) {
        let note = format!("New size: {replicas}; reason: {why}");
        self.record_event(leader, entry, Severity::Normal, "SuccessfulRescale", note);
    }

    /// Reports that the workload is handed back, and the parts that failed.
    pub fn released(&self, leader: &Leader, entry: &FederatedHpaEntry, undone: &[String]) {
        let note = "handed the workload back to Karmada with its current replicas".to_owned();
        if undone.is_empty() {
            info!(object = %entry.key(), "{note}");
            return self.record_event(leader, entry, Severity::Normal, "Released", note);
        }
        let note = format!("released the workload, but could not finish: {}", undone.join("; "));
        warn!(object = %entry.key(), "{note}");
        self.record_event(leader, entry, Severity::Warning, "ReleasedIncompletely", note);
    }

    /// Reports that fields pruned by a foreign CRD were restored.
    pub fn restored(&self, leader: &Leader, entry: &FederatedHpaEntry, fields: &str) {
        let note = format!(
            "{fields}: restored from the annotation {}; another CustomResourceDefinition had made the API server drop them",
            crate::decision::mirror::SPEC
        );
        info!(object = %entry.key(), "{note}");
        self.record_event(leader, entry, Severity::Warning, "FieldsRestored", note);
    }

    /// Reports that an HPA of another name was taken over.
    pub fn adopted(&self, leader: &Leader, entry: &FederatedHpaEntry, cluster: &str, name: &str) {
        let note =
            format!("deleted the HPA {name:?} of {cluster}, which scaled the workload before ({})", names::ADOPT);
        self.record_normal(leader, entry, "AdoptedHPA", note);
    }

    /// Reports a failure that is retried.
    pub fn failed(&self, leader: &Leader, entry: &FederatedHpaEntry, failure: &Failure) {
        if failure.class == ErrorClass::Transient {
            info!(object = %entry.key(), reason = failure.reason, "{failure}");
        } else {
            warn!(object = %entry.key(), reason = failure.reason, "{failure}");
        }
        self.record_event(leader, entry, Severity::Warning, failure.reason, failure.message.clone());
    }

    /// Reports conditions that became bad, or are bad for another reason. Each reason is reported once.
    pub fn worsened(&self, leader: &Leader, entry: &FederatedHpaEntry, status: &FederatedHPAStatus) {
        let mut reported: Vec<&str> = Vec::new();
        for condition in status.conditions.iter().flatten() {
            let reason = condition.reason.as_deref().unwrap_or_default();
            let known = entry.condition(&condition.type_);
            let stays = known.is_some_and(|known| known.status == condition.status && known.reason == condition.reason);
            let tells = conditions::is_bad(condition) || conditions::warns(condition);
            if stays || reported.contains(&reason) || !tells {
                continue;
            }
            reported.push(reason);
            let note = condition.message.clone().unwrap_or_default();
            let (type_, status) = (&*condition.type_, &*condition.status);
            warn!(object = %entry.key(), condition = type_, status, reason, "{note}");
            self.record_event(leader, entry, Severity::Warning, reason.to_owned(), note);
        }
    }

    /// Counts a write of the status.
    pub fn status_written(&self) {
        self.metrics.status_writes.inc();
    }

    /// Counts a retry.
    pub fn retried(&self, class: ErrorClass) {
        self.metrics.retried(class);
    }

    fn record_event(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        severity: Severity,
        reason: impl Into<Cow<'static, str>>,
        note: String,
    ) {
        let reason = reason.into();
        let key = entry.key();
        let regarding = entry.own(&key).reference();
        let at = (self.clock)();
        self.events.record(leader, Record { severity, reason, action: "Assign", note, at, regarding, related: None });
    }
}
