//! The scaling state of a control plane and its members, for the laws. No I/O.

mod read;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

pub use self::read::{address, int, items, label, sent, target_of, text, truth};
use self::read::{amounts, binding, federated, is_ours, member_hpa, place, workload};
use super::Change;

/// Works of a cluster that may still be on their way.
const ON_THE_WAY: usize = 16;

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    pub namespace: String,
    pub name: String,
}

impl Name {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub fn of(object: &Value) -> Self {
        Self::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{}{joint}{}", self.namespace, self.name)
    }
}

/// A workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// `apps/v1 Deployment`.
    pub kind: String,
    pub name: Name,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.rsplit(' ').next().unwrap_or_default(), self.name)
    }
}

/// `min..max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub min: i64,
    pub max: i64,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.min, self.max)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Condition {
    pub kind: String,
    pub status: String,
    pub reason: String,
}

/// What the status of a FederatedHPA gives a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Desired {
    /// Its share of min.
    pub share: i64,
    /// Bounds of its HPA.
    pub bounds: Bounds,
    /// Replicas that it is to help with: where it cannot be written to, the min asks for these as well.
    pub helps: i64,
}

/// A FederatedHPA.
#[derive(Clone, Debug, Default)]
pub struct Federated {
    pub uid: String,
    pub bounds: Bounds,
    /// Upper thresholds of groups of clusters.
    pub thresholds: Vec<i64>,
    pub target: Target,
    /// What is written down as taken over.
    pub taken: Option<Target>,
    pub centralized: bool,
    pub duplicated: Option<bool>,
    pub scales_to_zero: bool,
    /// Whether an external metric of it has a target of type `Value`. What waits for a cluster grows with the pods that
    /// are ready there, so that each pod asks for more, and such a metric settles nowhere.
    pub chases: bool,
    /// Whether the user suspends it: edits wait.
    pub suspends: bool,
    /// Since when, or since when no cluster serves.
    pub suspended: Option<Timestamp>,
    pub assists: bool,
    pub deleting: bool,
    /// Whether it has our finalizer.
    pub held: bool,
    /// What its status gives each cluster.
    pub desired: BTreeMap<String, Desired>,
    /// Clusters that Karmada's own failover took the workload away from, and that wait to be tried again.
    pub evicted: Vec<String>,
    pub conditions: Vec<Condition>,
    pub current: i64,
    pub is_current: bool,
    /// What max was, and until when.
    pub older: VecDeque<(Timestamp, i64)>,
    /// Until when its status had the whole of it in every cluster, where it has not any more.
    pub copied: Option<Timestamp>,
    /// `spec.clusterAffinity` and `spec.federatedHPAAssignment`, where a weight of 0 chooses no cluster either, and when
    /// they were last edited.
    pub chooses: [Value; 2],
    pub narrowed: Option<Timestamp>,
}

impl Federated {
    /// The workload that it acts on, or gives back.
    pub fn workload(&self) -> &Target {
        self.taken.as_ref().unwrap_or(&self.target)
    }

    /// The greatest max that held since `ago`. While it is suspended, or no cluster serves, edits of max wait, and what was
    /// written before may still arrive.
    pub fn most_since(&self, now: Timestamp, ago: SignedDuration) -> i64 {
        self.held_since(now, ago).max().unwrap_or_default()
    }

    /// The least max that held since `ago`, likewise.
    pub fn least_since(&self, now: Timestamp, ago: SignedDuration) -> i64 {
        self.held_since(now, ago).min().unwrap_or_default()
    }

    fn held_since(&self, now: Timestamp, ago: SignedDuration) -> impl Iterator<Item = i64> {
        let since = self.suspended.map_or(now, |at| at.min(now)) - ago;
        let older = self.older.iter().filter(move |(until, _)| *until >= since).map(|(_, max)| *max);
        older.chain([self.bounds.max])
    }

    /// Whether its status gives a cluster nothing, while others have something.
    pub fn leaves(&self, cluster: &str) -> bool {
        !self.desired.is_empty() && self.desired.get(cluster).is_none_or(|desired| desired.bounds.max == 0)
    }

