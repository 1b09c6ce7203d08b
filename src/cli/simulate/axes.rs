//! What all charts of runs have: colours, axes, and a time axis. No I/O.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::reader::clock;
use super::table::event_text;
use crate::simulation::{Event, EventKind, Scenario, Second};

/// Most event markers with labels.
const MARKS: usize = 12;

/// Colours of clusters, or of workloads; further ones share one.
pub(super) const COLORS: [RGBColor; 8] = [
    RGBColor(78, 121, 167),
    RGBColor(242, 142, 43),
    RGBColor(89, 161, 79),
    RGBColor(176, 122, 161),
    RGBColor(237, 201, 72),
    RGBColor(118, 183, 178),
    RGBColor(156, 117, 95),
    RGBColor(255, 157, 167),
];
pub(super) const OTHERS: RGBColor = RGBColor(170, 170, 170);
pub(super) const INK: RGBColor = RGBColor(30, 30, 30);
const WIDTH: u32 = 960;
pub(super) const FONT: &str = "sans-serif";

pub(super) type Area<'a, 'b> = DrawingArea<SVGBackend<'b>, Shift>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Across, RangedCoordf64>>;
pub(super) type Drawn<E = ()> = Result<E, String>;

/// A drawing of two parts, one below the other; the upper one is so high.
pub(super) fn above_and_below(upper: i32, draw: impl FnOnce(&Area<'_, '_>, &Area<'_, '_>) -> Drawn) -> Drawn<String> {
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (WIDTH, 620)).into_drawing_area();
        root.fill(&WHITE).map_err(message_of)?;
        let (above, below) = root.split_vertically(upper);
        draw(&above, &below)?;
        root.present().map_err(message_of)?;
    }
    Ok(out)
}

/// A drawing of a chart for each run, two in a line.
pub(super) fn side_by_side<R>(title: &str, runs: &[R], draw: impl Fn(&Area<'_, '_>, &R) -> Drawn) -> Drawn<String> {
    let mut out = String::new();
    let lines = runs.len().div_ceil(2).max(1);
    let height = u32::try_from(lines).unwrap_or(u32::MAX).saturating_mul(230).saturating_add(30);
    {
        let root = SVGBackend::with_string(&mut out, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE).map_err(message_of)?;
        let root = root.titled(title, (FONT, 18)).map_err(message_of)?;
        for (area, run) in root.split_evenly((lines, 2)).iter().zip(runs) {
            draw(area, run)?;
        }
        root.present().map_err(message_of)?;
    }
    Ok(out)
}

/// Frame of a chart.
#[derive(Clone, Copy)]
pub(super) struct Axes<'t> {
    /// Title and font size.
    pub(super) title: Option<(&'t str, i32)>,
    /// Space below for times.
    pub(super) below: i32,
    /// The greatest value.
    pub(super) top: f64,
    /// Number of labels on the vertical axis.
    pub(super) labels: usize,
    /// Description of the vertical axis.
    pub(super) what: Option<&'t str>,
}

impl<'t> Axes<'t> {
    /// Of a chart of `what` over a whole run, up to `top`; `large`: with descriptions.
    pub(super) fn of_run(title: &'t str, large: bool, top: f64, what: &'t str) -> Self {
        let title = Some((title, if large { 15 } else { 11 }));
        let (below, labels) = if large { (26, 8) } else { (20, 4) };
        Self { title, below, top, labels, what: large.then_some(what) }
    }

    /// A chart area with its axes, for a run that is so long.
    pub(super) fn draw<'a, 'b>(&self, area: &Area<'a, 'b>, duration: Second) -> Drawn<Chart<'a, 'b>> {
        let end = time(duration);
        let across = Across { range: (0.0..end).into(), end, marks: times(duration) };
        let mut builder = ChartBuilder::on(area);
        builder.margin(8).x_label_area_size(self.below).y_label_area_size(48);
        if let Some((title, size)) = self.title {
            builder.caption(title, (FONT, size));
        }
        let mut chart = builder.build_cartesian_2d(across, 0.0..self.top).map_err(message_of)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|at| label(*at))
            .y_label_formatter(&|number| plain(*number));
        mesh.y_labels(self.labels);
        if let Some(what) = self.what {
            mesh.y_desc(what);
        }
        mesh.draw().map_err(message_of)?;
        Ok(chart)
    }
}

/// At most twelve round times.
fn times(duration: Second) -> Vec<f64> {
    let steps = [10, 60, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 259_200];
    let step = steps.into_iter().find(|step| duration / step <= 12).unwrap_or(259_200);
    (0..=12).map(|number| number * step).filter(|at: &Second| *at <= duration).map(time).collect()
}

/// A step line through these values.
pub(super) fn steps(values: impl Iterator<Item = (Second, f64)>) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (second, value) in values {
        line.extend(line.last().map(|(_, before)| (time(second), *before)));
        line.push((time(second), value));
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

/// The times of these events with their texts, as far as a chart has room.
pub(super) fn marks(scenario: &Scenario<'_>, events: &[Event]) -> Vec<(f64, String)> {
    let loud = |event: &&Event| !matches!(event.what, EventKind::Nodes(_));
    let marks = events.iter().filter(loud).take(MARKS);
    marks.map(|event| (time(event.second), event_text(scenario, event))).collect()
}

/// Draws the times of events, with their texts where `words`.
pub(super) fn mark(chart: &mut Chart<'_, '_>, marks: Vec<(f64, String)>, height: f64, words: bool) -> Drawn {
    for (at, text) in marks {
        chart.draw_series([PathElement::new([(at, 0.0), (at, height)], INK.mix(0.4))]).map_err(message_of)?;
        if words {
            let text = Text::new(text, (at, height), (FONT, 11).into_font().color(&INK));
            chart.draw_series([text]).map_err(message_of)?;
        }
    }
    Ok(())
}

/// The time axis, with ticks at round times.
pub(super) struct Across {
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

pub(super) fn message_of(error: impl std::fmt::Display) -> String {
    format!("the chart cannot be drawn: {error}")
}

#[expect(clippy::cast_precision_loss, reason = "points of a drawing")]
pub(super) const fn real(number: u64) -> f64 {
    number as f64
}

pub(super) const fn time(second: Second) -> f64 {
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
