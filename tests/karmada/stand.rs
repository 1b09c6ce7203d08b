//! Common parts of the stories: a Karmada, an installation, an observer, and helpers to write and read objects.

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::assets::Assets;
use crate::lab::{self, Lab};
use crate::observer::Observer;
use crate::operator::Fhpa;

/// Millicores that each pod asks for; the target of the FederatedHPAs is half of it.
pub const REQUEST: u32 = 100;
/// Longest time for what follows from an edit, but for what waits on purpose.
pub const SOON: Duration = Duration::from_secs(60);
/// Names of the members.
pub const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];

/// All of it.
pub struct Stand {
    pub lab: Lab,
    pub fhpa: Fhpa,
    pub observer: Observer,
}

impl Drop for Stand {
    /// Shows what the replicas said last, when a story fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.fhpa.tail(40));
        }
    }
}

impl Stand {
    pub async fn start(assets: Assets) -> Self {
        Self::of(assets, &MEMBERS).await
    }

    /// With members of these names.
    pub async fn of(assets: Assets, members: &[&str]) -> Self {
        let lab = Lab::start(assets, members).await;
        let fhpa = Fhpa::start(&lab, &[]).await;
        let observer = Observer::start(&lab);
        Self { lab, fhpa, observer }
    }

    /// No law was broken.
    pub async fn ends_well(&mut self, name: &str) {
        let broken = self.observer.broken();
        let lines: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{name}:\n{}\n{}", lines.join("\n"), self.fhpa.tail(10));
    }

    pub async fn apply(&self, plural: &str, object: &Value) {
        self.lab.karmada.apply(plural, object).await;
    }

    /// A Deployment of pods that ask for [`REQUEST`], and a policy that gives it to clusters by equal weights.
    pub async fn workload(&self, name: &str, replicas: u32, clusters: &[&str]) {
        self.apply("deployments", &deployment(name, replicas)).await;
        self.policy(name, "Deployment", clusters).await;
    }

    pub async fn policy(&self, name: &str, kind: &str, clusters: &[&str]) {
        self.apply("propagationpolicies", &policy(name, kind, clusters)).await;
    }

    pub async fn federated(&self, name: &str, min: u32, max: u32, more: Value) {
        self.apply("federatedhpas", &federated(name, min, max, more)).await;
    }

    /// Merges into the spec of an object of namespace `prod`.
    pub async fn edit(&self, version: &str, kind: &str, plural: &str, name: &str, change: Value) {
        let api = self.lab.karmada.api(version, kind, plural, Some("prod"));
        api.patch(name, &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }

    pub async fn delete(&self, version: &str, kind: &str, plural: &str, name: &str) {
        let api = self.lab.karmada.api(version, kind, plural, Some("prod"));
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{kind} {name}: {error}"),
        }
    }

    pub async fn get(&self, version: &str, kind: &str, plural: &str, name: &str) -> Option<Value> {
        let api = self.lab.karmada.api(version, kind, plural, Some("prod"));
        api.get_opt(name).await.unwrap().map(|object: DynamicObject| serde_json::to_value(object).unwrap())
    }

