//! Many workloads, and their FederatedHPAs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fhpa::runtime::clock::steady;
use serde_json::Value;
use tokio::time::Instant;

use super::PATIENCE;
use crate::both::{MEMBERS, REQUEST, World as _, deployment, federated, policy};
use crate::stand::Stand;
use crate::stories::beside::curves::Curves;

/// Most replicas of each.
const MOST: u32 = 40;

/// A workload.
pub struct One {
    pub namespace: String,
    pub name: String,
    /// Replicas that its load needs.
    pub needs: u32,
}

/// All of them.
pub struct Crowd {
    namespaces: Vec<String>,
    pub all: Vec<One>,
}

/// From a higher load of all objects to the replicas that it needs.
pub struct Step {
    pub objects: usize,
    /// Of the objects whose template has the replicas, in order.
    pub scaled: Vec<Duration>,
    /// Until all these pods were ready; absent where an object was not scaled.
    pub ready: Option<Duration>,
}

impl Crowd {
    pub async fn new(stand: &Stand, namespaces: usize) -> Self {
        let namespaces: Vec<String> = (0..namespaces).map(|number| format!("crowd{number}")).collect();
        for namespace in &namespaces {
            stand.lab.karmada.namespace(namespace).await;
        }
        Self { namespaces, all: Vec::new() }
    }

    /// Makes workloads until there are so many; each has a pod in each member.
    pub async fn work(&mut self, stand: &Stand, objects: usize) {
        for number in self.all.len()..objects {
            let namespace = self.namespaces[number % self.namespaces.len()].clone();
            let one = One { namespace, name: format!("crowd{number}"), needs: 3 };
            one.load(stand);
            one.apply(stand, deployment(&one.name, 3)).await;
            one.apply(stand, policy(&one.name, &MEMBERS)).await;
            self.all.push(one);
        }
        self.runs(stand).await;
    }

    /// Makes workloads and FederatedHPAs, whose spec has `more`, until there are so many.
    pub async fn grow(&mut self, stand: &Stand, objects: usize, more: &Value) {
        let from = self.all.len();
        self.work(stand, objects).await;
        for one in &self.all[from..] {
            one.federated(stand, more.clone()).await;
        }
        self.active(stand).await;
    }

    /// Waits until all pods that are needed are ready, and no others.
    pub async fn runs(&self, stand: &Stand) {
        let wanted: BTreeMap<String, u32> = self.all.iter().map(|one| (one.name.clone(), one.needs)).collect();
        let runs = async |stand: &Stand| ready(stand) == wanted;
        stand.later(PATIENCE, &format!("the pods of {} workloads run", self.all.len()), runs).await;
    }

    /// Waits until all are computed.
    async fn active(&self, stand: &Stand) {
        let wanted: BTreeSet<&str> = self.all.iter().map(|one| one.name.as_str()).collect();
        let hpas = stand.api("", "FederatedHPA", "");
        let computed = async |_: &Stand| {
            let Ok(list) = hpas.list(&Default::default()).await else { return false };
            let active = list.items.iter().filter(|hpa| has(&hpa.data, "ScalingActive"));
            wanted.is_subset(&active.filter_map(|hpa| hpa.metadata.name.as_deref()).collect())
        };
        stand.later(PATIENCE, &format!("{} objects are computed", wanted.len()), computed).await;
    }

    /// All need about a third more replicas at once.
    pub async fn step(&mut self, stand: &Stand) -> Step {
        let curves = Curves::start(&stand.lab, None);
        let listed = async |_: &Stand| self.all.iter().all(|one| curves.now(&one.name).is_some());
        stand.soon("the templates are listed", listed).await;
        for one in &mut self.all {
            one.needs += (one.needs / 3).max(1);
        }
        let begun = steady();
        for one in &self.all {
            one.load(stand);
        }
        let done = |one: &One| curves.now(&one.name) == Some(u64::from(one.needs));
        let all = async {
            while !self.all.iter().all(done) {
                tokio::time::sleep(Duration::from_millis(200)).await
            }
        };
        let all = tokio::time::timeout(Duration::from_secs(PATIENCE), all).await.is_ok();
        let scaled = self.all.iter().filter(|one| done(one));
        let mut scaled: Vec<Duration> = scaled.filter_map(|one| first(&curves, one, begun)).collect();
        scaled.sort();
        let ready = if all {
            self.runs(stand).await;
            Some(begun.elapsed())
        } else {
            None
        };
        Step { objects: self.all.len(), scaled, ready }
    }
}

impl One {
    pub async fn federated(&self, stand: &Stand, more: Value) {
        self.apply(stand, federated(&self.name, 1, MOST, more)).await;
    }

    async fn apply(&self, stand: &Stand, mut object: Value) {
        object["metadata"]["namespace"] = self.namespace.as_str().into();
        stand.apply(&object).await;
    }

    /// The load that needs its replicas, divided among the members.
    fn load(&self, stand: &Stand) {
        let total = self.needs * REQUEST / 2;
        for (place, member) in (0..).zip(&stand.lab.members) {
            member.pods.load(&self.name, |load| load.total = total / 3 + u32::from(place < total % 3));
        }
    }
}

/// Whether a condition is `True`.
pub fn has(hpa: &Value, type_: &str) -> bool {
    let conditions = hpa["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == type_ && one["status"] == "True")
}

fn first(curves: &Curves, one: &One, begun: Instant) -> Option<Duration> {
    let changes = curves.changes();
    let change = changes.iter().find(|change| change.name == one.name && change.at > begun)?;
    Some(change.at - begun)
}

/// Pods that are ready in all members, by app.
fn ready(stand: &Stand) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for member in &stand.lab.members {
        member.pods.count(&mut counts);
    }
    counts
}
