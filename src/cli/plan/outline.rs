//! A forecast -> its output for programs. The format is stable: members are only added. No I/O.

use serde::Serialize;

use crate::api::FederatedHPA;
use crate::api::hpa::CrossVersionObjectReference;
use crate::decision::plan::{Action, Bounds, Cluster, ClusterState, Entry, Policy, Share, Step, Wait};
use crate::decision::split::Replicas;
use crate::run::forecast::{Forecast, Objects};

/// The output of a plan.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outline {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) min_replicas: Replicas,
    pub(super) max_replicas: Replicas,
    pub(super) scaling_to_zero: bool,
    pub(super) policy: &'static str,
    /// Source of the policy.
    pub(super) policy_from: String,
    /// Affinity group in use; empty where there is none.
    pub(super) affinity_group: String,
    pub(super) clusters: Vec<Row>,
    pub(super) steps: Vec<Move>,
    pub(super) notes: Vec<CodedMessage>,
}

/// The workload.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

impl Target {
    pub(super) fn of(reference: &CrossVersionObjectReference) -> Self {
        let CrossVersionObjectReference { api_version, kind, name } = reference.clone();
        Self { api_version, kind, name }
    }
}

/// A code and a sentence.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CodedMessage {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// Bounds of an HPA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Range {
    pub(super) min_replicas: Replicas,
    pub(super) max_replicas: Replicas,
}

/// A cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) name: String,
    /// Whether the rules select it.
    pub(super) candidate: bool,
    /// Under StaticWeighted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<u64>,
    /// Under Prioritized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) priority: Option<i32>,
    /// Replicas that would still fit; `None` while unknown.
    pub(super) available: Option<Replicas>,
    /// Replicas that fit, including running ones; `None` while unknown.
    pub(super) capacity: Option<Replicas>,
    /// The final bounds; `None` when it does not take part.
    pub(super) bounds: Option<Range>,
    /// The initial bounds, where they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) initial_bounds: Option<Range>,
    /// Current replicas; `None` while unknown.
    pub(super) current_replicas: Option<Replicas>,
    /// Final replicas in the binding; `None` when it has no entry.
    pub(super) planned_replicas: Option<Replicas>,
    pub(super) reason: CodedMessage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<CodedMessage>,
}

/// A step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Move {
    /// `ApplyHPA`, `UpdateBinding`, `Scale` or `DeleteHPA`.
    pub(super) action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bounds: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replicas: Option<Replicas>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) entries: Vec<ClusterReplicas>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) evictions: Vec<ClusterReplicas>,
    /// `None`: the step is taken at once.
    pub(super) waits_for: Option<CodedMessage>,
    pub(super) reason: CodedMessage,
}

/// Replicas in a cluster.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ClusterReplicas {
    pub(super) cluster: String,
    pub(super) replicas: Replicas,
}

impl Outline {
    pub(super) fn of(hpa: &FederatedHPA, objects: &Objects, forecast: &Forecast<'_>) -> Self {
        let Forecast { request, plan, .. } = forecast;
        let mut clusters: Vec<&Cluster<'_>> = request.clusters.iter().collect();
        clusters.sort_unstable_by_key(|cluster| cluster.name);
        Self {
            namespace: hpa.metadata.namespace.clone().unwrap_or_default(),
            name: hpa.metadata.name.clone().unwrap_or_default(),
            target: Target::of(&hpa.spec.scale_target_ref),
            min_replicas: request.total.min,
            max_replicas: request.total.max,
            scaling_to_zero: request.may_be_zero(),
            policy: request.policy.name(),
            policy_from: forecast.origin.to_string(),
            affinity_group: forecast.group.to_owned(),
            clusters: clusters.into_iter().map(|cluster| row(cluster, forecast)).collect(),
            steps: plan.steps.iter().map(step).collect(),
            notes: notes(objects, forecast),
        }
    }
}

fn range(bounds: Bounds) -> Range {
    Range { min_replicas: bounds.min, max_replicas: bounds.max }
}

fn row(cluster: &Cluster<'_>, forecast: &Forecast<'_>) -> Row {
    let Forecast { request, plan, .. } = forecast;
    let share = plan.shares.iter().find(|share| share.cluster == cluster.name && share.kept().is_some());
    let entry = plan.binding.iter().find(|entry| entry.cluster == cluster.name);
    let message_of = |share: &Share<'_>| CodedMessage { code: share.reason.code(), message: share.reason.to_string() };
    Row {
        name: cluster.name.to_owned(),
        candidate: cluster.is_candidate,
        weight: (request.policy == Policy::StaticWeighted).then_some(cluster.weight),
        priority: cluster.priority.filter(|_| request.policy == Policy::Prioritized),
        available: cluster.available,
        capacity: cluster.available.map(|_| cluster.capacity()),
        bounds: share.map(|share| range(share.target)),
        initial_bounds: share.filter(|share| share.now != share.target).map(|share| range(share.now)),
        current_replicas: cluster.current.or(cluster.entry),
        planned_replicas: entry.map(|entry| entry.replicas),
        reason: share.map_or_else(|| absent(cluster), message_of),
        hold: share
            .and_then(|share| share.hold)
            .map(|hold| CodedMessage { code: hold.code(), message: hold.to_string() }),
    }
}

