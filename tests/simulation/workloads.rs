//! Several workloads that share clusters: the engine by laws and by worked examples, and the scenarios of the command.

use std::collections::BTreeMap;

use fhpa::decision::capacity::{Amounts, Demand};
use fhpa::decision::fleet::api_enablements::GroupVersionKind;
use fhpa::decision::fleet::candidates::Intent;
use fhpa::decision::fleet::placement::Placement;
use fhpa::decision::fleet::{Member, Readiness};
use fhpa::decision::hpa::metric::{Source, Target};
use fhpa::decision::plan::{Bounds, HpaVersion, Policy, Request};
use fhpa::simulation::{
    Curve, Disruption, Driver, Fault, FleetFigures, Point, Scenario, Second, Sharing, Site, Start, Tally, Timing,
    Workload, optimum, run_fleet,
};
use proptest::prelude::*;

const LOST: Second = 120;

fn cpu(millis: i64) -> Demand {
    Demand::from_iter([("cpu".to_owned(), i128::from(millis))])
}

/// So many CPUs, for any number of pods.
fn cpus(number: u32) -> Amounts {
    [("cpu".to_owned(), i128::from(number) * 1000), ("pods".to_owned(), 1_000_000_000)].into_iter().collect()
}

fn site(name: String, number: u32) -> Site<'static> {
    Site {
        member: Member { name: name.into(), readiness: Readiness::Ready, ..Member::default() },
        version: HpaVersion::V2,
        capacity: cpus(number),
        growth: None,
        pod_start: None,
        writable: true,
    }
}

/// A workload of pods of one CPU that has `replicas` in the clusters, of which its load needs `busy` in a hundred.
fn workload<'a>(
    name: String,
    placement: &'a Placement<'a>,
    total: Bounds,
    replicas: &[u32],
    busy: u64,
) -> Workload<'a> {
    let all: u64 = replicas.iter().map(|replicas| u64::from(*replicas)).sum();
    Workload {
        name: name.into(),
        asked: Request { total, scale_assist: true, ..Request::default() },
        intent: Intent {
            assignment: None,
            kind: GroupVersionKind::default(),
            affinity: None,
            placement,
            observed_group: "",
            neighbours: fhpa::decision::fleet::workload_affinity::Neighbours::default(),
        },
        policy: Some(Policy::Aggregated),
        driver: Driver::Controller,
        metric: (Source::Resource { name: "cpu".into() }, Target::Utilization(80)),
        behavior: None,
        saturation: 1250,
        pod_start: 10,
        each: cpu(1000),
        priority: 0,
        load: Curve { points: vec![Point { at: 0, ramp: 0, load: all * 10 * busy }], ..Curve::default() },
        shares: BTreeMap::new(),
        starts: replicas
            .iter()
            .map(|replicas| Start { replicas: Some(*replicas).filter(|own| *own > 0), usage: None })
            .collect(),
    }
}

fn fleet<'a>(workloads: Vec<Workload<'a>>, sites: Vec<Site<'a>>, duration: Second) -> Scenario<'a> {
    Scenario {
        workloads,
        sharing: Sharing::Ledger,
        sites,
        faults: vec![Fault { from: LOST, to: Second::MAX, trouble: Disruption::Down(0) }],
        timing: Timing { capacity_report: 10, failover: 2, ..Timing::default() },
        duration,
    }
}

/// The workloads in the last second.
fn end(scenario: &Scenario<'_>) -> (FleetFigures, Vec<Tally>) {
    let mut last = Vec::new();
    let figures = run_fleet(scenario, |frame| last = frame.workloads.to_vec());
    (figures, last)
}

/// Eight idle workloads of two pods; six of them run where 16 CPUs are lost, and 16 are left.
fn eight<'a>(placement: &'a Placement<'a>, sharing: Sharing) -> Scenario<'a> {
    let workload = |number: usize| {
        let replicas = if number < 6 { [2, 0, 0] } else { [0, 2, 0] };
        workload(format!("w{number}"), placement, Bounds { min: 2, max: 4 }, &replicas, 10)
    };
    let sites = vec![site("m1".into(), 16), site("m2".into(), 8), site("m3".into(), 8)];
    Scenario { sharing, ..fleet((0..8).map(workload).collect(), sites, 1200) }
}

#[test]
fn of_sixteen_cpus_that_are_left_eight_workloads_have_two_each() {
    let placement = Placement::default();
    let (_, last) = end(&eight(&placement, Sharing::Ledger));
    let ready: Vec<u64> = last.iter().map(|tally| tally.ready).collect();
    assert_eq!(ready, [2; 8], "{last:?}");
}

#[test]
fn the_optimum_is_a_bound_of_every_run() {
    let placement = Placement::default();
    let best = optimum(&eight(&placement, Sharing::Ledger), |_| ());
    for sharing in [Sharing::Ledger, Sharing::Alone] {
        let figures = run_fleet(&eight(&placement, sharing), |_| ());
        assert!(best.whole.unserved <= figures.whole.unserved, "{sharing:?}");
        assert!(best.whole.below_min_seconds <= figures.whole.below_min_seconds, "{sharing:?}");
    }
    assert_eq!((best.whole.unserved, best.whole.below_min_seconds), (0, 0));
    assert_eq!(best.whole.replica_seconds, 16 * 1200, "all at their min");
}

