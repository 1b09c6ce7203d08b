//! What would not run if clusters were lost: the plans that the controller would make for all objects, one after the
//! other, each with what the ones before it left. Writes nothing.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::Objects;
use crate::api::cluster::ClusterCondition;
use crate::api::replica_requirements::ReplicaRequirements;
use crate::api::{Cluster, FederatedHPA, ResourceBinding};
use crate::convert::instant::stored;
use crate::decision::defaults::Mode;
use crate::decision::ledger::{Ledger, Standing};
use crate::decision::plan::{Note, Plan};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::observe::capacity::Rooms;
use crate::reconcile::federated_hpa::observe::live_state::LiveState;
use crate::reconcile::federated_hpa::observe::promised::standing;
use crate::reconcile::federated_hpa::observe::{Observed, PlacementSpec, observe};

/// For so long the clusters do not answer: longer than any toleration.
const LOST_FOR: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Clusters that fail together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureDomain {
    /// Its name, as `zone eu-1`.
    pub name: String,
    /// The clusters in it.
    pub clusters: BTreeSet<String>,
}

/// What the loss of a failure domain means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Loss {
    /// What is lost.
    pub lost: FailureDomain,
    /// Whether so many clusters would be away that failover pauses: nothing would be replaced.
    pub failover_paused: bool,
    /// Replicas that run there, of all objects.
    pub replicas: u64,
    /// Those of them that would run nowhere.
    pub short: u64,
    /// The objects that run there, in the order in which they are replaced.
    pub objects: Vec<ObjectLoss>,
}

/// What it means for an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectLoss {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Replicas that run in the lost clusters.
    pub replicas: u32,
    /// Those of them that would run nowhere.
    pub short: u32,
    /// What would let these run; nothing where none is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// An object with its place in the order.
struct Placed<'a> {
    standing: Standing,
    hpa: &'a FederatedHPA,
    view: View,
}

impl Objects {
    /// What the loss of `domain` means for these FederatedHPAs at `now`; `mode`: of those that name none. Centralized
    /// ones are left out: karmada-scheduler divides them.
    #[must_use]
    pub fn drill(&self, hpas: &[FederatedHPA], mode: Mode, domain: FailureDomain, now: Timestamp) -> Loss {
        let touched = self.bindings.iter().any(|binding| runs_in(binding, &domain.clusters));
        if !touched {
            return Loss { lost: domain, failover_paused: false, replicas: 0, short: 0, objects: Vec::new() };
        }
        let since = now.checked_sub(LOST_FOR).ok();
        let mut clusters = self.clusters.clone();
        for cluster in clusters.iter_mut().filter(|cluster| is_in(cluster, &domain.clusters)) {
            lose(cluster, since);
        }
        let live = self.live(&clusters, Rooms::default());
        let mut placed: Vec<Placed<'_>> = hpas.iter().filter_map(|hpa| place(&live, hpa, mode, now)).collect();
        placed.sort_by(|one, other| one.standing.cmp(&other.standing));
        let mut ledger = Ledger::default();
        let (mut objects, mut failover_paused) = (Vec::new(), false);
        for Placed { hpa, view, .. } in &mut placed {
            let Some(binding) = view.binding.clone() else { continue };
            view.neighbours = live.cache.neighbours(&binding);
            let (view, binding) = (&*view, &*binding);
            let Ok(placement_spec) = PlacementSpec::of(view, binding) else { continue };
            let mut observed = observe(view, binding, &placement_spec, &live, now);
            failover_paused |= observed.paused.is_some();
            observed.leave_promised(&live, &mut ledger, view, binding, now);
            let (plan, _) = observed.promise(&mut ledger, view, binding, now);
            _ = live.cache.assign(&view.federated_hpa.key(), binding, &view.neighbours, &plan);
            let requirements = binding.object.spec.replica_requirements.as_ref();
            objects.extend(loss(hpa, &observed, &plan, &domain, || pod(requirements)));
        }
        let sum = |of: fn(&ObjectLoss) -> u32| objects.iter().map(|object| u64::from(of(object))).sum();
        let (replicas, short) = (sum(|object| object.replicas), sum(|object| object.short));
        Loss { lost: domain, failover_paused, replicas, short, objects }
    }
}

