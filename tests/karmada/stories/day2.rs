//! What charts/fhpa/docs/day2.md has an operator do, on a FederatedHPA in each mode and a CronFederatedHPA under load.

use std::time::Duration;

use fhpa::runtime::clock::{steady, wall};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::both::{MEMBERS, World as _};
use crate::stand::Stand;

pub(super) const SPREAD: &str = "spread";
pub(super) const WHOLE: &str = "whole";
const CRON: &str = "clock";
pub(super) const VERSION: &str = "autoscaling.karmada.io/v1alpha1";
/// A rule runs each minute.
const MINUTE: u64 = 90;
/// HPA controllers come to each HPA every 15 seconds.
const FORGOTTEN: Duration = Duration::from_secs(16);

/// A Distributed FederatedHPA with ten, three and two pods, a Centralized one with three in each member, and a rule that
/// sets the bounds of the first each minute.
pub(super) async fn fleet(stand: &Stand) {
    crate::both::leaving::fifteen(stand, SPREAD, 30).await;
    stand.each_wants(WHOLE, [3; 3]);
    stand.workload(WHOLE, 3, &MEMBERS).await;
    stand.federated(WHOLE, 1, 24, json!({"mode": "Centralized"})).await;
    stand.runs(WHOLE, &MEMBERS.map(|member| (member, 3))).await;
    stand.note(WHOLE);
    let rule = json!({"name": "up", "schedule": "* * * * *", "targetMinReplicas": 3});
    let target = json!({"apiVersion": VERSION, "kind": "FederatedHPA", "name": SPREAD});
    let cron = json!({"apiVersion": VERSION, "kind": "CronFederatedHPA",
        "metadata": {"name": CRON, "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": [rule]}});
    stand.apply(&cron).await;
    stand.soon("the rule has a next run", async |stand| next(stand).await.is_some()).await;
}

pub(super) async fn cleared(stand: &Stand) {
    stand.delete("CronFederatedHPA", CRON).await;
    stand.clear(WHOLE).await;
    stand.clear(SPREAD).await;
    // A new HPA of the same name would begin with the highest recommendation for the old one.
    let gone = steady();
    stand.soon("the HPA controllers of the members forget", async |_| gone.elapsed() >= FORGOTTEN).await;
}

async fn history(stand: &Stand) -> Value {
    let cron = stand.get("CronFederatedHPA", CRON).await.unwrap_or_default();
    cron["status"]["executionHistories"][0].clone()
}

/// The first run without a record.
async fn next(stand: &Stand) -> Option<Timestamp> {
    history(stand).await["nextExecutionTime"].as_str()?.parse().ok()
}

/// Whether the run of this minute is recorded as executed.
async fn ran(stand: &Stand, due: Timestamp) -> bool {
    let history = history(stand).await;
    let runs = history["successfulExecutions"].as_array().cloned().unwrap_or_default();
    runs.iter().any(|run| run["scheduleTime"].as_str().and_then(|time| time.parse().ok()) == Some(due))
}

