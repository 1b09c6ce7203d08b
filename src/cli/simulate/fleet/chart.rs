//! Runs of a fleet -> an SVG. No I/O.

use plotters::prelude::*;

use super::FleetOutcome;
use super::comparison::FleetRun;
use crate::cli::simulate::axes::{
    Area, Axes, COLORS, Drawn, FONT, INK, OTHERS, above_and_below, mark, marks, message_of, real, side_by_side, steps,
};
use crate::cli::simulate::table::{hours, percent};
use crate::cli::terminal::printable;
use crate::simulation::{FleetRecord, Scenario, Tally};

/// Most workloads with a line of their own.
const LINES: usize = 60;
const READY: RGBColor = RGBColor(78, 121, 167);
const MISSING: RGBColor = RGBColor(214, 39, 40);

/// One run: ready against wanted over all workloads above, and each workload below.
pub(in crate::cli::simulate) fn single(title: &str, scenario: &Scenario<'_>, outcome: &FleetOutcome) -> Drawn<String> {
    let sheet = Sheet { scenario, record: &outcome.chart };
    above_and_below(360, |upper, lower| {
        sheet.whole(upper, &format!("{title}: {}", summed(outcome)), true, sheet.top())?;
        sheet.each(lower)
    })
}

/// Several runs of one fleet, side by side on one scale.
pub(in crate::cli::simulate) fn compared(title: &str, scenario: &Scenario<'_>, runs: &[FleetRun]) -> Drawn<String> {
    let named = |run: &FleetRun| format!("{}: {}", run.name, summed(&run.outcome));
    let sheets: Vec<_> = runs.iter().map(|run| (named(run), Sheet { scenario, record: &run.outcome.chart })).collect();
    let top = sheets.iter().map(|(_, sheet)| sheet.top()).max().unwrap_or(1);
    side_by_side(title, &sheets, |area, (title, sheet)| sheet.whole(area, title, false, top))
}

fn summed(outcome: &FleetOutcome) -> String {
    let figures = &outcome.figures.whole;
    let (served, hours) = (percent(figures.served()), hours(figures.replica_seconds));
    format!("{served} served, {} s below min, {hours} replica-hours", figures.below_min_seconds)
}

/// A chart.
#[derive(Clone, Copy)]
struct Sheet<'s> {
    scenario: &'s Scenario<'s>,
    record: &'s FleetRecord,
}

impl Sheet<'_> {
    /// The greatest number of replicas that are ready or wanted.
    fn top(&self) -> u64 {
        let of = |tally: Tally| tally.ready.max(tally.wanted);
        self.record.samples.iter().map(|sample| of(sample.whole())).max().unwrap_or_default().max(1)
    }

    /// A step line of a number of replicas.
    fn line(&self, of: impl Fn(&[Tally]) -> u64) -> Vec<(f64, f64)> {
        steps(self.record.samples.iter().map(|sample| (sample.second, real(of(&sample.workloads)))))
    }

    fn whole(&self, area: &Area<'_, '_>, title: &str, legend: bool, top: u64) -> Drawn {
        let height = real(top) * 1.15;
        let axes = Axes::of_run(title, legend, height, "replicas of all");
        let mut chart = axes.draw(area, self.scenario.duration)?;
        let ready = self.line(|tallies| Tally::sum(tallies).ready);
        let area = Polygon::new(under(&ready), READY.mix(0.75));
        let drawn = chart.draw_series([area]).map_err(message_of)?;
        drawn.label("ready").legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], READY.mix(0.75).filled()));
        let wanted = self.line(|tallies| Tally::sum(tallies).wanted);
        let drawn = chart.draw_series(LineSeries::new(wanted, INK.stroke_width(2))).map_err(message_of)?;
        drawn.label("wanted").legend(|(x, y)| PathElement::new([(x, y), (x + 14, y)], INK.stroke_width(2)));
        let below = self.line(|tallies| Tally::sum(tallies).below_min);
        let drawn = chart.draw_series(LineSeries::new(below, MISSING.stroke_width(2))).map_err(message_of)?;
        let label = drawn.label("workloads below minReplicas");
        label.legend(|(x, y)| PathElement::new([(x, y), (x + 14, y)], MISSING.stroke_width(2)));
        mark(&mut chart, marks(self.scenario, &self.record.events), height, legend)?;
        if legend {
            let mut labels = chart.configure_series_labels();
            labels.position(SeriesLabelPosition::LowerRight).background_style(WHITE.mix(0.85)).border_style(OTHERS);
            labels.label_font((FONT, 12)).draw().map_err(message_of)?;
        }
        Ok(())
    }

    /// The ready replicas of each workload.
    fn each(&self, area: &Area<'_, '_>) -> Drawn {
        let most = |tallies: &[Tally]| tallies.iter().take(LINES).map(|tally| tally.ready).max().unwrap_or_default();
        let top = self.record.samples.iter().map(|sample| most(&sample.workloads)).max().unwrap_or_default().max(1);
        let axes =
            Axes { title: None, below: 26, top: real(top) * 1.1, labels: 6, what: Some("ready replicas of each") };
        let mut chart = axes.draw(area, self.scenario.duration)?;
        for (at, workload) in self.scenario.workloads.iter().enumerate().take(LINES) {
            let line = self.line(|tallies| tallies.get(at).map_or(0, |tally| tally.ready));
            let color = COLORS.get(at).copied().unwrap_or(OTHERS);
            let drawn = chart.draw_series(LineSeries::new(line, color.stroke_width(2))).map_err(message_of)?;
            if at < COLORS.len() {
                let legend = move |(x, y)| PathElement::new([(x, y), (x + 14, y)], color.stroke_width(2));
                drawn.label(printable(&workload.name)).legend(legend);
            }
        }
        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.85)).border_style(OTHERS);
        labels.label_font((FONT, 11)).draw().map_err(message_of)?;
        Ok(())
    }
}

/// The area below a line.
fn under(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let end = line.last().map(|(at, _)| (*at, 0.0));
    [(0.0, 0.0)].into_iter().chain(line.iter().copied()).chain(end).collect()
}
