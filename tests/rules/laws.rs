//! Laws for every object.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::cases::{cron, federated_with};
use super::upstream::patched;
use super::world::{Others, create, review, reviewer, said};

/// Any JSON, built from the words of both kinds so that it comes near to them.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "",
        "apps/v1",
        "Deployment",
        "Resource",
        "Pods",
        "Utilization",
        "cpu",
        "500m",
        "0 8 * * *",
        "Asia/Shanghai",
        "Distributed",
        "StaticWeighted",
        "In",
        "Max",
        "Percent",
        "FederatedHPA",
        "autoscaling.karmada.io/v1alpha1",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..100).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let names = prop::sample::select(vec![
            "spec",
            "metadata",
            "name",
            "namespace",
            "labels",
            "scaleTargetRef",
            "apiVersion",
            "kind",
            "minReplicas",
            "maxReplicas",
            "metrics",
            "type",
            "resource",
            "target",
            "averageUtilization",
            "averageValue",
            "pods",
            "metric",
            "selector",
            "behavior",
            "scaleUp",
            "policies",
            "value",
            "periodSeconds",
            "tolerance",
            "rules",
            "schedule",
            "timeZone",
            "targetReplicas",
            "targetMinReplicas",
            "mode",
            "federatedHPAAssignment",
            "clusterAutoscalingPreference",
            "targetCluster",
            "staticWeight",
            "clusterHPAPreference",
            "maxResourceUsage",
            "status",
            "maxDelaySeconds",
            "suspend",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..8).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
}

/// A FederatedHPA that is right.
fn good() -> impl Strategy<Value = Value> {
    let metric = prop_oneof![
        (1..200).prop_map(|percent| json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}})),
        (1..9000).prop_map(|value| json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": format!("{value}m")}}})),
        (1..9000).prop_map(|value| json!({"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": value}}})),
    ];
    let rules = prop::option::of(
        (prop::option::of(0..=3600), prop::option::of(prop::sample::select(vec!["Max", "Min", "Disabled"])))
            .prop_map(|(window, policy)| json!({"stabilizationWindowSeconds": window, "selectPolicy": policy})),
    );
    let behavior =
        prop::option::of((rules.clone(), rules).prop_map(|(up, down)| json!({"scaleUp": up, "scaleDown": down})));
    let metrics = prop::option::of(prop::collection::vec(metric, 0..4));
    let mode = prop::option::of(prop::sample::select(vec!["Distributed", "Centralized"]));
    (prop::option::of(1..50), 50..1000, metrics, behavior, mode).prop_map(|(min, max, metrics, behavior, mode)| {
        json!({
            "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": "web", "namespace": "prod"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": min, "maxReplicas": max, "metrics": metrics, "behavior": behavior, "mode": mode,
            },
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_good_object_is_admitted_once_it_is_defaulted(object in good()) {
        let first = create(Endpoint::MutateFederatedHPA, &object.to_string());
        let defaulted = patched(object, &first);
        let second = create(Endpoint::MutateFederatedHPA, &defaulted.to_string());
        prop_assert_eq!(second.patch, vec![]);
        let verdict = create(Endpoint::ValidateFederatedHPA, &defaulted.to_string());
        prop_assert_eq!(said(&verdict), "");
    }

    #[test]
    fn no_json_makes_a_review_panic_and_no_warning_is_huge(object in any_json(), old in any_json()) {
        let reviewer = reviewer(Others::default());
        for endpoint in Endpoint::ALL {
            for old in [None, Some(old.to_string())] {
                let operation = if old.is_some() { Operation::Update } else { Operation::Create };
                let verdict = review(&reviewer, endpoint, operation, &object.to_string(), old.as_deref());
                prop_assert!(verdict.warnings.iter().all(|warning| warning.text.chars().count() <= 1_003));
            }
        }
    }

    #[test]
    fn an_update_that_changes_nothing_is_admitted(object in any_json()) {
        let object = json!({"metadata": {"name": "web", "namespace": "prod"}, "spec": object}).to_string();
        let reviewer = reviewer(Others::default());
        for endpoint in [Endpoint::ValidateFederatedHPA, Endpoint::ValidateCronFederatedHPA] {
            let verdict = review(&reviewer, endpoint, Operation::Update, &object, Some(&object));
            prop_assert_eq!(verdict.denial, None);
        }
    }

    #[test]
    fn defaulting_any_object_twice_changes_nothing(spec in any_json()) {
        let object = json!({"metadata": {"name": "web", "namespace": "prod"}, "spec": spec});
        for endpoint in [Endpoint::MutateFederatedHPA, Endpoint::MutateCronFederatedHPA] {
            let first = create(endpoint, &object.to_string());
            if first.denial.is_none() {
                let defaulted = patched(object.clone(), &first);
                prop_assert_eq!(create(endpoint, &defaulted.to_string()).patch, vec![]);
            }
        }
    }
}

/// Objects made to cost much, each about a megabyte divided by `part`.
fn hostile(part: usize) -> [String; 7] {
    let many =
        |count: usize, element: &dyn Fn(usize) -> String| (0..count / part).map(element).collect::<Vec<_>>().join(",");
    let rule = |schedule: &str, zone: &str| {
        let (schedule, zone) = (schedule.to_owned(), zone.to_owned());
        move |index: usize| {
            format!(r#"{{"name":"r{index}","schedule":"{schedule}","timeZone":"{zone}","targetReplicas":{index}}}"#)
        }
    };
    let preferences = many(9_000, &|index| format!(r#"{{"targetCluster":{{"clusterNames":["m{index}"]}}}}"#));
    [
        cron(&many(9_000, &rule("0 8 * * *", "UTC"))),
        cron(&many(9_000, &rule("0 8 29 2 *", "Europe/Berlin"))),
        cron(&many(9_000, &rule("0 8 * * 9", "Europe/Berlim"))),
        cron(&many(9_999, &|_| r#"{"ruleName":"a"}"#.to_owned())),
        federated_with(&format!(r#""metrics":[{}]"#, many(9_999, &|_| r#"{"type":"Podz"}"#.to_owned()))),
        federated_with(&format!(
            r#""federatedHPAAssignment":{{"federatedHPAAssignmentType":"Duplicated","clusterAutoscalingPreference":[{preferences}]}}"#
        )),
        federated_with(&format!(r#""metrics":[{}]"#, many(300_000, &|_| "{}".to_owned()))),
    ]
}

/// What all reviews of an object allocate, in times and bytes.
fn allocated(object: &str) -> (u64, u64) {
    let reviewer = reviewer(Others::default());
    let old = object.replace("prod", "test").replace("10", "11");
    let cost = allocation_counter::measure(|| {
        for endpoint in Endpoint::ALL {
            review(&reviewer, endpoint, Operation::Update, object, Some(&old));
        }
    });
    (cost.count_total, cost.bytes_total)
}

/// Four times the size may cost four times as much; work that grows with the square costs sixteen times as much.
#[test]
fn a_hostile_object_costs_no_more_than_its_size() {
    allocated(&cron(""));
    for (quarter, whole) in hostile(4).into_iter().zip(hostile(1)) {
        let ((times, bytes), (few_times, few_bytes)) = (allocated(&whole), allocated(&quarter));
        let head: String = whole.chars().skip(180).take(120).collect();
        assert!(times <= 5 * few_times + 1_000, "{times} allocations, {few_times} for a quarter of {head}");
        assert!(bytes <= 5 * few_bytes + 100_000, "{bytes} bytes, {few_bytes} for a quarter of {head}");
        assert!(bytes <= 1_500 * whole.len() as u64, "{bytes} bytes for {} of {head}", whole.len());
    }
}
