//! Workloads of kinds that Kubernetes does not have: taken over, scaled, failed over and handed back.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::both::{Loss, MEMBERS, World as _, federated, policy, tolerating};
use crate::custom;
use crate::rig::kinds::{ROLLOUT, STORE, Scalable};
use crate::stand::Stand;

/// For how long a cluster may be away, as the policies here say.
const TOLERATED: u64 = 20;

/// What a user of Rollouts tells Karmada of them, so that it divides their replicas.
fn divided(kind: Scalable) -> Value {
    let replicas = "function GetReplicas(obj)\n  requirement = {}\n  return obj.spec.replicas, requirement\nend\n";
    let revised =
        "function ReviseReplica(obj, desiredReplica)\n  obj.spec.replicas = desiredReplica\n  return obj\nend\n";
    json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": format!("users-{}", kind.plural)},
        "spec": {"target": {"apiVersion": kind.api_version(), "kind": kind.kind},
            "customizations": {"replicaResource": {"luaScript": replicas}, "replicaRevision": {"luaScript": revised}}}})
}

/// Serves a kind in every control plane, and runs its controller in the members.
async fn serve(stand: &Stand, kind: Scalable, controllers: &mut JoinSet<()>) {
    let definition = kind.definition().unwrap();
    let planes = stand.lab.members.iter().map(|member| &member.plane).chain([&stand.lab.karmada]);
    for plane in planes {
        plane.apply("customresourcedefinitions", &definition).await;
    }
    for member in &stand.lab.members {
        controllers.spawn(custom::run(member.plane.client.clone(), kind));
    }
}

/// A policy that tolerates an absence of [`TOLERATED`] seconds.
fn placed(name: &str, kind: Scalable) -> Value {
    let mut policy = tolerating(policy(name, &MEMBERS), TOLERATED);
    let selected = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name});
    policy["spec"]["resourceSelectors"] = json!([selected]);
    policy
}

async fn template(stand: &Stand, name: &str, kind: Scalable) -> Value {
    stand.get(kind.kind, name).await.unwrap()
}

async fn binding(stand: &Stand, name: &str, kind: Scalable) -> Value {
    let name = format!("{name}-{}", kind.kind.to_lowercase());
    stand.get("ResourceBinding", &name).await.unwrap_or_default()
}

/// A Rollout, which Karmada divides, and a kind with its replicas in `spec.size`, of which every cluster gets all.
pub async fn taken_over_scaled_failed_over_and_handed_back(stand: &mut Stand) {
    let all = [("rollout", ROLLOUT), ("store", STORE)];
    let mut controllers = JoinSet::new();
    for (name, kind) in all {
        serve(stand, kind, &mut controllers).await;
        stand.each_wants(name, [4, 2, 2]);
    }
    stand.apply(&divided(ROLLOUT)).await;
    stand.fhpa.allows(&stand.lab, &all.map(|(_, kind)| kind.argument())).await;
    for (name, kind) in all {
        stand.apply(&kind.workload(name, if kind.kind == "Rollout" { 3 } else { 1 })).await;
        stand.apply(&placed(name, kind)).await;
    }
    for (name, _) in all {
        stand.soon("each member runs one", async |stand| stand.ready(name) == 3).await;
    }
    // Taken over, and scaled by the members.
    for (name, kind) in all {
        let mut object = federated(name, 3, 30, json!({}));
        object["spec"]["scaleTargetRef"] = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name});
        stand.apply(&object).await;
    }
    for (name, kind) in all {
        stand.runs(name, &[("member1", 4), ("member2", 2), ("member3", 2)]).await;
        stand.note(name);
        let edit = json!({"spec": {"minReadySeconds": 1}});
        stand.edit(kind.kind, name, edit).await;
        stand
            .soon("the edit arrives", async |stand| {
                let api = stand.api("member1", kind.kind, "prod");
                api.get_opt(name).await.ok().flatten().is_some_and(|one| one.data["spec"]["minReadySeconds"] == 1)
            })
            .await;
    }
    stand.pass(5).await;
    for (name, _) in all {
        assert_eq!(stand.least(name), 8, "{name}: members keep their replicas");
    }
    // Failed over.
    stand.dies("member1").await;
    for (name, _) in all {
        stand.later(TOLERATED + 60, "the others run all eight", async |stand| stand.others(name) >= 8).await;
    }
    stand.returns("member1", Loss::Dies).await;
    for (name, _) in all {
        let back = async |stand: &Stand| stand.bounds("member1", name).await.is_some();
        stand.later(120, "member1 takes part again", back).await;
    }
    stand.pass(10).await;
    for (name, kind) in all {
        handed_back(stand, name, kind).await;
    }
    controllers.shutdown().await;
}

async fn handed_back(stand: &mut Stand, name: &str, kind: Scalable) {
    let ready = stand.note(name);
    stand.delete("FederatedHPA", name).await;
    stand.is_gone(name, 200).await;
    stand.pass(3).await;
    assert!(stand.least(name) >= ready, "{name}: no pod was ended");
    let bound = binding(stand, name, kind).await;
    assert!(bound["spec"]["suspension"]["scheduling"] != true, "{name}: {bound}");
    let asked = template(stand, name, kind).await;
    assert!(asked["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"].is_null(), "{asked}");
    stand.delete(kind.kind, name).await;
    stand.delete("PropagationPolicy", name).await;
    stand.later(120, "its pods go", async |stand| stand.ready(name) == 0).await;
}
