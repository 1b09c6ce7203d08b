//! Scalable kinds that Kubernetes does not have, and older ones of its own, as test data.
//!
//! Facts, each from the CustomResourceDefinition in the repository of its project: an Argo Rollout has
//! `spec.replicas`, its selector in `status.selector`, and a `status.observedGeneration` that is a string; an
//! OpenKruise CloneSet has its selector in `status.labelSelector`; a LeaderWorkerSet has `spec.replicas` groups of pods
//! and the selector of their leaders in `status.hpaPodSelector`. A Store has its replicas elsewhere.

use serde_json::{Value, json};

/// A kind, and where its objects have their replicas.
#[derive(Clone, Copy, Debug)]
pub struct Scalable {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    /// JSON pointer to the requested replicas.
    pub replicas: &'static str,
    /// Field of the status with the selector of its pods.
    pub selector: &'static str,
    /// Whether `status.observedGeneration` is a string.
    pub text_generation: bool,
}

const PLAIN: Scalable = Scalable {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    replicas: "/spec/replicas",
    selector: "selector",
    text_generation: false,
};

pub const ROLLOUT: Scalable = Scalable {
    group: "argoproj.io",
    version: "v1alpha1",
    kind: "Rollout",
    plural: "rollouts",
    text_generation: true,
    ..PLAIN
};
pub const CLONE_SET: Scalable = Scalable {
    group: "apps.kruise.io",
    version: "v1alpha1",
    kind: "CloneSet",
    plural: "clonesets",
    selector: "labelSelector",
    ..PLAIN
};
pub const LEADER_WORKER_SET: Scalable = Scalable {
    group: "leaderworkerset.x-k8s.io",
    kind: "LeaderWorkerSet",
    plural: "leaderworkersets",
    selector: "hpaPodSelector",
    ..PLAIN
};
pub const STORE: Scalable =
    Scalable { group: "shop.example.com", kind: "Store", plural: "stores", replicas: "/spec/size", ..PLAIN };
pub const REPLICA_SET: Scalable = Scalable { group: "apps", kind: "ReplicaSet", plural: "replicasets", ..PLAIN };
pub const REPLICATION_CONTROLLER: Scalable =
    Scalable { kind: "ReplicationController", plural: "replicationcontrollers", ..PLAIN };

impl Scalable {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The argument of `fhpa install --scale-kind`.
    pub fn argument(&self) -> String {
        format!("{}/{}", if self.group.is_empty() { "core" } else { self.group }, self.plural)
    }

    /// Its CustomResourceDefinition; `None` for a kind of Kubernetes.
    pub fn definition(&self) -> Option<Value> {
        let Self { group, version, kind, plural, .. } = self;
        if !group.contains('.') {
            return None;
        }
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        Some(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")}, "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}},
                "subresources": {"status": {}, "scale": {"specReplicasPath": self.replicas.replace('/', "."),
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": format!(".status.{}", self.selector)}}}]}}))
    }

    /// An object of so many replicas, of pods with the label `app`.
    pub fn workload(&self, name: &str, replicas: i32) -> Value {
        let labels = json!({"app": name});
        let selector =
            if self.kind == "ReplicationController" { labels.clone() } else { json!({"matchLabels": labels}) };
        let container = json!({"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m"}}});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
        let mut object = json!({"apiVersion": self.api_version(), "kind": self.kind,
            "metadata": {"name": name, "namespace": "prod", "labels": labels},
            "spec": {"selector": selector, "template": template}});
        object["spec"][self.replicas.trim_start_matches("/spec/")] = json!(replicas);
        object
    }

    /// A merge patch that asks for so many replicas.
    pub fn asking(&self, replicas: i32) -> Value {
        json!({"spec": {self.replicas.trim_start_matches("/spec/"): replicas}})
    }

    /// A merge patch of the status that its controller writes about an object.
    pub fn status(&self, object: &Value, replicas: &Value, ready: &Value) -> Value {
        let generation = &object["metadata"]["generation"];
        let generation = if self.text_generation { json!(generation.to_string()) } else { generation.clone() };
        let mut status = json!({"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready,
            "updatedReplicas": replicas, "observedGeneration": generation});
        if self.definition().is_some() {
            let app = object["metadata"]["name"].as_str().unwrap_or_default();
            status[self.selector] = json!(format!("app={app}"));
        } else {
            status.as_object_mut().into_iter().for_each(|status| drop(status.remove("updatedReplicas")));
        }
        json!({"status": status})
    }
}
