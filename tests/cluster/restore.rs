//! The etcd of a real API server is restored from a backup, while fhpa runs.

use serde_json::json;

use super::control_plane::ControlPlane;
use crate::controller::process::Replica;

fn federated(name: &str) -> String {
    let cpu = json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"mode": "Distributed", "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": [cpu]}});
    object.to_string()
}

/// A series of what the process knows.
fn known(objects: usize) -> String {
    format!("fhpa_known_objects{{kind=\"FederatedHPA\"}} {objects}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_restore_brings_back_is_known_and_what_it_takes_away_is_not() {
    let Some(mut plane) = ControlPlane::own("a restore of etcd") else { return };
    plane.install_crds();
    plane.install_karmada();
    plane.namespace("karmada-system");
    plane.namespace("prod");
    plane.apply(&federated("before"));
    plane.apply(&federated("deleted"));
    let ca = tempfile::NamedTempFile::new().unwrap();
    let path = ca.path().to_str().unwrap();
    let serve = ["--self-signed", "--listen", "127.0.0.1:0", "--ca-output", path, "--manage-karmada=false"];
    let mut fhpa = Replica::start("run", &plane.kubeconfig(), "one", &serve, ca.path().into()).await;
    fhpa.counts("fhpa_leader 1").await;
    fhpa.counts(&known(2)).await;
    let ca = tempfile::NamedTempFile::new().unwrap();
    let mut webhook = Replica::webhook(&plane.kubeconfig(), ca.path().into()).await;
    webhook.counts(&known(2)).await;
    let backup = plane.restart(None).await;
    // Versions run ahead of those of the backup.
    for number in 0..20 {
        plane.apply(&federated(&format!("later{number}")));
    }
    let (deleted, said) = plane.kubectl(&["-n", "prod", "delete", "fhpa", "deleted", "--wait=false"], "");
    assert!(deleted, "{said}");
    fhpa.counts(&known(21)).await;
    webhook.counts(&known(21)).await;

    plane.restart(Some(&backup)).await;
    fhpa.counts(&known(2)).await;
    fhpa.says("the API server was restored from a backup").await;
    // It reads no Lease.
    webhook.says("the API server was restored from a backup").await;
    webhook.counts(&known(2)).await;
    fhpa.counts("fhpa_leader 1").await;
    // Watches go on from the versions of the backup.
    plane.apply(&federated("afterwards"));
    for process in [&mut fhpa, &mut webhook] {
        process.counts(&known(3)).await;
        process.signal("TERM").await;
        assert_eq!(process.ends().await, Some(0));
    }
}
