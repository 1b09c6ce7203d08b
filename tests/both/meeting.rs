//! Objects that meet: two FederatedHPAs on a workload, two rules on a FederatedHPA, two tenants with one hash.

use std::time::Duration;

use fhpa::reconcile::federated_hpa::names::OWNER;
use fhpa::runtime::clock::steady;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::{MEMBERS, World, deployment, federated, policy};

told! {
    two_objects_that_swap_places_never_meet,
    late_runs_on_one_target_end_with_the_latest,
    two_namespaces_with_one_hash_have_their_own_hpas,
}

/// Workloads that HPAs of a member scale.
async fn scaled<W: World>(world: &W, member: &str) -> Vec<String> {
    let all = world.api(member, "HorizontalPodAutoscaler", "prod").list(&ListParams::default()).await.unwrap();
    let of = |hpa: &Value| hpa["spec"]["scaleTargetRef"]["name"].as_str().map(str::to_owned);
    let mut names: Vec<String> = all.items.iter().filter_map(|hpa| of(&hpa.data)).collect();
    names.sort();
    names
}

/// `to` is the workload that a FederatedHPA scales.
fn target(to: &str) -> Value {
    json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": to}})
}

/// A FederatedHPA goes on to another workload, and a new one comes for what it leaves: no member has two HPAs on one
/// workload at any time, and no pod ends.
pub async fn two_objects_that_swap_places_never_meet<W: World>(world: &mut W) {
    let (left, next) = ("left", "next");
    for name in [left, next] {
        world.each_wants(name, [2; 3]);
        world.workload(name, 6, &MEMBERS).await;
    }
    world.federated(left, 3, 12, json!({})).await;
    for name in [left, next] {
        world.runs(name, &MEMBERS.map(|member| (member, 2))).await;
        world.note(name);
    }
    world.soon("each member has its HPA", async |world| world.bounded(left).await == MEMBERS).await;
    world.respec(left, target(next)).await;
    world.apply(&federated("newcomer", 3, 12, target(left))).await;
    let begun = steady();
    let mut settled = None;
    while begun.elapsed() < Duration::from_secs(60) {
        let mut both = 0;
        for member in MEMBERS {
            let names = scaled(world, member).await;
            assert!(names.windows(2).all(|two| two[0] != two[1]), "{member} has two HPAs on a workload: {names:?}");
            both += usize::from(names == [left, next]);
        }
        if both == MEMBERS.len() {
            settled.get_or_insert(begun.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("  both scale what they name after {:.1?}", settled.expect("both scale their workloads"));
    for name in [left, next] {
        assert!(world.suspended(name).await && world.retained(name).await, "what the newcomer needs stays on {name}");
        assert_eq!(world.least(name), 6, "{name}: no pod was ended");
    }
    for name in [left, "newcomer"] {
        let well = async |world: &W| world.said(name, "Ready").await.starts_with("True");
        world.soon("it is ready", well).await;
    }
    world.delete("FederatedHPA", "newcomer").await;
    world.is_gone("newcomer", 60).await;
    world.clear(left).await;
    world.clear(next).await;
}

/// The runs of two CronFederatedHPAs on one target fall into a time in which nobody leads: the later one stays, whatever
/// the names.
pub async fn late_runs_on_one_target_end_with_the_latest<W: World>(world: &mut W) {
    let name = "twice";
    world.workload(name, 3, &MEMBERS).await;
    world.federated(name, 3, 30, json!({})).await;
    world.runs(name, &MEMBERS.map(|member| (member, 1))).await;
    // The first whole minute that is far enough for both to be stored before it, and the next one.
    let now = world.now().as_second();
    let first = now.div_euclid(60) + 1 + i64::from(now.rem_euclid(60) > 45);
    let runs = [("morning", first, 9), ("evening", first + 1, 6)];
    for (rule, minute, min) in runs {
        let at = Timestamp::from_second(minute * 60).unwrap().to_zoned(TimeZone::UTC);
        let schedule = format!("{} {} * * *", at.minute(), at.hour());
        let own = json!({"name": rule, "schedule": schedule, "timeZone": "UTC", "targetMinReplicas": min});
        let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": name});
        let cron = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": rule, "namespace": "prod"}, "spec": {"scaleTargetRef": hpa, "rules": [own]}});
        world.apply(&cron).await;
    }
    let next = async |world: &W, rule: &str| {
        let cron = world.get("CronFederatedHPA", rule).await.unwrap();
        cron["status"]["executionHistories"][0].clone()
    };
    for (rule, ..) in runs {
        let what = format!("{rule} has a next run");
        world.soon(&what, async |world| next(world, rule).await["nextExecutionTime"].is_string()).await;
    }
    world.kill_all().await;
    let due = Timestamp::from_second((first + 1) * 60).unwrap();
    assert!(world.now() < due - SignedDuration::from_secs(60), "nobody leads before the first of them");
    world.later(150, "both are due", async |world| world.now() > due + SignedDuration::from_secs(2)).await;
    world.run_all();
    world.leader().await;
    let ran = |history: &Value| history["successfulExecutions"].as_array().is_some_and(|runs| !runs.is_empty());
    world.soon("the later one ran", async |world| ran(&next(world, "evening").await)).await;
    // What could still undo it does so at once.
    world.pass(10).await;
    assert_eq!(world.hpa(name).await.unwrap()["spec"]["minReplicas"], 6);
    for (rule, ..) in runs {
        println!("  {rule}: {}", next(world, rule).await);
        world.delete("CronFederatedHPA", rule).await;
    }
    world.clear(name).await;
}

/// A namespace whose objects have the Works of those of `prod` with the same kind and name.
const TEAM: &str = "team-c8owakv";
/// The name of both FederatedHPAs. Their workloads have others: Karmada itself takes two of one name for each other.
const NAME: &str = "hash";
const OTHER: &str = "rash";

fn of_team(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(TEAM);
    object
}

/// Whether the HPAs of a namespace have these bounds in all members, or are not there.
async fn have<W: World>(world: &W, namespace: &str, bounds: Option<(u64, u64)>) -> bool {
    let mut all = true;
    for member in MEMBERS {
        let found = world.api(member, "HorizontalPodAutoscaler", namespace).get_opt(NAME).await.unwrap();
        let spec = found.map(|hpa| hpa.data["spec"].clone());
        let found = spec.map(|spec| (spec["minReplicas"].as_u64().unwrap(), spec["maxReplicas"].as_u64().unwrap()));
        all &= found == bounds;
    }
    all
}

/// What the Works with HPAs of both bear as their owner, and the namespace of what they hold, in order.
async fn held<W: World>(world: &W) -> Vec<(String, String)> {
    let all = world.api("", "Work", "").list(&ListParams::default()).await.unwrap().items;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let held = all.iter().filter_map(|work| {
        let holds = &work.data["spec"]["workload"]["manifests"][0];
        let is = holds["kind"] == "HorizontalPodAutoscaler" && holds["metadata"]["name"] == NAME;
        let owner = work.metadata.annotations.iter().flatten().find(|(key, _)| *key == OWNER)?.1;
        is.then(|| (owner.clone(), text(&holds["metadata"]["namespace"])))
    });
    let mut held: Vec<_> = held.collect();
    held.sort();
    held
}

async fn both<W: World>(world: &W, what: &str, prod: Option<(u64, u64)>, team: Option<(u64, u64)>) {
    world.soon(what, async |world| have(world, "prod", prod).await && have(world, TEAM, team).await).await;
    println!("  {what}: {prod:?} and {team:?} in each member");
    let own = |namespace: &str| (format!("{namespace}/{NAME}"), namespace.to_owned());
    let each = [(prod, own("prod")), (team, own(TEAM))];
    let wanted: Vec<_> =
        each.into_iter().filter(|(bounds, _)| bounds.is_some()).flat_map(|(_, own)| vec![own; 3]).collect();
    world.soon("each has its Works", async |world| held(world).await == wanted).await;
}

/// Each has its own HPAs, whoever comes, changes or goes, and whoever leads.
pub async fn two_namespaces_with_one_hash_have_their_own_hpas<W: World>(world: &mut W) {
    world.workload(NAME, 3, &MEMBERS).await;
    world.federated(NAME, 3, 12, json!({})).await;
    both(world, "the first has its HPAs", Some((1, 4)), None).await;
    world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})).await;
    world.apply(&of_team(deployment(OTHER, 3))).await;
    world.apply(&of_team(policy(OTHER, &MEMBERS))).await;
    world.apply(&of_team(federated(NAME, 3, 9, target(OTHER)))).await;
    both(world, "the second has its own", Some((1, 4)), Some((1, 3))).await;
    let of = |world: &W| world.api("", "FederatedHPA", TEAM);
    let taken = async |world: &W| {
        let object = of(world).get(NAME).await.unwrap();
        let mut conditions = object.data["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions.find(|one| one["type"] == "Ready").cloned().unwrap_or_default();
        let told = ready["message"].as_str().unwrap_or_default();
        assert!(!told.contains("prod"), "what another tenant has is not told: {told}");
        ready["status"] == "True" && ready["reason"] == "WorkNameTaken" && MEMBERS.iter().all(|one| told.contains(one))
    };
    world.soon("the second says so", taken).await;
    assert!(world.said(NAME, "Ready").await.starts_with("True MemberHPAsReady"), "{}", world.said(NAME, "Ready").await);
    for (namespace, warnings) in [(TEAM, 1), ("prod", 0)] {
        assert_eq!(world.warnings(namespace, NAME, "WorkNameTaken").await.len(), warnings, "{namespace}");
    }
    let edit = async |world: &W, max: u32| {
        let more = Patch::Merge(json!({"spec": {"maxReplicas": max}}));
        of(world).patch(NAME, &PatchParams::default(), &more).await.unwrap();
    };
    edit(world, 15).await;
    both(world, "the second is changed", Some((1, 4)), Some((1, 5))).await;
    world.delete("FederatedHPA", NAME).await;
    both(world, "the first is deleted", None, Some((1, 5))).await;
    world.is_gone(NAME, 60).await;
    world.federated(NAME, 3, 12, json!({})).await;
    both(world, "the first comes again", Some((1, 4)), Some((1, 5))).await;
    let leader = world.leader().await;
    world.kill(leader).await;
    edit(world, 18).await;
    both(world, "the second is changed under another leader", Some((1, 4)), Some((1, 6))).await;
    world.run(leader);
    of(world).delete(NAME, &DeleteParams::default()).await.unwrap();
    both(world, "the second is deleted", Some((1, 4)), None).await;
    world.soon("the second goes", async |world| of(world).get_opt(NAME).await.unwrap().is_none()).await;
    for kind in ["Deployment", "PropagationPolicy"] {
        world.api("", kind, TEAM).delete(OTHER, &DeleteParams::default()).await.unwrap();
    }
    world.clear(NAME).await;
}
