//! Runs -> an SVG. No I/O.

use plotters::prelude::*;

use super::super::terminal::printable;
use super::Outcome;
use super::axes::{
    Area, Axes, COLORS, Chart, Drawn, FONT, INK, OTHERS, above_and_below, mark, marks, message_of, real, side_by_side,
    steps, time,
};
use super::comparison::Run;
use super::table::{hours, percent, whole};
use crate::simulation::{Driver, Figures, Record, Row, Sample, Scenario, Workload};

const CAPACITY: RGBColor = RGBColor(120, 120, 120);
const UNSERVED: RGBColor = RGBColor(214, 39, 40);

/// One run: replicas, load and capacity above, bounds below.
pub(super) fn single(
    title: &str,
    (scenario, workload): (&Scenario<'_>, &Workload<'_>),
    outcome: &Outcome,
) -> Drawn<String> {
    let sheet = Sheet { scenario, workload, record: &outcome.chart };
    above_and_below(380, |upper, lower| {
        sheet.replicas(upper, &format!("{title}: {}", summed(&outcome.figures)), true, sheet.top())?;
        sheet.bounds(lower)
    })
}

/// Several runs of one scenario, side by side on one scale.
pub(super) fn compared(
    title: &str,
    (scenario, workload): (&Scenario<'_>, &Workload<'_>),
    runs: &[Run],
) -> Drawn<String> {
    let named = |run: &Run| format!("{}: {}", run.name, summed(&run.outcome.figures));
    let sheets: Vec<_> =
        runs.iter().map(|run| (named(run), Sheet { scenario, workload, record: &run.outcome.chart })).collect();
    let top = sheets.iter().map(|(_, sheet)| sheet.top()).max().unwrap_or(1);
    side_by_side(title, &sheets, |area, (title, sheet)| sheet.replicas(area, title, false, top))
}

fn summed(figures: &Figures) -> String {
    let (served, unserved) = (percent(figures.served()), whole(figures.unserved));
    let hours = hours(figures.replica_seconds);
    format!(
        "{served} served, {unserved} replica-seconds not, {hours} replica-hours, {} reassignments",
        figures.reassignments
    )
}

/// A chart.
#[derive(Clone, Copy)]
struct Sheet<'s> {
    scenario: &'s Scenario<'s>,
    workload: &'s Workload<'s>,
    record: &'s Record,
}

