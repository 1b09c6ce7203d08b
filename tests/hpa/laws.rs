//! Laws for every input.

use std::sync::Arc;

use fhpa::decision::hpa::behavior::{Behavior, Rules};
use fhpa::decision::hpa::decide::{Decision, History, Policy, decide, follow};
use fhpa::decision::hpa::limits::Range;
use fhpa::decision::hpa::metric::{Metric, Reading, Sample, Source, Target};
use fhpa::decision::hpa::pod::{Container, Phase, Pod, Readiness, ReadyCondition, Requests, Startup};
use fhpa::decision::hpa::replicas::{Tolerance, Workload, replicas};
use fhpa::decision::hpa::uniform::Uniform;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::vectors::NOW;

fn workload(current: i32) -> Workload<'static> {
    Workload {
        spec_replicas: current,
        status_replicas: current,
        calibration: 1.0,
        partial: None,
        pods: &[],
        spread: false,
        tolerance: Tolerance::default(),
        startup: Startup::default(),
        now: NOW,
    }
}

fn external(total: i64, per_pod: i64) -> Metric {
    let source = Source::External { metric: "queue".into(), namespace: "shop".into() };
    Metric { source, target: Target::AverageValue(per_pod), reading: Reading::Total(total) }
}

fn policy(min: i32, max: i32, behavior: Option<Behavior>) -> Policy {
    Policy { range: Range { min, max }, behavior, downscale_window_seconds: 300 }
}

fn default_behavior() -> Behavior {
    Behavior { up: Rules::default_up(), down: Rules::default_down() }
}

fn run(policy: &Policy, current: i32, metric: Metric, history: &mut History, at: i64) -> Decision {
    let now = NOW + SignedDuration::from_secs(at);
    decide(policy, &Workload { now, ..workload(current) }, &[metric], history)
}

#[test]
fn a_target_at_zero_is_left_alone() {
    let done = run(&policy(1, 10, None), 0, external(100, 1), &mut History::default(), 0);
    assert_eq!(done.write, None);
    assert_eq!((done.conditions[0].kind, done.conditions[0].reason), ("ScalingActive", "ScalingDisabled"));
}

#[test]
fn a_target_outside_its_bounds_is_brought_back_without_a_metric() {
    let history = &mut History::default();
    let above = run(&policy(1, 10, None), 12, external(1, 1), history, 0);
    assert_eq!((above.write, above.why.as_str()), (Some(10), "Current number of replicas above Spec.MaxReplicas"));
    let below = run(&policy(3, 10, None), 2, external(1, 1), history, 0);
    assert_eq!((below.write, below.why.as_str()), (Some(3), "Current number of replicas below Spec.MinReplicas"));
}

#[test]
fn scale_down_waits_for_the_window() {
    let policy = policy(1, 10, Some(default_behavior()));
    let history = &mut History::default();
    assert_eq!(run(&policy, 6, external(6, 1), history, 0).write, None);
    let held = run(&policy, 6, external(2, 1), history, 15);
    assert_eq!((held.write, held.conditions[1].reason), (None, "ScaleDownStabilized"));
    assert_eq!(run(&policy, 6, external(2, 1), history, 299).write, None);
    assert_eq!(run(&policy, 6, external(2, 1), history, 315).write, Some(2));
}

#[test]
fn scale_up_is_as_fast_as_the_policies_allow() {
    let policy = policy(1, 100, Some(default_behavior()));
    let history = &mut History::default();
    let done = run(&policy, 2, external(50, 1), history, 0);
    assert_eq!((done.write, done.conditions[2].reason), (Some(6), "ScaleUpLimit"));
    history.scaled(&policy, 2, 6, NOW);
    assert_eq!(run(&policy, 6, external(50, 1), history, 10).write, None);
    assert_eq!(run(&policy, 6, external(50, 1), history, 15).write, Some(12));
}

#[test]
fn more_or_fewer_pods_than_requested_change_nothing_within_the_tolerance() {
    let object =
        Source::Object { metric: "queue".into(), kind: "Service".into(), namespace: "shop".into(), name: "web".into() };
    for source in [external(0, 1).source, object] {
        // Pods of a rollout with surge, of one that waits, and several clusters with a copy each.
        for (there, calibration) in [(13, 1.0), (8, 1.0), (21, 2.0)] {
            let workload = Workload { status_replicas: there, calibration, ..workload(10) };
            for load in [there - 1, there, there + 1] {
                let metric = Metric { source: source.clone(), ..external(load.into(), 1) };
                let (wanted, _) = replicas(&workload, &metric).unwrap();
                assert_eq!(wanted, if (there - load).abs() * 10 <= there { 10 } else { load }, "{load} on {there}");
            }
        }
    }
}

#[test]
fn at_exactly_the_edge_of_the_tolerance_nothing_is_scaled() {
    for thousandths in (5..=500).step_by(5) {
        let part = f64::from(thousandths) / 1000.0;
        let workload = Workload { tolerance: Tolerance { up: part, down: part }, ..workload(1000) };
        let wanted = |load: i32| replicas(&workload, &external(load.into(), 1)).unwrap().0;
        for edge in [1000 - thousandths, 1000 + thousandths] {
            assert_eq!(wanted(edge), 1000, "{edge} at a tolerance of {part}");
            let beyond = if edge > 1000 { edge + 1 } else { edge - 1 };
            assert_eq!(wanted(beyond), beyond, "{beyond} at a tolerance of {part}");
        }
    }
}

