//! What Karmada's documentation shows to users of FederatedHPA, CronFederatedHPA and of HPAs in policies: each manifest
//! is admitted, applied without an error, and scales, in both modes.
//!
//! The facts are those of github.com/karmada-io/website at 747f80c48c9a (20 July 2026): kinds, bounds, metrics, targets,
//! behavior, schedules, requests and placements. Names and numbers of pods that run are of this test.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::playground::json::{int, text};
use serde_json::{Value, json};

use super::distributed::{Stage, deployment, policy, weights};
use super::{Process, federated_web};
use crate::cli::command::fhpa_with_input;
use crate::rules::world::{Others, review, reviewer, said};

/// A manifest of a FederatedHPA.
struct Documented {
    /// The page that shows it.
    page: &'static str,
    /// Its spec, without target and mode.
    spec: fn() -> Value,
    /// What is said when it is applied.
    told: &'static str,
    /// The load, in thousandths, for which so many pods are needed.
    load: i64,
    replicas: i64,
    /// The target that members get.
    target: fn() -> Value,
}

/// Scaling in both directions after ten seconds, as the tutorials have it.
fn at_once() -> Value {
    json!({"scaleDown": {"stabilizationWindowSeconds": 10}, "scaleUp": {"stabilizationWindowSeconds": 10}})
}

fn cpu(percent: i32) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}])
}

/// The pods request 25m of a core.
const DOCUMENTED: [Documented; 6] = [
    Documented {
        page: "tutorials/autoscaling-with-resource-metrics",
        spec: || json!({"minReplicas": 1, "maxReplicas": 10, "behavior": at_once(), "metrics": cpu(10)}),
        told: "",
        load: 20,
        replicas: 8,
        target: || json!({"type": "Utilization", "averageUtilization": 10}),
    },
    Documented {
        page: "tutorials/autoscaling-with-custom-metrics",
        spec: || {
            let target = json!({"averageValue": "700m", "type": "Value"});
            let metric = json!({"type": "Pods", "pods": {"metric": {"name": "http_requests"}, "target": target}});
            json!({"minReplicas": 1, "maxReplicas": 10, "behavior": at_once(), "metrics": [metric]})
        },
        told: "warning: spec.metrics[0].pods.target.type: \"Value\" does not fit: averageValue is set, and counts; write AverageValue",
        load: 5_600,
        replicas: 8,
        target: || json!({"type": "AverageValue", "averageValue": "700m"}),
    },
    Documented {
        page: "tutorials/autoscaling-federatedhpa-with-cronfederatedhpa",
        spec: || json!({"minReplicas": 1, "maxReplicas": 10, "behavior": at_once(), "metrics": cpu(80)}),
        told: "",
        load: 160,
        replicas: 8,
        target: || json!({"type": "Utilization", "averageUtilization": 80}),
    },
    Documented {
        page: "troubleshooting/trouble-shooting, an HPA of autoscaling/v2 in a policy",
        spec: || {
            let policies = json!([{"type": "Percent", "value": 100, "periodSeconds": 15}, {"type": "Pods", "value": 4, "periodSeconds": 15}]);
            let up = json!({"policies": policies, "selectPolicy": "Max", "stabilizationWindowSeconds": 0});
            json!({"minReplicas": 1, "maxReplicas": 10, "behavior": {"scaleUp": up}})
        },
        told: "",
        load: 160,
        replicas: 8,
        target: || json!({"type": "Utilization", "averageUtilization": 80}),
    },
    Documented {
        page: "troubleshooting/trouble-shooting, an HPA of autoscaling/v1 in a policy",
        spec: || json!({"minReplicas": 1, "maxReplicas": 5, "metrics": cpu(10)}),
        told: "",
        load: 10,
        replicas: 4,
        target: || json!({"type": "Utilization", "averageUtilization": 10}),
    },
    Documented {
        page: "userguide/globalview/customizing-resource-interpreter, an HPA of a member",
        spec: || json!({"minReplicas": 2, "maxReplicas": 10, "metrics": cpu(70)}),
        told: "",
        load: 140,
        replicas: 8,
        target: || json!({"type": "Utilization", "averageUtilization": 70}),
    },
];

/// An object as the webhooks leave it, and what they say; none may refuse it.
fn admitted(kind: &str, spec: Value) -> (Value, String) {
    let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": kind,
        "metadata": {"name": "web", "namespace": "prod"}, "spec": spec});
    let (mutate, validate) = match kind {
        "FederatedHPA" => (Endpoint::MutateFederatedHPA, Endpoint::ValidateFederatedHPA),
        _ => (Endpoint::MutateCronFederatedHPA, Endpoint::ValidateCronFederatedHPA),
    };
    let mut told = Vec::new();
    for endpoint in [mutate, validate] {
        let verdict = review(&reviewer(Others::default()), endpoint, Operation::Create, &object.to_string(), None);
        assert_eq!(verdict.denial, None, "{}", said(&verdict));
        told.push(said(&verdict));
        let patch = serde_json::to_value(&verdict.patch).unwrap();
        json_patch::patch(&mut object, &serde_json::from_value::<json_patch::Patch>(patch).unwrap()).unwrap();
    }
    (object, told.concat())
}

/// Two members with equal weights and this many replicas of `web`.
async fn running(replicas: i32) -> (Stage, Process) {
    let stage = Stage::new(2).await;
    stage.create(policy(weights(&[1, 1]))).await;
    let mut web = deployment("web", replicas);
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("25m");
    stage.create(web).await;
    let one = stage.leads("one").await;
    stage.pass(20).await;
    (stage, one)
}