    pub async fn hpa(&self, name: &str) -> Option<Value> {
        self.get("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await
    }

    /// Its policy.
    pub async fn placed(&self, name: &str) -> Option<Value> {
        self.get("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", name).await
    }

    pub async fn binding(&self, name: &str) -> Option<Value> {
        self.get("work.karmada.io/v1alpha2", "ResourceBinding", "resourcebindings", &format!("{name}-deployment")).await
    }

    /// `min..max` of the HPA that a member has.
    pub async fn bounds(&self, member: &str, name: &str) -> Option<(u64, u64)> {
        let hpa = self.member_hpa(member, name).await?;
        let spec = &hpa["spec"];
        Some((spec["minReplicas"].as_u64()?, spec["maxReplicas"].as_u64()?))
    }

    /// Whether Karmada tells of a member that it has so many cores, and that nothing runs there.
    pub async fn is_empty(&self, member: &str, cores: u32) -> bool {
        self.has(member, cores, 0).await
    }

    /// Whether Karmada tells of a member that it has so many cores, and that so many are used.
    pub async fn has(&self, member: &str, cores: u32, used: u32) -> bool {
        let clusters = self.lab.karmada.api("cluster.karmada.io/v1alpha1", "Cluster", "clusters", None);
        let Ok(cluster) = clusters.get(member).await else { return false };
        let summary = &cluster.data["status"]["resourceSummary"];
        let of = |part: &str| summary[part]["cpu"].as_str().unwrap_or("0").to_owned();
        of("allocatable") == cores.to_string() && of("allocated") == used.to_string()
    }

    /// The HPA that a member has.
    pub async fn member_hpa(&self, member: &str, name: &str) -> Option<Value> {
        let plane = &self.lab.member(member).plane;
        let api = plane.api("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Some("prod"));
        api.get_opt(name).await.ok()?.map(|hpa| serde_json::to_value(hpa).unwrap())
    }

    /// Millicores in a member that make its HPA want so many replicas.
    pub fn wants(&self, member: &str, app: &str, replicas: u32) {
        let millicores = replicas * REQUEST / 2;
        self.lab.member(member).pods.load(app, |load| load.total = millicores);
    }

    pub async fn soon(&self, what: &str, mut holds: impl AsyncFnMut(&Self) -> bool) {
        lab::within(SOON, what, &mut async || holds(self).await).await;
    }

    pub async fn later(&self, patience: Duration, what: &str, mut holds: impl AsyncFnMut(&Self) -> bool) {
        lab::within(patience, what, &mut async || holds(self).await).await;
    }

    /// Waits until so many pods are ready in each member.
    pub async fn runs(&self, app: &str, replicas: &[(&str, usize)]) {
        self.runs_within(SOON, app, replicas).await;
    }

    pub async fn runs_within(&self, patience: Duration, app: &str, replicas: &[(&str, usize)]) {
        let runs = |(member, count): &(&str, usize)| self.observer.ready_in(member, app) == *count;
        if !lab::in_time(patience, &mut async || replicas.iter().all(runs)).await {
            let mut told = String::new();
            for (member, count) in replicas {
                let hpa = self.member_hpa(member, app).await.unwrap_or_default();
                told += &format!(
                    "\n{member}: {} of {count} ready, HPA {} {}",
                    self.observer.ready_in(member, app),
                    hpa["spec"],
                    hpa["status"]
                );
            }
            panic!("{app} does not run {replicas:?} within {patience:?}: {told}");
        }
    }

    /// The Works that contain an app's name, one a line.
    async fn works(&self, name: &str) -> String {
        let mut told = String::new();
        for member in &self.lab.members {
            let space = format!("karmada-es-{}", member.name());
            let works = self.lab.karmada.api("work.karmada.io/v1alpha1", "Work", "works", Some(&space));
            for work in works.list(&Default::default()).await.unwrap().items {
                if work.metadata.name.as_deref().unwrap_or_default().contains(name) {
                    told += &format!("\n{space}: {:?} {}", work.metadata, work.data["status"]);
                }
            }
        }
        told
    }

    /// Takes everything of a story away, and waits until it has gone.
    pub async fn clear(&self, name: &str) {
        self.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
        if !lab::in_time(SOON, &mut async || self.hpa(name).await.is_none()).await {
            let (hpa, binding) = (self.hpa(name).await, self.binding(name).await);
            let works = self.works(name).await;
            panic!("the FederatedHPA does not go: {hpa:?}\nbinding: {binding:?}\nWorks:{works}");
        }
        self.delete("apps/v1", "Deployment", "deployments", name).await;
        self.delete("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", name).await;
        // Karmada lets a policy go when it comes to it, which is late after an outage. Until then the next story would
        // apply its own policy to the one that is being deleted.
        self.later(3 * SOON, "the policy goes", async |stand| stand.placed(name).await.is_none()).await;
        // The garbage collector of a member that is just back takes its time.
        if !lab::in_time(3 * SOON, &mut async || self.observer.ready(name) == 0).await {
            let mut told = self.works(name).await;
            for member in &self.lab.members {
                let ready = self.observer.ready_in(member.name(), name);
                let deployments = member.plane.api("apps/v1", "Deployment", "deployments", Some("prod"));
                let there = deployments.get_opt(name).await.map(|there| there.map(|there| there.metadata));
                told += &format!("\n{}: {ready} ready, Deployment {there:?}", member.name());
            }
            panic!("pods of {name} stay after the Deployment is deleted: {told}");
        }
    }
}

pub fn deployment(name: &str, replicas: u32) -> Value {
    let container = json!({"name": "app", "image": "app", "resources": {"requests": {"cpu": format!("{REQUEST}m")}}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "prod", "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}})
}

pub fn policy(name: &str, kind: &str, clusters: &[&str]) -> Value {
    let weights = clusters.iter().map(|cluster| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": 1}));
    let weights: Vec<Value> = weights.collect();
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": kind, "name": name}],
            "placement": {"clusterAffinity": {"clusterNames": clusters},
                "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights}}}}})
}

pub fn federated(name: &str, min: u32, max: u32, more: Value) -> Value {
    let cpu = json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": min, "maxReplicas": max, "metrics": [cpu]}});
    for (key, value) in more.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}
