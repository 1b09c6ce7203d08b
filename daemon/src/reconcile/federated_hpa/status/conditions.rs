//! Conditions of a FederatedHPA: a reason for machines and a message that says what to do. No I/O.

use std::fmt;

use jiff::Timestamp;

use super::FAILOVER_PAUSED;
use super::health;
use crate::api::hpa_status::Condition;
use crate::controller::condition::ConditionParts;
use crate::controller::failure::Failure;
use crate::decision::backoff::ErrorClass;
use crate::decision::defaults::Mode;
use crate::decision::few::{Few, FewParts};
use crate::decision::health::{
    AMBIGUOUS, DISABLED, HEADROOM_IN_USE, MISSING, Member, SCALING_LIMITED, Verdict, broken, verdicts,
};
use crate::decision::plan::{Action, Cluster, ClusterState, Note, Obstacle, Plan, Share, Step, Wait};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::observe::foreign_hpas::Found;
use crate::reconcile::federated_hpa::observe::upstream::upstream_until;
use crate::reconcile::federated_hpa::observe::{Observed, is_silent};
use crate::reconcile::federated_hpa::{manifest, names};

/// The workload does not exist.
pub const WORKLOAD_NOT_FOUND: &str = "WorkloadNotFound";
/// The workload is not propagated.
pub const BINDING_NOT_FOUND: &str = "BindingNotFound";

/// Karmada's own controller also writes the object.
pub const UPSTREAM: &str = "UpstreamControllersRunning";

/// The user suspends the object.
pub const SUSPENDED: &str = "Suspended";

/// The object lost its mode, or other fields whose values are unknown.
pub const MODE_UNKNOWN: &str = "ModeUnknown";
/// Members have not confirmed all writes yet.
pub const WAITING: &str = "WaitingForMembers";
/// The workload is being handed back to Karmada.
pub const HANDING_BACK: &str = "HandingBack";
/// The workload is handed back to Karmada.
pub const HANDED_BACK: &str = "HandedBack";

/// The placement has fields or values that have no effect.
const PLACEMENT_NOT_SUPPORTED: &str = "PlacementNotSupported";

/// Karmada could not bring an object to a cluster.
const NOT_APPLIED: &str = "NotApplied";

/// Another FederatedHPA scales the workload.
pub const CONFLICT: &str = "ConflictingFederatedHPA";

/// Works of other objects have the name that those of this one would have.
const WORK_NAME_TAKEN: &str = "WorkNameTaken";

/// An autoscaler that is not fhpa's scales the workload.
const CONFLICTING_SCALER: &str = "ConflictingScaler";

/// Replicas of clusters that leave or failed are not ready elsewhere.
pub const MISSING_REPLICAS: [&str; 2] = [
    Note::Missing { missing: 0, obstacle: Obstacle::Room }.code(),
    Note::LeftUnreplaced { missing: 0, obstacle: Obstacle::Room }.code(),
];

/// Whether every cluster has its target bounds. `failure` is why the last write failed. For an object that became
/// Centralized: what its workload waits for until it is handed back.
#[must_use]
pub fn assigned(view: &View, observed: &Observed<'_>, plan: &Plan<'_>, failure: Option<&Failure>) -> ConditionParts {
    let parts = bounded(view, observed, plan, failure);
    if view.federated_hpa.mode() != Some(Mode::Centralized) {
        return parts;
    }
    let (_, _, message) = parts;
    let message = format!("Centralized mode begins once others run the replicas of clusters that leave: {message}");
    ("False", HANDING_BACK, message)
}

