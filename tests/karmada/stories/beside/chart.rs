//! Two runs of one load -> an SVG. Phases of both begin at the same place.

use plotters::prelude::*;
use tokio::time::Instant;

use super::timeline::{Run, SHOP, WEB, follow};

const KARMADA: RGBColor = RGBColor(242, 142, 43);
const OURS: RGBColor = RGBColor(31, 90, 160);
const NEEDED: RGBColor = RGBColor(120, 120, 120);
const SIZE: (u32, u32) = (960, 760);

/// Where the phases begin, in seconds from the first; the last number is the end.
fn begins(runs: [&Run; 2]) -> Vec<f64> {
    let ends =
        |run: &Run| -> Vec<Instant> { run.phases.iter().skip(1).map(|phase| phase.from).chain([run.end]).collect() };
    let lengths = runs.map(|run| -> Vec<f64> {
        run.phases.iter().zip(ends(run)).map(|(phase, end)| (end - phase.from).as_secs_f64()).collect()
    });
    let longest = lengths[0].iter().zip(&lengths[1]).map(|(one, other)| one.max(*other));
    std::iter::once(0.0)
        .chain(longest.scan(0.0, |sum, length| {
            *sum += length;
            Some(*sum)
        }))
        .collect()
}

/// Steps of a template's replicas.
fn steps(run: &Run, name: &str, begins: &[f64]) -> Vec<(f64, f64)> {
    let mut line = Vec::new();
    for (at, phase) in run.phases.iter().enumerate() {
        let until = run.phases.get(at + 1).map_or(run.end, |next| next.from);
        let mut now = run.at_start(phase.name, name) as f64;
        line.push((begins[at], now));
        for change in run.changes(name).filter(|change| change.at > phase.from && change.at <= until) {
            let x = begins[at] + (change.at - phase.from).as_secs_f64();
            line.push((x, now));
            now = change.replicas as f64;
            line.push((x, now));
        }
        line.push((begins[at + 1], now));
    }
    line
}

pub fn draw(theirs: &Run, ours: &Run) -> String {
    let begins = begins([theirs, ours]);
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
        root.fill(&WHITE).unwrap();
        let areas = root.split_by_breakpoints([] as [i32; 0], [400, 580]);
        let panels = [
            (SHOP, "a Deployment in three clusters, by processor time"),
            (follow::NAME, "a Deployment in three clusters, by processor time and memory"),
            (WEB, "a StatefulSet in two clusters: one web-0 is busy, one is idle"),
        ];
        for (area, (name, what)) in areas.iter().zip(panels) {
            let series = [(theirs, KARMADA, "Karmada's controller"), (ours, OURS, "fhpa, mode Centralized")]
                .map(|(run, color, label)| (steps(run, name, &begins), color, label));
            let top = series.iter().flat_map(|(line, ..)| line).map(|point| point.1).fold(4.0, f64::max) * 1.2;
            let end = *begins.last().unwrap();
            let mut chart = ChartBuilder::on(area)
                .margin(8)
                .caption(what, ("sans-serif", 15))
                .x_label_area_size(24)
                .y_label_area_size(40)
                .build_cartesian_2d(0.0..end, 0.0..top)
                .unwrap();
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh().light_line_style(TRANSPARENT).y_labels(5).y_desc("replicas");
            mesh.x_label_formatter(&|at| format!("{at:.0} s")).y_label_formatter(&|number| format!("{number:.0}"));
            mesh.draw().unwrap();
            for (at, phase) in theirs.phases.iter().enumerate() {
                let x = begins[at];
                chart.draw_series([PathElement::new([(x, 0.0), (x, top)], NEEDED.mix(0.5))]).unwrap();
                if name == SHOP {
                    let height = top * (1.0 - 0.045 * (at % 3) as f64);
                    let words = Text::new(phase.name, (x + 0.5, height), ("sans-serif", 11).into_font());
                    chart.draw_series([words]).unwrap();
                }
            }
            if name == SHOP {
                let needed = theirs.phases.iter().enumerate().flat_map(|(at, phase)| {
                    let needs = phase.needs as f64;
                    [(begins[at], needs), (begins[at + 1], needs)]
                });
                let line = DashedLineSeries::new(needed, 4, 4, NEEDED.stroke_width(1));
                let label = chart.draw_series(line).unwrap().label("what the load needs");
                label.legend(|(x, y)| PathElement::new([(x, y), (x + 14, y)], NEEDED));
            }
            for (line, color, label) in series {
                let drawn = chart.draw_series(LineSeries::new(line, color.stroke_width(2))).unwrap();
                drawn.label(label).legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], color.stroke_width(2)));
            }
            if name == SHOP {
                let mut labels = chart.configure_series_labels();
                labels.position(SeriesLabelPosition::LowerRight).background_style(WHITE.mix(0.85));
                labels.label_font(("sans-serif", 12)).draw().unwrap();
            }
        }
        root.present().unwrap();
    }
    out
}
