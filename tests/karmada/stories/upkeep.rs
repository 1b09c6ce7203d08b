//! Karmada is upgraded, its controllers are stopped, and fhpa is uninstalled.

use std::time::Duration;

use fhpa::runtime::clock::steady;
use serde_json::{Value, json};

use crate::lab::until;
use crate::stand::{MEMBERS, SOON, Stand};

/// Objects that an upgrade and an uninstallation meet.
const MANY: usize = 50;

fn names(prefix: &str) -> Vec<String> {
    (0..MANY).map(|number| format!("{prefix}{number}")).collect()
}

async fn specs(stand: &Stand, names: &[String]) -> Vec<Value> {
    let mut specs = Vec::new();
    for name in names {
        specs.push(stand.hpa(name).await.map(|hpa| hpa["spec"].clone()).unwrap_or_default());
    }
    specs
}

async fn many(stand: &Stand, prefix: &str) -> Vec<String> {
    let names = names(prefix);
    for name in &names {
        stand.workload(name, 3, &MEMBERS).await;
        let assignment = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
            {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 2},
            {"targetCluster": {"clusterNames": ["member2", "member3"]}, "staticWeight": 1}]});
        stand
            .federated(name, 3, 12, json!({"federatedHPAAssignment": assignment, "autoscaleMultiClusterDelay": 7}))
            .await;
    }
    stand
        .later(Duration::from_secs(300), "all have their bounds", async |stand| {
            for name in &names {
                for (member, max) in [("member1", 6), ("member2", 3), ("member3", 3)] {
                    if stand.bounds(member, name).await.is_none_or(|bounds| bounds.1 != max) {
                        return false;
                    }
                }
            }
            true
        })
        .await;
    names
}

/// One kind after the other, as in [`Stand::clear`]: what is heard of several API servers has no order.
async fn cleared(stand: &Stand, names: &[String]) {
    let patience = Duration::from_secs(300);
    for name in names {
        stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    }
    stand
        .later(patience, "all FederatedHPAs have gone", async |stand| {
            for name in names {
                if stand.hpa(name).await.is_some() {
                    return false;
                }
            }
            true
        })
        .await;
    for name in names {
        stand.delete("apps/v1", "Deployment", "deployments", name).await;
    }
    let no_pod = async |stand: &Stand| names.iter().all(|name| stand.observer.ready(name) == 0);
    stand.later(patience, "all pods have gone", no_pod).await;
    for name in names {
        stand.delete("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", name).await;
    }
}

/// What an upgrade of Karmada applies.
pub(super) async fn karmada_applies_its_own(stand: &Stand) {
    for definition in stand.lab.definitions() {
        stand.lab.karmada.apply("customresourcedefinitions", &definition).await;
    }
    for configuration in stand.lab.configurations() {
        let plural = format!("{}s", configuration["kind"].as_str().unwrap().to_lowercase());
        stand.lab.karmada.apply(&plural, &configuration).await;
    }
}

/// Karmada's own definitions and webhooks are applied again, the leader dies meanwhile: nothing is lost, nothing moves.
pub async fn an_upgrade_of_karmada_loses_nothing(stand: &mut Stand) {
    let names = many(stand, "kept").await;
    let before = specs(stand, &names).await;
    let ready: Vec<usize> = names.iter().map(|name| stand.observer.note(name)).collect();
    let leader = stand.fhpa.leads(&stand.lab).await;
    karmada_applies_its_own(stand).await;
    stand.fhpa.kill(leader);
    stand.fhpa.run(leader);
    stand
        .later(Duration::from_secs(120), "every object is whole again", async |stand| {
            specs(stand, &names).await == before
        })
        .await;
    stand.fhpa.leads(&stand.lab).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(specs(stand, &names).await, before);
    for (name, ready) in names.iter().zip(ready) {
        assert_eq!(stand.observer.least(name), ready, "{name}: no pod was ended");
    }
    cleared(stand, &names).await;
}

/// `fhpa uninstall` gives fifty workloads back without ending a pod; a new installation takes over again.
pub async fn an_uninstallation_hands_everything_back(stand: &mut Stand) {
    let names = many(stand, "left").await;
    let ready: Vec<usize> = names.iter().map(|name| stand.observer.note(name)).collect();
    stand.fhpa.does(&stand.lab, "uninstall", &["--yes"]);
    for (name, ready) in names.iter().zip(ready) {
        let binding = stand.binding(name).await.unwrap();
        assert!(binding["spec"]["suspension"]["scheduling"] != true, "{name}: {binding}");
        assert_eq!(stand.observer.least(name), ready, "{name}: no pod was ended");
        assert!(stand.hpa(name).await.is_some(), "the users' objects stay");
    }
    stand.fhpa.kill_all();
    stand.fhpa = crate::operator::Fhpa::start(&stand.lab, &[]).await;
    cleared(stand, &names).await;
}