    /// Whether its status has the whole of it in every cluster.
    pub(super) fn copies(&self) -> bool {
        self.desired.len() > 1 && self.desired.values().all(|desired| desired.bounds.max == self.bounds.max)
    }

    /// Notes what all clusters together were allowed until now.
    pub(super) fn was_allowed(&mut self, until: Timestamp, max: i64) {
        self.older.push_back((until, max));
        if self.older.len() > 20 {
            self.older.pop_front();
        }
    }

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

/// A ResourceBinding.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    pub target: Target,
    pub suspended: bool,
    pub divides: bool,
    /// Until when it divided, where it does not any more.
    pub divided: Option<Timestamp>,
    /// A digest of the placement that Karmada took from the policy.
    pub placement: u64,
    /// Whether its entries are marked as scheduled for that.
    pub applied: bool,
    /// Replicas by cluster.
    pub entries: BTreeMap<String, i64>,
    /// Thousandths of each resource that a replica requests.
    pub requests: BTreeMap<String, i64>,
    /// Replicas that Karmada tells of, by cluster.
    pub told: BTreeMap<String, i64>,
    pub evicting: Vec<String>,
    /// The user has replicas of a lost cluster removed without a replacement, or never.
    pub purges_at_once: bool,
    pub deleting: bool,
}

/// A Work of ours.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    pub cluster: String,
    pub owner: Name,
    pub bounds: Bounds,
    pub deleting: bool,
    /// Whether Karmada tells of the HPA in the cluster.
    pub told: bool,
}

/// An HPA of a member.
#[derive(Clone, Debug, Default)]
pub struct MemberHpa {
    pub bounds: Bounds,
    pub ours: bool,
    pub deleting: bool,
}

/// A workload: a template, or what a member has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Workload {
    pub asked: i64,
    pub ready: i64,
    pub deleting: bool,
}

/// A Cluster.
#[derive(Clone, Debug)]
pub struct Place {
    /// Thousandths of each resource that it reports free.
    pub free: BTreeMap<String, i64>,
    pub ready: bool,
    /// When it became ready, or stopped to be.
    pub since: Option<Timestamp>,
    pub deleting: bool,
    /// Since when a taint has its workloads leave.
    pub tainted: Option<Timestamp>,
    /// When its labels last changed, by which placements choose it.
    pub labelled: Option<Timestamp>,
}

/// A member.
#[derive(Clone, Debug, Default)]
pub struct Member {
    pub hpas: BTreeMap<Name, MemberHpa>,
    pub workloads: BTreeMap<Target, Workload>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Timestamp,
    /// Since when somebody can act.
    pub acts_since: Timestamp,
    /// When a clock jumped ahead, and by how much at most: a wait that began by it takes so much longer by another, and one
    /// that began before it so much less.
    pub jumps: Vec<(Timestamp, SignedDuration)>,
    /// Whether the webhook answers: without it no FederatedHPA can be changed.
    pub reviews: bool,
    pub federated: BTreeMap<Name, Federated>,
    /// Workloads whose FederatedHPA has gone, and when: the last writes for it may be seen after it.
    pub departed: VecDeque<(Timestamp, Target)>,
    pub bindings: BTreeMap<Name, Binding>,
    pub sent: BTreeMap<Name, Sent>,
    /// What the Works of a FederatedHPA for a cluster allowed, from the last that arrived on.
    said: BTreeMap<(Name, String), VecDeque<i64>>,
    pub templates: BTreeMap<Target, Workload>,
    pub clusters: BTreeMap<String, Place>,
    pub members: BTreeMap<String, Member>,
    /// Thousandths of each resource that the workloads of a namespace may be given together.
    pub quotas: BTreeMap<Name, BTreeMap<String, i64>>,
    /// Whether the definitions that are served are ours, by plural.
    pub definitions: BTreeMap<String, bool>,
}

