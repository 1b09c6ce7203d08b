//! Tables, and the columns that several of them have. No I/O.

use jiff::Timestamp;
use maud::{Markup, html};

use super::parts::{ago, number, shade};
use crate::overview::drawing::bar;
use crate::overview::model::ClusterView;

/// A table that scrolls where it is wider than the page. `label` is its name for screen readers.
pub(super) fn table(label: &str, head: &Markup, rows: &Markup) -> Markup {
    scroll(label, &html! { table { thead { tr { (head) } } tbody { (rows) } } })
}

/// A part of a page that scrolls by itself.
pub(super) fn scroll(label: &str, content: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (content) } }
}

/// Heads of columns with text.
pub(super) fn columns(names: &[&str]) -> Markup {
    html! { @for name in names { th scope="col" { (name) } } }
}

/// Heads of columns with numbers.
pub(super) fn numbers(names: &[&str]) -> Markup {
    html! { @for name in names { th.number scope="col" { (name) } } }
}

/// Heads of the cells of [`figures`].
pub(super) fn figure_columns() -> Markup {
    html! {
        (columns(&["Replicas, target and bounds"]))
        (numbers(&["Min", "Max", "Replicas", "Ready", "Target"]))
    }
}

/// Bounds, replicas and target of an object in a cluster; `top` is the number at the end of the bar.
pub(super) fn figures(view: &ClusterView, top: i64) -> Markup {
    html! {
        td { (bar(view, top)) }
        td.number { (number(view.min_replicas)) }
        td.number { (number(view.max_replicas)) }
        td class={ "number " (shade(view.pressure())) } { (number(view.replicas)) }
        td.number { (number(view.ready_replicas)) }
        td.number { (number(view.desired_replicas)) }
    }
}

/// Why an object has these bounds in a cluster, and since when.
pub(super) fn why(view: &ClusterView, now: Timestamp) -> Markup {
    html! {
        td class=[view.needs_attention.then_some("attention")] {
            (view.reason)
            @if !view.message.is_empty() { ": " (view.message) }
            @if view.since.is_some() { " " small { "since " (ago(view.since.as_ref(), now)) } }
        }
    }
}
