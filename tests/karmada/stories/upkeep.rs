//! Karmada is upgraded, its controllers are stopped, and fhpa is uninstalled.

use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::until;
use crate::stand::{MEMBERS, Stand};

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

/// Karmada's own definitions and webhooks are applied again, the leader dies meanwhile: nothing is lost, nothing moves.
pub async fn an_upgrade_of_karmada_loses_nothing(stand: &mut Stand) {
    let names = many(stand, "kept").await;
    let before = specs(stand, &names).await;
    let ready: Vec<usize> = names.iter().map(|name| stand.observer.note(name)).collect();
    let leader = stand.fhpa.leads(&stand.lab).await;
    for definition in stand.lab.definitions() {
        stand.lab.karmada.apply("customresourcedefinitions", &definition).await;
    }
    for configuration in stand.lab.configurations() {
        let plural = format!("{}s", configuration["kind"].as_str().unwrap().to_lowercase());
        stand.lab.karmada.apply(&plural, &configuration).await;
    }
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
