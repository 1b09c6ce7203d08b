//! Runs -> an SVG. No I/O.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::super::terminal::printable;
use super::Outcome;
use super::comparison::Run;
use super::reader::clock;
use super::table::{event_text, hours, percent, whole};
use crate::simulation::{Driver, EventKind, Figures, Record, Row, Sample, Scenario, Second};

/// Colours of clusters; further clusters share one.
const COLORS: [RGBColor; 8] = [
    RGBColor(78, 121, 167),
    RGBColor(242, 142, 43),
    RGBColor(89, 161, 79),
    RGBColor(176, 122, 161),
    RGBColor(237, 201, 72),
    RGBColor(118, 183, 178),
    RGBColor(156, 117, 95),
    RGBColor(255, 157, 167),
];
const OTHERS: RGBColor = RGBColor(170, 170, 170);
const INK: RGBColor = RGBColor(30, 30, 30);
const CAPACITY: RGBColor = RGBColor(120, 120, 120);
const UNSERVED: RGBColor = RGBColor(214, 39, 40);
const WIDTH: u32 = 960;
const FONT: &str = "sans-serif";
/// Most event markers with labels.
const MARKS: usize = 12;

type Area<'a, 'b> = DrawingArea<SVGBackend<'b>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Across, RangedCoordf64>>;
type Drawn<E = ()> = Result<E, String>;

/// One run: replicas, load and capacity above, bounds below.
pub(super) fn single(title: &str, scenario: &Scenario<'_>, outcome: &Outcome) -> Drawn<String> {
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (WIDTH, 620)).into_drawing_area();
        root.fill(&WHITE).map_err(message_of)?;
        let (upper, lower) = root.split_vertically(380);
        let sheet = Sheet { scenario, record: &outcome.chart };
        sheet.replicas(&upper, &format!("{title}: {}", summed(&outcome.figures)), true, sheet.top())?;
        sheet.bounds(&lower)?;
        root.present().map_err(message_of)?;
    }
    Ok(out)
}

/// Several runs of one scenario, side by side on one scale.
pub(super) fn compared(title: &str, scenario: &Scenario<'_>, runs: &[Run]) -> Drawn<String> {
    let mut out = String::new();
    let lines = runs.len().div_ceil(2).max(1);
    let height = u32::try_from(lines).unwrap_or(u32::MAX).saturating_mul(230).saturating_add(30);
    {
        let root = SVGBackend::with_string(&mut out, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE).map_err(message_of)?;
        let root = root.titled(title, (FONT, 18)).map_err(message_of)?;
        let sheets = || runs.iter().map(|run| Sheet { scenario, record: &run.outcome.chart });
        let top = sheets().map(|sheet| sheet.top()).max().unwrap_or(1);
        for ((area, sheet), run) in root.split_evenly((lines, 2)).iter().zip(sheets()).zip(runs) {
            sheet.replicas(area, &format!("{}: {}", run.name, summed(&run.outcome.figures)), false, top)?;
        }
        root.present().map_err(message_of)?;
    }
    Ok(out)
}

fn summed(figures: &Figures) -> String {
    let (served, unserved) = (percent(figures.served()), whole(figures.unserved));
    let hours = hours(figures.replica_seconds);
    format!(
        "{served} served, {unserved} replica-seconds not, {hours} replica-hours, {} reassignments",
        figures.reassignments
    )
}

fn message_of(error: impl std::fmt::Display) -> String {
    format!("the chart cannot be drawn: {error}")
}

/// A chart.
#[derive(Clone, Copy)]
struct Sheet<'s> {
    scenario: &'s Scenario<'s>,
    record: &'s Record,
}