fn is_in(cluster: &Cluster, lost: &BTreeSet<String>) -> bool {
    cluster.metadata.name.as_ref().is_some_and(|name| lost.contains(name))
}

fn runs_in(binding: &ResourceBinding, lost: &BTreeSet<String>) -> bool {
    let entered = binding.spec.clusters.iter().map(|entry| &entry.name);
    let reported = binding.status.aggregated_status.iter().map(|report| &report.cluster_name);
    entered.chain(reported).any(|name| lost.contains(name))
}

/// It does not answer.
fn lose(cluster: &mut Cluster, since: Option<Timestamp>) {
    let conditions = &mut cluster.status.conditions;
    conditions.retain(|condition| condition.type_ != "Ready");
    let last_transition_time: Option<Time> = since.and_then(stored);
    conditions.push(ClusterCondition { type_: "Ready".to_owned(), status: "False".to_owned(), last_transition_time });
}

fn place<'a>(live: &LiveState, hpa: &'a FederatedHPA, mode: Mode, now: Timestamp) -> Option<Placed<'a>> {
    let own = hpa.spec.mode.as_deref().and_then(Mode::parse).unwrap_or(mode);
    let view = live.cache.as_if(FederatedHpaEntry::of(hpa)).filter(|_| own == Mode::Distributed)?;
    let binding = view.binding.as_deref()?;
    let placement_spec = PlacementSpec::of(&view, binding).ok()?;
    let rank = observe(&view, binding, &placement_spec, live, now).request.rank();
    let standing = standing(&view, binding, rank);
    Some(Placed { standing, hpa, view })
}

/// `None` for an object that runs nothing in the lost clusters.
fn loss(
    hpa: &FederatedHPA,
    observed: &Observed<'_>,
    plan: &Plan<'_>,
    domain: &FailureDomain,
    pod: impl Fn() -> String,
) -> Option<ObjectLoss> {
    let away = |name: &str| domain.clusters.contains(name);
    let clusters = &observed.request.clusters;
    let ran = clusters.iter().filter(|cluster| away(cluster.name));
    let ran = ran.map(|cluster| cluster.current.or(cluster.entry).unwrap_or_default()).fold(0, u32::saturating_add);
    if ran == 0 {
        return None;
    }
    let lost = plan.shares.iter().filter(|share| away(share.cluster)).filter_map(|share| share.memory.lost);
    let (fails_over, open) = lost.fold((false, 0_u32), |(_, open), lost| (true, open.saturating_add(lost.uncovered)));
    let current = |name: &str| clusters.iter().find(|cluster| cluster.name == name)?.current;
    let more =
        plan.shares.iter().filter(|share| !away(share.cluster)).map(|share| {
            share.memory.replacement_replicas().saturating_sub(current(share.cluster).unwrap_or_default())
        });
    let short = if fails_over { ran.saturating_sub(more.fold(0, u32::saturating_add)) } else { ran };
    let nobody = plan.notes.iter().any(|note| matches!(note, Note::NoCandidates | Note::AllLost { .. }));
    let remedy = match short {
        0 => None,
        _ if nobody => Some("no other cluster is a candidate that answers: allow one in the placement".to_owned()),
        _ if observed.paused.is_some() => Some("failover pauses while so many clusters are away".to_owned()),
        _ if observed.request.suspended => Some("it is suspended: nothing fails over".to_owned()),
        _ if !fails_over => Some("its placement tolerates the loss: nothing fails over".to_owned()),
        _ if open == 0 => Some(format!("maxReplicas leaves no headroom: raise it by {short}")),
        _ => Some(format!("room for {short} more pods ({}) in a candidate", pod())),
    };
    let metadata = &hpa.metadata;
    let (namespace, name) = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
    Some(ObjectLoss { namespace, name, replicas: ran, short, remedy })
}

/// What a pod requests: `cpu 500m, memory 1Gi`.
fn pod(requirements: Option<&serde_json::Value>) -> String {
    let read = requirements.and_then(|found| serde_json::from_value::<ReplicaRequirements>(found.clone()).ok());
    let requests = read.map(|read| read.resource_request).unwrap_or_default();
    let each: Vec<String> = requests.iter().map(|(name, quantity)| format!("{name} {}", quantity.0)).collect();
    if each.is_empty() { "no requests".to_owned() } else { each.join(", ") }
}
