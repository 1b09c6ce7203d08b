//! kube's own client and runtime on the embedded server.

use std::{sync::Arc, time::Duration};

use fhpa::playground::karmada;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    discovery::ApiResource,
    runtime::{Controller, controller::Action, reflector, watcher},
};
use serde_json::{Value, json};

use crate::bed::Bed;

fn config_map(name: &str, color: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"color": color}}, "data": {"a": "1"}})).unwrap()
}

#[tokio::test]
async fn an_object_is_made_changed_watched_and_deleted() {
    let bed = Bed::embedded();
    let maps: Api<ConfigMap> = Api::namespaced(bed.client.clone(), "default");
    let made = maps.create(&PostParams::default(), &config_map("a", "red")).await.unwrap();
    assert!(made.uid().is_some() && made.creation_timestamp().is_some());
    let events = maps.watch(&WatchParams::default(), &made.resource_version().unwrap()).await.unwrap();
    let patch = Patch::Merge(json!({"data": {"b": "2"}}));
    let patched = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.data.unwrap().len(), 2);
    let stale = maps.replace("a", &PostParams::default(), &made).await.unwrap_err();
    let kube::Error::Api(status) = stale else { panic!("{stale}") };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let seen: Vec<String> = events
        .take(2)
        .map_ok(|event| match event {
            WatchEvent::Modified(_) => "modified".to_owned(),
            WatchEvent::Deleted(_) => "deleted".to_owned(),
            other => format!("{other:?}"),
        })
        .try_collect()
        .await
        .unwrap();
    assert_eq!(seen, ["modified", "deleted"]);
}

#[tokio::test]
async fn selectors_and_pages_work_through_the_client() {
    let bed = Bed::embedded();
    let maps: Api<ConfigMap> = Api::namespaced(bed.client.clone(), "default");
    for n in 0..5 {
        let color = if n % 2 == 0 { "red" } else { "blue" };
        maps.create(&PostParams::default(), &config_map(&format!("m{n}"), color)).await.unwrap();
    }
    assert_eq!(maps.list(&ListParams::default().labels("color=red")).await.unwrap().items.len(), 3);
    assert_eq!(maps.list(&ListParams::default().fields("metadata.name=m1")).await.unwrap().items.len(), 1);
    let first = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    let token = first.metadata.continue_.unwrap();
    let rest = maps.list(&ListParams::default().continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["m2", "m3", "m4"]);
}

#[tokio::test]
async fn a_custom_kind_is_served_at_once() {
    let bed = Bed::embedded();
    for definition in karmada::definitions().unwrap() {
        bed.server().create(definition).await.unwrap();
    }
    let kind = ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster"));
    let clusters: Api<DynamicObject> = Api::all_with(bed.client.clone(), &kind);
    let member: DynamicObject = serde_json::from_value(json!({"apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster", "metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}, "status": {"x": 1}}))
    .unwrap();
    let made = clusters.create(&PostParams::default(), &member).await.unwrap();
    assert_eq!(made.data.get("status"), None, "status has its own subresource");
    let status = json!({"spec": {"syncMode": "Pull"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let patched = clusters.patch_status("m1", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    assert_eq!(patched.data["spec"]["syncMode"], "Push");
    assert_eq!(patched.metadata.generation, Some(1));
}

#[tokio::test]
async fn a_reflector_follows_a_dropped_watch_and_a_compaction() {
    let bed = Bed::embedded();
    let maps: Api<ConfigMap> = Api::namespaced(bed.client.clone(), "default");
    for strategy in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let (store, writer) = reflector::store::<ConfigMap>();
        let name = format!("m{}", strategy.page_size.unwrap_or_default());
        let mut stream = Box::pin(reflector(writer, watcher(maps.clone(), strategy)));
        while !matches!(stream.next().await, Some(Ok(watcher::Event::InitDone))) {}
        bed.server().faults().drop_watches();
        bed.server().store().compact();
        maps.create(&PostParams::default(), &config_map(&name, "red")).await.unwrap();
        let has = || store.state().iter().any(|map| map.name_any() == name);
        while !has() {
            // An error event is part of a dropped watch; the reflector starts again.
            let _ = stream.next().await;
        }
        maps.delete(&name, &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_controller_reconciles() {
    let bed = Bed::embedded();
    let client = bed.client.clone();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let deployment: Deployment = serde_json::from_value(deployment("web", 2)).unwrap();
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    let reconcile = |object: Arc<Deployment>, client: Arc<kube::Client>| async move {
        let maps: Api<ConfigMap> = Api::namespaced(kube::Client::clone(&client), "default");
        let owner = object.controller_owner_ref(&()).unwrap();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": object.name_any(),
            "ownerReferences": [owner]}, "data": {"replicas": object.spec.as_ref().unwrap().replicas.unwrap().to_string()}});
        maps.patch(&object.name_any(), &PatchParams::apply("test").force(), &Patch::Apply(map)).await?;
        Ok::<Action, kube::Error>(Action::await_change())
    };
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let controller = Controller::new(deployments.clone(), watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(client));
    let task = tokio::spawn(controller.for_each(|_| async {}));
    let mut events = Box::pin(maps.watch(&WatchParams::default(), "0").await.unwrap());
    let replicas = |event: &WatchEvent<ConfigMap>| match event {
        WatchEvent::Added(map) | WatchEvent::Modified(map) => map.data.as_ref().unwrap()["replicas"].clone(),
        other => format!("{other:?}").split(' ').next().unwrap().to_owned(),
    };
    assert_eq!(replicas(&events.next().await.unwrap().unwrap()), "2");
    deployments.patch("web", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 5}}))).await.unwrap();
    assert_eq!(replicas(&events.next().await.unwrap().unwrap()), "5");
    deployments.delete("web", &DeleteParams::default()).await.unwrap();
    assert_eq!(replicas(&events.next().await.unwrap().unwrap()), "Deleted", "the owner takes it along");
    task.abort();
}

fn deployment(name: &str, replicas: i32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}}}})
}

#[tokio::test]
async fn a_stored_configuration_is_asked_at_once() {
    let bed = Bed::embedded();
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let configuration = |policy: &str| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "nobody"}, "webhooks": [{"name": "nobody.example.com", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "failurePolicy": policy, "timeoutSeconds": 1,
                "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [{"operations": ["*"],
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]})
    };
    let maps = bed.path("v1", "configmaps");
    let map = |name: &str| json!({"metadata": {"name": name}});
    assert_eq!(bed.post(hooks, &configuration("Fail")).await.code, 201);
    let refused = bed.post(&maps, &map("a")).await;
    assert_eq!(refused.code, 500);
    assert!(refused.body["message"].as_str().unwrap().contains("failed calling webhook \"nobody.example.com\""));
    assert_eq!(bed.post(&bed.path("v1", "secrets"), &map("a")).await.code, 201, "another kind is not concerned");
    let open = json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    assert_eq!(bed.patch("json", &format!("{hooks}/nobody"), &open).await.code, 200);
    assert_eq!(bed.post(&maps, &map("a")).await.code, 201, "it fails open now");
    bed.patch(
        "json",
        &format!("{hooks}/nobody"),
        &json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]),
    )
    .await;
    assert_eq!(bed.delete(&format!("{maps}/a"), &Value::Null).await.code, 500, "deletions are asked about too");
    assert_eq!(bed.delete(&format!("{hooks}/nobody"), &Value::Null).await.code, 200);
    assert_eq!(bed.delete(&format!("{maps}/a"), &Value::Null).await.code, 200);
}
