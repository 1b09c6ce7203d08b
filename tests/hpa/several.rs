//! A workload in several clusters: what is not ready in one takes nothing that is needed from another.

use std::sync::Arc;

use fhpa::decision::hpa::decide::{History, Policy};
use fhpa::decision::hpa::limits::Range;
use fhpa::decision::hpa::metric::{Reading, Sample, Source, Target};
use fhpa::decision::hpa::multi_cluster::{Cluster, ClusterMetric, Controls, Gathered, Readings, compute};
use fhpa::decision::hpa::pod::{Phase, Pod, Readiness, ReadyCondition, Requests, Startup};
use fhpa::decision::hpa::replicas::Tolerance;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::vectors::NOW;

fn cpu() -> Source {
    Source::Resource { name: "cpu".into() }
}

fn pods(number: u32, ready: bool) -> Vec<Pod> {
    let long_ago = NOW - SignedDuration::from_secs(3600);
    let mut requests = Requests::default();
    requests.add(&cpu(), 1000);
    let pod = Pod {
        name: "".into(),
        phase: if ready { Phase::Running } else { Phase::Pending },
        deleted: false,
        ready: ready.then(|| ReadyCondition::new(Readiness::Ready, long_ago)),
        started: ready.then_some(long_ago.into()),
        requests: Arc::new(requests),
    };
    vec![pod; usize::try_from(number).unwrap()]
}

/// The replicas after the window, of a CPU target of 50 %.
fn replicas(clusters: Vec<(u32, Vec<Pod>)>, evicting: bool, percent: i64, spec: u32) -> i32 {
    let names = ["a", "b"];
    let (sample, mut readings) = (Sample { value: 10 * percent, at: NOW, window: SignedDuration::ZERO }, Vec::new());
    let mut all = Vec::new();
    for (name, (assigned, pods)) in names.into_iter().zip(clusters) {
        let ready = (0_u32..).zip(&pods).filter(|(_, pod)| pod.is_ready()).map(|(at, _)| (at, sample));
        if !pods.is_empty() {
            readings.push((name, Reading::PerPod(ready.collect())));
        }
        all.push(Cluster { name, assigned, pods: Ok(pods) });
    }
    let metric =
        ClusterMetric { source: cpu(), target: Target::Utilization(50), readings: Readings::Clusters(readings) };
    let observed = Gathered { clusters: all, metrics: vec![metric], duplicated: false, evicting }.combined();
    let policy = Policy { range: Range { min: 1, max: 10_000 }, behavior: None, downscale_window_seconds: 0 };
    let controls = Controls { policy, tolerance: Tolerance::default(), startup: Startup::default() };
    let (spec, mut history) = (i32::try_from(spec).unwrap(), History::default());
    history.recommendations.begin(1, NOW - SignedDuration::from_hours(1));
    compute(&controls, spec, Some(&observed), NOW, &mut history).write.unwrap_or(spec)
}

proptest! {
    #[test]
    fn a_proportional_division_leaves_the_ready_pods_that_the_load_needs(
        ready in 1..200_u32, waiting in 0..200_u32, exist: bool, percent in 0..50_i64,
    ) {
        let elsewhere = if exist { pods(waiting, false) } else { Vec::new() };
        let all = ready + waiting;
        let wanted = replicas(vec![(ready, pods(ready, true)), (waiting, elsewhere)], false, percent, all);
        let needed = f64::from(ready) * f64::from(i32::try_from(percent).unwrap()) / 50.0;
        let left = f64::from(wanted) * f64::from(ready) / f64::from(all);
        prop_assert!(left >= needed.floor() && wanted <= i32::try_from(all).unwrap(), "{wanted}: {left} of {needed}");
    }

    #[test]
    fn nothing_is_removed_above_the_target(
        ready in 1..200_u32, waiting in 0..200_u32, exist: bool, more in 0..200_u32, percent in 50..300_i64,
    ) {
        let elsewhere = if exist { pods(waiting, false) } else { Vec::new() };
        let spec = ready + waiting + more;
        let wanted = replicas(vec![(ready, pods(ready, true)), (waiting, elsewhere)], false, percent, spec);
        prop_assert!(percent == 50 || wanted >= i32::try_from(spec).unwrap(), "{wanted} of {spec}");
    }
}

#[test]
fn replacements_of_pods_that_are_evicted_stay_until_they_are_ready() {
    let there = || vec![(10, [pods(5, true), pods(5, false)].concat())];
    assert_eq!(replicas(there(), true, 30, 10), 8, "3 of those that are ready, and 5 replacements");
    assert_eq!(replicas(there(), false, 30, 10), 3, "one cluster counts as in Kubernetes");
}
