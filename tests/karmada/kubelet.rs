//! The nodes of a member: pods that kube-scheduler binds to them run, with the usage that a story sets. I/O: talks to
//! the member.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::both::pods::{app_of, is_ready};
use crate::observer::Steady;
use crate::plane::resource;

/// Between the binding of a pod and its readiness.
const STARTS_IN: Duration = Duration::from_millis(500);
/// Between the deletion of a pod and its end.
const ENDS_IN: Duration = Duration::from_millis(200);

/// What the pods of a workload do in one member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Millicores that all ready pods share.
    pub total: u32,
    /// MiB of memory that all ready pods share; without it each pod has 64.
    pub memory: Option<u32>,
    /// Whether new pods become ready.
    pub starts: bool,
    /// Whether the metrics API knows them.
    pub measured: bool,
}

impl Default for Load {
    fn default() -> Self {
        Self { total: 0, memory: None, starts: true, measured: true }
    }
}

/// The pods of one member, as its kubelets know them.
#[derive(Default)]
pub struct Pods {
    pods: Mutex<BTreeMap<(String, String), Value>>,
    loads: Mutex<BTreeMap<String, Load>>,
    external: Mutex<BTreeMap<String, u32>>,
    silent: AtomicBool,
}

impl Pods {
    /// Changes what the pods with the label `app` do.
    pub fn load(&self, app: &str, change: impl FnOnce(&mut Load)) {
        change(self.loads.lock().unwrap().entry(app.to_owned()).or_default());
    }

    /// Sets the value of an external metric.
    pub fn set_external(&self, metric: &str, value: u32) {
        self.external.lock().unwrap().insert(metric.to_owned(), value);
    }

    /// The value of an external metric that was set.
    pub fn external(&self, metric: &str) -> Option<u32> {
        self.external.lock().unwrap().get(metric).copied()
    }

    /// Whether the metrics server refuses to list.
    pub fn silence(&self, silent: bool) {
        self.silent.store(silent, Ordering::Relaxed);
    }

    fn of(&self, app: &str) -> Load {
        self.loads.lock().unwrap().get(app).copied().unwrap_or_default()
    }

    fn put(&self, pod: &Value) {
        self.pods.lock().unwrap().insert(key(pod), pod.clone());
    }

    /// Pods of `app` that are ready now.
    pub fn ready(&self, app: &str) -> u32 {
        let pods = self.pods.lock().unwrap();
        u32::try_from(pods.values().filter(|pod| app_of(pod) == app && is_ready(pod)).count()).unwrap()
    }

    /// Adds the pods that are ready now, by app.
    pub fn count(&self, counts: &mut BTreeMap<String, u32>) {
        for pod in self.pods.lock().unwrap().values().filter(|pod| is_ready(pod)) {
            *counts.entry(app_of(pod).to_owned()).or_default() += 1;
        }
    }

    /// `PodMetrics` of the pods that run, of one namespace and, where it is named, one app. `None`: it refuses.
    pub fn metrics(&self, namespace: &str, app: Option<&str>) -> Option<Vec<Value>> {
        if self.silent.load(Ordering::Relaxed) {
            return None;
        }
        let pods = self.pods.lock().unwrap();
        let named = |pod: &Value| app.is_none_or(|app| app_of(pod) == app);
        let runs = |pod: &&Value| {
            pod["metadata"]["namespace"] == namespace && pod["status"]["phase"] == "Running" && named(pod)
        };
        let measured = pods.values().filter(runs).filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let mut ready: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for pod in pods.values().filter(|pod| named(pod) && is_ready(pod)) {
            ready.entry(app_of(pod)).or_default().push(pod);
        }
        let of = |pod: &Value| ready.get(app_of(pod)).map_or(&[][..], Vec::as_slice);
        Some(measured.filter_map(|pod| self.measure(of(pod), pod)).collect())
    }

