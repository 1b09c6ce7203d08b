//! Several workloads in the same clusters: their runs, and how they are printed and drawn. No I/O.

pub(super) mod chart;
pub(super) mod comparison;
pub(super) mod export;
pub(super) mod table;

use std::cmp::Reverse;

use super::CHART_POINTS;
use crate::simulation::{Figures, FleetFigures, FleetRecord, Scenario, Second, Workload, optimum, run_fleet};

/// A run of a fleet with its samples.
pub(super) struct FleetOutcome {
    pub(super) figures: FleetFigures,
    /// Samples for the table.
    pub(super) table: FleetRecord,
    /// Samples for the chart.
    pub(super) chart: FleetRecord,
}

impl FleetOutcome {
    pub(super) fn of(scenario: &Scenario<'_>, sample: Second) -> Self {
        let (mut table, mut chart) = records(scenario, sample);
        let figures = run_fleet(scenario, |frame| {
            table.take(frame);
            chart.take(frame);
        });
        Self { figures, table, chart }
    }

    /// What is possible for one who knows the future.
    pub(super) fn optimum(scenario: &Scenario<'_>, sample: Second) -> Self {
        let (mut table, mut chart) = records(scenario, sample);
        let figures = optimum(scenario, |frame| {
            table.take(frame);
            chart.take(frame);
        });
        Self { figures, table, chart }
    }

    /// The workload that is worst off: longest below its min, then with the smallest part of its load served, then the
    /// first.
    pub(super) fn worst<'s, 'a>(&'s self, scenario: &'s Scenario<'a>) -> Option<(&'s Workload<'a>, &'s Figures)> {
        let workloads = scenario.workloads.iter().zip(&self.figures.workloads);
        workloads.min_by_key(|(_, figures)| (Reverse(figures.below_min_seconds), figures.served()))
    }
}

fn records(scenario: &Scenario<'_>, sample: Second) -> (FleetRecord, FleetRecord) {
    let points = scenario.duration.checked_div(CHART_POINTS).unwrap_or(1);
    (FleetRecord::each(sample), FleetRecord::each(points))
}
