//! The findings of `fhpa doctor`.

use maud::{Markup, html};

use super::parts::ago;
use super::table::{columns, table};
use super::{Frame, Tab};
use crate::dashboard::Shared;
use crate::install::doctor::{CheckState, Finding};

/// The page.
pub(in crate::dashboard) fn page(shared: &Shared) -> Markup {
    let last = shared.checks.last();
    let body = html! {
        h1 { "Doctor" }
        p { "The checks of " code { "fhpa doctor" } ", made from this machine. They send requests to the API server." }
        p { a.button href="/doctor?run=now" rel="nofollow" { "Run the checks" } }
        @match last.as_deref() {
            None => p { "They have not run yet." },
            Some(last) => {
                p { "Last run: " (ago(Some(&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(last.at)), shared.cache.now())) }
                @match &last.findings {
                    None => p.notice.bad { "They took too long. Is karmada-apiserver up?" },
                    Some(findings) => (found(findings)),
                }
            }
        }
    };
    Frame { title: "Doctor", tab: Some(Tab::Doctor), live: false }.around(&body)
}

fn found(findings: &[Finding]) -> Markup {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let rows = html! {
        @for Finding { check, state, seen, to_do } in findings {
            tr {
                td { (badge(*state)) }
                th scope="row" { (check) }
                td { (seen) }
                td { (to_do) }
            }
        }
    };
    html! {
        p {
            (findings.len()) " checks: " (count(CheckState::Fail)) " failed, " (count(CheckState::Warn)) " with warnings, "
            (count(CheckState::Skipped)) " skipped"
        }
        (table("Findings", &columns(&["State", "Check", "What was seen", "What to do"]), &rows))
    }
}

fn badge(state: CheckState) -> Markup {
    let (class, word) = match state {
        CheckState::Ok => ("good", "ok"),
        CheckState::Skipped => ("unsure", "skipped"),
        CheckState::Warn => ("unsure", "warn"),
        CheckState::Fail => ("bad", "FAIL"),
    };
    html! { span class={ "badge " (class) } { (word) } }
}
