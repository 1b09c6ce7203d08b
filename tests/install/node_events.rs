//! What `fhpa doctor` says of members whose Events it may not read.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::playground::fleet::{Fleet, Plan};
use serde_json::json;

use super::WebhookState;
use super::doctor::found;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_whose_events_may_not_be_read_are_named_where_objects_wait_for_nodes() {
    let fleet = Fleet::build(Plan { clusters: 2, ..Plan::new() }).await.unwrap();
    fleet.settle().await.unwrap();
    let control = fleet.control();
    for definition in fhpa::api::crd::all().unwrap() {
        let _: Result<_, _> = control.create(definition).await;
    }
    let hpa = |name: &str, delay: u32| {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"maxReplicas": 3, "mode": "Distributed",
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "autoscaleMultiClusterDelay": delay}})
    };
    control.create(&hpa("soon", 0)).await.unwrap();
    let listening = control.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let desk = WebhookState::new(&listening.kubeconfig("karmada"));
    let told = async || {
        let (_, _, all) = found(&desk).await;
        let found = all.into_iter().filter(|finding| finding["check"] == "node events");
        found.map(|one| (one["state"].clone(), one["seen"].as_str().unwrap().to_owned(), one["toDo"].clone())).next()
    };
    assert_eq!(told().await, None, "no object waits for nodes");
    control.create(&hpa("web", 300)).await.unwrap();
    let (state, seen, _) = told().await.unwrap();
    assert_eq!((state, &*seen), (json!("ok"), "can be read, for default/web"));
    let which = Which { verb: "list".into(), resource: "events".into(), ..Which::default() };
    let said = StatusError::plain(403, "Forbidden", "events is forbidden");
    fleet.member("member2").unwrap().faults().fail(which, usize::MAX, said);
    let (state, seen, to_do) = told().await.unwrap();
    assert_eq!(state, "warn");
    assert!(seen.starts_with("refused to this user in member2: help for pods that find no node waits"), "{seen}");
    assert!(to_do.as_str().unwrap().contains("fhpa install --output - --member-rbac"), "{to_do}");
}