impl World {
    /// By how much clocks have jumped ahead since then.
    pub fn ahead_since(&self, at: Timestamp) -> SignedDuration {
        self.jumps.iter().filter(|(jumped, _)| *jumped >= at).map(|(_, by)| *by).sum()
    }

    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            acts_since: now,
            jumps: Vec::new(),
            reviews: true,
            federated: BTreeMap::new(),
            departed: VecDeque::new(),
            bindings: BTreeMap::new(),
            sent: BTreeMap::new(),
            said: BTreeMap::new(),
            templates: BTreeMap::new(),
            clusters: BTreeMap::new(),
            members: BTreeMap::new(),
            quotas: BTreeMap::new(),
            definitions: BTreeMap::new(),
        }
    }

    /// Whether a FederatedHPA of a workload went a moment ago.
    pub fn departed(&self, target: &Target) -> bool {
        let lately = |at: &Timestamp| self.now.duration_since(*at) <= SignedDuration::from_secs(10);
        self.departed.iter().rev().take_while(|(at, _)| lately(at)).any(|(_, departed)| departed == target)
    }

    /// Whether a cluster is there and says so.
    pub fn answers(&self, cluster: &str) -> bool {
        self.clusters.get(cluster).is_some_and(|place| place.ready && !place.deleting)
    }

    /// The Work of a FederatedHPA for a cluster.
    pub fn sent(&self, owner: &Name, cluster: &str) -> Option<&Sent> {
        self.sent.values().find(|sent| sent.owner == *owner && sent.cluster == cluster)
    }

    /// Whether no Work that may be on its way, or was the last to arrive, allows this max: another client wrote it.
    pub fn is_bent(&self, owner: &Name, cluster: &str, max: i64) -> bool {
        !self.said.get(&(owner.clone(), cluster.to_owned())).is_some_and(|said| said.contains(&max))
    }

    /// A Work allows this max.
    fn says(&mut self, work: &Value, max: i64) {
        let Some((owner, cluster)) = address(work) else { return };
        let said = self.said.entry((owner, cluster)).or_default();
        said.push_back(max);
        if said.len() > ON_THE_WAY {
            said.pop_front();
        }
    }

    /// Works reach a member in their order: once one is there, those before it are not on their way.
    fn arrives(&mut self, owner: &Name, cluster: &str, max: i64) {
        let Some(said) = self.said.get_mut(&(owner.clone(), cluster.to_owned())) else { return };
        if let Some(at) = said.iter().position(|said| *said == max) {
            said.drain(..at);
        }
    }

    /// Whether a cluster reports room for no further replica of a workload.
    pub fn is_full(&self, cluster: &str, target: &Target) -> bool {
        let (place, binding) = (self.clusters.get(cluster), self.binding(target));
        place.zip(binding).is_some_and(|(place, binding)| {
            binding.requests.iter().any(|(name, each)| place.free.get(name).is_some_and(|free| free < each))
        })
    }

    /// The binding of a workload.
    pub fn binding(&self, target: &Target) -> Option<&Binding> {
        self.bindings.values().find(|binding| binding.target == *target)
    }

    /// Whether the workloads of a namespace are asked for more than a FederatedResourceQuota allows, or were with so
    /// many more replicas of one of them.
    pub fn exceeds_quota(&self, namespace: &str, before: Option<(&Target, i64)>) -> bool {
        let quotas = self.quotas.iter().filter(|(name, _)| name.namespace == namespace);
        quotas.flat_map(|(_, limits)| limits).any(|(resource, limit)| {
            let bindings = self.bindings.values().filter(|binding| binding.target.name.namespace == namespace);
            let used = bindings.map(|binding| {
                let asked: i64 = self.members.keys().map(|cluster| self.workload(cluster, &binding.target).asked).sum();
                let more = before.filter(|(target, _)| **target == binding.target).map_or(0, |(_, more)| more);
                (asked + more) * binding.requests.get(resource).copied().unwrap_or_default()
            });
            used.sum::<i64>() > *limit
        })
    }

    /// Who acts on a workload, or still holds it.
    pub fn acts_on(&self, target: &Target) -> Option<(&Name, &Federated)> {
        self.federated.iter().find(|(_, hpa)| hpa.held && hpa.workload() == target)
    }

    /// What fhpa holds or has made, by name: nothing of it is there after an uninstallation.
    pub fn held(&self) -> Vec<String> {
        let federated = self.federated.iter().filter(|(_, hpa)| hpa.held);
        let federated = federated.map(|(name, _)| format!("FederatedHPA {name} has the finalizer"));
        let bindings = self.bindings.iter().filter(|(_, binding)| binding.suspended && !binding.deleting);
        let bindings = bindings.map(|(name, _)| format!("ResourceBinding {name} is suspended"));
        let sent = self.sent.iter().filter(|(_, sent)| !sent.deleting).map(|(name, _)| format!("Work {name}"));
        federated.chain(bindings).chain(sent).collect()
    }

    /// Whether every cluster gets the whole of it.
    pub fn duplicates(&self, hpa: &Federated) -> bool {
        hpa.duplicated.unwrap_or_else(|| self.binding(hpa.workload()).is_some_and(|binding| !binding.divides))
    }

    /// A workload in a member; one that is not there asks for nothing.
    pub fn workload(&self, cluster: &str, target: &Target) -> Workload {
        self.members.get(cluster).and_then(|member| member.workloads.get(target)).copied().unwrap_or_default()
    }

    pub(super) fn take_in(&mut self, change: &Change<'_>) {
        if change.in_control() { self.take_in_control(change) } else { self.take_in_member(change) }
    }

    fn take_in_control(&mut self, change: &Change<'_>) {
        let name = Name::of(change.object());
        match change.kind {
            "FederatedHPA" => {
                let before = self.federated.remove(&name);
                if let Some(object) = change.after {
                    let hpa = federated(object, before, self.now);
                    self.federated.insert(name, hpa);
                } else if let Some(before) = before {
                    self.departed.push_back((self.now, before.workload().clone()));
                }
            }
            "ResourceBinding" => {
                let before = self.bindings.remove(&name);
                let mut binding = change.after.map(binding);
                if let (Some(binding), Some(before)) = (&mut binding, &before) {
                    binding.divided = if before.divides { Some(self.now) } else { before.divided };
                }
                if let Some(before) = before.filter(|before| !before.divides)
                    && binding.as_ref().is_none_or(|binding| binding.divides)
                {
                    self.duplicated_until_now(&before.target);
                }
                put(&mut self.bindings, name, binding);
            }
            "Work" => {
                let sent = change.after.and_then(sent);
                self.says(change.object(), sent.as_ref().map_or(0, |sent| sent.bounds.max));
                put(&mut self.sent, name, sent);
            }
            "FederatedResourceQuota" => {
                put(&mut self.quotas, name, change.after.map(|quota| amounts(quota, "/spec/overall")));
            }
            "Cluster" => {
                let labels = |object: Option<&Value>| object.map(|object| object["metadata"]["labels"].clone());
                let before = self.clusters.get(&name.name).and_then(|place| place.labelled);
                let same = labels(change.before) == labels(change.after);
                let labelled = if same { before } else { change.before.map(|_| self.now).or(before) };
                put(&mut self.clusters, name.name, change.after.map(|after| Place { labelled, ..place(after) }));
            }
            "CustomResourceDefinition" => {
                let plural = text(change.object(), "/spec/names/plural").to_owned();
                put(&mut self.definitions, plural, change.after.map(is_ours));
            }
            kind => {
                if let Some(target) = target_of(kind, change.object()) {
                    put(&mut self.templates, target, change.after.map(workload));
                }
            }
        }
    }

    /// Each cluster had the whole of a workload by its placement: there was no sum that was allowed.
    fn duplicated_until_now(&mut self, target: &Target) {
        let now = self.now;
        for hpa in self.federated.values_mut().filter(|hpa| hpa.duplicated.is_none() && hpa.workload() == target) {
            hpa.was_allowed(now, i64::MAX);
        }
    }

    fn take_in_member(&mut self, change: &Change<'_>) {
        let name = Name::of(change.object());
        let member = self.members.entry(change.place.to_owned()).or_default();
        if change.kind == "HorizontalPodAutoscaler" {
            let hpa = change.after.map(member_hpa);
            let ours = hpa.as_ref().filter(|hpa| hpa.ours && !hpa.deleting);
            let max = ours.map_or(0, |hpa| hpa.bounds.max);
            put(&mut member.hpas, name.clone(), hpa);
            self.arrives(&name, change.place, max);
        } else if let Some(target) = target_of(change.kind, change.object()) {
            put(&mut member.workloads, target, change.after.map(workload));
        }
    }
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}