/// Frame of a chart.
#[derive(Clone, Copy)]
struct Axes<'t> {
    /// Title and font size.
    title: Option<(&'t str, i32)>,
    /// Space below for times.
    below: i32,
    /// The greatest value.
    top: f64,
    /// Number of labels on the vertical axis.
    labels: usize,
    /// Description of the vertical axis.
    what: Option<&'t str>,
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

    fn end(&self) -> f64 {
        real(self.scenario.duration.unsigned_abs())
    }

    /// At most twelve round times.
    fn times(&self) -> Vec<f64> {
        let steps = [10, 60, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 259_200];
        let step = steps.into_iter().find(|step| self.scenario.duration / step <= 12).unwrap_or(259_200);
        (0..=12).map(|number| number * step).filter(|at: &Second| *at <= self.scenario.duration).map(time).collect()
    }

    /// A chart area with its axes.
    fn axes<'a, 'b>(&self, area: &Area<'a, 'b>, axes: Axes<'_>) -> Drawn<Chart<'a, 'b>> {
        let across = Across { range: (0.0..self.end()).into(), end: self.end(), marks: self.times() };
        let mut builder = ChartBuilder::on(area);
        builder.margin(8).x_label_area_size(axes.below).y_label_area_size(48);
        if let Some((title, size)) = axes.title {
            builder.caption(title, (FONT, size));
        }
        let mut chart = builder.build_cartesian_2d(across, 0.0..axes.top).map_err(message_of)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|at| label(*at))
            .y_label_formatter(&|number| plain(*number));
        mesh.y_labels(axes.labels);
        if let Some(what) = axes.what {
            mesh.y_desc(what);
        }
        mesh.draw().map_err(message_of)?;
        Ok(chart)
    }

    fn replicas(&self, area: &Area<'_, '_>, title: &str, legend: bool, top: u64) -> Drawn {
        let mut chart = self.axes(
            area,
            Axes {
                title: Some((title, if legend { 15 } else { 11 })),
                below: if legend { 26 } else { 20 },
                top: real(top) * 1.15,
                labels: if legend { 8 } else { 4 },
                what: legend.then_some("replicas"),
            },
        )?;
        self.stack(&mut chart)?;
        self.lines(&mut chart, top)?;
        self.mark(&mut chart, real(top) * 1.15, legend)?;
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

    /// The events.
    fn mark(&self, chart: &mut Chart<'_, '_>, height: f64, words: bool) -> Drawn {
        for (at, text) in self.marks() {
            chart.draw_series([PathElement::new([(at, 0.0), (at, height)], INK.mix(0.4))]).map_err(message_of)?;
            if words {
                let text = Text::new(text, (at, height), (FONT, 11).into_font().color(&INK));
                chart.draw_series([text]).map_err(message_of)?;
            }
        }
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
        let mut line: Vec<(f64, f64)> = Vec::new();
        for sample in &self.record.samples {
            let value = of(sample);
            line.extend(line.last().map(|(_, before)| (time(sample.second), *before)));
            line.push((time(sample.second), value));
        }
        // Points on a line between two others are left out.
        let mut bare: Vec<(f64, f64)> = Vec::new();
        for point in line {
            let flat = |a: &(f64, f64), b: &(f64, f64)| (a.1 - b.1).abs() < f64::EPSILON;
            if let [.., before, last] = bare.as_slice()
                && flat(before, last)
                && flat(last, &point)
            {
                bare.pop();
            }
            bare.push(point);
        }
        bare
    }

    fn marks(&self) -> Vec<(f64, String)> {
        let loud = |event: &&crate::simulation::Event| !matches!(event.what, EventKind::Nodes(_));
        let marks = self.record.events.iter().filter(loud).take(MARKS);
        marks.map(|event| (time(event.second), event_text(self.scenario, event))).collect()
    }

    fn bounds(&self, area: &Area<'_, '_>) -> Drawn {
        let most = |sample: &Sample| {
            sample.rows.iter().filter_map(|row| row.bounds).map(|bounds| u64::from(bounds.max)).sum::<u64>()
        };
        let top =
            self.record.samples.iter().map(most).max().unwrap_or_default().max(self.scenario.asked.total.max.into());
        let height = real(top.max(1)) * 1.1;
        let centralized = self.scenario.driver == Driver::Centralized;
        let what = if centralized { "replicas" } else { "maxReplicas" };
        let mut chart = self.axes(area, Axes { title: None, below: 26, top: height, labels: 6, what: Some(what) })?;
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
        let budget = real(self.scenario.asked.total.max.into());
        chart.draw_series([PathElement::new([(0.0, budget), (self.end(), budget)], UNSERVED)]).map_err(message_of)?;
        let text = if centralized {
            "black: replicas of the workload; red: spec.maxReplicas"
        } else {
            "black: the sum over the members; red: spec.maxReplicas"
        };
        let words = Text::new(text, (self.end() * 0.01, real(top.max(1)) * 1.08), (FONT, 11).into_font().color(&INK));
        chart.draw_series([words]).map_err(message_of)?;
        Ok(())
    }
}

/// The time axis, with ticks at round times.
struct Across {
    range: RangedCoordf64,
    end: f64,
    marks: Vec<f64>,
}

impl Ranged for Across {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.range.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        0.0..self.end
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

#[expect(clippy::cast_precision_loss, reason = "points of a drawing")]
const fn real(number: u64) -> f64 {
    number as f64
}

const fn time(second: Second) -> f64 {
    real(second.unsigned_abs())
}

/// A number, with a decimal only where needed.
fn plain(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
fn label(at: f64) -> String {
    clock(at as Second)
}
