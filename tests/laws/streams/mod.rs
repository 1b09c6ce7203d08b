//! Streams of states that keep the laws, and streams that break one each: they prove that each checker can fail.

mod control;
mod members;
mod status;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Change, Laws, Terms};

/// A control plane with members, written by hand.
pub struct Stream {
    laws: Laws,
    now: Timestamp,
    objects: BTreeMap<(String, String, String), Value>,
}

/// Who wrote a field last, as managedFields say it.
pub fn owned(mut object: Value, by: &[(&str, &str, Value)]) -> Value {
    let entries: Vec<Value> = by
        .iter()
        .map(|(manager, subresource, fields)| {
            json!({"manager": manager, "subresource": subresource, "operation": "Update", "fieldsV1": fields})
        })
        .collect();
    object["metadata"]["managedFields"] = json!(entries);
    object
}

impl Stream {
    /// FederatedHPA `web` 1..30 that holds the Deployment `web` in two members, and whose status tells of it.
    pub fn new() -> Self {
        let now: Timestamp = "2026-11-20T08:00:00Z".parse().unwrap();
        let terms = Terms { writes_a_minute: 10, telling: SignedDuration::from_secs(60), ..Terms::default() };
        let mut stream = Self { laws: Laws::new(now, terms), now, objects: BTreeMap::new() };
        for cluster in ["member1", "member2"] {
            stream.put("", place(cluster, "True"));
        }
        stream.put("", definition(true));
        stream.put("", deployment(10, 10));
        for (cluster, replicas) in [("member1", 6), ("member2", 4)] {
            stream.put(cluster, deployment(replicas, replicas));
        }
        stream.put("", federated(json!({})));
        stream.put("", binding(&[("member1", 6), ("member2", 4)]));
        for (cluster, max) in [("member1", 18), ("member2", 12)] {
            stream.put("", work(cluster, 1, max));
            stream.put(cluster, member_hpa(1, max));
        }
        stream.put("", federated(status(&[("member1", 1, 18), ("member2", 1, 12)], "True", 10)));
        assert_eq!(stream.broken(), Vec::<String>::new());
        stream
    }

    /// As [`Self::new`], with a status that tells nothing.
    pub fn untold() -> Self {
        let mut stream = Self::new();
        stream.edit("", "FederatedHPA", |hpa| hpa["status"] = json!({}));
        stream
    }

    /// Writes an object.
    pub fn put(&mut self, place: &str, object: Value) {
        let key = key(place, &object);
        let before = self.objects.insert(key, object.clone());
        let kind = object["kind"].as_str().unwrap();
        self.laws.saw(&Change { at: self.now, place, kind, before: before.as_ref(), after: Some(&object) });
    }

    /// Changes an object that is there.
    pub fn edit(&mut self, place: &str, kind: &str, edit: impl Fn(&mut Value)) {
        let found = self.objects.iter().find(|((at, of, _), _)| at == place && of == kind);
        let mut object = found.expect("it is there").1.clone();
        edit(&mut object);
        self.put(place, object);
    }

    /// Deletes an object.
    pub fn delete(&mut self, place: &str, object: &Value) {
        let before = self.objects.remove(&key(place, object)).expect("it is there");
        let kind = object["kind"].as_str().unwrap();
        self.laws.saw(&Change { at: self.now, place, kind, before: Some(&before), after: None });
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
        self.laws.passed(self.now);
    }

    /// Nobody acts from now on, or somebody does again.
    pub fn acts(&mut self, acts: bool) {
        self.laws.acts(self.now, acts);
    }

    /// The clock of somebody who acts jumps.
    pub fn clock_jumped(&mut self, by: i64) {
        self.laws.clock_jumped(by);
    }

    /// The webhook answers from now on, or does not.
    pub fn reviews(&mut self, reviews: bool) {
        self.laws.reviews(self.now, reviews);
    }

    /// Which laws were broken since this was last asked, and by whom.
    pub fn broken(&mut self) -> Vec<String> {
        self.laws.broken().iter().map(ToString::to_string).collect()
    }

    /// The one law that was broken.
    #[track_caller]
    pub fn breaks(&mut self, law: &str) {
        let broken = self.broken();
        assert!(!broken.is_empty() && broken.iter().all(|one| one.contains(law)), "{law}: {broken:#?}");
    }

    #[track_caller]
    pub fn keeps(&mut self) {
        assert_eq!(self.broken(), Vec::<String>::new());
    }
}

fn key(place: &str, object: &Value) -> (String, String, String) {
    let name = super::Name::of(object).to_string();
    (place.to_owned(), object["kind"].as_str().unwrap().to_owned(), name)
}

pub fn place(name: &str, ready: &str) -> Value {
    json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

pub fn definition(ours: bool) -> Value {
    let spec = if ours { json!({"properties": {"mode": {}}}) } else { json!({"properties": {}}) };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "federatedhpas.autoscaling.karmada.io"},
        "spec": {"names": {"plural": "federatedhpas"},
            "versions": [{"schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}]}})
}

pub fn deployment(replicas: i64, ready: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"replicas": replicas, "template": {}}, "status": {"readyReplicas": ready}})
}

pub fn federated(status: Value) -> Value {
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod", "uid": "u", "generation": 1,
            "finalizers": [fhpa::reconcile::federated_hpa::names::FINALIZER],
            "annotations": {fhpa::reconcile::federated_hpa::names::WORKLOAD: "apps/v1 Deployment web"}},
        "spec": {"minReplicas": 1, "maxReplicas": 30, "mode": "Distributed",
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        "status": status})
}

/// Bounds by cluster, the condition `Ready`, replicas.
pub fn status(desired: &[(&str, i64, i64)], ready: &str, current: i64) -> Value {
    let desired: Vec<Value> = desired
        .iter()
        .map(|(cluster, min, max)| json!({"clusterName": cluster, "minReplicas": min, "maxReplicas": max}))
        .collect();
    json!({"observedGeneration": 1, "currentReplicas": current, "clusterHPADesired": desired,
        "conditions": [{"type": "Assigned", "status": "True"}, {"type": "Ready", "status": ready}]})
}

pub fn binding(entries: &[(&str, i64)]) -> Value {
    let entries: Vec<Value> =
        entries.iter().map(|(cluster, replicas)| json!({"name": cluster, "replicas": replicas})).collect();
    let placement = json!({"replicaScheduling": {"replicaSchedulingType": "Divided"}});
    json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "prod",
            "annotations": {fhpa::reconcile::federated_hpa::names::APPLIED_PLACEMENT: placement.to_string()}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "prod"},
            "placement": placement, "suspension": {"scheduling": true}, "clusters": entries}})
}

pub fn work(cluster: &str, min: i64, max: i64) -> Value {
    json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": "web-hpa", "namespace": format!("karmada-es-{cluster}"),
            "labels": {fhpa::runtime::watch::MANAGED_BY: fhpa::runtime::watch::OURS},
            "annotations": {fhpa::reconcile::federated_hpa::names::OWNER: "prod/web"}},
        "spec": {"workload": {"manifests": [member_hpa(min, max)]}}})
}

pub fn member_hpa(min: i64, max: i64) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "prod",
            "labels": {fhpa::runtime::watch::MANAGED_BY: fhpa::runtime::watch::OURS}},
        "spec": {"minReplicas": min, "maxReplicas": max}})
}