/// Why a cluster has no share.
fn absent(cluster: &Cluster<'_>) -> CodedMessage {
    let (code, message) = match cluster.state {
        ClusterState::Leaving { evicted: true } => ("ClusterEvicted", "must leave: a NoExecute taint is not tolerated"),
        ClusterState::Leaving { evicted: false } => ("ClusterLeaving", "must leave: it is no longer a candidate"),
        ClusterState::Lost if !cluster.is_candidate => ("ClusterRemoved", "is not a candidate, and does not answer"),
        ClusterState::Lost => ("ClusterFailed", "is not ready, or excluded by a taint: other clusters have its share"),
        ClusterState::Silent => ("ClusterUnreachable", "does not answer, and that is tolerated still"),
        ClusterState::Serving => ("NoShare", "gets nothing"),
    };
    CodedMessage { code, message: message.to_owned() }
}

fn step(step: &Step<'_>) -> Move {
    let reason = CodedMessage { code: step.why.code(), message: step.why.to_string() };
    let empty = Move {
        action: "",
        cluster: None,
        bounds: None,
        replicas: None,
        entries: Vec::new(),
        evictions: Vec::new(),
        waits_for: waits(step.wait),
        reason,
    };
    match &step.action {
        Action::ApplyHpa { cluster, bounds, .. } => {
            Move { action: "ApplyHPA", cluster: Some((*cluster).to_owned()), bounds: Some(range(*bounds)), ..empty }
        }
        Action::UpdateBinding { entries, evictions } => {
            let place =
                |entry: &Entry<'_>| ClusterReplicas { cluster: entry.cluster.to_owned(), replicas: entry.replicas };
            let evictions = evictions
                .iter()
                .map(|eviction| ClusterReplicas { cluster: eviction.cluster.to_owned(), replicas: eviction.replicas });
            let evictions = evictions.collect();
            Move { action: "UpdateBinding", entries: entries.iter().map(place).collect(), evictions, ..empty }
        }
        Action::Scale { cluster, replicas, .. } => {
            Move { action: "Scale", cluster: Some((*cluster).to_owned()), replicas: Some(*replicas), ..empty }
        }
        Action::DeleteHpa { cluster } => Move { action: "DeleteHPA", cluster: Some((*cluster).to_owned()), ..empty },
    }
}

fn waits(wait: Wait) -> Option<CodedMessage> {
    let (code, message) = match wait {
        Wait::Nothing => return None,
        Wait::Lowered => ("MaxLowered", "lower bounds elsewhere are seen to be applied"),
        Wait::Replaced => ("ReplicasReplaced", "the other clusters run their min"),
        Wait::Shrunk => ("ReplicasScaledDown", "running replicas above their target are gone"),
        Wait::Gone => ("HPADeleted", "its old HPA is gone"),
    };
    Some(CodedMessage { code, message: message.to_owned() })
}

fn notes(objects: &Objects, forecast: &Forecast<'_>) -> Vec<CodedMessage> {
    let mut notes: Vec<CodedMessage> =
        forecast.plan.notes.iter().map(|note| CodedMessage { code: note.code(), message: note.to_string() }).collect();
    if !forecast.unknown_capacity.is_empty() {
        let names = forecast.unknown_capacity.join(", ");
        let message = format!("free capacity of {names} is unknown and counts as zero");
        notes.push(CodedMessage { code: "CapacityUnknown", message });
    }
    let looked = |name: &str| forecast.request.clusters.iter().any(|cluster| cluster.name == name);
    let names = objects.clusters.iter().filter_map(|cluster| cluster.metadata.name.as_deref());
    let mut others: Vec<&str> = names.filter(|name| !looked(name)).collect();
    others.sort_unstable();
    if !others.is_empty() {
        let message = format!("no candidates: {}", others.join(", "));
        notes.push(CodedMessage { code: "NotCandidates", message });
    }
    notes
}

/// One array.
pub(super) fn json(outlines: &[impl Serialize]) -> String {
    let mut text = serde_json::to_string_pretty(outlines).unwrap_or_default();
    text.push('\n');
    text
}

/// The same as YAML.
pub(super) fn yaml(outlines: &[impl Serialize]) -> String {
    serde_saphyr::to_string(&outlines).unwrap_or_default()
}
