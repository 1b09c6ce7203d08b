//! CronFederatedHPAs: a calendar of the next days, and what has run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use maud::{Markup, html};

use super::parts::{ago, conditions, pages, path, status, target, until};
use super::table::{columns, table};
use super::{Frame, Tab, notices};
use crate::dashboard::Shared;
use crate::dashboard::cache::Key;
use crate::dashboard::query::{ObjectFilter, Query};
use crate::overview::model::{CronDetail, CronSummary, PastRun, RuleView, RunView};
use crate::overview::{cron_detail, cron_summary};

/// Days of the calendar.
const DAYS: i64 = 7;
/// Objects of a page.
const ROWS: usize = 50;
/// Rules of a page; an object may have 1,000.
const RULES: usize = 100;
/// Runs of a day that are shown one by one.
const RUNS: usize = 24;

/// All CronFederatedHPAs.
pub(in crate::dashboard) fn all(shared: &Shared, query: &Query) -> Markup {
    let content = shared.cache.read();
    let text = query.text.to_lowercase();
    let named =
        |(namespace, name): &&Key| namespace.to_lowercase().contains(&text) || name.to_lowercase().contains(&text);
    let keys: Vec<&Key> = content.cron_federated_hpas.keys().filter(named).collect();
    let start = query.page.saturating_mul(ROWS);
    let crons = keys.iter().skip(start).take(ROWS).filter_map(|key| content.cron_federated_hpas.get(*key));
    let shown: Vec<CronSummary> = crons.map(|cron| cron_summary(cron, shared.clock())).collect();
    let query = Query { state: ObjectFilter::Any, ..query.clone() };
    let body = html! {
        h1 { "Cron" }
        (notices(shared, &content))
        @if content.cron_federated_hpas.is_empty() && !content.is_loading() {
            p { "There are no CronFederatedHPAs that can be read." }
        } @else {
            form.filter method="get" action="/cron" role="search" aria-label="Filter" {
                label { "Name or namespace " input type="search" name="q" value=(query.text) maxlength="253"; }
                button { "Show" }
            }
            (pages(&query, "/cron", shown.len(), keys.len(), ROWS))
            (lines(&shown, shared.cache.now()))
        }
    };
    Frame { title: "Cron", tab: Some(Tab::Cron), live: true }.around(&body)
}

fn lines(shown: &[CronSummary], now: Timestamp) -> Markup {
    let head = columns(&["CronFederatedHPA", "Target", "Next run", "Last run", "Suspended", "Ready"]);
    table("CronFederatedHPAs", &head, &html! { @for one in shown { (line(one, now)) } })
}

fn line(one: &CronSummary, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(path(&["cron", &one.namespace, &one.name])) { (one.namespace) "/" wbr; (one.name) } }
            td { (target(&one.target)) }
            td { @if let Some(run) = &one.next_run { (until(&run.time, now)) ", rule " (run.rule) } @else { "–" } }
            td {
                @if let Some(run) = &one.last_run {
                    (ago(run.execution_time.as_ref(), now)) ", rule " (run.rule)
                    @if !run.succeeded { " " span.attention { "failed: " (run.message) } }
                } @else { "–" }
            }
            td { (one.suspended_rules) " of " (one.rules) " rules" }
            td { (status(&one.ready)) " " (one.ready.reason) }
        }
    }
}

/// One CronFederatedHPA; `None` when it is not known.
pub(in crate::dashboard) fn page(shared: &Shared, key: &Key) -> Option<Markup> {
    let content = shared.cache.read();
    let clock = shared.clock();
    let detail = cron_detail(content.cron_federated_hpas.get(key)?, clock, DAYS);
    let title = format!("{}/{}", key.0, key.1);
    let one = &detail.summary;
    let rules = detail.schedule.get(..RULES).unwrap_or(&detail.schedule);
    let body = html! {
        h1 { "CronFederatedHPA " (title) }
        (notices(shared, &content))
        dl.facts {
            div {
                dt { "Target" }
                dd {
                    @if one.target.kind == "FederatedHPA" {
                        a href=(path(&["objects", &one.namespace, &one.target.name])) { (target(&one.target)) }
                    } @else { (target(&one.target)) }
                }
            }
            div { dt { "Ready" } dd { (status(&one.ready)) " " (one.ready.reason) } }
            div { dt { "Rules" } dd { (one.rules) ", " (one.suspended_rules) " suspended" } }
        }
        section aria-labelledby="calendar" {
            h2 #calendar { "The next " (DAYS) " days" }
            (calendar(&detail, rules))
        }
        section aria-labelledby="history" { h2 #history { "What has run" } (past(rules, clock.now)) }
        section aria-labelledby="conditions" { h2 #conditions { "Conditions" } (conditions(&detail.conditions, clock.now)) }
    };
    Some(Frame { title: &title, tab: Some(Tab::Cron), live: true }.around(&body))
}

fn calendar(detail: &CronDetail, rules: &[RuleView]) -> Markup {
    html! {
        p { "Days and times are those of the time zone of each rule." }
        @for rule in rules {
            article.rule {
                h3 { (rule.name) " " small { code { (rule.schedule) } " in " (rule.time_zone) ", sets " (rule.sets) } }
                @if !rule.problem.is_empty() { p.attention { "It cannot run: " (rule.problem) } }
                @else if rule.suspended { p { "It is suspended." } }
                @else if rule.runs.is_empty() { p { "It does not run in these days." } }
                @else { (days(rule)) }
            }
        }
        @if detail.schedule.len() > rules.len() { p { "and " (detail.schedule.len() - rules.len()) " more rules" } }
    }
}

fn days(rule: &RuleView) -> Markup {
    let mut days: BTreeMap<&str, Vec<&RunView>> = BTreeMap::new();
    for run in &rule.runs {
        days.entry(&run.day).or_default().push(run);
    }
    html! {
        ol.calendar {
            @for (day, runs) in &days {
                li {
                    strong { (weekday(day)) " " (day) }
                    ul {
                        @for run in runs.iter().take(RUNS) {
                            li {
                                time datetime=(run.time.0) title=(run.time.0) { (run.clock) } " " small { (run.offset) }
                                @for note in &run.notes { " " em.clock { (note) } }
                            }
                        }
                        @if runs.len() > RUNS { li { "and " (runs.len() - RUNS) " more" } }
                    }
                }
            }
        }
        @if rule.more { p { small { "There are more runs in these days than are shown." } } }
    }
}

/// The name of a day such as `2027-03-28`.
fn weekday(day: &str) -> String {
    day.parse::<Date>().map(|date| date.strftime("%a").to_string()).unwrap_or_default()
}

fn past(rules: &[RuleView], now: Timestamp) -> Markup {
    let rows = html! {
        @for (rule, run) in rules.iter().flat_map(|rule| rule.history.iter().map(move |run| (rule, run))) {
            tr {
                th scope="row" { (rule.name) }
                td { (ago(run.run.schedule_time.as_ref(), now)) }
                td { (ago(run.run.execution_time.as_ref(), now)) }
                (result(run))
            }
        }
    };
    html! {
        @if rules.iter().all(|rule| rule.history.is_empty()) { p { "Nothing yet." } }
        @else { (table("Runs that are over", &columns(&["Rule", "Was due", "Ran", "Result"]), &rows)) }
    }
}

fn result(past: &PastRun) -> Markup {
    html! {
        @if !past.run.succeeded { td.attention { "not run: " (past.run.message) } }
        @else if let Some(seconds) = past.late_seconds { td.attention { (past.set) ", " (seconds) " s late" } }
        @else { td { (past.set) } }
    }
}
