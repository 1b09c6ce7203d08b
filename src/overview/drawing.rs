//! Drawings as SVG: bars of clusters, and an object over time. Colours and widths are those of classes: a page has a
//! style sheet, a file of its own [`STYLE`]. No I/O.
//!
//! Not drawn by plotters, as the charts of `fhpa simulate` are: that writes colours and fonts into each shape, and knows
//! no classes, titles and labels. A page takes its colours from its style sheet, also in the dark, and names marks and
//! bars for readers that do not see them.

use std::fmt::Write as _;

use jiff::Timestamp;
use maud::{Markup, html};

use super::model::{ClusterView, Detail};

/// Replicas and bounds of an object over all clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Replicas that run; `None` while unknown.
    pub current: Option<i32>,
    /// Replicas that are wanted; `None` while unknown.
    pub desired: Option<i32>,
    /// Fewest replicas.
    pub min: i32,
    /// Most replicas.
    pub max: i32,
}

/// Figures that held from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When they began to hold.
    pub at: Timestamp,
    /// The figures.
    pub figures: Figures,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Timestamp,
    /// What.
    pub words: String,
    /// Whether a user should look at it.
    pub warning: bool,
}

/// Decisions and changes of conditions, as marks of a chart.
#[must_use]
pub fn marks(detail: &Detail) -> Vec<Mark> {
    let events = detail.decisions.iter().filter_map(|decision| {
        let words = format!("{}: {}", decision.reason, decision.message);
        Some(Mark { at: decision.time.as_ref()?.0, words, warning: decision.type_ == "Warning" })
    });
    let turns = detail.conditions.iter().filter_map(|one| {
        let words = format!("{}={} {}", one.type_, one.status, one.reason);
        Some(Mark { at: one.since.as_ref()?.0, words, warning: one.needs_attention })
    });
    events.chain(turns).collect()
}

/// Width of a bar, in its own units.
const BAR: i64 = 200;
/// Size of the plot of a chart, in its own units.
const PLOT: (i64, i64) = (720, 180);
/// Room around the plot: left, top, below.
const MARGIN: (i64, i64, i64) = (46, 22, 26);

/// Position of `value` on a line of `length` that ends at `top`.
fn scaled(value: i64, top: i64, length: i64) -> i64 {
    value.clamp(0, top.max(1)).saturating_mul(length).checked_div(top.max(1)).unwrap_or_default()
}

/// The largest number of a cluster.
#[must_use]
pub fn most(view: &ClusterView) -> i64 {
    let numbers = [view.max_replicas, view.replicas, view.desired_replicas];
    numbers.into_iter().flatten().map(i64::from).max().unwrap_or_default()
}

/// Bounds, replicas and target of a cluster; `top` is the number at the end of the bar.
#[must_use]
pub fn bar(view: &ClusterView, top: i64) -> Markup {
    let said = |words: &str, number: Option<i32>| number.map(|number| format!("{words} {number}")).unwrap_or_default();
    let parts = [
        said("replicas", view.replicas),
        said("target", view.desired_replicas),
        said("min", view.min_replicas),
        said("max", view.max_replicas),
    ];
    let words: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let words = if words.is_empty() { "nothing is known".to_owned() } else { words.join(", ") };
    html! {
        svg.bar preserveAspectRatio="xMinYMid" viewBox={ "-2 0 " (BAR.saturating_add(4)) " 20" } role="img" aria-label=(words) { (shapes(view, top)) }
    }
}

/// The shapes of a bar.
fn shapes(view: &ClusterView, top: i64) -> Markup {
    let at = |number: Option<i32>| number.map(|number| scaled(number.into(), top, BAR));
    let (min, max) = (at(view.min_replicas), at(view.max_replicas));
    html! {
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

/// Colours of a file of its own: those of the dashboard in the light.
pub const STYLE: &str = "text { font: 12px sans-serif; fill: #1c2024 } .title { font-size: 16px; font-weight: bold } \
    .soft { fill: #5b6570 } .bad { fill: #b3261e } .room { fill: #dfe7f1 } .run { fill: #3b78d0 } \
    .blocked { fill: #b3261e } .min, .max { stroke: #1c2024; stroke-width: 1.5 } .target { fill: #1c2024 }";

/// Width of a file, and heights of its head and of a line.
const SHEET: (i64, i64, i64) = (960, 70, 26);

/// A line of [`sheet`].
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// What is drawn.
    pub view: &'a ClusterView,
    /// Its name, without control characters.
    pub name: &'a str,
    /// Its label, without control characters.
    pub words: &'a str,
}

/// The clusters of an object as a file of its own: a bar for each line.
#[must_use]
pub fn sheet(title: &str, below: &str, lines: &[Line<'_>]) -> String {
    let (width, head, row) = SHEET;
    let height =
        i64::try_from(lines.len()).unwrap_or_default().saturating_mul(row).saturating_add(head).saturating_add(16);
    let top = lines.iter().map(|line| most(line.view)).max().unwrap_or(1);
    let numbers = |view: &ClusterView| {
        let number = |number: Option<i32>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
        let (min, max) = (number(view.min_replicas), number(view.max_replicas));
        format!("{} of {min}–{max}, target {}", number(view.replicas), number(view.desired_replicas))
    };
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
            style { (STYLE) }
            rect width=(width) height=(height) fill="#ffffff" {}
            text.title x="16" y="28" { (title) }
            text.soft x="16" y="50" { (below) }
            @for (at, line) in (0_i64..).zip(lines) {
                g transform={ "translate(0 " (at.saturating_mul(row).saturating_add(head)) ")" } {
                    text x="16" y="15" { (line.name) }
                    g transform="translate(200 0)" { (shapes(line.view, top)) }
                    text x="420" y="15" { (numbers(line.view)) }
                    text class=(if line.view.needs_attention { "bad" } else { "soft" }) x="600" y="15" { (line.words) }
                }
            }
        }
    };
    drawn.into_string()
}