impl Sheet<'_> {
    /// Number of clusters with a colour of their own; all others are one.
    fn named(&self) -> usize {
        let sites = self.scenario.sites.len();
        if sites > COLORS.len() { COLORS.len().saturating_sub(1) } else { sites }
    }

    fn layers(&self) -> Vec<(String, RGBColor)> {
        let named = self.scenario.sites.iter().zip(COLORS).take(self.named());
        let mut layers: Vec<_> = named.map(|(site, color)| (printable(&site.member.name), color)).collect();
        let others = self.scenario.sites.len().saturating_sub(layers.len());
        if others > 0 {
            layers.push((format!("{others} others"), OTHERS));
        }
        layers
    }

    /// The value of each layer in a sample.
    fn values(&self, sample: &Sample, of: impl Fn(&Row) -> u32) -> Vec<u64> {
        let named = self.named();
        let (own, others) = sample.rows.split_at_checked(named).unwrap_or((&sample.rows, &[]));
        let mut values: Vec<u64> = own.iter().map(|row| of(row).into()).collect();
        if !others.is_empty() {
            values.push(others.iter().map(|row| u64::from(of(row))).sum());
        }
        values
    }

    /// The greatest load or number of replicas.
    fn top(&self) -> u64 {
        let of = |sample: &Sample| {
            let placed: u64 = sample.rows.iter().map(|row| u64::from(row.placed)).sum();
            placed.max(sample.load.div_ceil(1000))
        };
        self.record.samples.iter().map(of).max().unwrap_or_default().max(1)
    }

    fn replicas(&self, area: &Area<'_, '_>, title: &str, legend: bool, top: u64) -> Drawn {
        let axes = Axes::of_run(title, legend, real(top) * 1.15, "replicas");
        let mut chart = axes.draw(area, self.scenario.duration)?;
        self.stack(&mut chart)?;
        self.lines(&mut chart, top)?;
        mark(&mut chart, marks(self.scenario, &self.record.events), real(top) * 1.15, legend)?;
        if legend {
            let mut labels = chart.configure_series_labels();
            labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.85)).border_style(OTHERS);
            labels.label_font((FONT, 12)).draw().map_err(message_of)?;
        }
        Ok(())
    }

    /// The replicas, stacked by cluster.
    fn stack(&self, chart: &mut Chart<'_, '_>) -> Drawn {
        let stacks: Vec<Vec<u64>> =
            self.record.samples.iter().map(|sample| stacked(&self.values(sample, |row| row.placed))).collect();
        for (layer, (name, color)) in self.layers().into_iter().enumerate() {
            let edge = |level: usize| {
                let height = move |stack: &Vec<u64>| {
                    level.checked_sub(1).and_then(|level| stack.get(level)).copied().unwrap_or_default()
                };
                self.record
                    .samples
                    .iter()
                    .zip(&stacks)
                    .map(move |(sample, stack)| (time(sample.second), real(height(stack))))
            };
            let outline: Vec<(f64, f64)> =
                edge(layer.saturating_add(1)).chain(edge(layer).collect::<Vec<_>>().into_iter().rev()).collect();
            let drawn = chart.draw_series([Polygon::new(outline, color.mix(0.75))]).map_err(message_of)?;
            drawn
                .label(name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], color.mix(0.75).filled()));
        }
        Ok(())
    }

    /// Load, capacity, and unserved load.
    fn lines(&self, chart: &mut Chart<'_, '_>, top: u64) -> Drawn {
        let missing: Vec<(f64, f64)> = self.gap();
        let drawn = chart.draw_series([Polygon::new(missing, UNSERVED.mix(0.6))]).map_err(message_of)?;
        drawn
            .label("not served")
            .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], UNSERVED.mix(0.6).filled()));
        let capacity = |sample: &Sample| sample.rows.iter().map(|row| u64::from(row.capacity)).sum();
        let capacity = self.line(|sample| real(u64::min(capacity(sample), top.saturating_mul(115) / 100)));
        let drawn = chart.draw_series(LineSeries::new(capacity, CAPACITY.stroke_width(1))).map_err(message_of)?;
        drawn.label("capacity").legend(|(x, y)| PathElement::new([(x, y), (x + 14, y)], CAPACITY));
        let load = self.line(|sample| real(sample.load) / 1000.0);
        let drawn = chart.draw_series(LineSeries::new(load, INK.stroke_width(2))).map_err(message_of)?;
        drawn.label("load").legend(|(x, y)| PathElement::new([(x, y), (x + 14, y)], INK.stroke_width(2)));
        Ok(())
    }

    /// The area between the load and its served part.
    fn gap(&self) -> Vec<(f64, f64)> {
        let upper = self.record.samples.iter().map(|sample| (time(sample.second), real(sample.load) / 1000.0));
        let served = |sample: &Sample| real(sample.load.saturating_sub(sample.unserved_peak)) / 1000.0;
        let lower = self.record.samples.iter().rev().map(|sample| (time(sample.second), served(sample)));
        upper.chain(lower).collect()
    }

    /// A step line.
    fn line(&self, of: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
        steps(self.record.samples.iter().map(|sample| (sample.second, of(sample))))
    }

    fn bounds(&self, area: &Area<'_, '_>) -> Drawn {
        let most = |sample: &Sample| {
            sample.rows.iter().filter_map(|row| row.bounds).map(|bounds| u64::from(bounds.max)).sum::<u64>()
        };
        let top =
            self.record.samples.iter().map(most).max().unwrap_or_default().max(self.workload.asked.total.max.into());
        let height = real(top.max(1)) * 1.1;
        let centralized = self.workload.driver == Driver::Centralized;
        let what = if centralized { "replicas" } else { "maxReplicas" };
        let axes = Axes { title: None, below: 26, top: height, labels: 6, what: Some(what) };
        let mut chart = axes.draw(area, self.scenario.duration)?;
        for (layer, (_, color)) in self.layers().into_iter().enumerate() {
            let max = |row: &Row| row.bounds.map_or(0, |bounds| bounds.max);
            let line = self.line(|sample| real(self.values(sample, max).get(layer).copied().unwrap_or_default()));
            if !centralized {
                chart.draw_series(LineSeries::new(line, color.stroke_width(2))).map_err(message_of)?;
            }
        }
        let asked = |sample: &Sample| sample.replicas.map_or_else(|| most(sample), u64::from);
        let sum = self.line(|sample| real(asked(sample)));
        chart.draw_series(LineSeries::new(sum, INK.stroke_width(2))).map_err(message_of)?;
        let budget = real(self.workload.asked.total.max.into());
        chart
            .draw_series([PathElement::new([(0.0, budget), (time(self.scenario.duration), budget)], UNSERVED)])
            .map_err(message_of)?;
        let text = if centralized {
            "black: replicas of the workload; red: spec.maxReplicas"
        } else {
            "black: the sum over the members; red: spec.maxReplicas"
        };
        let words = Text::new(
            text,
            (time(self.scenario.duration) * 0.01, real(top.max(1)) * 1.08),
            (FONT, 11).into_font().color(&INK),
        );
        chart.draw_series([words]).map_err(message_of)?;
        Ok(())
    }
}

fn stacked(values: &[u64]) -> Vec<u64> {
    let mut sum = 0_u64;
    values
        .iter()
        .map(|value| {
            sum = sum.saturating_add(*value);
            sum
        })
        .collect()
}