fn bounded(view: &View, observed: &Observed<'_>, plan: &Plan<'_>, failure: Option<&Failure>) -> ConditionParts {
    for note in &plan.notes {
        if matches!(note, Note::NoCandidates | Note::AllLost { .. }) {
            let unmet = observed.unmet.iter().map(|unmet| format!("; {unmet}"));
            return ("False", note.code(), format!("{note}{}", unmet.collect::<String>()));
        }
    }
    // Nothing else is done about a write that was refused.
    if let Some(failure) = failure.filter(|failure| failure.class == ErrorClass::Refused && !plan.steps.is_empty()) {
        return ("False", failure.reason, failure.message.clone());
    }
    if plan.steps.iter().any(|step| step.wait != Wait::Shrunk) {
        return ("False", WAITING, waiting(plan));
    }
    let unconfirmed = health::unconfirmed(view, plan);
    if !unconfirmed.is_empty() {
        let message = format!("waiting for {} to confirm the bounds that were written", Few(&unconfirmed));
        return ("False", WAITING, message);
    }
    if !plan.steps.is_empty() {
        let message = format!(
            "replicas that run are not removed for other clusters: raise spec.maxReplicas, or wait until the load falls; {}",
            waiting(plan)
        );
        return ("False", HEADROOM_IN_USE, message);
    }
    let shares: Vec<Assignment<'_>> =
        plan.shares.iter().filter(|share| share.kept().is_some()).map(Assignment).collect();
    let message = Few(&shares).to_string();
    if observed.request.suspended {
        return suspended(plan, &message);
    }
    remarked(observed, plan, message)
}

/// The bounds of a cluster in a message.
struct Assignment<'a>(&'a Share<'a>);

impl fmt::Display for Assignment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Share { cluster, target, now, hold, .. } = self.0;
        write!(f, "{cluster} {target}")?;
        hold.iter().try_for_each(|hold| write!(f, ", now {now}: {hold}"))
    }
}

/// All have their bounds: what a user should know all the same.
fn remarked(observed: &Observed<'_>, plan: &Plan<'_>, mut message: String) -> ConditionParts {
    for note in &plan.notes {
        message = format!("{message}; {note}");
    }
    if !observed.unknown_capacity.is_empty() {
        message = format!(
            "{message}; free capacity of {} is unknown and counts as zero: check that these clusters report \
             status.resourceSummary",
            Few(&observed.unknown_capacity)
        );
        return ("True", "CapacityUnknown", message);
    }
    if !observed.uncapped.is_empty() {
        message = format!(
            "{message}; maxResourceUsage has no effect for {}: there is no such cluster, or its status.resourceSummary is \
             missing",
            Few(&observed.uncapped)
        );
        return ("True", "ResourceUsageUnknown", message);
    }
    if !observed.unsupported.is_empty() {
        let message = format!(
            "{message}; fhpa divides in place of karmada-scheduler and does not apply these parts of the placement: {}",
            Few(observed.unsupported)
        );
        return ("True", PLACEMENT_NOT_SUPPORTED, message);
    }
    if !observed.unmet.is_empty() {
        let unmet: Vec<String> = observed.unmet.iter().map(ToString::to_string).collect();
        return ("True", "SpreadConstraintNotMet", format!("{message}; {}", unmet.join("; ")));
    }
    let code = plan.notes.first().map_or("Assigned", |note| note.code());
    ("True", code, message)
}

/// The bounds that stay, and whether they are the assigned ones.
fn suspended(plan: &Plan<'_>, shares: &str) -> ConditionParts {
    let pending: Vec<&str> = plan
        .shares
        .iter()
        .filter(|share| share.kept().is_some() && share.now != share.target)
        .map(|s| s.cluster)
        .collect();
    let note = Note::Suspended;
    if pending.is_empty() {
        return ("True", SUSPENDED, format!("{shares}; {note}"));
    }
    ("False", SUSPENDED, format!("{shares}; {} did not get these bounds yet; {note}", Few(&pending)))
}

/// Whether a user should look at it. Normal intermediate states do not count.
#[must_use]
pub fn is_bad(condition: &Condition) -> bool {
    let normal = is_awaited(condition) || [DISABLED, SUSPENDED, HANDED_BACK].contains(&reason_of(condition));
    condition.status == "False" && condition.type_ != SCALING_LIMITED && !normal
}

/// Whether it tells of a fault by being true: failover is paused, replicas are missing, or a name is taken.
#[must_use]
pub fn warns(condition: &Condition) -> bool {
    let reason = reason_of(condition);
    let tells = condition.type_ == FAILOVER_PAUSED || MISSING_REPLICAS.contains(&reason) || reason == WORK_NAME_TAKEN;
    condition.status == "True" && tells
}

/// Whether it says what is waited for.
#[must_use]
pub fn is_awaited(condition: &Condition) -> bool {
    condition.status == "False" && [WAITING, HEADROOM_IN_USE, MISSING, HANDING_BACK].contains(&reason_of(condition))
}