#[test]
fn a_metric_that_fails_forbids_to_shrink_only() {
    let failing = Metric { reading: Reading::Unavailable("down".into()), ..external(0, 1) };
    let policy = policy(1, 10, None);
    let shrink = decide(&policy, &workload(5), &[external(2, 1), failing.clone()], &mut History::default());
    assert_eq!((shrink.write, shrink.conditions[0].reason), (None, "FailedGetExternalMetric"));
    let grow = decide(&policy, &workload(5), &[external(8, 1), failing], &mut History::default());
    assert_eq!(grow.write, Some(8));
}

proptest! {
    #[test]
    fn what_is_written_stays_in_bounds(
        current in 1..2000_i32, min in 1..50_i32, more in 0..1000_i32, total in 0..i64::MAX, per_pod in 1..i64::MAX,
        with_behavior: bool, at in 0..100_000_i64,
    ) {
        let policy = policy(min, min + more, with_behavior.then(default_behavior));
        let done = run(&policy, current, external(total, per_pod), &mut History::default(), at);
        if let Some(write) = done.write {
            prop_assert!(write <= min + more, "{write} > {}", min + more);
            prop_assert!(write >= min, "{write} < {min}");
            prop_assert!(write != current);
        }
    }

    #[test]
    fn more_use_never_means_fewer_replicas(current in 1..1000_i32, total in 0..1_000_000_i64, more in 0..1_000_000_i64) {
        let wanted = |total| replicas(&workload(current), &external(total, 1000)).unwrap().0;
        let (less, more) = (wanted(total), wanted(total + more));
        // The tolerance holds the current replicas on both sides of the target.
        prop_assert!(less <= more || (less - more) * 10 <= current, "{less} {more}");
    }
}

/// A running pod that has been ready for long, or one that has just started.
fn pod(number: u32, settled: bool) -> Pod {
    let long_ago = NOW - SignedDuration::from_secs(3600);
    Pod {
        name: number.to_string().into(),
        phase: if settled { Phase::Running } else { Phase::Pending },
        deleted: false,
        ready: settled.then(|| ReadyCondition::new(Readiness::Ready, long_ago)),
        started: settled.then_some(long_ago.into()),
        requests: Arc::new(Requests {
            containers: vec![Container { name: "c".into(), requests: [("cpu".to_owned(), 250)].into() }],
            ..Requests::default()
        }),
    }
}

proptest! {
    #[test]
    fn pods_that_are_all_alike_count_as_they_do_one_by_one(
        settled in 0..30_u32, starting in 0..20_u32, spec in 1..60_i32, value in 0..1500_i64, target in 1..400_i64,
        kind in 0..3_u8,
    ) {
        let pods: Vec<Pod> = (0..settled + starting).map(|number| pod(number, number < settled)).collect();
        let sample = Sample { value, at: NOW, window: SignedDuration::from_secs(15) };
        let samples = (0..settled).map(|number| (number, sample)).collect();
        let (source, target, reading) = match kind {
            0 => (Source::Resource { name: "cpu".into() }, Target::Utilization(target as i32), Reading::PerPod(samples)),
            1 => (Source::Pods { metric: "rps".into() }, Target::AverageValue(target), Reading::PerPod(samples)),
            _ => {
                let (metric, namespace) = ("queue".into(), "shop".into());
                (Source::External { metric, namespace }, Target::Value(target), Reading::Total(value))
            }
        };
        let metric = Metric { source, target, reading };
        let one_by_one = replicas(&Workload { pods: &pods, ..workload(spec) }, &metric).ok().map(|(replicas, _)| replicas);
        let alike = Uniform { spec_replicas: spec, counted: settled, unready: starting, tolerance: Tolerance::default() };
        let counted = alike.replicas(target, value, 250);
        // A metric as a whole is there without a pod, too; a pod that does not count then says nothing.
        prop_assert!(counted == one_by_one || kind == 2 && settled == 0, "{counted:?} {one_by_one:?}");
    }

    #[test]
    fn what_is_followed_is_what_is_decided(
        totals in prop::collection::vec((0..40_i64, 1..40_i64), 1..12), min in 0..5_i32, more in 0..20_i32, plain in any::<bool>(),
    ) {
        let policy = policy(min, min + more.max(1), (!plain).then(default_behavior));
        let (mut decided, mut followed) = (History::default(), History::default());
        let (mut current, mut at) = (3, 0);
        for (total, later) in totals {
            at += later;
            let now = NOW + SignedDuration::from_secs(at);
            let wanted = replicas(&Workload { now, ..workload(current) }, &external(total, 1)).ok().map(|(replicas, _)| replicas);
            let one = run(&policy, current, external(total, 1), &mut decided, at).write;
            let other = follow(&policy, current, now, &mut followed, || wanted);
            prop_assert_eq!(one, other);
            if let Some(replicas) = one {
                decided.scaled(&policy, current, replicas, now);
                followed.scaled(&policy, current, replicas, now);
                current = replicas;
            }
        }
    }
}
