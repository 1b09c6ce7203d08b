//! `fhpa uninstall` on a real kube-apiserver while a process holds a workload: its replicas stay, its binding is handed
//! back, and plain objects can be applied afterwards. Karmada's own controllers do not run; the test writes in their
//! place.

use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::process::Replica;
use super::real::{Stand, deployment, workload};
use super::takeover::{BINDING, DEPLOYMENT, MEMBERS, WORK, bounds_are, let_go, objects, prepare, run, until};

fn hpa(name: &str, max: i32) -> String {
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"minReplicas": 2, "maxReplicas": max, "mode": "Distributed", "scaleTargetRef": workload(name)}})
    .to_string()
}

/// A process whose webhook is registered.
async fn installed(stand: &Stand) -> Replica {
    let desk = &stand.desk;
    let ca = desk.file("webhook.crt");
    let serve =
        ["--self-signed", "--listen", "127.0.0.1:0", "--shutdown-delay", "0", "--ca-output", ca.to_str().unwrap()];
    let one = Replica::start("run", &desk.file("limited"), "one", &serve, ca.clone()).await;
    let url = format!("https://{}/", one.webhook.unwrap());
    let outcome = desk.fhpa("install", &["--url", &url, "--ca-file", ca.to_str().unwrap(), "--user", "fhpa"]).await;
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    one.is_ready().await;
    one
}

/// Karmada brings the replicas of the template into the binding.
async fn detect(client: &Client) {
    let template = objects(client, DEPLOYMENT, "prod").get("web").await.unwrap().data["spec"]["replicas"].clone();
    let bindings = objects(client, BINDING, "prod");
    if bindings.get("web-deployment").await.unwrap().data["spec"]["replicas"] != template {
        let patch = Patch::Merge(json!({"spec": {"replicas": template}}));
        bindings.patch("web-deployment", &PatchParams::default(), &patch).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uninstallation_leaves_replicas_as_they_are_gives_bindings_back_and_lets_plain_objects_be_applied() {
    let Some(stand) = Stand::new("an uninstallation that holds workloads").await else { return };
    let client = &stand.client;
    prepare(&stand).await;
    let mut one = installed(&stand).await;
    stand.led_by("one").await;
    stand.plane.apply(&hpa("web", 8));
    bounds_are(client, [(1, 2), (2, 6)]).await;
    // The members' HPAs have scaled since.
    run(client, [2, 5]).await;

    let removal = stand.desk.fhpa("uninstall", &["--yes", "--timeout", "60s"]);
    let karmada = async {
        loop {
            let_go(client).await;
            detect(client).await;
        }
    };
    let removed = tokio::select! {
        removed = removal => removed,
        () = karmada => unreachable!(),
    };
    assert_eq!((removed.code, &*removed.stderr), (0, ""), "{}", removed.stdout);
    let said = "FederatedHPA prod/web  handed back: the workload keeps its replicas";
    assert!(removed.stdout.contains(said), "{}", removed.stdout);

    let binding = objects(client, BINDING, "prod").get("web-deployment").await.unwrap();
    assert_ne!(binding.data["spec"]["suspension"]["scheduling"], true);
    assert_eq!(
        (&binding.data["spec"]["replicas"], &binding.data["spec"]["clusters"]),
        (&json!(7), &json!([{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 5}]))
    );
    let web = objects(client, DEPLOYMENT, "prod").get("web").await.unwrap();
    assert_eq!(web.data["spec"]["replicas"], 7);
    let labels = web.metadata.labels.unwrap_or_default();
    assert_eq!(labels.get("resourcetemplate.karmada.io/retain-replicas"), None);
    for member in MEMBERS {
        let works = objects(client, WORK, &format!("karmada-es-{member}")).list(&ListParams::default()).await.unwrap();
        assert!(works.items.is_empty(), "{member}");
    }

    nothing_is_in_the_way(&stand, &mut one).await;
}

/// Neither beside the process, which is still there and stands by, nor after it.
async fn nothing_is_in_the_way(stand: &Stand, one: &mut Replica) {
    let absent = ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"];
    let is_absent = |kind: &str| stand.plane.kubectl(&["get", kind, "fhpa"], "").1.contains("NotFound");
    assert!(absent.into_iter().all(is_absent));
    // The API server asks until its own watch has brought the deletion.
    until("an object that no webhook completes", async || {
        stand.plane.kubectl(&["apply", "-f", "-"], &hpa("plain", 3)).0.then_some(())
    })
    .await;
    one.signal("TERM").await;
    assert_eq!(one.ends().await, Some(0));
    assert!(absent.into_iter().all(is_absent), "the process did not put them back");
    let mut web: Value = serde_json::from_str(&deployment("web")).unwrap();
    web["spec"]["replicas"] = json!(9);
    for object in [web.to_string(), hpa("web", 9), hpa("plain", 4), hpa("third", 4), deployment("plain")] {
        let (applied, said) = stand.plane.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &object);
        assert!(applied, "{said}");
    }
    let found = objects(&stand.client, DEPLOYMENT, "prod").get("web").await.unwrap();
    assert_eq!(found.data["spec"]["replicas"], 9);
    let held = objects(&stand.client, ("autoscaling.karmada.io", "v1alpha1", "FederatedHPA"), "prod");
    for hpa in held.list(&ListParams::default()).await.unwrap().items {
        assert_eq!(hpa.metadata.finalizers, None, "{:?}", hpa.metadata.name);
    }
}
