//! The fleet: a matrix of FederatedHPAs and clusters.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use maud::{Markup, html};

use super::parts::{ago, number, pages, path, shade, status, target};
use super::table::{columns as heads, scroll};
use super::{Frame, Tab, notices};
use crate::dashboard::Shared;
use crate::dashboard::cache::{Content, Entry};
use crate::dashboard::query::{ObjectFilter, Query, Sort};
use crate::overview::cluster_views;
use crate::overview::model::{ClusterView, FederatedHpaSummary, Pressure};

/// Objects of a page.
const ROWS: usize = 50;
/// Clusters of a page.
const COLUMNS: usize = 100;
/// Most namespaces to choose from.
const NAMESPACES: usize = 500;

/// The page.
pub(in crate::dashboard) fn page(shared: &Shared, query: &Query) -> Markup {
    let content = shared.cache.read();
    let matched = matched(&content, query);
    let rows: Vec<&Entry> = matched.iter().skip(query.page.saturating_mul(ROWS)).take(ROWS).copied().collect();
    let columns = columns(&content, &rows);
    let shown: Vec<&str> = columns.iter().skip(query.columns.saturating_mul(COLUMNS)).take(COLUMNS).copied().collect();
    let matrix = html! {
        table.matrix {
            caption { "Replicas of max in each cluster" }
            thead {
                tr {
                    (heads(&["FederatedHPA", "All", "Ready"]))
                    @for name in &shown { th.cluster scope="col" { (heading(&content, name)) } }
                }
            }
            tbody { @for entry in &rows { (row(shared, &content, entry, &shown)) } }
        }
    };
    let body = html! {
        h1 { "Fleet" }
        (notices(shared, &content))
        (totals(&content))
        (filter(&content, query))
        @if content.federated_hpas.is_empty() && !content.is_loading() {
            p { "There are no FederatedHPAs that can be read." }
        } @else {
            (legend())
            (pages(query, "/", rows.len(), matched.len(), ROWS))
            (more_clusters(query, shown.len(), columns.len()))
            (scroll("FederatedHPAs and clusters", &matrix))
        }
    };
    Frame { title: "Fleet", tab: Some(Tab::Fleet), live: true }.around(&body)
}

/// The objects that are asked for, in their order.
fn matched<'a>(content: &'a Content, query: &Query) -> Vec<&'a Entry> {
    let text = query.text.to_lowercase();
    let has = |part: &str| part.to_lowercase().contains(&text);
    let wanted = |entry: &&Entry| {
        let one = &entry.summary;
        let named = text.is_empty() || has(&one.name) || has(&one.namespace) || has(&one.target.name);
        let state = match query.state {
            ObjectFilter::Any => true,
            ObjectFilter::Attention => one.needs_attention(),
            ObjectFilter::NotReady => one.ready.status != "True",
            ObjectFilter::AtMax => one.at_max,
        };
        named && state && (query.namespace.is_empty() || one.namespace == query.namespace)
    };
    let mut found: Vec<&Entry> = content.federated_hpas.values().map(Box::as_ref).filter(wanted).collect();
    // Sorting keeps the order of names among equals.
    match query.sort {
        Sort::Name => {}
        Sort::Pressure => found.sort_by_key(|entry| Reverse(used(&entry.summary))),
        Sort::Replicas => found.sort_by_key(|entry| Reverse(entry.summary.current_replicas)),
        Sort::Changed => found.sort_by_key(|entry| Reverse(entry.summary.ready.since.as_ref().map(|time| time.0))),
    }
    found
}

/// The used part of the max, in thousandths.
fn used(summary: &FederatedHpaSummary) -> Option<i64> {
    let current = i64::from(summary.current_replicas?);
    current.saturating_mul(1000).checked_div(summary.max_replicas.into())
}