fn reason_of(condition: &Condition) -> &str {
    condition.reason.as_deref().unwrap_or_default()
}

/// Message about pending changes.
fn waiting(plan: &Plan<'_>) -> String {
    let name = |step: &Step<'_>| {
        let what = match &step.action {
            Action::ApplyHpa { cluster, bounds, .. } => format!("setting {cluster} to {bounds}"),
            Action::UpdateBinding { .. } => "updating the entries of the ResourceBinding".to_owned(),
            Action::Scale { cluster, replicas, .. } => format!("scaling {cluster} to {replicas}"),
            Action::DeleteHpa { cluster } => format!("removing the HPA of {cluster}"),
        };
        let what_for = match step.wait {
            Wait::Nothing => "is being written",
            Wait::Lowered => "waits for lower bounds elsewhere to be confirmed",
            Wait::Replaced => "waits for the replicas that replace it",
            Wait::Shrunk => "waits for running replicas to shrink",
            Wait::Gone => "waits for its old HPA to be gone",
        };
        format!("{what} ({}; {what_for})", step.why)
    };
    let missing = plan.notes.iter().filter(|note| matches!(note, Note::Missing { .. } | Note::LeftUnreplaced { .. }));
    let missing = missing.map(ToString::to_string);
    FewParts(&missing.chain(plan.steps.iter().map(name)).collect::<Vec<_>>()).to_string()
}

/// Why failed clusters do not fail over, if so. This is not an error of the object.
#[must_use]
pub fn paused(view: &View, observed: &Observed<'_>) -> Option<ConditionParts> {
    let Some((unready, all)) = observed.paused else {
        // The end is remembered: tolerations begin then.
        view.federated_hpa.condition(FAILOVER_PAUSED)?;
        return Some(("False", "ClustersReady", "clusters that fail are replaced by others".to_owned()));
    };
    let message = format!(
        "{unready} of {all} clusters are not Ready at once: the control plane is more likely cut off than they are gone, so \
         each keeps what it has (--unhealthy-cluster-threshold)"
    );
    Some(("True", "TooManyClustersNotReady", message))
}

