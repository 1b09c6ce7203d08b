//! Observes every change of the control planes, for the laws and for a line of ready pods. I/O: watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::both::pods::Pods;
use crate::lab::Lab;
use crate::laws::{Broken, Change, Laws, Terms};
use crate::plane::{Plane, resource};
use crate::rig::kinds::{ROLLOUT, STORE};

/// Kinds of the control plane that laws are about: version, kind, plural.
const CONTROL: [(&str, &str, &str); 12] = [
    ("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas"),
    ("autoscaling.karmada.io/v1alpha1", "CronFederatedHPA", "cronfederatedhpas"),
    ("work.karmada.io/v1alpha2", "ResourceBinding", "resourcebindings"),
    ("work.karmada.io/v1alpha1", "Work", "works"),
    ("config.karmada.io/v1alpha1", "ResourceInterpreterCustomization", "resourceinterpretercustomizations"),
    ("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies"),
    ("policy.karmada.io/v1alpha1", "FederatedResourceQuota", "federatedresourcequotas"),
    ("cluster.karmada.io/v1alpha1", "Cluster", "clusters"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("apps/v1", "DaemonSet", "daemonsets"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"),
];
/// Kinds of a member.
const MEMBER: [(&str, &str, &str); 4] = [
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("v1", "Pod", "pods"),
];

/// Place, kind, namespace, name.
type Key = (String, &'static str, String, String);

/// A watch that failed and was tried again for so long without a failure goes on where it was.
const RETRIED: Duration = Duration::from_secs(2);

struct Seen {
    laws: Laws,
    objects: BTreeMap<Key, Value>,
    pods: Pods,
    /// Kinds of the control plane of which all objects were seen.
    whole: BTreeSet<&'static str>,
    /// Kinds of the control plane whose watch failed, and when: it may have missed something until it begins anew.
    failed: BTreeMap<&'static str, Instant>,
    /// What was seen since one of them is not whole: its order is not the one in which it happened.
    held: Vec<(Key, Option<Value>)>,
}

/// What was seen, and the watches that see.
pub struct Observer {
    pub pods: Pods,
    seen: Arc<Mutex<Seen>>,
    control: JoinSet<()>,
    _members: JoinSet<()>,
}

impl Observer {
    /// Begins to watch; what is there already is new to the laws.
    pub fn start(lab: &Lab) -> Self {
        let mut observer = Self::idle();
        for member in &lab.members {
            for (version, kind, plural) in MEMBER {
                let (seen, place) = (Arc::clone(&observer.seen), member.name().to_owned());
                observer._members.spawn(watch(seen, api(&member.plane, version, kind, plural), place, kind));
            }
        }
        observer.control = control(&observer.seen, lab);
        observer
    }

    /// Watches nothing: what many objects cost is measured without what it would cost to judge them.
    pub fn idle() -> Self {
        let pods = Pods::default();
        let seen = Seen {
            laws: laws(),
            objects: BTreeMap::new(),
            pods: pods.clone(),
            whole: BTreeSet::new(),
            failed: BTreeMap::new(),
            held: Vec::new(),
        };
        Self { pods, seen: Arc::new(Mutex::new(seen)), control: JoinSet::new(), _members: JoinSet::new() }
    }

    /// The control plane went back to a snapshot: laws begin anew with what is there, and judge what comes after it. Pods
    /// are noted as before. Nobody can act until [`Self::acts`] says so.
    pub async fn restored(&mut self, lab: &Lab) {
        self.control.abort_all();
        self.seen.lock().unwrap().begin_again();
        self.control = control(&self.seen, lab);
        // Objects are listed one kind after the other: until the last one what is seen is no state of the world.
        while self.seen.lock().unwrap().whole.len() < CONTROL.len() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(self.broken());
    }

    /// A controller of fhpa leads.
    pub fn acts(&self) {
        self.seen.lock().unwrap().laws.acts(fhpa::runtime::clock::wall(), true);
    }

    /// What was broken since this was last asked.
    pub fn broken(&self) -> Vec<Broken> {
        let mut seen = self.seen.lock().unwrap();
        seen.release();
        seen.laws.passed(fhpa::runtime::clock::wall());
        seen.laws.broken()
    }
}

fn laws() -> Laws {
    let mut terms = Terms::default();
    terms.kinds.extend([ROLLOUT, STORE].map(|kind| format!("{} {}", kind.api_version(), kind.kind)));
    // HPAs run every two seconds here, not every fifteen.
    terms.writes_a_minute = 90;
    Laws::new(fhpa::runtime::clock::wall(), terms)
}

/// Watches of the control plane.
fn control(seen: &Arc<Mutex<Seen>>, lab: &Lab) -> JoinSet<()> {
    let watches = CONTROL.map(|(version, kind, plural)| {
        watch(Arc::clone(seen), api(&lab.karmada, version, kind, plural), String::new(), kind)
    });
    watches.into_iter().collect()
}

impl Seen {
    fn begin_again(&mut self) {
        self.laws = laws();
        self.laws.acts(fhpa::runtime::clock::wall(), false);
        self.whole.clear();
        self.failed.clear();
        self.held.clear();
        self.objects.retain(|(place, ..), _| !place.is_empty());
        for ((place, kind, ..), object) in &self.objects {
            let at = fhpa::runtime::clock::wall();
            self.laws.saw(&Change { at, place, kind, before: None, after: Some(object) });
        }
    }

    /// Pods are told at once: no law is about them.
    fn saw(&mut self, key: Key, after: Option<Value>) {
        if key.1 == "Pod" {
            self.tell(key, after);
        } else {
            self.held.push((key, after));
            self.release();
        }
    }

    /// Tells the laws what was held back, once what is seen is a state of the world: first of the kinds in the order of
    /// [`CONTROL`], as those were listed anew.
    fn release(&mut self) {
        self.failed.retain(|_, at| at.elapsed() < RETRIED);
        if self.whole.len() < CONTROL.len() || !self.failed.is_empty() {
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        let rank = |key: &Key| CONTROL.iter().position(|(_, kind, _)| key.0.is_empty() && *kind == key.1);
        held.sort_by_key(|(key, _)| rank(key).unwrap_or(CONTROL.len()));
        held.into_iter().for_each(|(key, after)| self.tell(key, after));
    }

    fn tell(&mut self, key: Key, after: Option<Value>) {
        let before = match &after {
            Some(after) => self.objects.insert(key.clone(), after.clone()),
            None => self.objects.remove(&key),
        };
        if before == after {
            return;
        }
        let change = Change {
            at: fhpa::runtime::clock::wall(),
            place: &key.0,
            kind: key.1,
            before: before.as_ref(),
            after: after.as_ref(),
        };
        self.laws.saw(&change);
        if let Some(pod) = after.as_ref().or(before.as_ref()).filter(|_| key.1 == "Pod") {
            self.pods.saw(&key.0, pod, after.is_none());
        }
    }

    /// A watch begins anew.
    fn begins(&mut self, place: &str, kind: &'static str) {
        if place.is_empty() {
            self.whole.remove(kind);
        }
    }

    /// A watch failed. A kind that is not served has no objects that could be missed.
    fn failed(&mut self, place: &str, kind: &'static str, error: &watcher::Error) {
        let status = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        };
        if place.is_empty() && status == Some(404) {
            self.whole.insert(kind);
            self.failed.remove(kind);
        } else if place.is_empty() {
            self.failed.insert(kind, now());
        }
        self.release();
    }

    /// A watch began anew: what it did not list is gone.
    fn listed(&mut self, place: &str, kind: &'static str, names: &[(String, String)]) {
        let of = |key: &&Key| key.0 == place && key.1 == kind;
        let known = self.objects.keys().chain(self.held.iter().map(|(key, _)| key));
        let known: BTreeSet<Key> = known.filter(of).cloned().collect();
        for key in known {
            if !names.contains(&(key.2.clone(), key.3.clone())) {
                self.saw(key, None);
            }
        }
        if place.is_empty() {
            self.whole.insert(kind);
            self.failed.remove(kind);
            self.release();
        }
    }
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

fn api(plane: &Plane, version: &str, kind: &str, plural: &str) -> (Api<DynamicObject>, String) {
    (Api::all_with(plane.client.clone(), &resource(version, kind, plural)), version.to_owned())
}

/// A watch that failed begins again after half a second: after an outage of a minute what happens is seen in order.
pub struct Steady;

impl Iterator for Steady {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(500))
    }
}

impl Backoff for Steady {
    fn reset(&mut self) {}
}

async fn watch(
    seen: Arc<Mutex<Seen>>,
    (api, version): (Api<DynamicObject>, String),
    place: String,
    kind: &'static str,
) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).backoff(Steady));
    let mut names = Vec::new();
    let read = |object: DynamicObject| {
        let mut value = serde_json::to_value(&object).unwrap();
        value["apiVersion"] = version.clone().into();
        value["kind"] = kind.into();
        let name = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key: Key = (place.clone(), kind, name("namespace"), name("name"));
        (key, value)
    };
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Init)) => {
                names.clear();
                seen.lock().unwrap().begins(&place, kind);
            }
            Ok(Some(watcher::Event::InitApply(object))) => {
                let (key, value) = read(object);
                names.push((key.2.clone(), key.3.clone()));
                seen.lock().unwrap().saw(key, Some(value));
            }
            Ok(Some(watcher::Event::InitDone)) => seen.lock().unwrap().listed(&place, kind, &names),
            Ok(Some(watcher::Event::Apply(object))) => {
                let (key, value) = read(object);
                seen.lock().unwrap().saw(key, Some(value));
            }
            Ok(Some(watcher::Event::Delete(object))) => {
                let (key, _) = read(object);
                seen.lock().unwrap().saw(key, None);
            }
            // The server is away; the watch begins again.
            Err(error) => seen.lock().unwrap().failed(&place, kind, &error),
            Ok(None) => return,
        }
    }
}
