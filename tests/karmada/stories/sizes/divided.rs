//! Many FederatedHPAs are applied at once in mode Distributed: from the first apply to the HPA in the last member.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fhpa::runtime::clock::steady;
use futures::TryStreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::crowd::{Crowd, has};
use super::meter::Meter;
use super::{PATIENCE, REST, WINDOW, prepare};
use crate::both::{MEMBERS, World as _};
use crate::stand::Stand;

const OBJECTS: usize = 200;
/// Karmada's own controllers but those of autoscaling.
const CONTROLLERS: &str = "*,-federatedHorizontalPodAutoscaler,-cronFederatedHorizontalPodAutoscaler";
/// Between two computations of a member's HPA, as Kubernetes has it by default.
const PERIOD: &str = "15s";

/// When something was first seen, by member and name.
type Times = Arc<Mutex<BTreeMap<(String, String), Instant>>>;

pub async fn measure(stand: &mut Stand, limits: &[&str]) {
    prepare(stand).await;
    stand.lab.manage_with(CONTROLLERS, limits);
    for member in &mut stand.lab.members {
        member.computes_every(PERIOD);
    }
    let mut crowd = Crowd::new(stand, 1).await;
    crowd.work(stand, OBJECTS).await;
    stand.pass(REST).await;
    let arrivals = Arrivals::start(stand);
    let (meter, begun) = (Meter::start(stand, None), steady());
    let mut applied = BTreeMap::new();
    for one in &crowd.all {
        one.federated(stand, json!({"mode": "Distributed"})).await;
        applied.insert(one.name.clone(), steady());
    }
    let took = begun.elapsed();
    println!("  {OBJECTS} FederatedHPAs x {} members, Karmada with {limits:?}", MEMBERS.len());
    println!("    applied one after the other: {:.1} s", took.as_secs_f64());
    let wanted = OBJECTS * MEMBERS.len();
    let all =
        async |_: &Stand| [&arrivals.works, &arrivals.hpas].iter().all(|times| times.lock().unwrap().len() == wanted);
    stand.later(PATIENCE, "every member has its HPAs", all).await;
    let arrived = meter.read(stand, None);
    let works = arrivals.works.lock().unwrap().clone();
    let hpas = arrivals.hpas.lock().unwrap().clone();
    let last = |times: &BTreeMap<(String, String), Instant>| *times.values().max().unwrap() - begun;
    println!("    the last Work is there after {:.1?}, the last HPA after {:.1?}", last(&works), last(&hpas));
    let to_work = spread("from apply to Work", works.iter().map(|(key, at)| *at - applied[&key.1]));
    spread("from Work to HPA", hpas.iter().map(|(key, at)| at.saturating_duration_since(works[key])));
    arrived.print();
    ready(stand, begun).await;
    println!("    and until all are Ready:");
    meter.read(stand, None).print();
    stand.pass(REST).await;
    let meter = Meter::start(stand, None);
    stand.pass(WINDOW).await;
    println!("    at rest:");
    let rest = meter.read(stand, None);
    rest.print();
    crowd.runs(stand).await;
    assert!(to_work < Duration::from_secs(60), "a Work is written {to_work:?} after its object");
    let writes: usize = rest.ours.iter().filter(|(what, _)| !what.contains("watch")).map(|(_, count)| count).sum();
    assert!(writes < OBJECTS, "at rest nothing is asked for each object: {:?}", rest.ours);
}

/// Waits until each object is divided.
async fn ready(stand: &Stand, begun: Instant) {
    let objects = stand.api("", "FederatedHPA", "");
    let all = async |_: &Stand| {
        let Ok(list) = objects.list(&Default::default()).await else { return false };
        list.items.len() == OBJECTS && list.items.iter().all(|hpa| has(&hpa.data, "Ready"))
    };
    stand.later(PATIENCE, "all are Ready", all).await;
    println!("    all are Ready after {:.1?}", begun.elapsed());
}

/// Prints how long something took, and returns the longest time.
fn spread(what: &str, times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!("    {what}: p50 {:.1?}, p99 {:.1?}, longest {:.1?}", at(50), at(99), at(100));
    at(100)
}

/// HPAs as they arrive: as Works on karmada-apiserver, and in the members.
struct Arrivals {
    works: Times,
    hpas: Times,
    _watches: JoinSet<()>,
}

impl Arrivals {
    fn start(stand: &Stand) -> Self {
        let (works, hpas) = (Times::default(), Times::default());
        let mut watches = JoinSet::new();
        for member in &stand.lab.members {
            let name = member.name().to_owned();
            let api = stand.api("", "Work", &format!("karmada-es-{name}"));
            watches.spawn(note(api, name.clone(), Arc::clone(&works), |work| {
                let manifest = &work.data["spec"]["workload"]["manifests"][0];
                let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
                (manifest["kind"] == "HorizontalPodAutoscaler").then(|| name.to_owned())
            }));
            let kind = "HorizontalPodAutoscaler";
            let api = member.plane.api("autoscaling/v2", kind, "horizontalpodautoscalers", Some("crowd0"));
            watches.spawn(note(api, name, Arc::clone(&hpas), |hpa| Some(hpa.name_any())));
        }
        Self { works, hpas, _watches: watches }
    }
}

async fn note(api: Api<DynamicObject>, member: String, times: Times, name: impl Fn(&DynamicObject) -> Option<String>) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Apply(object) | watcher::Event::InitApply(object))) => {
                if let Some(name) = name(&object) {
                    times.lock().unwrap().entry((member.clone(), name)).or_insert_with(steady);
                }
            }
            Ok(None) => return,
            _ => {}
        }
    }
}
