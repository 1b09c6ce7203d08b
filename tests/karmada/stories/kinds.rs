//! Workloads of kinds that Kubernetes does not have: taken over, scaled, failed over and handed back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::custom;
use crate::rig::kinds::{ROLLOUT, STORE, Scalable};
use crate::stand::{MEMBERS, Stand, federated, policy};

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
fn tolerating(name: &str, kind: Scalable) -> Value {
    let mut policy = policy(name, kind.kind, &MEMBERS);
    policy["spec"]["resourceSelectors"][0]["apiVersion"] = json!(kind.api_version());
    let tolerations = ["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]
        .map(|key| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED}));
    policy["spec"]["placement"]["clusterTolerations"] = json!(tolerations);
    policy
}

async fn template(stand: &Stand, name: &str, kind: Scalable) -> Value {
    stand.get(&kind.api_version(), kind.kind, kind.plural, name).await.unwrap()
}

async fn binding(stand: &Stand, name: &str, kind: Scalable) -> Value {
    let name = format!("{name}-{}", kind.kind.to_lowercase());
    stand.get("work.karmada.io/v1alpha2", "ResourceBinding", "resourcebindings", &name).await.unwrap_or_default()
}

/// A Rollout, which Karmada divides, and a kind with its replicas in `spec.size`, of which every cluster gets all.
pub async fn taken_over_scaled_failed_over_and_handed_back(stand: &mut Stand) {
    let all = [("rollout", ROLLOUT), ("store", STORE)];
    let mut controllers = JoinSet::new();
    for (name, kind) in all {
        serve(stand, kind, &mut controllers).await;
        for (member, wants) in [("member1", 4), ("member2", 2), ("member3", 2)] {
            stand.wants(member, name, wants);
        }
    }
    stand.apply("resourceinterpretercustomizations", &divided(ROLLOUT)).await;
    stand.fhpa.allows(&stand.lab, &all.map(|(_, kind)| kind.argument())).await;
    for (name, kind) in all {
        stand.apply(kind.plural, &kind.workload(name, if kind.kind == "Rollout" { 3 } else { 1 })).await;
        stand.apply("propagationpolicies", &tolerating(name, kind)).await;
    }
    for (name, _) in all {
        stand.soon("each member runs one", async |stand| stand.observer.ready(name) == 3).await;
    }
    // Taken over, and scaled by the members.
    for (name, kind) in all {
        let mut object = federated(name, 3, 30, json!({}));
        object["spec"]["scaleTargetRef"] = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": name});
        stand.apply("federatedhpas", &object).await;
    }
    for (name, kind) in all {
        stand.runs(name, &[("member1", 4), ("member2", 2), ("member3", 2)]).await;
        stand.observer.note(name);
        let edit = json!({"spec": {"minReadySeconds": 1}});
        stand.edit(&kind.api_version(), kind.kind, kind.plural, name, edit).await;
        stand
            .soon("the edit arrives", async |stand| {
                let plane = &stand.lab.member("member1").plane;
                let api = plane.api(&kind.api_version(), kind.kind, kind.plural, Some("prod"));
                api.get_opt(name).await.ok().flatten().is_some_and(|one| one.data["spec"]["minReadySeconds"] == 1)
            })
            .await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    for (name, _) in all {
        assert_eq!(stand.observer.least(name), 8, "{name}: members keep their replicas");
    }
    // Failed over.
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    for (name, _) in all {
        let others = |stand: &Stand| -> usize { MEMBERS[1..].iter().map(|at| stand.observer.ready_in(at, name)).sum() };
        let within = Duration::from_secs(TOLERATED + 60);
        stand.later(within, "the others run all eight", async |stand| others(stand) >= 8).await;
    }
    stand.lab.member_mut("member1").heal(false).await;
    stand.lab.cluster_is("member1", "True").await;
    for (name, _) in all {
        let back = async |stand: &Stand| stand.bounds("member1", name).await.is_some();
        stand.later(Duration::from_secs(120), "member1 takes part again", back).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    for (name, kind) in all {
        handed_back(stand, name, kind).await;
    }
    controllers.shutdown().await;
}

async fn handed_back(stand: &mut Stand, name: &str, kind: Scalable) {
    let ready = stand.observer.note(name);
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    stand.later(Duration::from_secs(200), "the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(stand.observer.least(name) >= ready, "{name}: no pod was ended");
    let bound = binding(stand, name, kind).await;
    assert!(bound["spec"]["suspension"]["scheduling"] != true, "{name}: {bound}");
    let asked = template(stand, name, kind).await;
    assert!(asked["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"].is_null(), "{asked}");
    stand.delete(&kind.api_version(), kind.kind, kind.plural, name).await;
    stand.delete("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", name).await;
    stand.later(Duration::from_secs(120), "its pods go", async |stand| stand.observer.ready(name) == 0).await;
}