/// The leader dies together with etcd and karmada-apiserver: members scale within their bounds, and the run that falls
/// into the outage is executed afterwards.
pub async fn a_lost_zone_stops_no_member(stand: &mut Stand) {
    fleet(stand).await;
    let leader = stand.leader().await;
    let due = next(stand).await.unwrap();
    let begun = steady();
    stand.kill(leader).await;
    stand.lab.kill();
    stand.wants("member3", SPREAD, 6);
    stand.runs(SPREAD, &[("member1", 10), ("member2", 3), ("member3", 6)]).await;
    println!("  member3 scaled {:.1?} into the outage", begun.elapsed());
    stand.later(MINUTE, "the run is due", async |_| wall() > due).await;
    let away = begun.elapsed();
    stand.lab.heal().await;
    let back = steady();
    let edit = json!({"spec": {"maxReplicas": 33}});
    let api = stand.api("", "FederatedHPA", "prod");
    stand
        .soon("a write is reviewed by the other replica", async |_| {
            let params = kube::api::PatchParams::default();
            api.patch(WHOLE, &params, &kube::api::Patch::Merge(&edit)).await.is_ok()
        })
        .await;
    let reviewed = back.elapsed();
    let follower = stand.leader().await;
    assert_ne!(follower, leader);
    let led = back.elapsed();
    stand.soon("the run is executed late", async |stand| ran(stand, due).await).await;
    println!(
        "  away for {away:.1?}; then reviewed after {reviewed:.1?}, led after {led:.1?}, the run after {:.1?}",
        back.elapsed()
    );
    stand.each_wants(WHOLE, [4; 3]);
    // Karmada's own watches may take a minute to recover.
    stand.runs_within(3 * MINUTE, WHOLE, &MEMBERS.map(|member| (member, 4))).await;
    println!("  scaled over all clusters after {:.1?}", back.elapsed());
    assert_eq!((stand.least(SPREAD), stand.least(WHOLE)), (15, 9), "no pod was ended");
    stand.run(leader);
    cleared(stand).await;
}

/// A newer version's definitions, with a field that this one does not know.
fn newer(stand: &Stand) -> Vec<Value> {
    let text = stand.fhpa.does(&stand.lab, "install", &["--output", "-"]);
    let all = crate::manifests::documents(&text);
    let mut found: Vec<Value> = all.into_iter().filter(|one| one["kind"] == "CustomResourceDefinition").collect();
    for definition in &mut found {
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        definition.pointer_mut(spec).unwrap()["later"] = json!({"type": "string"});
    }
    found
}

/// The pods and the hook of an older version run after those of a newer one: what only the newer one knows stays, and
/// nothing moves.
pub async fn going_back_a_version_moves_nothing(stand: &mut Stand) {
    fleet(stand).await;
    let crds = stand.api("", "CustomResourceDefinition", "");
    let definitions = newer(stand);
    assert_eq!(definitions.len(), 2);
    let params = kube::api::PatchParams::apply("fhpa-install").force();
    for definition in &definitions {
        let name = definition["metadata"]["name"].as_str().unwrap();
        crds.patch(name, &params, &kube::api::Patch::Apply(definition)).await.unwrap();
    }
    let later = json!({"spec": {"later": "kept"}});
    let api = stand.api("", "FederatedHPA", "prod");
    for name in [SPREAD, WHOLE] {
        stand
            .soon("the newer field is stored", async |_| {
                let written = api.patch(name, &Default::default(), &kube::api::Patch::Merge(&later)).await;
                written.is_ok_and(|hpa| hpa.data["spec"]["later"] == "kept")
            })
            .await;
    }
    let begun = steady();
    stand.fhpa.begin(&[]);
    stand.leader().await;
    println!("  the older version leads after {:.1?}", begun.elapsed());
    stand.fhpa.install(&stand.lab, &[]);
    let due = next(stand).await.unwrap();
    stand.later(MINUTE, "the rule runs", async |stand| ran(stand, due).await).await;
    stand.wants("member3", SPREAD, 6);
    stand.runs(SPREAD, &[("member3", 6)]).await;
    for name in [SPREAD, WHOLE] {
        assert_eq!(stand.hpa(name).await.unwrap()["spec"]["later"], "kept", "{name}");
    }
    assert_eq!((stand.least(SPREAD), stand.least(WHOLE)), (15, 9), "no pod was ended");
    cleared(stand).await;
    // The next stories begin with what this version installs.
    for definition in &definitions {
        let (name, mut own) = (definition["metadata"]["name"].as_str().unwrap(), definition.clone());
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        own.pointer_mut(spec).unwrap().as_object_mut().unwrap().remove("later");
        crds.patch(name, &params, &kube::api::Patch::Apply(&own)).await.unwrap();
    }
}
