//! Many clusters at their max in one instant. A task plays Karmada: it reports every HPA that is sent as applied.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use embedded_apiserver::faults::ObservedRequest;
use fhpa::api::Work;
use fhpa::playground::json::text;
use fhpa::playground::objects::Objects;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use futures::StreamExt as _;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};

use super::{START, deployment, kind};
use crate::stories::{Process, Stage};

const OBJECTS: usize = 40;
const MEMBERS: [&str; 2] = ["member1", "member2"];
/// Of each cluster at first.
const MAX: i64 = 20;

/// Reports the HPA of a Work. In the first cluster it is at its max, with this part of its request in use.
async fn report(objects: &Objects, work: &Value, percent: i64) {
    let manifest = &work["spec"]["workload"]["manifests"][0];
    let id = text(manifest, "/metadata/annotations/fhpa.karmada.io~1write-id");
    let first = text(work, "/metadata/namespace").ends_with(MEMBERS[0]);
    let (replicas, percent) = if first { (MAX, percent) } else { (1, 50) };
    let current = json!({"averageUtilization": percent, "averageValue": format!("{percent}m")});
    let status = json!({"writeID": id, "currentReplicas": replicas, "desiredReplicas": replicas,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]});
    let identifier = json!({"ordinal": 0, "group": "autoscaling", "version": "v2", "resource": "",
        "kind": "HorizontalPodAutoscaler", "namespace": "prod", "name": text(manifest, "/metadata/name")});
    let status = json!({"status": {
        "conditions": [{"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "",
            "lastTransitionTime": START}],
        "manifestStatuses": [{"identifier": identifier, "status": status}]}});
    objects.merge(&kind("Work"), work, "status", &status).await.unwrap();
}

async fn karmada(client: kube::Client, percent: Arc<AtomicI64>) {
    let objects = Arc::new(Objects::new(client.clone()));
    let works: Api<Work> = Api::all(client);
    let events = watcher(works, watcher::Config::default()).default_backoff();
    futures::pin_mut!(events);
    let mut reported = BTreeMap::new();
    while let Some(event) = events.next().await {
        if let Ok(watcher::Event::Apply(work) | watcher::Event::InitApply(work)) = event {
            let (work, key) = (json!(work), (work.metadata.namespace, work.metadata.name));
            let id = work["spec"]["workload"]["manifests"][0]["metadata"]["annotations"].clone();
            if reported.insert(key, id.clone()) != Some(id) {
                let (objects, percent) = (Arc::clone(&objects), percent.load(Ordering::SeqCst));
                tokio::spawn(async move { report(&objects, &work, percent).await });
            }
        }
    }
}

async fn populate(stage: &Stage, objects: &Objects) {
    let space = |name: String| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    // The first one has room for twelve more: of the free capacity that a division goes by it has next to nothing.
    for (member, used) in [(MEMBERS[0], "638800m"), (MEMBERS[1], "300")] {
        stage.server.create(&space(format!("karmada-es-{member}"))).await.unwrap();
        let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": member}, "spec": {"syncMode": "Push"}});
        let made = stage.server.create(&cluster).await.unwrap();
        let status = json!({"kubernetesVersion": "v1.36.2",
            "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": START}],
            "resourceSummary": {"allocatable": {"cpu": "640", "memory": "4096Gi", "pods": "1000"},
                "allocated": {"cpu": used, "memory": "1024Gi", "pods": "300"}}});
        objects.set_status(&kind("Cluster"), &made, &status).await.unwrap();
    }
    for at in 0..OBJECTS {
        let name = format!("web-{at:02}");
        let made = stage.server.create(&deployment(&name, 21)).await.unwrap();
        let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": format!("{name}-deployment"), "namespace": "prod"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name,
                    "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]},
                "replicas": 21, "placement": {}, "replicaRequirements": {"resourceRequest": {"cpu": "100m"}},
                "clusters": [{"name": MEMBERS[0], "replicas": MAX}, {"name": MEMBERS[1], "replicas": 1}]}});
        let made = stage.server.create(&binding).await.unwrap();
        let runs = |member: &str, replicas: i64| {
            json!({"clusterName": member, "applied": true,
                "status": {"replicas": replicas, "readyReplicas": replicas, "observedGeneration": 1}})
        };
        let status = json!({"aggregatedStatus": [runs(MEMBERS[0], MAX), runs(MEMBERS[1], 1)]});
        objects.set_status(&kind("ResourceBinding"), &made, &status).await.unwrap();
        let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"},
            "spec": {"minReplicas": 2, "maxReplicas": 2 * MAX, "mode": "Distributed",
                "federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"},
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}]}});
        stage.server.create(&hpa).await.unwrap();
    }
}