/// The member clusters, and others that the objects of the page have; sorted.
fn columns<'a>(content: &'a Content, rows: &[&'a Entry]) -> Vec<&'a str> {
    let mut names: BTreeSet<&str> = content.clusters.keys().map(String::as_str).collect();
    for entry in rows {
        names.extend(entry.places.iter().map(|place| &*place.cluster));
    }
    names.into_iter().collect()
}

fn heading(content: &Content, name: &str) -> Markup {
    let silent = content.clusters.get(name).is_some_and(|one| crate::overview::cluster(one).ready.needs_attention);
    html! {
        a href=(path(&["clusters", name])) { (name) }
        @if silent { b title="not ready" { " !" } }
    }
}

fn row(shared: &Shared, content: &Content, entry: &Entry, columns: &[&str]) -> Markup {
    let one = &entry.summary;
    let clusters: Vec<_> = content.clusters.values().collect();
    let hpa = entry.hpa();
    let views = hpa.map(|hpa| cluster_views(&hpa, content.binding(one).as_ref(), &clusters)).unwrap_or_default();
    let cell = |name: &str| {
        let at = views.binary_search_by(|view| (*view.name).cmp(name)).ok()?;
        views.get(at)
    };
    html! {
        tr {
            th scope="row" {
                a href=(path(&["objects", &one.namespace, &one.name])) { (one.namespace) "/" wbr; (one.name) }
                small { (target(&one.target)) }
            }
            td class=(shade(overall(one))) {
                (number(one.current_replicas)) "/" (one.max_replicas)
                @if one.at_max { " " b { "max" } }
            }
            td.ready {
                (status(&one.ready))
                @if one.ready.status != "True" { small { (one.ready.reason) " " (ago(one.ready.since.as_ref(), shared.cache.now())) } }
            }
            @for name in columns { (self::cell(cell(name))) }
        }
    }
}

fn cell(view: Option<&ClusterView>) -> Markup {
    let Some(view) = view else { return html! { td {} } };
    let max = view.max_replicas.map(|max| format!("/{max}")).unwrap_or_default();
    html! {
        td class=(shade(view.pressure())) {
            (number(view.replicas)) (max)
            @if view.needs_attention { " " b { "!" } }
        }
    }
}

/// How much of its bounds the whole object uses.
fn overall(summary: &FederatedHpaSummary) -> Pressure {
    let whole = ClusterView {
        max_replicas: Some(summary.max_replicas),
        replicas: summary.current_replicas,
        desired_replicas: summary.desired_replicas,
        ..ClusterView::default()
    };
    whole.pressure()
}

fn totals(content: &Content) -> Markup {
    let all = || content.federated_hpas.values().map(|entry| &entry.summary);
    let count = |test: fn(&FederatedHpaSummary) -> bool| all().filter(|one| test(one)).count();
    let replicas: i64 = all().filter_map(|one| one.current_replicas).map(i64::from).fold(0, i64::saturating_add);
    let figure = |value: String, words: &str, state: ObjectFilter| {
        let query = Query { state, ..Query::default() };
        html! { li { a href=(query.link("/")) { strong { (value) } " " (words) } } }
    };
    html! {
        ul.totals aria-label="Summary" {
            (figure(content.federated_hpas.len().to_string(), "FederatedHPAs", ObjectFilter::Any))
            (figure(count(|one| one.ready.status != "True").to_string(), "not ready", ObjectFilter::NotReady))
            (figure(count(|one| one.at_max).to_string(), "at their max", ObjectFilter::AtMax))
            (figure(count(FederatedHpaSummary::needs_attention).to_string(), "need attention", ObjectFilter::Attention))
            li { a href="/clusters" { strong { (content.clusters.len()) } " clusters" } }
            li { span { strong { (replicas) } " replicas" } }
        }
    }
}

fn filter(content: &Content, query: &Query) -> Markup {
    let namespaces: BTreeSet<&str> = content.federated_hpas.keys().map(|(namespace, _)| namespace.as_str()).collect();
    html! {
        form.filter method="get" action="/" role="search" aria-label="Filter" {
            label { "Name or workload " input type="search" name="q" value=(query.text) maxlength="253"; }
            label {
                "Namespace "
                @if namespaces.len() > NAMESPACES {
                    input name="namespace" value=(query.namespace) maxlength="63";
                } @else {
                    select name="namespace" {
                        option value="" { "all" }
                        @for name in &namespaces {
                            option value=(name) selected[query.namespace == *name] { (name) }
                        }
                    }
                }
            }
            label {
                "State "
                select name="state" {
                    @for (value, words) in ObjectFilter::ALL.map(ObjectFilter::names) {
                        option value=(value) selected[query.state.names().0 == value] { (words) }
                    }
                }
            }
            label {
                "Sort by "
                select name="sort" {
                    @for (value, words) in Sort::ALL.map(Sort::names) {
                        option value=(value) selected[query.sort.names().0 == value] { (words) }
                    }
                }
            }
            button { "Show" }
            @if *query != Query::default() { a href="/" { "Show all" } }
        }
    }
}

fn legend() -> Markup {
    let shades = [
        (Pressure::Idle, "none"),
        (Pressure::Low, "below half"),
        (Pressure::Medium, "from half"),
        (Pressure::High, "from 80 %"),
        (Pressure::Full, "at max"),
        (Pressure::Blocked, "wants more"),
        (Pressure::Unknown, "no bounds"),
    ];
    html! {
        ul.legend aria-label="Shades: the used part of the max" {
            @for (pressure, words) in shades { li { span class=(shade(pressure)) aria-hidden="true" {} (words) } }
            li { b { "!" } " needs attention" }
        }
    }
}

fn more_clusters(query: &Query, shown: usize, all: usize) -> Markup {
    let first = query.columns.saturating_mul(COLUMNS);
    let link = |columns| Query { columns, ..query.clone() }.link("/");
    html! {
        @if all > COLUMNS {
            nav.pages aria-label="Pages of clusters" {
                @if query.columns > 0 { a href=(link(query.columns.saturating_sub(1))) { "← clusters" } }
                span { "clusters " (first.saturating_add(1)) "–" (first.saturating_add(shown)) " of " (all) }
                @if first.saturating_add(shown) < all {
                    a href=(link(query.columns.saturating_add(1))) { "clusters →" }
                }
            }
        }
    }
}
