//! One FederatedHPA: its clusters, its last hour, its conditions and decisions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maud::{Markup, html};

use super::parts::{ago, conditions, metric, number, path, status, target, until};
use super::table::{columns, figure_columns, figures, numbers, table, why};
use super::{Frame, Tab, notices};
use crate::dashboard::Shared;
use crate::dashboard::cache::Key;
use crate::dashboard::history::{History, SPAN};
use crate::overview::drawing::{Point, chart, marks, most};
use crate::overview::model::{ClusterView, Decision, Detail, NextRun, Waiting};
use crate::overview::sets;

/// The page; `None` when there is no such object.
pub(in crate::dashboard) fn page(shared: &Shared, key: &Key) -> Option<Markup> {
    let content = shared.cache.read();
    let entry = content.federated_hpas.get(key)?;
    let clock = shared.clock();
    let detail = content.detail(key, clock)?;
    let now = clock.now;
    let title = format!("{}/{}", key.0, key.1);
    let body = html! {
        h1 { "FederatedHPA " (title) }
        (notices(shared, &content))
        (head(&detail, &title, now))
        section aria-labelledby="clusters" {
            h2 #clusters { "Clusters" }
            (clusters(&detail.clusters, now))
        }
        section aria-labelledby="hour" {
            h2 #hour { "The last hour" }
            (hour(entry.history.as_ref(), &detail, (shared.cache.started, now)))
        }
        section aria-labelledby="conditions" {
            h2 #conditions { "Conditions" }
            (conditions(&detail.conditions, now))
        }
        @if !detail.waits_for.is_empty() {
            section aria-labelledby="waits" { h2 #waits { "Waiting for" } (waits(&detail.waits_for, now)) }
        }
        section aria-labelledby="decisions" {
            h2 #decisions { "Last decisions" }
            (decisions(&detail.decisions, now))
        }
        @if !detail.next_runs.is_empty() {
            section aria-labelledby="runs" { h2 #runs { "Next cron runs" } (runs(key, &detail.next_runs, now)) }
        }
    };
    Some(Frame { title: &title, tab: Some(Tab::Fleet), live: true }.around(&body))
}

fn head(detail: &Detail, title: &str, now: Timestamp) -> Markup {
    let one = &detail.summary;
    let counts = one.cluster_counts;
    html! {
        dl.facts {
            div { dt { "Workload" } dd { (target(&one.target)) } }
            div {
                dt { "Replicas" }
                dd {
                    strong { (number(one.current_replicas)) } " of " (one.min_replicas) "–" (one.max_replicas)
                    @if one.at_max { " " b { "at its max" } }
                }
            }
            div { dt { "Wanted" } dd { (number(one.desired_replicas)) } }
            div { dt { "Mode" } dd { (one.mode.as_deref().unwrap_or("not set")) @if one.deleting { ", being deleted" } } }
            div { dt { "Ready" } dd { (status(&one.ready)) " " (one.ready.reason) } }
            @if counts.total > 0 {
                div {
                    dt { "Clusters" }
                    dd {
                        (counts.total) ", " (counts.ready) " ready"
                        @if counts.limited > 0 { ", " (counts.limited) " limited" }
                        @if counts.unknown > 0 { ", " (counts.unknown) " unknown" }
                        @if counts.scaled_to_zero > 0 { ", " (counts.scaled_to_zero) " scaled to zero" }
                    }
                }
            }
            @if detail.last_scale_time.is_some() {
                div { dt { "Last scaled" } dd { (ago(detail.last_scale_time.as_ref(), now)) } }
            }
            @for one in &detail.metrics { div { dt { "Metric" } dd { (metric(one)) } } }
        }
        p { a href=(form(title)) { "What if it were changed?" } }
    }
}

/// The address of the form with this object.
fn form(title: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("object", title).finish();
    format!("/what-if?{query}")
}

fn clusters(all: &[ClusterView], now: Timestamp) -> Markup {
    let top = all.iter().map(most).max().unwrap_or(1);
    let head = html! {
        (columns(&["Cluster"])) (figure_columns()) (numbers(&["Room", "Fits"])) (columns(&["Metric", "Why"]))
    };
    html! {
        @if all.is_empty() { p { "No cluster has bounds or replicas." } }
        @else {
            ul.legend aria-label="Marks of the bars" {
                li { span.run aria-hidden="true" {} "replicas" }
                li { span.room aria-hidden="true" {} "room up to max" }
                li { "▼ target" }
                li { "│ min and max" }
            }
            (table("Clusters of this object", &head, &html! { @for view in all { (cluster(view, top, now)) } }))
            p { small { "Room is what is left of its max. Fits is what its nodes have room for, by the status of the Cluster." } }
        }
    }
}

fn cluster(view: &ClusterView, top: i64, now: Timestamp) -> Markup {
    let room = view.max_replicas.zip(view.replicas).map(|(max, replicas)| max.saturating_sub(replicas).max(0));
    let fits = view.available_replicas.and_then(|fits| i32::try_from(fits).ok());
    html! {
        tr {
            th scope="row" { a href=(path(&["clusters", &view.name])) { (view.name) } }
            (figures(view, top))
            td.number { (number(room)) }
            td.number { (number(fits)) }
            td { @for one in &view.metrics { (metric(one)) br; } }
            (why(view, now))
        }
    }
}

fn hour(history: Option<&History>, detail: &Detail, (started, now): (Timestamp, Timestamp)) -> Markup {
    let Some(history) = history else {
        return html! { p { "There are too many objects to keep the last hour of each." } };
    };
    let points: Vec<Point> = history.points().collect();
    // What is older was not seen.
    let begin = now.checked_sub(SPAN).unwrap_or(Timestamp::MIN).max(started);
    html! {
        ul.legend aria-label="Lines of the chart" {
            li { span.current aria-hidden="true" {} "replicas" }
            li { span.wanted aria-hidden="true" {} "target" }
            li { span.bound aria-hidden="true" {} "min and max" }
            li { span.mark aria-hidden="true" {} "a decision, or a change of a condition" }
        }
        (chart(&points, &marks(detail), (begin, now), "hour"))
        p {
            small {
                "Seen by this dashboard since " (ago(points.first().map(|point| Time(point.at)).as_ref(), now))
                ". Changes within 30 seconds are drawn as one."
            }
        }
    }
}

fn waits(all: &[Waiting], now: Timestamp) -> Markup {
    html! {
        ul {
            @for one in all {
                li {
                    span.reason { (one.reason) } ": " (one.message)
                    @if one.since.is_some() { " " small { "since " (ago(one.since.as_ref(), now)) } }
                    @if !one.to_do.is_empty() { p.todo { strong { "What to do: " } (one.to_do) } }
                }
            }
        }
    }
}

fn decisions(all: &[Decision], now: Timestamp) -> Markup {
    html! {
        @if all.is_empty() { p { "There are no Events of it that can be read." } }
        @else {
            ol.decisions reversed {
                @for one in all {
                    li class=[(one.type_ == "Warning").then_some("attention")] {
                        (ago(one.time.as_ref(), now)) " " span.reason { (one.reason) } ": " (one.message)
                        @if one.count > 1 { " (" (one.count) " times)" }
                    }
                }
            }
        }
    }
}

fn runs(key: &Key, all: &[NextRun], now: Timestamp) -> Markup {
    html! {
        ul {
            @for run in all {
                li {
                    (until(&run.time, now)) ": "
                    a href=(path(&["cron", &key.0, &run.name])) { (run.name) } ", rule " (run.rule) ", "
                    (sets(run.target_replicas, run.target_min_replicas, run.target_max_replicas))
                }
            }
        }
    }
}
