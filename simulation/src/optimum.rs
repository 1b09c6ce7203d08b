//! The best that any autoscaler could do that knows load and faults beforehand: a bound to compare runs with. Pure.

use std::cmp::Reverse;

use super::frame::{FleetFrame, Tally};
use super::{Disruption, Figures, FleetFigures, Scenario, Second, Workload};
use decision::capacity::{Amounts, Summary};
use decision::split::Replicas;

/// At each second every workload has as many ready replicas as its load asks for within its bounds, as far as they fit
/// into the clusters that are up, with all nodes that can be added, together: who has the greater priority first, then
/// the older. Pods are at no time moved, started or waited for, and a cluster's limit is none for a single pod. So no
/// run serves a workload better, unless it leaves less to those that come first.
pub fn optimum(scenario: &Scenario<'_>, mut look: impl FnMut(&FleetFrame<'_>)) -> FleetFigures {
    let mut order: Vec<(usize, &Workload<'_>)> = scenario.workloads.iter().enumerate().collect();
    order.sort_by_key(|(_, workload)| Reverse(workload.priority));
    let mut figures =
        FleetFigures { whole: Figures::default(), workloads: vec![Figures::default(); scenario.workloads.len()] };
    let mut before: Option<(Vec<u64>, Vec<bool>)> = None;
    let mut tallies = vec![Tally::default(); scenario.workloads.len()];
    for second in 0..scenario.duration {
        let loads: Vec<u64> = scenario.workloads.iter().map(|workload| workload.load.at(second)).collect();
        let state = (loads, up(scenario, second));
        if before.as_ref() != Some(&state) {
            let mut nodes = nodes(scenario, &state.1);
            for (at, workload) in &order {
                let load = state.0.get(*at).copied().unwrap_or_default();
                if let Some(tally) = tallies.get_mut(*at) {
                    *tally = served(workload, load, &mut nodes);
                }
            }
            before = Some(state);
        }
        figures.workloads.iter_mut().zip(&tallies).for_each(|(figures, tally)| figures.add(tally));
        figures.whole.add(&Tally::sum(&tallies));
        look(&FleetFrame { second, frozen: false, events: &[], workloads: &tallies });
    }
    figures
}

/// Which clusters are up.
fn up(scenario: &Scenario<'_>, second: Second) -> Vec<bool> {
    let mut up = vec![true; scenario.sites.len()];
    for fault in scenario.faults.iter().filter(|fault| (fault.from..fault.to).contains(&second)) {
        if let Disruption::Down(at) = fault.trouble
            && let Some(up) = up.get_mut(at)
        {
            *up = false;
        }
    }
    up
}

/// All nodes of the clusters that are up, as one.
fn nodes(scenario: &Scenario<'_>, up: &[bool]) -> Summary {
    let mut all = Amounts::default();
    for (site, _) in scenario.sites.iter().zip(up).filter(|(_, up)| **up) {
        all.add(site.growth.as_ref().map_or(&site.capacity, |growth| &growth.capacity).clone());
    }
    Summary::idle(&all)
}

fn served(workload: &Workload<'_>, load: u64, nodes: &mut Summary) -> Tally {
    let wanted = workload.wanted(load);
    let replicas: Replicas = wanted.min(nodes.available(&workload.each));
    nodes.count(&workload.each, 0, replicas);
    Tally {
        load,
        unserved: load.saturating_sub(u64::from(replicas).saturating_mul(workload.saturation)),
        wanted: wanted.into(),
        ready: replicas.into(),
        placed: replicas.into(),
        pending: 0,
        below_min: u64::from(replicas < workload.asked.total.min),
        in_effect: 0,
    }
}
