//! fhpa hands back every workload that it took over, in every state.

use std::time::Duration;

use fhpa::runtime::clock::steady;
use serde_json::{Value, json};

use crate::stand::{MEMBERS, SOON, Stand, deployment, federated};

/// Replicas that the template asks for.
async fn asked(stand: &Stand, name: &str) -> Value {
    stand.get("apps/v1", "Deployment", "deployments", name).await.unwrap()["spec"]["replicas"].clone()
}

fn suspended(binding: &Value) -> bool {
    binding["spec"]["suspension"]["scheduling"] == true
}

/// Its policy names a cluster that does not exist: the template keeps its replicas and the FederatedHPA goes.
pub async fn a_workload_that_runs_nowhere_keeps_its_replicas(stand: &mut Stand) {
    let name = "nowhere";
    stand.apply("deployments", &deployment(name, 3)).await;
    stand.policy(name, "Deployment", &["elsewhere"]).await;
    stand.federated(name, 1, 9, json!({})).await;
    stand
        .soon("it is told of", async |stand| {
            let hpa = stand.hpa(name).await.unwrap();
            hpa["status"]["conditions"].as_array().is_some_and(|conditions| !conditions.is_empty())
        })
        .await;
    stand.soon("Karmada makes a binding", async |stand| stand.binding(name).await.is_some()).await;
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    stand.soon("the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    assert_eq!(asked(stand, name).await, 3);
    // A binding that was made in the moment of the deletion is resumed by the sweep.
    stand
        .soon("the scheduler serves it", async |stand| stand.binding(name).await.is_some_and(|it| !suspended(&it)))
        .await;
    stand.clear(name).await;
}

/// Kinds that cannot be scaled are refused, and no binding is suspended for them.
pub async fn what_cannot_be_scaled_is_refused(stand: &mut Stand) {
    let name = "daemon";
    let mut object = federated(name, 1, 9, json!({}));
    object["spec"]["scaleTargetRef"]["kind"] = "DaemonSet".into();
    let api = stand.lab.karmada.api("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", Some("prod"));
    let object = serde_json::from_value(object).unwrap();
    let refused = api.create(&Default::default(), &object).await.unwrap_err().to_string();
    assert!(refused.contains("DaemonSet"), "{refused}");
    let customizations = stand
        .lab
        .karmada
        .api(
            "config.karmada.io/v1alpha1",
            "ResourceInterpreterCustomization",
            "resourceinterpretercustomizations",
            None,
        )
        .list(&Default::default())
        .await
        .unwrap();
    let names: Vec<String> = customizations.items.iter().filter_map(|one| one.metadata.name.clone()).collect();
    assert!(names.iter().all(|name| !name.contains("daemonset") && !name.contains("job")), "{names:?}");
}

/// Deleting the FederatedHPA moves no pod, and Karmada's scheduler divides again.
pub async fn handing_back_moves_no_pod(stand: &mut Stand) {
    let name = "back";
    super::leave::fifteen(stand, name, 30).await;
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    stand.soon("the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(asked(stand, name).await, 15);
    assert_eq!(stand.observer.least(name), 15, "no pod was ended");
    assert!(!suspended(&stand.binding(name).await.unwrap()));
    stand.edit("apps/v1", "Deployment", "deployments", name, json!({"spec": {"replicas": 18}})).await;
    stand.soon("Karmada's scheduler divides", async |stand| stand.observer.ready(name) == 18).await;
    stand.clear(name).await;
}

/// Its policy is deleted first, so that Karmada no longer copies what the template asks for: no pod ends.
pub async fn a_workload_whose_policy_is_gone_keeps_its_pods(stand: &mut Stand) {
    let name = "unclaimed";
    super::leave::fifteen(stand, name, 30).await;
    stand.delete("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", name).await;
    stand.soon("the policy goes", async |stand| stand.placed(name).await.is_none()).await;
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    let begun = steady();
    stand.later(5 * SOON, "the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    println!("  let go after {:.1?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let binding = stand.binding(name).await.unwrap();
    assert_eq!(stand.observer.least(name), 15, "no pod was ended: {}", binding["spec"]);
    assert_eq!(asked(stand, name).await, 15);
    assert!(!suspended(&binding));
    stand.clear(name).await;
}

/// Nobody leads while the FederatedHPA is made and deleted: the binding is not suspended for ever.
pub async fn a_binding_that_nobody_serves_is_scheduled_again(stand: &mut Stand) {
    let name = "orphan";
    // The Lease of the killed leader keeps the new processes from leading; their webhooks answer at once.
    stand.fhpa.kill_all();
    stand.fhpa.run("one");
    stand.fhpa.run("two");
    stand.apply("federatedhpas", &federated(name, 1, 9, json!({}))).await;
    stand.workload(name, 3, &MEMBERS).await;
    stand.soon("it has a binding", async |stand| stand.binding(name).await.is_some()).await;
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    stand.fhpa.leads(&stand.lab).await;
    stand.later(SOON, "it is scheduled", async |stand| stand.observer.ready(name) == 3).await;
    assert!(!suspended(&stand.binding(name).await.unwrap()));
    stand.clear(name).await;
}