/// The way back of charts/fhpa/docs/emergency.md: Karmada's controllers serve fifty objects, and no pod has ended. A
/// new installation finds the fields again that Karmada's definitions dropped.
pub async fn the_way_back_to_karmadas_controllers(stand: &mut Stand) {
    let names = many(stand, "back").await;
    let before = specs(stand, &names).await;
    let ready: Vec<usize> = names.iter().map(|name| stand.observer.note(name)).collect();
    let begun = steady();
    stand.fhpa.does(&stand.lab, "uninstall", &["--yes"]);
    let (released, unscaled) = (begun.elapsed(), steady());
    stand.fhpa.kill_all();
    karmada_applies_its_own(stand).await;
    stand.lab.manage_with("*", &[]);
    stand
        .later(Duration::from_secs(120), "Karmada's controllers serve all of them", async |stand| {
            for name in &names {
                if !stand.hpa(name).await.is_some_and(|hpa| writes_its_status(&hpa, "karmada-controller-manager")) {
                    return false;
                }
            }
            true
        })
        .await;
    println!("  handed back in {released:.1?}, served by Karmada {:.1?} later", unscaled.elapsed());
    assert!(unscaled.elapsed() < Duration::from_secs(60), "{:?}", unscaled.elapsed());
    for (name, ready) in names.iter().zip(ready) {
        assert_eq!(stand.observer.least(name), ready, "{name}: no pod was ended");
    }
    stand.lab.manage(true);
    stand.fhpa = crate::operator::Fhpa::start(&stand.lab, &[]).await;
    stand
        .later(Duration::from_secs(120), "every object is whole again", async |stand| {
            specs(stand, &names).await == before
        })
        .await;
    cleared(stand, &names).await;
}

fn writes_its_status(hpa: &Value, manager: &str) -> bool {
    let fields = hpa["metadata"]["managedFields"].as_array();
    fields.into_iter().flatten().any(|entry| entry["manager"] == manager && entry["subresource"] == "status")
}

/// A member is decommissioned as charts/fhpa/docs/day2.md has it: out of the placement, then out of the federation. It
/// comes back under the same name.
pub async fn a_member_is_decommissioned(stand: &mut Stand) {
    let name = "moves";
    super::leave::fifteen(stand, name, 30).await;
    stand.policy(name, "Deployment", &["member2", "member3"]).await;
    stand.soon("member1 is left", async |stand| stand.observer.ready_in("member1", name) == 0).await;
    stand
        .soon("the bounds are in effect without it", async |stand| {
            let hpa = stand.hpa(name).await.unwrap_or_default();
            let conditions = hpa["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "Assigned" && one["status"] == "True")
        })
        .await;
    let begun = steady();
    stand.lab.unjoins("member1");
    println!("  unjoined in {:.1?}", begun.elapsed());
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    stand.lab.joins("member1");
    stand.lab.cluster_is("member1", "True").await;
    stand.policy(name, "Deployment", &MEMBERS).await;
    stand.soon("it takes part again", async |stand| stand.bounds("member1", name).await.is_some()).await;
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    stand.clear(name).await;
}

/// karmada-controller-manager is away while a cluster leaves: no pod goes before its replacement is there.
pub async fn an_absent_karmada_costs_no_pod(stand: &mut Stand) {
    let name = "absent";
    super::leave::fifteen(stand, name, 30).await;
    stand.lab.manage(false);
    stand.policy(name, "Deployment", &["member2", "member3"]).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    stand.lab.manage(true);
    until("member1 is left", async || stand.observer.ready_in("member1", name) == 0).await;
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    stand.clear(name).await;
}

/// Karmada's controllers are away for longer than a release waits for them: its scheduler, which is there, divides nothing
/// that was asked for before.
pub async fn an_absent_karmada_costs_no_pod_at_a_release(stand: &mut Stand) {
    let name = "unfollowed";
    super::leave::fifteen(stand, name, 30).await;
    stand.lab.manage(false);
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    stand.later(8 * SOON, "the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let binding = stand.binding(name).await.unwrap();
    assert_eq!(binding["spec"]["replicas"], 15, "{}", binding["spec"]);
    stand.lab.manage(true);
    stand.edit("apps/v1", "Deployment", "deployments", name, json!({"metadata": {"labels": {"back": "yes"}}})).await;
    let follows = async |member: &str| {
        let api = stand.lab.member(member).plane.api("apps/v1", "Deployment", "deployments", Some("prod"));
        api.get(name).await.is_ok_and(|it| it.metadata.labels.is_some_and(|labels| labels.contains_key("back")))
    };
    for member in MEMBERS {
        until("Karmada works again", async || follows(member).await).await;
    }
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    stand.clear(name).await;
}