/// The conditions of an HPA, over all members.
pub fn scaling(members: &[Member<'_>]) -> impl Iterator<Item = (&'static str, ConditionParts)> {
    verdicts(members).into_iter().map(|(type_, verdict)| (type_, parts_of(verdict)))
}

fn parts_of(Verdict { status, reason, message }: Verdict) -> ConditionParts {
    (status, reason, message)
}

/// Whether everything is set up as it should be: no problem blocks the controller, and the HPA of each candidate exists
/// as written, with its workload, and is the only one.
#[must_use]
pub fn ready(
    view: &View,
    observed: &Observed<'_>,
    plan: &Plan<'_>,
    members: &[Member<'_>],
    failure: Option<&Failure>,
    now: Timestamp,
) -> ConditionParts {
    if let Some(failure) = failure.or(observed.unkept.as_ref()) {
        return ("False", failure.reason, failure.message.clone());
    }
    if let Some(parts) = refused(view).or_else(|| left_alone(observed)) {
        return parts;
    }
    if upstream_until(&view.federated_hpa, now).is_some() {
        return upstream_runs();
    }
    if let Some(parts) = scaled_too(view) {
        return parts;
    }
    let fails = |cluster: &&Cluster<'_>| cluster.is_candidate && cluster.state != ClusterState::Serving;
    let failing = observed.request.clusters.iter().filter(fails).map(|cluster| cluster.name);
    let silent: Vec<&str> = failing.filter(|name| is_silent(view, name)).collect();
    if !silent.is_empty() {
        let message =
            format!("{} cannot be reached: bring the cluster back, or take it out of the placement", Few(&silent));
        return ("False", "MembersUnreachable", message);
    }
    if plan.notes.iter().any(|note| matches!(note, Note::NoCandidates)) {
        return ("False", "NoCandidates", Note::NoCandidates.to_string());
    }
    if let Some((clusters, why)) = &observed.unread {
        let message = format!(
            "{} did not confirm what was written, and cannot be asked through the cluster proxy: see to it that no other \
             ResourceInterpreterCustomization reflects the status of HPAs, or let the controller read HPAs there: {why}",
            Few(clusters)
        );
        return ("False", "MemberStatusUnknown", message);
    }
    match broken(members) {
        Some(mut verdict) => {
            if verdict.reason == AMBIGUOUS && !observed.foreign.is_empty() {
                verdict.message = format!("{}; the other HPA is {}", verdict.message, Few(&named(&observed.foreign)));
            }
            parts_of(verdict)
        }
        None if observed.request.suspended => ("True", SUSPENDED, Note::Suspended.to_string()),
        None => renamed(view).unwrap_or_else(|| ("True", "MemberHPAsReady", AS_WRITTEN.to_owned())),
    }
}

const AS_WRITTEN: &str = "each member cluster has its HPA as it was written";

/// Clusters in which the Work has a name of its own. Whose Work has the other name is not told: it may be an object of
/// another tenant.
fn renamed(view: &View) -> Option<ConditionParts> {
    let usual = manifest::work_name(&view.federated_hpa.object);
    let renamed = view.member_hpas.iter().filter(|member_hpa| *member_hpa.key.name != *usual);
    let clusters: Vec<&str> = renamed.map(|member_hpa| member_hpa.cluster()).collect();
    let message = format!(
        "{AS_WRITTEN}; in {} a Work of another object, which may be in another namespace, had the name {usual}, so that the \
         Work of this one has a name with its uid: to have the usual one, give this object another name",
        Few(&clusters)
    );
    (!clusters.is_empty()).then_some(("True", WORK_NAME_TAKEN, message))
}

fn upstream_runs() -> ConditionParts {
    let message = "karmada-controller-manager writes this object too: start it with \
                   --controllers=*,-federatedHorizontalPodAutoscaler,-cronFederatedHorizontalPodAutoscaler";
    ("False", UPSTREAM, message.to_owned())
}

fn named(foreign: &[Found]) -> Vec<String> {
    foreign.iter().map(ToString::to_string).collect()
}

/// Other autoscalers of the workload in karmada-apiserver.
fn scaled_too(view: &View) -> Option<ConditionParts> {
    let remedy = view.scalers.first()?.kind.remedy();
    let all: Vec<String> = view.scalers.iter().map(ToString::to_string).collect();
    Some(("False", CONFLICTING_SCALER, format!("in karmada-apiserver {}: {remedy}", Few(&all))))
}

/// Whether the setup of a Centralized object is correct, where its workload can be scaled.
#[must_use]
pub fn centralized(view: &View, foreign: &[Found], now: Timestamp) -> ConditionParts {
    if upstream_until(&view.federated_hpa, now).is_some() {
        return upstream_runs();
    }
    if let Some(parts) = scaled_too(view) {
        return parts;
    }
    if !foreign.is_empty() {
        let message = format!(
            "in member clusters another HPA scales this workload too: delete it there; it is {}",
            Few(&named(foreign))
        );
        return ("False", CONFLICTING_SCALER, message);
    }
    ("True", "TargetReady", "the workload is propagated and can be scaled".to_owned())
}

/// Objects that Karmada could not apply to a cluster.
fn refused(view: &View) -> Option<ConditionParts> {
    let mut refused =
        view.member_hpas.iter().filter_map(|member_hpa| Some((member_hpa.cluster(), member_hpa.refused()?)));
    let (cluster, why) = refused.next()?;
    let key = view.federated_hpa.key();
    if names::is_left_alone(why) {
        let message = format!(
            "{cluster} has an HPA {key} that is not ours: delete it there, or annotate this object with {}: \"true\" to have \
             it taken over",
            names::ADOPT
        );
        return Some(("False", "ForeignHPA", message));
    }
    Some(("False", NOT_APPLIED, format!("Karmada could not bring the HPA {key} to {cluster}: {why}")))
}

/// Workloads of others that Karmada leaves alone, and fhpa too.
fn left_alone(observed: &Observed<'_>) -> Option<ConditionParts> {
    let (_, why) = observed.left_alone.first()?;
    let clusters: Vec<&str> = observed.left_alone.iter().map(|(cluster, _)| *cluster).collect();
    let message = format!(
        "{} has a workload of that name that is not Karmada's, so it gets no HPA, and the other clusters have its share: \
         remove the workload there, or let Karmada take it over with conflictResolution: Overwrite in the policy: {why}",
        Few(&clusters)
    );
    Some(("False", NOT_APPLIED, message))
}
