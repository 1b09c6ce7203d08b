//! What others do to an installation: a customization of theirs, a Lease deleted by hand, connections that are kept, and
//! objects that were stored while no webhook was registered.

use std::net::Ipv4Addr;
use std::time::Duration;

use fhpa::runtime::clock::{steady, wall};
use jiff::{SignedDuration, Timestamp};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};

use super::day2::VERSION;
use crate::both::{MEMBERS, World as _, federated, policy};
use crate::lab::until;
use crate::laws::Broken;
use crate::operator::command;
use crate::stand::Stand;

const CONFIG: &str = "config.karmada.io/v1alpha1";
/// Idle connections that one peer keeps: more than a replica has slots.
const KEPT: usize = 1_500;
/// Another address of the loopback interface than the one by which karmada-apiserver comes.
const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn remove(stand: &Stand, kind: &str, name: &str) {
    let api = stand.api("", kind, "");
    api.delete(name, &DeleteParams::default()).await.unwrap();
    until(&format!("{kind} {name} has gone"), async || api.get_opt(name).await.is_ok_and(|one| one.is_none())).await;
}

fn condition(hpa: &Value, kind: &str) -> Value {
    let conditions = hpa["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|one| one["type"] == kind).unwrap_or_default()
}

/// A user reflects of HPAs only their replicas, which Karmada allows one customization to say: everything is scaled
/// nevertheless, and the installation says whose customization is in the way.
pub async fn a_customization_of_another_stops_no_scaling(stand: &mut Stand) {
    let (name, kind) = ("reflected", "ResourceInterpreterCustomization");
    let script =
        "function ReflectStatus(observedObj)\n  return {currentReplicas = observedObj.status.currentReplicas}\nend\n";
    let theirs = json!({"apiVersion": CONFIG, "kind": kind, "metadata": {"name": "theirs"},
        "spec": {"target": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
            "customizations": {"statusReflection": {"luaScript": script}}}});
    remove(stand, kind, "fhpa-horizontalpodautoscaler-v2").await;
    stand.apply(&theirs).await;
    // Karmada's interpreters learn of it.
    stand.pass(3).await;
    stand.each_wants(name, [2; 3]);
    stand.workload(name, 3, &MEMBERS).await;
    stand.federated(name, 3, 30, json!({})).await;
    stand.runs(name, &MEMBERS.map(|member| (member, 2))).await;
    stand
        .soon("it is ready", async |stand| {
            let hpa = stand.hpa(name).await.unwrap();
            ["Assigned", "Ready"].iter().all(|kind| condition(&hpa, kind)["status"] == "True")
        })
        .await;
    stand.note(name);
    stand.wants("member1", name, 6);
    stand.runs(name, &[("member1", 6), ("member2", 2), ("member3", 2)]).await;
    let output = command(&stand.lab, "install", &["--user", crate::operator::USER]);
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let left = "fhpa-horizontalpodautoscaler-v2  left to another customization";
    assert!(output.status.success() && text.contains(left), "{text}");
    assert_eq!(stand.least(name), 6, "no pod was ended");
    remove(stand, kind, "theirs").await;
    stand.fhpa.install(&stand.lab, &[]);
    stand.clear(name).await;
}

/// `kubectl delete lease` while all is well: the next term begins only when the one before it has ended.
pub async fn a_lease_deleted_by_hand_makes_no_second_leader(stand: &mut Stand) {
    let name = "led";
    crate::both::leaving::fifteen(stand, name, 30).await;
    let leader = stand.leader().await;
    let became = stand.fhpa.says("became leader");
    let leases = stand.api("", "Lease", "karmada-system");
    let begun = steady();
    leases.delete("fhpa", &DeleteParams::default()).await.unwrap();
    let next = stand.leader().await;
    let led = begun.elapsed();
    println!("  {leader} led; {next} leads {led:.1?} after its Lease was deleted");
    let ended = stand.fhpa.says("lost leadership");
    assert!(next == leader || ended > 0 || led >= Duration::from_secs(10), "two led at the same time");
    stand.respec(name, json!({"maxReplicas": 33})).await;
    stand
        .soon("the edit is carried out", async |stand| {
            let mut all = 0;
            for member in MEMBERS {
                all += stand.bounds(member, name).await.map_or(0, |(_, max)| max);
            }
            all == 33
        })
        .await;
    assert!(stand.fhpa.says("became leader") <= became + 1, "one term followed");
    assert_eq!(stand.least(name), 15, "no pod was ended");
    stand.clear(name).await;
}

/// One peer keeps more silent connections than a replica has places: the oldest give way, and no review fails.
pub async fn kept_connections_stop_no_review(stand: &mut Stand) {
    let api = stand.api("", "FederatedHPA", "prod");
    let params = kube::api::PostParams { dry_run: true, ..Default::default() };
    let review = async |round: usize| {
        let object = federated(&format!("reviewed{round}"), 1, 9, json!({}));
        let begun = steady();
        api.create(&params, &serde_json::from_value(object).unwrap()).await.unwrap();
        begun.elapsed()
    };
    let before = review(0).await;
    let mut kept: Vec<TcpStream> = Vec::with_capacity(KEPT);
    let [port, _] = stand.fhpa.ports;
    for _ in 0..KEPT {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((PEER, 0).into()).unwrap();
        let connected = socket.connect((Ipv4Addr::LOCALHOST, port).into());
        if let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_secs(1), connected).await {
            kept.push(stream);
        }
    }
    assert!(kept.len() > 1_400, "{}", kept.len());
    let first = review(1).await;
    println!("  a review took {before:.1?} before {} connections were kept, and then {first:.1?}", kept.len());
    for round in 2..20 {
        review(round).await;
    }
}

