//! One FederatedHPA -> an SVG: a bar for each cluster. No I/O.

use super::super::terminal::{cut, printable};
use super::list::number;
use super::object::shown;
use super::screen::Layout;
use crate::overview::drawing::{Line, sheet};
use crate::overview::model::{ClusterView, Detail};

/// Widest name of a cluster, and widest reason, in characters.
const WIDTHS: (usize, usize) = (24, 56);

pub(super) fn render(detail: &Detail, layout: Layout) -> String {
    let one = &detail.summary;
    let title = printable(&format!("FederatedHPA {}/{}", one.namespace, one.name));
    let rows = shown(&detail.clusters, layout);
    let words = |view: &ClusterView| {
        let message = if view.needs_attention { view.message.as_str() } else { "" };
        let parts: Vec<&str> = [&*view.reason, message].into_iter().filter(|part| !part.is_empty()).collect();
        cut(&printable(&parts.join(": ")), WIDTHS.1)
    };
    let said: Vec<(String, String)> =
        rows.iter().map(|view| (cut(&printable(&view.name), WIDTHS.0), words(view))).collect();
    let lines: Vec<Line<'_>> = rows.iter().zip(&said).map(|(view, (name, words))| Line { view, name, words }).collect();
    let more = detail.clusters.len().saturating_sub(rows.len());
    let more = if more > 0 { format!("; {more} more clusters are not drawn") } else { String::new() };
    let below = format!(
        "{} of {}–{} replicas, target {}, {} at {}{more}",
        number(one.current_replicas),
        one.min_replicas,
        one.max_replicas,
        number(one.desired_replicas),
        printable(&format!("Ready={} {}", one.ready.status, one.ready.reason)),
        layout.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    );
    sheet(&title, &below, &lines)
}
