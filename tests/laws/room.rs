//! Law 13: over all objects, what fhpa asks of a cluster, while a report of its free capacity may be the newest one that
//! is known, is free there by that report, or became free since.
//!
//! What is asked for is a higher min of an HPA that is there already, as far as it is above what its workload was asked
//! for and above its share of `minReplicas`, which some cluster must have. Left out: where the user leaves no choice
//! (StaticWeighted, Duplicated), and clusters that do not answer.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::world::{Name, Sent, World, sent};
use super::{Change, Court, Law};

/// For so long a report may be the newest one that is known.
const REPORTED: SignedDuration = SignedDuration::from_secs(30);

/// Thousandths of each resource.
type Amounts = BTreeMap<String, i64>;

/// A min that was written to a cluster for a FederatedHPA.
struct Raise {
    at: Timestamp,
    owner: Name,
    /// Replicas that the workload was asked for there.
    from: i64,
    to: i64,
    /// What one of them requests.
    each: Amounts,
}

#[derive(Default)]
pub struct Room {
    /// What each cluster reported free, and when.
    free: BTreeMap<String, VecDeque<(Timestamp, Amounts)>>,
    /// What was asked of each cluster.
    raised: BTreeMap<String, Vec<Raise>>,
}

impl Law for Room {
    fn name(&self) -> &'static str {
        "13 (room)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        match change.kind {
            "Cluster" if change.in_control() => {
                let name = Name::of(change.object()).name;
                let Some(place) = court.world.clusters.get(&name) else { return };
                self.free.entry(name).or_default().push_back((change.at, place.free.clone()));
            }
            "Work" if change.in_control() => {
                let Some((cluster, raise)) = raise(change, court.world) else { return };
                self.raised.entry(cluster.clone()).or_default().push(raise);
                self.judge(&cluster, change, court);
            }
            _ => {}
        }
    }
}

impl Room {
    fn judge(&mut self, cluster: &str, change: &Change<'_>, court: &mut Court<'_>) {
        let since = change.at - REPORTED;
        let raised = self.raised.entry(cluster.to_owned()).or_default();
        raised.retain(|raise| raise.at > since);
        let reports = self.free.entry(cluster.to_owned()).or_default();
        while reports.get(1).is_some_and(|(at, _)| *at <= since) {
            reports.pop_front();
        }
        // Of each object: from the first to the highest.
        let mut asked: BTreeMap<&Name, (i64, i64, &Amounts)> = BTreeMap::new();
        for Raise { owner, from, to, each, .. } in raised.iter() {
            let (_, most, _) = asked.entry(owner).or_insert((*from, *to, each));
            *most = (*most).max(*to);
        }
        let mut all = Amounts::new();
        for (from, to, each) in asked.into_values() {
            each.iter().for_each(|(name, each)| *all.entry(name.clone()).or_default() += each * (to - from));
        }
        for (resource, wanted) in all {
            let free: Vec<i64> = reports.iter().filter_map(|(_, free)| free.get(&resource).copied()).collect();
            let freed: i64 = free.windows(2).map(|pair| (pair[1] - pair[0]).max(0)).sum();
            let first = free.first().copied().unwrap_or_default();
            if wanted > first + freed {
                let why = format!("{cluster} is asked for {wanted}m of {resource}; {first}m and {freed}m were free");
                court.breaks(change.about(), why);
                return;
            }
        }
    }
}

/// The higher min of a Work for an HPA that is there, with the cluster.
fn raise(change: &Change<'_>, world: &World) -> Option<(String, Raise)> {
    let (before, Sent { owner, cluster, bounds, .. }) =
        change.before.and_then(sent).zip(change.after.and_then(sent))?;
    let hpa = world.federated.get(&owner).filter(|_| world.answers(&cluster))?;
    let policy = hpa.chooses[1].get("federatedHPAAssignmentType").and_then(Value::as_str)?;
    let binding = world.binding(hpa.workload()).filter(|_| !matches!(policy, "StaticWeighted" | "Duplicated"))?;
    let share = hpa.desired.get(&cluster).map_or(0, |desired| desired.share);
    let from = before.bounds.min.max(share).max(world.workload(&cluster, hpa.workload()).asked);
    let (to, each) = (bounds.min, binding.requests.clone());
    (to > from).then_some((cluster, Raise { at: change.at, owner, from, to, each }))
}
