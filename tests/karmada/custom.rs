//! The controller of a kind that Kubernetes does not have, in a member: a ReplicaSet runs the pods of each object. I/O:
//! talks to the member.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::plane::resource;
use crate::rig::kinds::Scalable;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(300);
/// Label of its ReplicaSets.
const OWNED: &str = "suite/kind";

/// Runs until the task is aborted. Errors are no trouble: the member may be killed and come back.
pub async fn run(client: Client, kind: Scalable) {
    loop {
        let _ = reconcile(&client, kind).await;
        tokio::time::sleep(LOOK).await;
    }
}

async fn reconcile(client: &Client, kind: Scalable) -> Result<(), kube::Error> {
    let objects: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "prod", &resource(&kind.api_version(), kind.kind, kind.plural));
    let sets: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "prod", &resource("apps/v1", "ReplicaSet", "replicasets"));
    let found = objects.list(&ListParams::default()).await?.items;
    let owned = sets.list(&ListParams::default().labels(&format!("{OWNED}={}", kind.plural))).await?.items;
    for set in &owned {
        let name = set.metadata.name.as_deref().unwrap_or_default();
        if !found.iter().any(|object| object.metadata.name.as_deref() == Some(name)) {
            sets.delete(name, &Default::default()).await?;
        }
    }
    for object in found {
        let object = serde_json::to_value(&object).unwrap();
        if object["metadata"]["deletionTimestamp"].is_null() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let set = owned.iter().find(|set| set.metadata.name.as_deref() == Some(name));
            follow(&objects, &sets, kind, &object, set.map(|set| &set.data)).await?;
        }
    }
    Ok(())
}

/// Asks the ReplicaSet for as many replicas as the object has, and reports how many there are.
async fn follow(
    objects: &Api<DynamicObject>,
    sets: &Api<DynamicObject>,
    kind: Scalable,
    object: &Value,
    set: Option<&Value>,
) -> Result<(), kube::Error> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = object.pointer(kind.replicas).cloned().unwrap_or(json!(1));
    let params = PatchParams::apply("suite").force();
    if set.is_none_or(|set| set["spec"]["replicas"] != wanted) {
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": name, "namespace": "prod", "labels": {OWNED: kind.plural}},
            "spec": {"replicas": wanted, "selector": object["spec"]["selector"], "template": object["spec"]["template"]}});
        sets.patch(name, &params, &Patch::Apply(&set)).await?;
    }
    let number = |field: &str| set.and_then(|set| set["status"][field].as_i64()).unwrap_or_default();
    let status = kind.status(object, &json!(number("replicas")), &json!(number("readyReplicas")));
    let same = status["status"].as_object().into_iter().flatten().all(|(key, value)| object["status"][key] == *value);
    if !same {
        objects.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    }
    Ok(())
}