async fn works(objects: &Objects, member: &str) -> Vec<Value> {
    objects.list(&kind("Work"), &format!("karmada-es-{member}")).await.unwrap()
}

fn maxes(works: &[Value]) -> Vec<i64> {
    let max = |work: &Value| work["spec"]["workload"]["manifests"][0]["spec"]["maxReplicas"].as_i64().unwrap();
    let mut all: Vec<i64> = works.iter().map(max).collect();
    all.dedup();
    all
}

/// The budget law needs of each object the status, the donor's bound, once that is confirmed the receiver's bound, and the
/// status that says so. There is no request beside these, and bounds do not wait for what is only shown.
#[tokio::test(start_paused = true)]
async fn many_clusters_at_their_max_are_helped_with_the_least_writes_and_bounds_before_what_is_only_shown() {
    let stage = Stage::at(START).await;
    let objects = Objects::new(stage.server.client());
    populate(&stage, &objects).await;
    let percent = Arc::new(AtomicI64::new(50));
    let playing = tokio::spawn(karmada(stage.server.client(), Arc::clone(&percent)));
    let mut one = Process::start_with(&stage.server, "one", &stage.wall, Arc::new(Rooms::default()));
    one.leads().await;
    // Right after a division nobody is moved; after a minute headroom is rebalanced.
    stage.pass(30).await;
    let receivers = works(&objects, MEMBERS[0]).await;
    assert_eq!(
        (receivers.len(), maxes(&receivers), maxes(&works(&objects, MEMBERS[1]).await)),
        (OBJECTS, vec![20], vec![20])
    );
    stage.server.faults().record();
    percent.store(75, Ordering::SeqCst);
    futures::future::join_all(receivers.iter().map(|work| report(&objects, work, 75))).await;
    stage.pass(10).await;
    let seen = stage.server.faults().recorded();
    let [raised, lowered] = [works(&objects, MEMBERS[0]).await, works(&objects, MEMBERS[1]).await];
    assert_eq!((maxes(&raised), maxes(&lowered)), (vec![30], vec![10]));
    // Before an apply, the check of rights of this test reads whether the object exists.
    let checked = |seen: &ObservedRequest| seen.verb == "get" && seen.resource == "federatedhpas/status";
    let ours = |seen: &&ObservedRequest| {
        !["leases", "works/status"].contains(&&*seen.resource) && seen.verb != "watch" && !checked(seen)
    };
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    for seen in seen.iter().filter(ours).filter(|seen| seen.verb != "list" && seen.resource != "scaledobjects") {
        *requests.entry(format!("{} {}", seen.verb, seen.resource)).or_default() += 1;
    }
    let least = [("create events", 2), ("patch federatedhpas/status", 2), ("patch works", 2)];
    assert_eq!(requests, least.map(|(what, each)| (what.to_owned(), each * OBJECTS)).into());
    let at = |resource: &str, of: &dyn Fn(&ObservedRequest) -> bool| {
        let all = seen.iter().enumerate().filter(|(_, seen)| seen.resource == resource && !checked(seen) && of(seen));
        all.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let all_bounds = at("works", &|seen| seen.verb == "patch");
    let last = *all_bounds.last().unwrap();
    for at_object in 0..OBJECTS {
        let name = format!("web-{at_object:02}");
        let statuses = at("federatedhpas/status", &|seen| seen.name == name);
        let bound = |member: &str| {
            at("works", &|seen| {
                seen.verb == "patch" && seen.namespace.ends_with(member) && seen.name.starts_with(&format!("{name}-"))
            })
        };
        let (donor, receiver) = (bound(MEMBERS[1]), bound(MEMBERS[0]));
        assert!(statuses[0] < donor[0] && donor[0] < receiver[0], "{name}: {statuses:?} {donor:?} {receiver:?}");
    }
    let early = at("federatedhpas/status", &|_| true).into_iter().filter(|at| *at < last).count() - OBJECTS;
    assert!(early <= OBJECTS / 4, "{early} statuses that only show something before the last bound");
    let early = at("events", &|_| true).into_iter().filter(|at| *at < last).count();
    assert!(early <= OBJECTS / 2, "{early} of {} Events before the last bound", 2 * OBJECTS);
    one.stop().await;
    playing.abort();
}
