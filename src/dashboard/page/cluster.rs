//! The member clusters, and one of them: who uses it, its room, its readiness and taints.

use std::cmp::Reverse;
use std::collections::HashMap;

use jiff::Timestamp;
use maud::{Markup, html};

use super::parts::{ago, pages, path, status};
use super::table::{columns, figure_columns, figures, table, why};
use super::{Frame, Tab, notices};
use crate::dashboard::Shared;
use crate::dashboard::cache::{Content, Entry};
use crate::dashboard::query::Query;
use crate::overview::drawing::most;
use crate::overview::model::{ClusterDetail, ClusterUse, ResourceView};
use crate::overview::{cluster, cluster_use, eviction};

/// Objects of a page.
const ROWS: usize = 100;
/// Clusters of the list.
const CLUSTERS: usize = 1000;
/// Evictions that are shown.
const EVICTIONS: usize = 100;

/// All clusters.
pub(in crate::dashboard) fn all(shared: &Shared) -> Markup {
    let content = shared.cache.read();
    let uses = uses(&content);
    let rows = html! {
        @for one in content.clusters.values().take(CLUSTERS).map(cluster) {
            (line(&one, uses.get(&*one.name).copied().unwrap_or_default(), shared.cache.now()))
        }
    };
    let body = html! {
        h1 { "Clusters" }
        (notices(shared, &content))
        @if content.clusters.is_empty() && !content.is_loading() { p { "There are no clusters that can be read." } }
        @else {
            (table("Clusters", &columns(&["Cluster", "Ready", "Where", "Used", "Taints", "FederatedHPAs"]), &rows))
            @if content.clusters.len() > CLUSTERS { p { "and " (content.clusters.len() - CLUSTERS) " more" } }
        }
    };
    Frame { title: "Clusters", tab: Some(Tab::Clusters), live: true }.around(&body)
}

/// Number of FederatedHPAs with bounds in each cluster.
fn uses(content: &Content) -> HashMap<&str, usize> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for entry in content.federated_hpas.values() {
        for place in entry.places.iter().filter(|place| place.bounded) {
            let count = uses.entry(&place.cluster).or_default();
            *count = count.saturating_add(1);
        }
    }
    uses
}

fn line(one: &ClusterDetail, uses: usize, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(path(&["clusters", &one.name])) { (one.name) } }
            td { (status(&one.ready)) " " small { (ago(one.ready.since.as_ref(), now)) } }
            td { (one.location.join(", ")) }
            td { @for resource in one.resources.iter().take(2) { (used(resource)) br; } }
            td { @for (taint, _) in &one.taints { code { (taint) } br; } }
            td.number { (uses) }
        }
    }
}

fn used(resource: &ResourceView) -> Markup {
    let ResourceView { name, allocatable, used, percent } = resource;
    let percent = percent.unwrap_or_default();
    html! {
        span.metric {
            (name) " "
            meter min="0" max="100" high="90" optimum="0" value=(percent.clamp(0, 100)) aria-label={ (percent) " percent" } {}
            " " (used) " of " (allocatable)
        }
    }
}

/// One cluster; `None` when it is not known.
pub(in crate::dashboard) fn page(shared: &Shared, name: &str, query: &Query) -> Option<Markup> {
    let content = shared.cache.read();
    let known = content.clusters.get(name)?;
    let mut one = cluster(known);
    let now = shared.cache.now();
    let mut users = content.users(name);
    // Those that a user should look at first; equal ones by name.
    users.sort_by_key(|(_, place)| Reverse((place.needs_attention, place.pressure)));
    let replicas: i64 = users.iter().map(|(_, place)| i64::from(place.replicas)).fold(0, i64::saturating_add);
    let shown = users.iter().skip(query.page.saturating_mul(ROWS)).take(ROWS);
    let use_of = |entry: &Entry| cluster_use(&entry.hpa()?, content.binding(&entry.summary).as_ref(), known);
    one.uses = shown.filter_map(|(entry, _)| use_of(entry)).collect();
    one.evictions = content.evicting.values().filter_map(|binding| eviction(binding, name)).take(EVICTIONS).collect();
    let here = path(&["clusters", name]);
    let body = html! {
        h1 { "Cluster " (name) }
        (notices(shared, &content))
        (head(&one, replicas, now))
        section aria-labelledby="resources" {
            h2 #resources { "Resources" }
            @if one.resources.is_empty() { p { "The Cluster does not say what its nodes have." } }
            @else { ul.plain { @for resource in &one.resources { li { (used(resource)) } } } }
        }
        section aria-labelledby="taints" {
            h2 #taints { "Taints" }
            @if one.taints.is_empty() { p { "None." } }
            @else { ul { @for (taint, since) in &one.taints { li { code { (taint) } " since " (ago(since.as_ref(), now)) } } } }
        }
        @if !one.evictions.is_empty() {
            section aria-labelledby="evictions" {
                h2 #evictions { "Workloads that leave" }
                ul { @for of in &one.evictions { li { (of.kind) " " (of.namespace) "/" (of.name) ": " (of.reason) } } }
            }
        }
        section aria-labelledby="uses" {
            h2 #uses { "Who uses it" }
            (pages(query, &here, one.uses.len(), users.len(), ROWS))
            (used_by(&one.uses, now))
        }
    };
    Some(Frame { title: name, tab: Some(Tab::Clusters), live: true }.around(&body))
}

fn head(one: &ClusterDetail, replicas: i64, now: Timestamp) -> Markup {
    html! {
        dl.facts {
            div {
                dt { "Ready" }
                dd { (status(&one.ready)) " " (one.ready.reason) " " small { "since " (ago(one.ready.since.as_ref(), now)) } }
            }
            @if !one.location.is_empty() { div { dt { "Where" } dd { (one.location.join(", ")) } } }
            @if !one.kubernetes_version.is_empty() { div { dt { "Kubernetes" } dd { (one.kubernetes_version) } } }
            @if !one.sync_mode.is_empty() { div { dt { "Mode" } dd { (one.sync_mode) } } }
            div { dt { "Replicas of FederatedHPAs" } dd { strong { (replicas) } } }
        }
        @if !one.ready.message.is_empty() { p.notice.bad { (one.ready.message) } }
    }
}

fn used_by(shown: &[ClusterUse], now: Timestamp) -> Markup {
    let top = shown.iter().map(|of| most(&of.view)).max().unwrap_or(1);
    let head = html! { (columns(&["FederatedHPA"])) (figure_columns()) (columns(&["Why"])) };
    let rows = html! { @for of in shown { (user(of, top, now)) } };
    html! { @if !shown.is_empty() { (table("FederatedHPAs of this cluster", &head, &rows)) } }
}

fn user(of: &ClusterUse, top: i64, now: Timestamp) -> Markup {
    let ClusterUse { namespace, name, view } = of;
    html! {
        tr {
            th scope="row" { a href=(path(&["objects", namespace, name])) { (namespace) "/" wbr; (name) } }
            (figures(view, top))
            (why(view, now))
        }
    }
}
