//! Laws for every second of every scenario.

use std::collections::BTreeMap;

use fhpa::decision::capacity::Summary;
use fhpa::simulation::{Daily, Disruption, Driver, Fault, Frame, Scenario, Timing, one_pod, run};
use proptest::prelude::*;

use super::fleet::{any_calm, any_scenario};

/// Cluster -> its bounds in effect, as text.
fn bounds(frame: &Frame<'_, '_>) -> BTreeMap<String, String> {
    frame.clusters().map(|seen| (seen.name.to_owned(), format!("{:?} {}", seen.bounds, seen.held))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_sum_of_max_is_within_the_budget_at_every_second(given in any_scenario(4)) {
        let scenario = given.scenario();
        let mut worst = 0;
        run(&scenario, |frame| worst = worst.max(frame.in_effect()));
        prop_assert!(!given.policy.divides() || worst <= u64::from(given.total.max), "{worst} of {}", given.total.max);
    }

    #[test]
    fn with_the_control_plane_frozen_members_go_on_within_their_last_bounds(
        given in any_scenario(0), from in 1..700_i64, long in 60..700_i64,
    ) {
        let mut scenario = given.scenario();
        let to = from + long;
        scenario.faults.push(Fault { from, to, trouble: Disruption::ControlPlaneDown });
        let mut last = BTreeMap::new();
        let mut wrong = Vec::new();
        run(&scenario, |frame| {
            if frame.second == from {
                last = bounds(frame);
            }
            if frame.frozen {
                if bounds(frame) != last {
                    wrong.push(format!("{}: {:?}", frame.second, bounds(frame)));
                }
                // A look later than the last write all are within bounds.
                let within = |seen: fhpa::simulation::ClusterFrame<'_>| {
                    seen.bounds.is_none_or(|bounds| seen.spec <= bounds.max && (seen.spec == 0 || seen.spec >= bounds.min))
                };
                if frame.second > from + 15 && !frame.clusters().all(within) {
                    wrong.push(format!("{}: {:?}", frame.second, frame.clusters().collect::<Vec<_>>()));
                }
            }
        });
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn with_the_control_plane_frozen_members_still_follow_the_load(given in any_scenario(0)) {
        let mut scenario = given.scenario();
        scenario.workloads[0].load.points = vec![
            fhpa::simulation::Point { at: 0, ramp: 0, load: 1000 },
            fhpa::simulation::Point { at: 300, ramp: 0, load: 200_000 },
        ];
        scenario.workloads[0].shares.clear();
        scenario.faults.push(Fault { from: 299, to: 2000, trouble: Disruption::ControlPlaneDown });
        let mut stuck = Vec::new();
        run(&scenario, |frame| {
            if frame.second == 1499 {
                // Up to its max or as far as its nodes reach: at its max, or with pods that wait for a node.
                stuck.extend(frame.clusters().filter(|seen| seen.ready > 0).filter(|seen| {
                    seen.bounds.is_some_and(|bounds| seen.spec < bounds.max && seen.pending == 0)
                }).map(|seen| format!("{seen:?}")));
            }
        });
        prop_assert!(stuck.is_empty(), "{stuck:#?}");
    }

    #[test]
    fn the_same_scenario_gives_the_same_run(given in any_scenario(3)) {
        let scenario = given.scenario();
        prop_assert_eq!(run(&scenario, |_| ()), run(&scenario, |_| ()));
    }

    #[test]
    fn a_replica_is_somewhere_and_only_on_nodes_that_are_there(given in any_scenario(3)) {
        run(&given.scenario(), |frame| {
            for seen in frame.clusters().filter(|seen| seen.up) {
                assert_eq!(seen.spec, seen.placed + seen.pending, "{seen:?}");
                assert!(seen.ready <= seen.placed && seen.placed <= seen.capacity, "{seen:?}");
            }
        });
    }

    #[test]
    fn plain_hpas_are_written_once(given in any_scenario(0)) {
        let mut scenario = given.scenario();
        scenario.workloads[0].driver = Driver::Once;
        scenario.workloads[0].asked.scale_assist = false;
        let figures = run(&scenario, |_| ());
        prop_assert!(figures.last_write == Some(0) && figures.reassignments == 0, "{figures:?}");
    }

    #[test]
    fn a_quiet_fleet_is_still(given in any_scenario(0)) {
        let mut scenario = given.scenario();
        scenario.workloads[0].load.points.truncate(1);
        scenario.duration = 2400;
        let figures = run(&scenario, |_| ());
        prop_assert!(figures.last_write.is_none_or(|second| second < 1800), "{figures:?}");
    }
}

/// The moves of each cluster's max after so many seconds.
fn moves(scenario: &Scenario<'_>, after: i64) -> Vec<(i64, String, i64)> {
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut moves = Vec::new();
    run(scenario, |frame| {
        for seen in frame.clusters() {
            let max = seen.bounds.map_or(0, |bounds| i64::from(bounds.max));
            let before = last.insert(seen.name.to_owned(), max).unwrap_or(max);
            if max != before && frame.second > after {
                moves.push((frame.second, seen.name.to_owned(), max - before));
            }
        }
    });
    moves
}

/// Pairs of moves of one cluster that take each other back, as the seconds between them.
fn reversals(moves: &[(i64, String, i64)]) -> Vec<i64> {
    let mut last: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    let mut back = Vec::new();
    for (at, name, by) in moves {
        if let Some((before, was)) = last.insert(name, (*at, *by))
            && was.signum() != by.signum()
        {
            back.push(at - before);
        }
    }
    back
}

const HOUR: i64 = 3_600;
const WINDOW: i64 = 300;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_load_that_only_wanders_moves_nothing_to_and_fro(given in any_calm()) {
        let mut scenario = given.scenario();
        scenario.timing = Timing { downscale_window: WINDOW, ..Timing::default() };
        let moves = moves(&scenario, HOUR);
        prop_assert!(moves.len() <= 2 * given.sites.len(), "{moves:?}");
        prop_assert!(reversals(&moves).iter().all(|seconds| *seconds >= 12 * WINDOW), "{moves:?}");
    }

    #[test]
    fn equal_clusters_keep_their_order_through_the_day(given in any_calm(), peak in 0..86_400_i64) {
        let mut scenario = given.scenario();
        scenario.timing = Timing { downscale_window: WINDOW, ..Timing::default() };
        let first = scenario.sites[0].capacity.clone();
        scenario.sites.iter_mut().for_each(|site| site.capacity = first.clone());
        let fits = u64::from(Summary::idle(&first).whole(&one_pod())) * scenario.sites.len() as u64;
        scenario.workloads[0].asked.total.max = u32::try_from(fits).unwrap() + 10;
        scenario.workloads[0].load.points.clear();
        scenario.workloads[0].load.daily = Some(Daily { low: fits * 50, high: fits * 600, peak });
        if given.policy.name() == "Aggregated" {
            let moves = moves(&scenario, HOUR);
            prop_assert!(moves.is_empty(), "{moves:?}");
        }
    }
}
