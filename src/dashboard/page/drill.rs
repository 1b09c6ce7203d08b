//! What would not run if clusters were lost. No I/O.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maud::{Markup, html};

use super::parts::ago;
use super::table::{columns, numbers, table};
use super::{Frame, Tab};
use crate::dashboard::Shared;
use crate::dashboard::drills::OBJECTS;
use crate::dashboard::preview::Drilled;
use crate::decision::drill::{Loss, ObjectLoss};

/// Most rows of the table of losses.
const LOSSES: usize = 1_000;

/// The page.
pub(in crate::dashboard) fn page(shared: &Shared) -> Markup {
    let last = shared.drills.last();
    let body = html! {
        h1 { "If … is lost" }
        p {
            "What would not run if a cluster, zone, region or provider were lost, as " code { "fhpa drill" }
            " finds it: the plans of the controller for all FederatedHPAs, with the capacity that is free now."
        }
        p { a.button href="/drill?run=now" rel="nofollow" { "Run the drill" } }
        @match last.as_deref() {
            None => p { "It has not run yet." },
            Some(last) => {
                p { "Last run: " (ago(Some(&Time(last.at)), shared.cache.now())) }
                @match &last.drilled {
                    Err(why) => p.notice.bad { (why) },
                    Ok(drilled) => (found(drilled)),
                }
            }
        }
    };
    Frame { title: "If … is lost", tab: Some(Tab::Drill), live: false }.around(&body)
}

fn found(Drilled { losses, left }: &Drilled) -> Markup {
    let rows = html! {
        @for Loss { lost, replicas, short, .. } in losses.iter().take(LOSSES) {
            tr {
                th scope="row" { (lost) }
                td.number { (replicas) }
                td.number { (short) }
                td { (verdict(*replicas, *short)) }
            }
        }
    };
    let head = html! { (columns(&["Lost"])) (numbers(&["Replicas", "Run nowhere"])) (columns(&["Verdict"])) };
    html! {
        @if *left > 0 { p.notice { "There was no time for " (left) " more: name them to " code { "fhpa drill" } "." } }
        @if losses.len() > LOSSES { p.notice { "The first " (LOSSES) " of " (losses.len()) " losses are shown." } }
        @if losses.is_empty() { p { "No loss leaves a cluster." } } @else { (table("Losses", &head, &rows)) }
        @for loss in losses.iter().take(LOSSES).filter(|loss| !loss.objects.is_empty()) { (shortages(loss)) }
    }
}

fn verdict(replicas: u64, short: u64) -> Markup {
    let (class, words) = match (replicas, short) {
        (0, _) => ("good", "nothing runs there"),
        (_, 0) => ("good", "all run elsewhere"),
        _ => ("bad", "some run nowhere"),
    };
    html! { span class={ "badge " (class) } { (words) } }
}

/// The objects that a loss leaves short.
fn shortages(Loss { lost, objects, .. }: &Loss) -> Markup {
    let rows = html! {
        @for ObjectLoss { namespace, name, replicas, short, remedy, .. } in objects {
            tr {
                th scope="row" { a href={ "/objects/" (namespace) "/" (name) } { (namespace) "/" (name) } }
                td.number { (replicas) }
                td.number { (short) }
                td { (remedy.as_deref().unwrap_or_default()) }
            }
        }
    };
    let head = html! {
        (columns(&["FederatedHPA"])) (numbers(&["Replicas", "Run nowhere"])) (columns(&["What would let them run"]))
    };
    html! {
        h2 { "If " (lost) " is lost" }
        @if objects.len() >= OBJECTS { p { "The first " (OBJECTS) " FederatedHPAs:" } }
        (table(&format!("If {lost} is lost"), &head, &rows))
    }
}