    fn measure(&self, ready: &[&Value], pod: &Value) -> Option<Value> {
        let load = self.of(app_of(pod));
        if !load.measured {
            return None;
        }
        // Whole millicores, all of them: an HPA rounds each pod up, and fractions would make it want one more.
        let place = ready.iter().position(|other| key(other) == key(pod));
        let share = |total: u32| {
            place.map_or(0, |place| {
                let (place, ready) = (u32::try_from(place).unwrap(), u32::try_from(ready.len()).unwrap());
                total / ready + u32::from(place < total % ready)
            })
        };
        let (cpu, memory) = (share(load.total), load.memory.map_or(64, share));
        let now = fhpa::runtime::clock::wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let container = pod["spec"]["containers"][0]["name"].clone();
        Some(json!({"kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
            "metadata": {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"],
                "labels": pod["metadata"]["labels"], "creationTimestamp": now},
            "timestamp": now, "window": "1s",
            "containers": [{"name": container, "usage": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")}}]}))
    }
}

fn key(pod: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&pod["metadata"]["namespace"]), text(&pod["metadata"]["name"]))
}

/// Runs pods until the runtime ends. Ends of watches are no trouble: the member may be killed and come back.
pub async fn run(client: Client, pods: Arc<Pods>) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource("v1", "Pod", "pods"));
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).backoff(Steady));
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod))) => {
                let pod = serde_json::to_value(&pod).unwrap();
                pods.put(&pod);
                tokio::spawn(advance(client.clone(), Arc::clone(&pods), pod));
            }
            Ok(Some(watcher::Event::Delete(pod))) => {
                pods.pods.lock().unwrap().remove(&(pod.namespace().unwrap_or_default(), pod.name_any()));
            }
            Ok(Some(watcher::Event::Init)) => pods.pods.lock().unwrap().clear(),
            Ok(Some(watcher::Event::InitDone)) | Err(_) => {}
            Ok(None) => return,
        }
    }
}

/// What is to be done with a pod as it is now.
async fn advance(client: Client, pods: Arc<Pods>, pod: Value) {
    if pod["spec"]["nodeName"].is_null() {
        return;
    }
    let (namespace, name) = key(&pod);
    let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &resource("v1", "Pod", "pods"));
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        tokio::time::sleep(ENDS_IN).await;
        let preconditions = Preconditions { uid: Some(uid), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default().grace_period(0) };
        // Gone, or the member is: then it is deleted at the next look.
        let _ = api.delete(&name, &params).await;
        return;
    }
    if pod["status"]["phase"] != "Pending" {
        return;
    }
    tokio::time::sleep(STARTS_IN).await;
    report(&api, &pod, pods.of(app_of(&pod)).starts).await;
}

/// Pods of an app that run and are not ready become ready.
pub async fn begin(client: &Client, app: &str) {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "prod", &resource("v1", "Pod", "pods"));
    for pod in api.list(&ListParams::default().labels(&format!("app={app}"))).await.unwrap() {
        let pod = serde_json::to_value(&pod).unwrap();
        if pod["status"]["phase"] == "Running" && !is_ready(&pod) {
            report(&api, &pod, true).await;
        }
    }
}

/// A pod runs, ready or not.
async fn report(api: &Api<DynamicObject>, pod: &Value, ready: bool) {
    let (uid, ready) = (&pod["metadata"]["uid"], if ready { "True" } else { "False" });
    let now = fhpa::runtime::clock::wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "lastTransitionTime": now});
    let container = &pod["spec"]["containers"][0];
    let status = json!({"metadata": {"uid": uid}, "status": {
        "phase": "Running", "startTime": now, "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [condition("Initialized", "True"), condition("ContainersReady", ready), condition("Ready", ready)],
        "containerStatuses": [{"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
            "ready": ready == "True", "started": true, "state": {"running": {"startedAt": now}}}]}});
    let _ = api.patch_status(&key(pod).1, &PatchParams::default(), &Patch::Strategic(&status)).await;
}