/// An object from `begin` until `now`. Its name is that of the element `labelled`.
#[must_use]
pub fn chart(points: &[Point], marks: &[Mark], (begin, now): (Timestamp, Timestamp), labelled: &str) -> Markup {
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
        svg.chart viewBox=(view) role="img" aria-labelledby=(labelled) {
            @for number in [0, top / 2, top] {
                line.grid x1="0" x2=(width) y1=(level(number)) y2=(level(number)) {}
                text x="-6" y=(level(number).saturating_add(4)) text-anchor="end" { (number) }
            }
            @for (x, words) in times(lines.seconds()) {
                text x=(x) y=(height.saturating_add(18)) text-anchor=(anchor(x)) { (words) }
            }
            (of("bound", |figures| Some(figures.max)))
            (of("bound", |figures| Some(figures.min)))
            (of("wanted", |figures| figures.desired))
            (of("current", |figures| figures.current))
            @for mark in marks.iter().filter(|mark| mark.at.as_second() >= begin.as_second() && mark.at <= now) {
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

/// Steps between labels, in seconds.
const STEPS: [i64; 8] = [1, 5, 15, 30, 60, 300, 600, 900];

/// Labels on the time axis of a chart of so many seconds: their places and words, the last first.
fn times(seconds: i64) -> Vec<(i64, String)> {
    let step = STEPS.into_iter().find(|step| seconds <= step.saturating_mul(5)).unwrap_or(900);
    let word = |ago: i64| match ago {
        0 => "now".to_owned(),
        ago if step < 60 => format!("−{ago} s"),
        ago => format!("−{} min", ago / 60),
    };
    let place = |ago: i64| scaled(seconds.saturating_sub(ago), seconds, PLOT.0);
    let all = (0..=5).map(|number: i64| number.saturating_mul(step));
    all.take_while(|ago| *ago <= seconds).map(|ago| (place(ago), word(ago))).collect()
}

/// The first and the last label end where the plot does.
const fn anchor(x: i64) -> &'static str {
    match x {
        ..30 => "start",
        690.. => "end",
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
    /// The whole time, at least a second.
    fn seconds(&self) -> i64 {
        self.now.duration_since(self.begin).as_secs().max(1)
    }

    fn x(&self, at: Timestamp) -> i64 {
        scaled(at.duration_since(self.begin).as_secs(), self.seconds(), PLOT.0)
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
    fn a_chart_begins_where_it_is_told_to() {
        let words = |seconds| times(seconds).into_iter().map(|(x, words)| format!("{x} {words}")).collect::<Vec<_>>();
        assert_eq!(words(3600), ["720 now", "540 −15 min", "360 −30 min", "180 −45 min", "0 −60 min"]);
        assert_eq!(words(90), ["720 now", "480 −30 s", "240 −60 s", "0 −90 s"]);
        assert_eq!(words(400), ["720 now", "180 −5 min"]);
        assert_eq!(words(1), ["720 now", "0 −1 s"]);
        let (begin, now) = (Timestamp::from_second(3000).unwrap(), Timestamp::from_second(3600).unwrap());
        let drawn = chart(&[point(3000, Some(5))], &[], (begin, now), "hour").into_string();
        assert!(drawn.contains("class=\"current\" d=\"M0 90H720\""), "{drawn}");
    }

    #[test]
    fn numbers_beyond_the_scale_end_at_its_edge() {
        assert_eq!(
            [scaled(-3, 10, 200), scaled(50, 10, 200), scaled(5, 10, 200), scaled(5, 0, 200)],
            [0, 200, 100, 200]
        );
    }
}
