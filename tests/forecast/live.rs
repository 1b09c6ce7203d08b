//! `fhpa plan --kubeconfig`: on the clusters as they are.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{fleet, hpa};
use crate::cli::command::{Outcome, fhpa};

async fn run(args: &[&str]) -> Outcome {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let run = move || fhpa(&args.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn file(directory: &Path, name: &str, text: &str) -> String {
    let path: PathBuf = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_object_and_an_edited_file_are_planned_on_the_clusters_as_they_are() {
    let fleet = fleet().await;
    fleet.control().create(&hpa(10, json!({}))).await.unwrap();
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = file(directory.path(), "kubeconfig", &listening.kubeconfig("karmada"));
    let before = fleet.control().store().version();
    let stored = run(&["plan", "--kubeconfig", &kubeconfig, "prod/web"]).await;
    assert_eq!((stored.stderr.as_str(), stored.code), ("", 0));
    insta::assert_snapshot!("plan_stored", stored.stdout);
    let edited = file(directory.path(), "web.json", &hpa(40, json!({"scalingToZero": true})).to_string());
    let edited = run(&["plan", "--kubeconfig", &kubeconfig, &edited]).await;
    assert_eq!((edited.stderr.as_str(), edited.code), ("", 0));
    insta::assert_snapshot!("plan_edited", edited.stdout);
    assert_eq!(fleet.control().store().version(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_said() {
    let fleet = fleet().await;
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = file(directory.path(), "kubeconfig", &listening.kubeconfig("karmada"));
    let missing = run(&["plan", "--kubeconfig", &kubeconfig, "prod/nothing"]).await;
    assert_eq!((missing.stderr.as_str(), missing.code), ("fhpa plan: there is no FederatedHPA prod/nothing\n", 1));
    let mut other = hpa(9, json!({}));
    other["spec"]["scaleTargetRef"]["name"] = "other".into();
    let other = file(directory.path(), "other.json", &other.to_string());
    let unbound = run(&["plan", "--kubeconfig", &kubeconfig, &other]).await;
    let said = "fhpa plan: FederatedHPA prod/web: Deployment other has no ResourceBinding: it is not propagated\n";
    assert_eq!((unbound.stderr.as_str(), unbound.code), (said, 1));
    drop(listening);
    let unreachable = run(&["plan", "--kubeconfig", &kubeconfig, "prod/web"]).await;
    assert_eq!(unreachable.code, 2);
    assert!(unreachable.stderr.starts_with("fhpa plan: the control plane cannot be read: "), "{}", unreachable.stderr);
}
