//! Centralized mode in virtual time: one computation, divided by karmada-scheduler.

use fhpa::decision::plan::Policy;
use fhpa::simulation::{Disruption, Driver, Fault, Point, run};
use proptest::prelude::*;

use super::fleet::any_scenario;
use crate::cli::command::fhpa_with_input;

const HPA: &str = "\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: shop}
spec:
  mode: Centralized
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 30
---
";

/// Ready replicas of each cluster in the last sample of a run of ten minutes under a load of 12.
fn settled(placement: &str, clusters: &str) -> Vec<u64> {
    let scenario = format!(
        "{HPA}kind: Simulation\nduration: 10m\nsample: 1m\nplacement: {placement}\nclusters: {clusters}\nload: {{points: [{{at: 0s, \
         replicas: 12}}]}}\n"
    );
    let outcome = fhpa_with_input(&["simulate", "-", "-o", "json"], scenario.as_bytes());
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(json["mode"], "Centralized");
    let last = json["samples"].as_array().unwrap().last().unwrap();
    last["clusters"].as_array().unwrap().iter().map(|cluster| cluster["ready"].as_u64().unwrap()).collect()
}

#[test]
fn replicas_are_divided_as_the_placement_says() {
    let clusters = "{m1: {capacity: 40, replicas: 3}, m2: {capacity: 20, replicas: 3}}";
    let weights = "{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: \
                   {staticWeightList: [{targetCluster: {clusterNames: [m1]}, weight: 1}, {targetCluster: {clusterNames: [m2]}, \
                   weight: 3}]}}}";
    let fixed = settled(weights, clusters);
    assert!(fixed[1] >= 2 * fixed[0] && (11..=14).contains(&(fixed[0] + fixed[1])), "{fixed:?}");
    let aggregated = settled(
        "{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}",
        clusters,
    );
    assert_eq!(aggregated[1], 3, "the cluster with more room gets all that is added: {aggregated:?}");
    let dynamic = settled(
        "{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: \
         AvailableReplicas}}}",
        clusters,
    );
    assert!(dynamic[0] >= dynamic[1] && dynamic[1] > 3, "both have room: {dynamic:?}");
    let duplicated = settled("{replicaScheduling: {replicaSchedulingType: Duplicated}}", clusters);
    assert_eq!(duplicated[0], duplicated[1], "{duplicated:?}");
    assert!((11..=14).contains(&(duplicated[0] + duplicated[1])), "{duplicated:?}");
}

#[test]
fn what_does_not_fit_leaves_the_last_division() {
    let placement = "{replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}";
    assert_eq!(settled(placement, "{m1: {capacity: 4, replicas: 4}, m2: {capacity: 2, replicas: 2}}"), [4, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn replicas_are_within_the_bounds_and_members_have_none_of_their_own(given in any_scenario(3)) {
        let mut scenario = given.scenario();
        scenario.workloads[0].driver = Driver::Centralized;
        let (min, max) = (given.total.min.max(1), given.total.max.max(1));
        let mut wrong = Vec::new();
        run(&scenario, |frame| {
            let replicas = frame.replicas.unwrap();
            if frame.second > 30 && !frame.frozen && !(min..=max.max(min)).contains(&replicas) {
                wrong.push(format!("{}: {replicas}", frame.second));
            }
            if frame.in_effect() != 0 {
                wrong.push(format!("{}: bounds", frame.second));
            }
        });
        let frozen = scenario.faults.iter().any(|fault| fault.trouble == Disruption::ControlPlaneDown);
        prop_assert!(frozen || wrong.is_empty(), "{wrong:?}");
        prop_assert_eq!(run(&scenario, |_| ()), run(&scenario, |_| ()));
    }

    #[test]
    fn with_the_control_plane_down_nothing_scales(given in any_scenario(0), from in 1..700_i64) {
        let mut scenario = given.scenario();
        scenario.workloads[0].driver = Driver::Centralized;
        scenario.faults.push(Fault { from, to: 2000, trouble: Disruption::ControlPlaneDown });
        let mut last = None;
        let mut changed = false;
        run(&scenario, |frame| {
            let now: Vec<_> = frame.clusters().map(|seen| seen.spec).chain(frame.replicas).collect();
            if frame.second > from {
                changed |= last.as_ref() != Some(&now);
            }
            last = Some(now);
        });
        prop_assert!(!changed);
    }

    #[test]
    fn a_cluster_that_is_down_keeps_the_replicas_from_falling(given in any_scenario(0), from in 100..700_i64) {
        let mut scenario = given.scenario();
        (scenario.workloads[0].driver, scenario.workloads[0].policy) = (Driver::Centralized, Some(Policy::StaticWeighted));
        for start in &mut scenario.workloads[0].starts {
            start.replicas = Some(2);
        }
        scenario.workloads[0].load.points.push(Point { at: 705, ramp: 0, load: 0 });
        scenario.workloads[0].load.points.sort_by_key(|point| point.at);
        scenario.faults.push(Fault { from, to: 2000, trouble: Disruption::Down(0) });
        let (mut before, mut fell) = (0, false);
        run(&scenario, |frame| {
            let replicas = frame.replicas.unwrap();
            // Until the toleration of the cluster ends.
            if (from..from + 300).contains(&frame.second) {
                let assigned = frame.clusters().next().is_some_and(|seen| seen.spec > 0);
                fell |= assigned && replicas < before && before <= given.total.max;
            }
            before = replicas;
        });
        prop_assert!(!fell);
    }
}

#[test]
fn a_workload_that_sleeps_is_woken_by_what_waits() {
    let hpa = HPA.replace("minReplicas: 2", "minReplicas: 0").replace(
        "---\n",
        "  metrics:\n  - {type: External, external: {metric: {name: queue}, target: {type: Value, value: \"10\"}}}\n---\n",
    );
    let scenario = format!(
        "{hpa}kind: Simulation\nduration: 30m\nsample: 1m\nplacement: {{replicaScheduling: {{replicaSchedulingType: Divided}}}}\n\
         clusters: {{m1: {{capacity: 30, replicas: 2}}, m2: {{capacity: 30, replicas: 2}}}}\n\
         load: {{points: [{{at: 0s, replicas: 4}}, {{at: 2m, replicas: 0}}, {{at: 12m, replicas: 10}}]}}\n"
    );
    let outcome = fhpa_with_input(&["simulate", "-", "-o", "json"], scenario.as_bytes());
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let ready = |sample: &serde_json::Value| -> u64 {
        sample["clusters"].as_array().unwrap().iter().filter_map(|cluster| cluster["ready"].as_u64()).sum()
    };
    let samples: Vec<u64> = json["samples"].as_array().unwrap().iter().map(ready).collect();
    assert!(samples.contains(&0), "it sleeps: {samples:?}");
    assert!(*samples.last().unwrap() >= 9, "{samples:?}");
}
