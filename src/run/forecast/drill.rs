//! What would not run if clusters were lost: the plans that the controller would make for all objects, one after the
//! other, each with what the ones before it left. Writes nothing.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::Objects;
use crate::api::cluster::ClusterCondition;
use crate::api::replica_requirements::ReplicaRequirements;
use crate::api::{Cluster, FederatedHPA};
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
    /// What the loss of `domain` means for these FederatedHPAs at `now`; `mode`: of those that name none. Centralized ones
    /// are left out: karmada-scheduler divides them.
    #[must_use]
    pub fn drill(&self, hpas: &[FederatedHPA], mode: Mode, domain: FailureDomain, now: Timestamp) -> Loss {
        let since = now.checked_sub(LOST_FOR).ok();
        let mut fleet = self.clone();
        for cluster in fleet.clusters.iter_mut().filter(|cluster| is_in(cluster, &domain.clusters)) {
            lose(cluster, since);
        }
        let live = fleet.live(Rooms::default());
        let mut placed: Vec<Placed<'_>> = hpas.iter().filter_map(|hpa| place(&live, hpa, mode, now)).collect();
        placed.sort_by(|one, other| one.standing.cmp(&other.standing));
        let mut ledger = Ledger::default();
        let (mut objects, mut failover_paused) = (Vec::new(), false);
        for Placed { hpa, view, .. } in &placed {
            let Some(binding) = view.binding.as_deref() else { continue };
            let Ok(placement_spec) = PlacementSpec::of(view, binding) else { continue };
            let mut observed = observe(view, binding, &placement_spec, &live, now);
            failover_paused |= observed.paused.is_some();
            observed.leave_promised(&live, &ledger, view, binding, now);
            let (plan, _) = observed.promise(&mut ledger, view, binding, now);
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
    let runs = observed.request.clusters.iter().filter(|cluster| domain.clusters.contains(cluster.name));
    let ran = runs.map(|cluster| cluster.current.or(cluster.entry).unwrap_or_default()).fold(0, u32::saturating_add);
    let owed = plan.shares.iter().filter(|share| domain.clusters.contains(share.cluster));
    let owed = owed.filter_map(|share| share.memory.lost).fold((0_u32, 0_u32), |(all, open), lost| {
        (all.saturating_add(lost.replicas), open.saturating_add(lost.uncovered))
    });
    let nobody = plan.notes.iter().any(|note| matches!(note, Note::NoCandidates | Note::AllLost { .. }));
    let (replicas, short) = if nobody || observed.paused.is_some() { (ran, ran) } else { owed };
    if replicas == 0 {
        return None;
    }
    let remedy = match (short, nobody) {
        (0, _) => None,
        (_, true) => Some("no other cluster is a candidate that answers: allow one in the placement".to_owned()),
        _ if observed.paused.is_some() => Some("failover pauses while so many clusters are away".to_owned()),
        _ => Some(format!("room for {short} more pods ({}) in a candidate", pod())),
    };
    let metadata = &hpa.metadata;
    let (namespace, name) = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
    Some(ObjectLoss { namespace, name, replicas, short, remedy })
}

/// What a pod requests: `cpu 500m, memory 1Gi`.
fn pod(requirements: Option<&serde_json::Value>) -> String {
    let read = requirements.and_then(|found| serde_json::from_value::<ReplicaRequirements>(found.clone()).ok());
    let requests = read.map(|read| read.resource_request).unwrap_or_default();
    let each: Vec<String> = requests.iter().map(|(name, quantity)| format!("{name} {}", quantity.0)).collect();
    if each.is_empty() { "no requests".to_owned() } else { each.join(", ") }
}