#[test]
fn who_has_the_greater_priority_fails_over_first() {
    let placement = Placement::default();
    let mut scenario = eight(&placement, Sharing::Ledger);
    scenario.workloads[5].priority = 10;
    let mut back: BTreeMap<usize, Second> = BTreeMap::new();
    run_fleet(&scenario, |frame| {
        for (at, tally) in frame.workloads.iter().enumerate() {
            if frame.second > LOST + 5 && tally.ready == 2 {
                back.entry(at).or_insert(frame.second);
            }
        }
    });
    let others = (0..5).map(|at| back[&at]);
    assert!(others.clone().all(|second| second > back[&5]), "{back:?}");
    assert!(others.is_sorted(), "then the older one: {back:?}");
}

#[test]
fn nodes_hold_what_all_workloads_request_and_no_more() {
    let placement = Placement::default();
    let sites = vec![site("m1".into(), 2), site("m2".into(), 4)];
    let workloads = ["a", "b"].map(|name| workload(name.into(), &placement, Bounds { min: 2, max: 8 }, &[1, 1], 300));
    let mut most = 0;
    run_fleet(&fleet(workloads.into(), sites, 300), |frame| {
        most = most.max(Tally::sum(frame.workloads).placed);
    });
    assert_eq!(most, 6, "both want six");
}

/// How many random fleets: `FHPA_FLEETS` has more.
fn fleets() -> ProptestConfig {
    let cases = std::env::var("FHPA_FLEETS").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(24))
}

/// For each of some workloads the cluster that has its first pod and its min; then the CPUs beyond the need in each
/// cluster that stays.
type Told = (Vec<(usize, u32, i32)>, Vec<u32>);

fn told() -> impl Strategy<Value = Told> {
    let workload = (0..3_usize, 1..4_u32, -1..2_i32);
    (prop::collection::vec(workload, 2..9), prop::collection::vec(0..3_u32, 2))
}

proptest! {
    #![proptest_config(fleets())]

    #[test]
    fn where_the_room_that_is_left_is_enough_for_all_none_ends_below_its_min((told, spare) in told()) {
        let placement = Placement::default();
        let first: Vec<u32> = (0..3).map(|at| told.iter().filter(|own| own.0 == at).map(|own| own.1).sum()).collect();
        // What the lost cluster ran fits into the others, somehow divided over them, and one more of each workload: an
        // HPA runs at least one replica, so that a workload in two clusters may run one more than its min.
        let more = u32::try_from(told.len()).unwrap();
        let room = [first[1] + first[0] / 2 + spare[0], first[2] + first[0].div_ceil(2) + more + spare[1]];
        let sites = vec![site("m1".into(), first[0] + 4), site("m2".into(), room[0]), site("m3".into(), room[1])];
        let workloads = told.iter().enumerate().map(|(number, (at, min, priority))| {
            let mut replicas = [0; 3];
            replicas[*at] = *min;
            let total = Bounds { min: *min, max: 2 * min };
            let mut own = workload(format!("w{number}"), &placement, total, &replicas, 10);
            own.priority = *priority;
            own
        });
        let scenario = fleet(workloads.collect(), sites, 1800);
        let (figures, last) = end(&scenario);
        prop_assert!(last.iter().all(|tally| tally.below_min == 0), "{:?} {last:#?}", room);
        prop_assert!(figures.whole.last_write.is_some_and(|second| second < 1500), "it is quiet: {:?}", figures.whole);
    }

    #[test]
    fn the_same_fleet_gives_the_same_run((told, spare) in told()) {
        let placement = Placement::default();
        let sites = vec![site("m1".into(), 8), site("m2".into(), 4 + spare[0]), site("m3".into(), 4 + spare[1])];
        let workloads = told.iter().enumerate().map(|(number, (at, min, _))| {
            let mut replicas = [0; 3];
            replicas[*at] = *min;
            let total = Bounds { min: *min, max: 3 * min };
            workload(format!("w{number}"), &placement, total, &replicas, 120)
        });
        let scenario = fleet(workloads.collect(), sites, 700);
        prop_assert_eq!(end(&scenario), end(&scenario));
    }
}

#[test]
fn three_hundred_workloads_are_simulated() {
    let placement = Placement::default();
    let sites = vec![site("m1".into(), 400), site("m2".into(), 400), site("m3".into(), 400)];
    let workloads = (0..300).map(|number| {
        let total = Bounds { min: 2, max: 6 };
        workload(format!("w{number}"), &placement, total, &[1, 1, 0], 60)
    });
    let scenario = fleet(workloads.collect(), sites, 1500);
    let (figures, last) = end(&scenario);
    assert!(last.iter().all(|tally| tally.ready >= 2), "{:?}", figures.whole);
    assert_eq!(figures.workloads.len(), 300);
}