/// A DaemonSet cannot be scaled, and no rule may run later than never: both are stored while no webhook is registered, or
/// refused by the definitions.
pub async fn what_was_stored_without_the_webhook_harms_nothing(stand: &mut Stand) {
    let (name, kinds) = ("unseen", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);
    for kind in kinds {
        remove(stand, kind, "fhpa").await;
    }
    let mut daemon = crate::both::deployment(name, 1);
    daemon["kind"] = json!("DaemonSet");
    for field in ["replicas", "strategy"] {
        daemon["spec"].as_object_mut().unwrap().remove(field);
    }
    stand.apply(&daemon).await;
    let mut placed = policy(name, &MEMBERS);
    placed["spec"]["resourceSelectors"][0]["kind"] = json!("DaemonSet");
    stand.apply(&placed).await;
    // Nobody sets the mode that fhpa acts by.
    let mut hpa = federated(name, 1, 9, json!({"mode": "Distributed"}));
    hpa["spec"]["scaleTargetRef"]["kind"] = json!("DaemonSet");
    stand.apply(&hpa).await;
    let never = |seconds: i64| {
        let rule = json!({"name": "up", "schedule": "* * * * *", "targetMinReplicas": 1, "maxDelaySeconds": seconds});
        json!({"apiVersion": VERSION, "kind": "CronFederatedHPA", "metadata": {"name": name, "namespace": "prod"},
            "spec": {"scaleTargetRef": {"apiVersion": VERSION, "kind": "FederatedHPA", "name": name}, "rules": [rule]}})
    };
    let rules = stand.api("", "CronFederatedHPA", "prod");
    let refused = rules.create(&Default::default(), &serde_json::from_value(never(0)).unwrap()).await.unwrap_err();
    assert!(refused.to_string().contains("greater than or equal to 10"), "{refused}");
    stand.apply(&never(10)).await;

    stand
        .soon("it is told why", async |stand| {
            let hpa = stand.hpa(name).await.unwrap();
            let assigned = condition(&hpa, "Assigned");
            assigned["status"] == "False" && assigned["message"].as_str().is_some_and(|it| it.contains("DaemonSet"))
        })
        .await;
    let from = wall();
    stand
        .later(90, "the rule runs on time", async |stand| {
            let cron = stand.get("CronFederatedHPA", name).await.unwrap();
            let runs = cron["status"]["executionHistories"][0]["successfulExecutions"].clone();
            let at = |run: &Value, field: &str| run[field].as_str().and_then(|time| time.parse::<Timestamp>().ok());
            let ran = |run: &Value| {
                let (due, executed) = (at(run, "scheduleTime")?, at(run, "executionTime")?);
                (due > from).then(|| executed.duration_since(due) < SignedDuration::from_secs(10))
            };
            runs.as_array().is_some_and(|runs| runs.iter().any(|run| ran(run) == Some(true)))
        })
        .await;
    for member in MEMBERS {
        let api = stand.api(member, "DaemonSet", "prod");
        assert!(api.get_opt(name).await.unwrap().is_some(), "{member} has it");
        assert!(stand.member_hpa(member, name).await.is_none(), "{member} has an HPA for it");
    }
    let binding = format!("{name}-daemonset");
    let binding = stand.get("ResourceBinding", &binding).await.unwrap();
    assert!(binding["spec"]["suspension"]["scheduling"] != true, "{binding}");

    stand.delete("CronFederatedHPA", name).await;
    stand.delete("FederatedHPA", name).await;
    stand.is_gone(name, 60).await;
    // Nobody was there to refuse it.
    let stored = |one: &Broken| one.law.starts_with("1 ") && one.objects.ends_with(name);
    assert!(stand.observer.broken().iter().all(stored), "the observer sees what was stored");
    stand.delete("DaemonSet", name).await;
    stand.delete("PropagationPolicy", name).await;
    stand.fhpa.install(&stand.lab, &[]);
}

/// Kinds that cannot be scaled are refused, and no binding is suspended for them.
pub async fn what_cannot_be_scaled_is_refused(stand: &mut Stand) {
    let mut object = federated("daemon", 1, 9, json!({}));
    object["spec"]["scaleTargetRef"]["kind"] = "DaemonSet".into();
    let object = serde_json::from_value(object).unwrap();
    let refused = stand.api("", "FederatedHPA", "prod").create(&Default::default(), &object).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("DaemonSet"), "{refused}");
    let all = stand.api("", "ResourceInterpreterCustomization", "").list(&Default::default()).await.unwrap().items;
    let names: Vec<String> = all.iter().filter_map(|one| one.metadata.name.clone()).collect();
    assert!(names.iter().all(|name| !name.contains("daemonset") && !name.contains("job")), "{names:?}");
}
