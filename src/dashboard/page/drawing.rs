//! Drawings as inline SVG: bars of clusters, and the last hour of an object. Colours and widths are in the style sheet.
//! No I/O.

use std::fmt::Write as _;

use jiff::Timestamp;
use maud::{Markup, html};

use crate::dashboard::history::{Figures, Point, SPAN};
use crate::overview::model::ClusterView;

/// Width of a bar, in its own units.
const BAR: i64 = 200;
/// Size of the plot of a chart, in its own units.
const PLOT: (i64, i64) = (720, 180);
/// Room around the plot: left, top, below.
const MARGIN: (i64, i64, i64) = (36, 22, 24);

/// Position of `value` on a line of `length` that ends at `top`.
fn scaled(value: i64, top: i64, length: i64) -> i64 {
    value.clamp(0, top.max(1)).saturating_mul(length).checked_div(top.max(1)).unwrap_or_default()
}

/// The largest number of a cluster.
pub(super) fn most(view: &ClusterView) -> i64 {
    let numbers = [view.max_replicas, view.replicas, view.desired_replicas];
    numbers.into_iter().flatten().map(i64::from).max().unwrap_or_default()
}

/// Bounds, replicas and target of a cluster; `top` is the number at the end of the bar.
pub(super) fn bar(view: &ClusterView, top: i64) -> Markup {
    let at = |number: Option<i32>| number.map(|number| scaled(number.into(), top, BAR));
    let (min, max) = (at(view.min_replicas), at(view.max_replicas));
    let said = |words: &str, number: Option<i32>| number.map(|number| format!("{words} {number}")).unwrap_or_default();
    let parts = [
        said("replicas", view.replicas),
        said("target", view.desired_replicas),
        said("min", view.min_replicas),
        said("max", view.max_replicas),
    ];
    let words: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    html! {
        svg.bar viewBox={ "-2 0 " (BAR.saturating_add(4)) " 20" } role="img" aria-label=(words.join(", ")) {
            @if let Some(max) = max { rect.room x="0" y="4" width=(max) height="12" {} }
            @if let Some(replicas) = at(view.replicas) {
                rect class=(if view.blocked { "run blocked" } else { "run" }) x="0" y="4" width=(replicas) height="12" {}
            }
            @if let Some(min) = min { line.min x1=(min) x2=(min) y1="4" y2="16" {} }
            @if let Some(max) = max { line.max x1=(max) x2=(max) y1="2" y2="18" {} }
            @if let Some(target) = at(view.desired_replicas) {
                path.target d={ "M" (target) " 5l-4 -5h8z" } {}
            }
        }
    }
}

/// Something that happened.
pub(super) struct Mark<'a> {
    pub(super) at: Timestamp,
    pub(super) words: &'a str,
    pub(super) warning: bool,
}

/// The last hour until `now`, as far as it was seen.
pub(super) fn chart(points: &[Point], marks: &[Mark<'_>], now: Timestamp) -> Markup {
    let begin = now.checked_sub(SPAN).unwrap_or(Timestamp::MIN);
    let top = points.iter().flat_map(|point| numbers(point.figures)).max().unwrap_or(1).max(1);
    let (width, height) = PLOT;
    let (left, above, below) = MARGIN;
    let view = format!(
        "-{left} -{above} {} {}",
        width.saturating_add(left).saturating_add(8),
        height.saturating_add(above).saturating_add(below)
    );
    let lines = Lines { points, begin, now, top };
    let of = |class: &'static str, figure: fn(&Figures) -> Option<i32>| html! { path class=(class) d=(lines.path(figure)) {} };
    let level = |number: i64| height.saturating_sub(scaled(number, top, height));
    html! {
        svg.chart viewBox=(view) role="img" aria-labelledby="hour" {
            @for number in [0, top / 2, top] {
                line.grid x1="0" x2=(width) y1=(level(number)) y2=(level(number)) {}
                text x="-6" y=(level(number).saturating_add(4)) text-anchor="end" { (number) }
            }
            @for minutes in [60, 45, 30, 15, 0] {
                @let x = scaled(60_i64.saturating_sub(minutes), 60, width);
                text x=(x) y=(height.saturating_add(18)) text-anchor=(anchor(minutes)) {
                    @if minutes == 0 { "now" } @else { "−" (minutes) " min" }
                }
            }
            (of("bound", |figures| Some(figures.max)))
            (of("bound", |figures| Some(figures.min)))
            (of("wanted", |figures| figures.desired))
            (of("current", |figures| figures.current))
            @for mark in marks.iter().filter(|mark| mark.at >= begin && mark.at <= now) {
                @let x = lines.x(mark.at);
                g class=(if mark.warning { "mark warning" } else { "mark" }) {
                    title { (mark.words) }
                    line x1=(x) x2=(x) y1="-6" y2=(height) {}
                    circle cx=(x) cy="-10" r="5" {}
                }
            }
        }
    }
}

/// The first and the last label end where the plot does.
const fn anchor(minutes: i64) -> &'static str {
    match minutes {
        60 => "start",
        0 => "end",
        _ => "middle",
    }
}

fn numbers(figures: Figures) -> impl Iterator<Item = i64> {
    let Figures { current, desired, min, max } = figures;
    [current, desired, Some(min), Some(max)].into_iter().flatten().map(i64::from)
}

struct Lines<'a> {
    points: &'a [Point],
    begin: Timestamp,
    now: Timestamp,
    top: i64,
}

impl Lines<'_> {
    fn x(&self, at: Timestamp) -> i64 {
        let passed = at.duration_since(self.begin).as_secs();
        scaled(passed, SPAN.as_secs(), PLOT.0)
    }

    /// A line with steps, which is interrupted where the figure is unknown.
    fn path(&self, figure: fn(&Figures) -> Option<i32>) -> String {
        let mut out = String::new();
        let ends = self.points.iter().skip(1).map(|point| point.at).chain([self.now]);
        let mut drawing = false;
        for (point, end) in self.points.iter().zip(ends) {
            let Some(number) = figure(&point.figures) else {
                drawing = false;
                continue;
            };
            let y = PLOT.1.saturating_sub(scaled(number.into(), self.top, PLOT.1));
            // Writing to a string cannot fail.
            let _ = if drawing { write!(out, "V{y}") } else { write!(out, "M{} {y}", self.x(point.at)) };
            let _ = write!(out, "H{}", self.x(end));
            drawing = true;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(second: i64, current: Option<i32>) -> Point {
        let figures = Figures { current, desired: None, min: 1, max: 10 };
        Point { at: Timestamp::from_second(second).unwrap(), figures }
    }

    #[test]
    fn a_line_has_steps_and_a_gap_where_nothing_is_known() {
        let points = [point(0, Some(5)), point(900, Some(10)), point(1800, None), point(2700, Some(0))];
        let (begin, now) = (Timestamp::from_second(0).unwrap(), Timestamp::from_second(3600).unwrap());
        let lines = Lines { points: &points, begin, now, top: 10 };
        assert_eq!(lines.path(|figures| figures.current), "M0 90H180V0H360M540 180H720");
        assert_eq!(lines.path(|figures| figures.desired), "");
    }

    #[test]
    fn numbers_beyond_the_scale_end_at_its_edge() {
        assert_eq!(
            [scaled(-3, 10, 200), scaled(50, 10, 200), scaled(5, 10, 200), scaled(5, 0, 200)],
            [0, 200, 100, 200]
        );
    }
}
