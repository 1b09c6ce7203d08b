//! Karmada is upgraded, its controllers are stopped, and fhpa is uninstalled.

use std::time::Duration;

use fhpa::runtime::clock::steady;
use serde_json::{Value, json};

use crate::both::{MEMBERS, OTHERS, World as _};
use crate::stand::Stand;

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
        .later(300, "all have their bounds", async |stand| {
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
    for name in names {
        stand.delete("FederatedHPA", name).await;
    }
    stand
        .later(300, "all FederatedHPAs have gone", async |stand| {
            for name in names {
                if stand.hpa(name).await.is_some() {
                    return false;
                }
            }
            true
        })
        .await;
    for name in names {
        stand.delete("Deployment", name).await;
    }
    let no_pod = async |stand: &Stand| names.iter().all(|name| stand.ready(name) == 0);
    stand.later(300, "all pods have gone", no_pod).await;
    for name in names {
        stand.delete("PropagationPolicy", name).await;
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
    let ready: Vec<usize> = names.iter().map(|name| stand.note(name)).collect();
    let leader = stand.leader().await;
    karmada_applies_its_own(stand).await;
    stand.kill(leader).await;
    stand.run(leader);
    stand.later(120, "every object is whole again", async |stand| specs(stand, &names).await == before).await;
    stand.leader().await;
    stand.pass(10).await;
    assert_eq!(specs(stand, &names).await, before);
    for (name, ready) in names.iter().zip(ready) {
        assert_eq!(stand.least(name), ready, "{name}: no pod was ended");
    }
    cleared(stand, &names).await;
}

/// `fhpa uninstall` gives fifty workloads back without ending a pod; a new installation takes over again.
pub async fn an_uninstallation_hands_everything_back(stand: &mut Stand) {
    let names = many(stand, "left").await;
    let ready: Vec<usize> = names.iter().map(|name| stand.note(name)).collect();
    stand.fhpa.does(&stand.lab, "uninstall", &["--yes"]);
    for (name, ready) in names.iter().zip(ready) {
        let binding = stand.binding(name).await.unwrap();
        assert!(binding["spec"]["suspension"]["scheduling"] != true, "{name}: {binding}");
        assert_eq!(stand.least(name), ready, "{name}: no pod was ended");
        assert!(stand.hpa(name).await.is_some(), "the users' objects stay");
    }
    stand.restart(&[]).await;
    cleared(stand, &names).await;
}

/// The way back of charts/fhpa/docs/emergency.md: Karmada's controllers serve fifty objects, and no pod has ended. A
/// new installation finds the fields again that Karmada's definitions dropped.
pub async fn the_way_back_to_karmadas_controllers(stand: &mut Stand) {
    let names = many(stand, "back").await;
    let before = specs(stand, &names).await;
    let ready: Vec<usize> = names.iter().map(|name| stand.note(name)).collect();
    let begun = steady();
    stand.fhpa.does(&stand.lab, "uninstall", &["--yes"]);
    let (released, unscaled) = (begun.elapsed(), steady());
    stand.fhpa.kill_all();
    karmada_applies_its_own(stand).await;
    stand.lab.manage_with("*", &[]);
    stand
        .later(120, "Karmada's controllers serve all of them", async |stand| {
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
        assert_eq!(stand.least(name), ready, "{name}: no pod was ended");
    }
    stand.manage(true);
    stand.fhpa = crate::operator::Fhpa::start(&stand.lab, &[]).await;
    stand.later(120, "every object is whole again", async |stand| specs(stand, &names).await == before).await;
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
    crate::both::leaving::fifteen(stand, name, 30).await;
    stand.policy(name, &OTHERS).await;
    stand.soon("member1 is left", async |stand| stand.ready_in("member1", name) == 0).await;
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
    assert_eq!(stand.least(name), 15, "ready pods never fall");
    stand.lab.joins("member1");
    stand.cluster_is("member1", "True").await;
    stand.policy(name, &MEMBERS).await;
    stand.soon("it takes part again", async |stand| stand.bounds("member1", name).await.is_some()).await;
    assert_eq!(stand.least(name), 15, "ready pods never fall");
    stand.clear(name).await;
}
