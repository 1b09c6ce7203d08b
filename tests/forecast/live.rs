//! `fhpa plan --kubeconfig`: with the current clusters.

use std::path::{Path, PathBuf};

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::controller::query_cache::{QueryError, Source, Times};
use fhpa::estimator::query::EstimatorQuery;
use fhpa::reconcile::federated_hpa::observe::capacity::{Estimators, Rooms};
use futures::FutureExt as _;
use futures::future::BoxFuture;
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
async fn estimators_are_asked_when_that_is_wanted_and_who_answered_is_said() {
    let fleet = fleet().await;
    fleet.control().create(&hpa(10, json!({}))).await.unwrap();
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = file(directory.path(), "kubeconfig", &listening.kubeconfig("karmada"));
    let asked = ["--estimators", "auto", "--estimator-address", "{cluster}.invalid:1"];
    let plan = [&["plan", "--kubeconfig", &kubeconfig, "prod/web"][..], &asked].concat();
    let told = run(&plan).await;
    assert_eq!(told.code, 0, "{}", told.stderr);
    let none = "estimators answered: none; not: member1, member2, member3, whose resource summaries count instead";
    assert!(told.stdout.contains(none), "{}", told.stdout);
    let alone = run(&[&["plan", "examples/plan/g3-weights.yaml"][..], &asked].concat()).await;
    let said = "fhpa plan: estimators need a control plane: give --kubeconfig\n";
    assert_eq!((alone.stderr.as_str(), alone.code), (said, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_centralized_object_is_computed_from_what_members_answer_and_who_does_not_is_named() {
    let fleet = fleet().await;
    fleet.control().create(&hpa(10, json!({"mode": "Centralized"}))).await.unwrap();
    fleet.lose_metrics("member3", true).unwrap();
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = file(directory.path(), "kubeconfig", &listening.kubeconfig("karmada"));
    let before = fleet.control().store().version();
    let told = run(&["plan", "--kubeconfig", &kubeconfig, "-o", "json", "prod/web"]).await;
    assert_eq!((told.stderr.as_str(), told.code), ("", 0));
    let plan: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let plan = &plan[0];
    assert_eq!((&plan["mode"], &plan["currentReplicas"]), (&"Centralized".into(), &3.into()), "{plan}");
    assert!(plan["notes"].to_string().contains("member3: "), "{plan}");
    assert_eq!(fleet.control().store().version(), before);
}

/// Estimators that know of no more than one replica in the first cluster.
struct Narrow;

impl Source<EstimatorQuery, i32> for Narrow {
    fn component(&self) -> &'static str {
        "estimator"
    }

    fn send(&self, cluster: &str, _: &EstimatorQuery) -> BoxFuture<'static, Result<i32, QueryError>> {
        let answer = if cluster == "member1" { Ok(1) } else { Err(QueryError::Absent("nobody".to_owned())) };
        std::future::ready(answer).boxed()
    }

    fn forget(&self, _: &str) {}
}

#[tokio::test]
async fn a_forecast_goes_by_what_estimators_answered() {
    let fleet = fleet().await;
    let assignment = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}});
    let object = fleet.control().create(&hpa(10, assignment)).await.unwrap();
    let hpa: fhpa::api::FederatedHPA = serde_json::from_value(object).unwrap();
    let objects = fhpa::run::forecast::live::objects(&fleet.control().client(), &hpa).await.unwrap();
    let rooms = Rooms::new(Some(Estimators::new(Box::new(Narrow), Times::default())));
    let (answered, silent) = objects.query_estimators(&rooms).await;
    assert_eq!((answered, silent), (vec!["member1".to_owned()], vec!["member2".to_owned(), "member3".to_owned()]));
    let now = fhpa::runtime::clock::wall();
    let room = |forecast: &fhpa::run::forecast::Forecast<'_>| forecast.request.clusters[0].available;
    assert_eq!(objects.forecast(&hpa, rooms, now, room).flatten(), Some(1));
    assert!(objects.forecast(&hpa, Rooms::default(), now, room).flatten() > Some(1));
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
    assert_eq!(unreachable.code, 1);
    let said = &unreachable.stderr;
    let start = "fhpa plan: the API server could not be reached to get federatedhpas prod/web: ";
    assert!(said.starts_with(start) && said.contains("is karmada-apiserver up"), "{said}");
    assert!(!said.contains("(Connect)"), "a text of Rust: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_api_server_is_told_in_a_sentence() {
    let fleet = fleet().await;
    fleet.control().create(&hpa(10, json!({}))).await.unwrap();
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = file(directory.path(), "kubeconfig", &listening.kubeconfig("karmada"));
    let refuse = |resource: &str, code, reason: &str, message: &str| {
        let which = Which { resource: resource.into(), ..Which::default() };
        fleet.control().faults().fail(which, 1, StatusError::plain(code, reason, message));
    };
    for (resource, code, reason, message, said) in [
        (
            "federatedhpas",
            401,
            "Unauthorized",
            "Unauthorized",
            "does not accept the credentials of the kubeconfig; renew",
        ),
        (
            "clusters",
            403,
            "Forbidden",
            "clusters is forbidden: User \"a\" cannot list resource \"clusters\"",
            "the user of the kubeconfig may not list clusters: allow it the verb \"list\"",
        ),
    ] {
        refuse(resource, code, reason, message);
        let refused = run(&["plan", "--kubeconfig", &kubeconfig, "prod/web"]).await;
        assert!(refused.code == 1 && refused.stderr.contains(said), "{}", refused.stderr);
        assert!(!refused.stderr.contains("ApiError") && !refused.stderr.contains("Status {"), "{}", refused.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_name_no_namespace_are_in_that_of_the_context() {
    let fleet = fleet().await;
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut kubeconfig: serde_json::Value = serde_saphyr::from_str(&listening.kubeconfig("karmada")).unwrap();
    kubeconfig["contexts"][0]["context"]["namespace"] = "prod".into();
    let kubeconfig = file(directory.path(), "kubeconfig", &kubeconfig.to_string());
    let mut object = hpa(10, json!({}));
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    let object = file(directory.path(), "web.json", &object.to_string());
    let planned = run(&["plan", "--kubeconfig", &kubeconfig, "-o", "json", &object]).await;
    assert_eq!((planned.stderr.as_str(), planned.code), ("", 0));
    let other = run(&["plan", "--kubeconfig", &kubeconfig, "-n", "other", &object]).await;
    assert!(other.code == 1 && other.stderr.contains("FederatedHPA other/web"), "{}", other.stderr);
}
