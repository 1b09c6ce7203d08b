//! Workloads and custom kinds, which are scaled through their subresource.

use fhpa::decision::backoff::ErrorClass;
use fhpa::reconcile::scale_target::{TargetRef, Targets};
use serde_json::{Value, json};

use super::{
    ATTEMPTS, DEPLOYMENT, KARMADA, bounds, define, definition, embedded_with, failure, fleet, make, owners, reference,
    replicas, requests, said, workload,
};
use crate::bed::Bed;
use crate::bed::webhook::{Webhook, denied};
use crate::reconcile::control::{Term, impersonating};

#[tokio::test]
async fn workloads_and_custom_kinds_are_scaled_by_their_subresource() {
    Bed::same("scaling by the subresource", "target-scale", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        define(bed, &definition("scale.example.com", "Namespaced", true)).await;
        let rows = [
            ("apps/v1", "Deployment", "deployments", workload("Deployment", "web", 1)),
            ("apps/v1", "StatefulSet", "statefulsets", workload("StatefulSet", "web", 1)),
            ("scale.example.com/v1", "Fleet", "fleets", fleet("scale.example.com")),
        ];
        let mut lines = Vec::new();
        for (api_version, kind, plural, object) in rows {
            make(bed, plural, &object).await;
            let target = reference(&bed.namespace, api_version, kind, "web");
            for count in [5, 5, 0] {
                lines.push(said(&targets.set(&term.leader, &target, replicas(count)).await));
                let object = bed.get(&bed.path(api_version, &format!("{plural}/web"))).await.body;
                // kube-apiserver forgets who owns replicas that are 0.
                let owners = if count == 0 { Value::Null } else { owners(&object) };
                lines.push(json!([object["spec"]["replicas"], object["spec"]["size"], owners]));
            }
        }
        assert_eq!(lines[0..3].iter().step_by(2).collect::<Vec<_>>(), ["Written", "Unchanged"]);
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_scaled_says_why() {
    Bed::same("targets that cannot be scaled", "target-fixed", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        define(bed, &definition("wide.example.com", "Cluster", true)).await;
        define(bed, &definition("plain.example.com", "Namespaced", false)).await;
        let mut lines = Vec::new();
        for (api_version, kind) in [
            ("apps/v1", "Deployment"),
            ("v1", "ConfigMap"),
            ("v1", "Nothing"),
            ("apps/v9", "Deployment"),
            ("nowhere.example.com/v1", "Fleet"),
            ("wide.example.com/v1", "Fleet"),
            ("plain.example.com/v1", "Fleet"),
            (KARMADA, "CronFederatedHPA"),
            (KARMADA, "FederatedHPA"),
            ("autoscaling.karmada.io/v9", "FederatedHPA"),
        ] {
            let target = reference(&bed.namespace, api_version, kind, "absent");
            let action = if kind == "FederatedHPA" { bounds(Some(1), None) } else { replicas(2) };
            let outcome = targets.set(&term.leader, &target, action).await;
            lines.push(json!([kind, said(&outcome), failure(&outcome.unwrap_err()).message]));
        }
        let reasons: Vec<&Value> = lines.iter().map(|line| &line[1][1]).collect();
        assert_eq!(
            reasons,
            [
                "TargetNotFound",
                "TargetNotScalable",
                "TargetKindUnknown",
                "TargetKindUnknown",
                "TargetKindUnknown",
                "TargetNotScalable",
                "TargetNotScalable",
                "TargetNotScalable",
                "TargetNotFound",
                "TargetKindUnknown"
            ]
        );
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn a_webhook_that_denies_is_quoted() {
    Bed::same("a denied write", "target-denied", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        make(bed, "deployments", &workload("Deployment", "web", 1)).await;
        let freeze = json!({"code": 409, "message": "no changes on Fridays"});
        let hook = Webhook::start(move |review| denied(review, freeze.clone())).await;
        let mut entry = hook.entry("freeze.example.com", json!({}));
        entry["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": bed.namespace}});
        entry["rules"] = json!([{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"],
            "resources": ["deployments", "deployments/scale"]}]);
        let configuration = json!({"metadata": {"name": format!("freeze.{}", bed.namespace)}, "webhooks": [entry]});
        let root = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        assert_eq!(bed.post(root, &configuration).await.code, 201);
        let path = bed.path("apps/v1", "deployments/web");
        for _ in 0..ATTEMPTS {
            if hook.calls() > 0 {
                break;
            }
            bed.patch("merge", &format!("{path}?dryRun=All"), &json!({"metadata": {"labels": {"a": "b"}}})).await;
        }
        let target = reference(&bed.namespace, "apps/v1", "Deployment", "web");
        let outcome = targets.set(&term.leader, &target, replicas(5)).await;
        let line = json!([said(&outcome), failure(&outcome.unwrap_err()).message]);
        assert_eq!(line[0], json!(["refused", "Rejected"]));
        assert!(line[1].as_str().unwrap().contains("no changes on Fridays"), "{line}");
        line
    })
    .await;
}

#[tokio::test]
async fn a_missing_role_is_told_with_the_verb_that_is_needed() {
    let shows = "a missing role";
    let Some(plane) = crate::cluster::control_plane::ControlPlane::shared(shows) else { return };
    let term = Term::begin().await;
    let namespace = plane.namespace("target-role");
    plane.apply(&workload("Deployment", "web", 1).to_string().replacen(
        "\"name\":\"web\"",
        "\"name\":\"web\",\"namespace\":\"target-role\"",
        1,
    ));
    let readers = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "reader", "namespace": namespace},
        "rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}]});
    plane.apply(&readers.to_string());
    plane.apply(&binding.to_string());
    let target = reference(namespace, "apps/v1", "Deployment", "web");
    let client = plane.client().await;
    for (user, verb, resource) in [("nobody", "get", "deployments"), ("reader", "patch", "deployments/scale")] {
        let targets = Targets::new(impersonating(&client, user));
        let mut outcome = targets.set(&term.leader, &target, replicas(5)).await;
        for _ in 0..ATTEMPTS {
            // The authorizer learns of the binding by a watch.
            if outcome.as_ref().is_err_and(|error| failure(error).message.contains(resource)) {
                break;
            }
            outcome = targets.set(&term.leader, &target, replicas(5)).await;
        }
        let error = outcome.unwrap_err();
        let failure = failure(&error);
        assert_eq!((failure.class, failure.reason), (ErrorClass::Refused, "Forbidden"), "{failure}");
        let needed = format!("allow it the verb {verb:?} on {resource:?} in API group \"apps\"");
        assert!(failure.message.contains(&needed), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_leads_nowhere_else() {
    let server = embedded_with(&[workload("Deployment", "web", 1)]).await;
    let term = Term::begin().await;
    let targets = Targets::new(server.client());
    server.faults().record();
    for name in ["../../default/deployments/web", "web?", "web/scale", "", ".."] {
        let target = TargetRef { name, ..DEPLOYMENT };
        let error = targets.set(&term.leader, &target, replicas(5)).await.unwrap_err();
        assert_eq!(failure(&error).reason, "TargetInvalid", "{name}");
    }
    assert!(requests(&server).is_empty());
}
