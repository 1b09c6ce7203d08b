//! How long a review takes; only looked at by hand.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use std::time::Duration;

use super::world::{Others, review, reviewer};

#[test]
#[ignore = "a measurement"]
#[allow(clippy::disallowed_methods)]
fn time_of_a_review() {
    let metric = |i| {
        format!(
            r#"{{"type":"Pods","pods":{{"metric":{{"name":"requests-per-second-{i}","selector":{{"matchLabels":{{"app":"web"}}}}}},"target":{{"type":"AverageValue","averageValue":"100"}}}}}}"#
        )
    };
    let metrics: Vec<String> = (0..6).map(metric).collect();
    let fields = r#"{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:maxReplicas":{},"f:metrics":{},"f:minReplicas":{},"f:scaleTargetRef":{}}}"#;
    let entry = format!(
        r#"{{"manager":"kubectl","operation":"Update","apiVersion":"autoscaling.karmada.io/v1alpha1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
    );
    let object = format!(
        r#"{{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"FederatedHPA","metadata":{{"name":"web","namespace":"prod","uid":"7b9c7f8e-1111-2222-3333-444455556666","resourceVersion":"12345","generation":3,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"web","team":"shop"}},"annotations":{{"note":"{}"}},"managedFields":[{entry},{entry}]}},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},"minReplicas":2,"maxReplicas":10,"metrics":[{}],"behavior":{{"scaleUp":{{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[{{"type":"Pods","value":4,"periodSeconds":60}},{{"type":"Percent","value":100,"periodSeconds":60}}]}},"scaleDown":{{"stabilizationWindowSeconds":300,"selectPolicy":"Max","policies":[{{"type":"Percent","value":10,"periodSeconds":60}}]}}}},"mode":"Distributed"}}}}"#,
        "x".repeat(600),
        metrics.join(",")
    );
    let cron_object = |n: usize| {
        let rules: Vec<String> = (0..n).map(|i| format!(r#"{{"name":"rule-{i}","schedule":"{} {} * * 1-5","targetReplicas":{i},"timeZone":"Asia/Shanghai","suspend":false,"successfulHistoryLimit":3,"failedHistoryLimit":3}}"#, i % 60, i % 24)).collect();
        format!(
            r#"{{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"CronFederatedHPA","metadata":{{"name":"web","namespace":"prod"}},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},"rules":[{}]}}}}"#,
            rules.join(",")
        )
    };
    let reviewer = reviewer(Others::default());
    for (name, endpoint, object) in [
        ("validate", Endpoint::ValidateFederatedHPA, object.clone()),
        ("mutate", Endpoint::MutateFederatedHPA, object.clone()),
        ("cron 1", Endpoint::ValidateCronFederatedHPA, cron_object(1)),
        ("cron 5", Endpoint::ValidateCronFederatedHPA, cron_object(5)),
        ("cron 50", Endpoint::ValidateCronFederatedHPA, cron_object(50)),
    ] {
        assert!(review(&reviewer, endpoint, Operation::Create, &object, None).denial.is_none());
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let start = std::time::Instant::now();
            for _ in 0..200 {
                std::hint::black_box(review(&reviewer, endpoint, Operation::Create, &object, None));
            }
            best = best.min(start.elapsed() / 200);
        }
        println!("{name} {} bytes: {best:?}", object.len());
    }
}