/// The replicas that all members run.
async fn sum(stage: &Stage) -> i64 {
    stage.replicas().await.split(' ').map(|replicas| replicas.parse::<i64>().unwrap_or_default()).sum()
}

/// The first metric of the HPA of a member, without its name.
async fn member_target(stage: &Stage, cluster: &str) -> Option<Value> {
    let hpa = stage.autoscaler(cluster).await?;
    let metric = &hpa["spec"]["metrics"][0];
    Some(if text(metric, "/type") == "Pods" {
        metric["pods"]["target"].clone()
    } else {
        metric["resource"]["target"].clone()
    })
}

#[tokio::test(start_paused = true)]
async fn every_federated_hpa_of_the_documentation_scales_in_both_modes() {
    for Documented { page, spec, told, load, replicas, target } in DOCUMENTED {
        for mode in ["Distributed", "Centralized"] {
            let (stage, _one) = running(2).await;
            let mut spec = spec();
            spec["scaleTargetRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
            spec["mode"] = json!(mode);
            let (object, warnings) = admitted("FederatedHPA", spec);
            assert_eq!(warnings, told, "{page}");
            stage.create(object).await;
            stage.fleet.load().set("prod", "web", load);
            stage.pass(240).await;
            let messages = stage.messages().await;
            // The tolerance leaves one more or less.
            let runs = sum(&stage).await;
            assert!((replicas - 1..=replicas + 1).contains(&runs), "{page}, {mode}: {runs} run; {messages:?}");
            for cluster in ["member1", "member2"] {
                let wanted = (mode == "Distributed").then(target);
                assert_eq!(member_target(&stage, cluster).await, wanted, "{page}, {mode}: {messages:?}");
            }
            if mode == "Centralized" {
                assert_eq!(i64::from(stage.scale().await), runs, "{page}: {messages:?}");
            }
        }
    }
}

/// The rule of the tutorials: each minute.
fn each_minute(value: &str) -> Value {
    json!({"name": "scale-up", "schedule": "*/1 * * * *", value: 5})
}

#[tokio::test(start_paused = true)]
async fn the_cron_rules_of_the_documentation_scale_a_federated_hpa_in_both_modes_and_a_workload() {
    let on_hpa = json!({"scaleTargetRef": federated_web(), "rules": [each_minute("targetMinReplicas")]});
    let mut rule = each_minute("targetReplicas");
    rule["suspend"] = json!(false);
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let on_workload = json!({"scaleTargetRef": workload, "rules": [rule]});
    for (mode, spec) in [(Some("Distributed"), &on_hpa), (Some("Centralized"), &on_hpa), (None, &on_workload)] {
        let (stage, _one) = running(2).await;
        stage.fleet.load().set("prod", "web", 1);
        if let Some(mode) = mode {
            let mut hpa = (DOCUMENTED[2].spec)();
            hpa["scaleTargetRef"] = workload.clone();
            hpa["mode"] = json!(mode);
            stage.create(admitted("FederatedHPA", hpa).0).await;
            stage.pass(60).await;
        }
        let (cron, told) = admitted("CronFederatedHPA", spec.clone());
        assert_eq!(told, "");
        stage.create(cron).await;
        stage.pass(150).await;
        assert_eq!(sum(&stage).await, 5, "{mode:?}: {}", stage.replicas().await);
        let cron = stage.control.get(&cron_kind(), "prod", "web").await.unwrap().unwrap();
        let history = &cron["status"]["executionHistories"][0];
        assert_eq!(text(history, "/ruleName"), "scale-up");
        assert!(history["successfulExecutions"].as_array().is_some_and(|runs| !runs.is_empty()), "{history}");
    }
}

fn cron_kind() -> fhpa::playground::objects::Kind {
    fhpa::playground::objects::Kind::regular("autoscaling.karmada.io/v1alpha1", "CronFederatedHPA", true)
}

#[tokio::test(start_paused = true)]
async fn an_hpa_that_a_policy_propagates_scales_the_members_beside_the_controller() {
    let stage = Stage::new(2).await;
    let _one = stage.leads("one").await;
    stage.create(policy(weights(&[1, 1]))).await;
    let mut web = deployment("web", 3);
    web["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"] = json!("true");
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("25m");
    stage.create(web).await;
    let mut hpas = policy(json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}}));
    hpas["metadata"]["name"] = json!("hpas");
    hpas["spec"]["resourceSelectors"] = json!([{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}]);
    stage.create(hpas).await;
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let spec = json!({"minReplicas": 2, "maxReplicas": 10, "metrics": cpu(70), "scaleTargetRef": workload});
    stage
        .create(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "prod"}, "spec": spec}))
        .await;
    stage.fleet.load().set("prod", "web", 140);
    stage.pass(240).await;
    assert_eq!((stage.bounds().await, sum(&stage).await), ("2..10 2..10".to_owned(), 8), "{}", stage.replicas().await);
    let web = stage.get("Deployment", "web").await;
    assert_eq!(text(&web, "/metadata/labels/resourcetemplate.karmada.io~1retain-replicas"), "true");
    assert_eq!(int(&web, "/spec/replicas"), Some(3), "the template keeps what its author wrote");
}

#[test]
fn every_manifest_of_the_documentation_passes_the_command_line() {
    let mut documents = Vec::new();
    for (number, Documented { spec, .. }) in DOCUMENTED.iter().enumerate() {
        let (name, mut spec) = (format!("web{number}"), spec());
        spec["scaleTargetRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        documents.push(json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"}, "spec": spec}));
    }
    let rules = json!({"scaleTargetRef": federated_web(), "rules": [each_minute("targetMinReplicas")]});
    documents.push(json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": rules}));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": documents});
    let checked = fhpa_with_input(&["validate", "-"], list.to_string().as_bytes());
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}
