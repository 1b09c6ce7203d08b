//! Models -> HTML. Everything that comes from the cluster is escaped by the templates. No I/O.

pub(super) mod cluster;
pub(super) mod cron;
pub(super) mod doctor;
pub(super) mod drill;
pub(super) mod fleet;
pub(super) mod object;
mod parts;
mod table;
pub(super) mod what_if;

use maud::{DOCTYPE, Markup, html};

use super::Shared;
use super::cache::Content;
use crate::overview::model::Unread;

/// Which part of the dashboard a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Fleet,
    Clusters,
    Cron,
    Doctor,
    Drill,
    WhatIf,
}

impl Tab {
    const ALL: [Self; 6] = [Self::Fleet, Self::Clusters, Self::Cron, Self::WhatIf, Self::Drill, Self::Doctor];

    const fn link(self) -> (&'static str, &'static str) {
        match self {
            Self::Fleet => ("/", "Fleet"),
            Self::Clusters => ("/clusters", "Clusters"),
            Self::Cron => ("/cron", "Cron"),
            Self::Doctor => ("/doctor", "Doctor"),
            Self::Drill => ("/drill", "If … is lost"),
            Self::WhatIf => ("/what-if", "What if"),
        }
    }
}

/// A page around its content.
struct Frame<'a> {
    title: &'a str,
    tab: Option<Tab>,
    /// Whether the page follows changes of the cluster.
    live: bool,
}

impl Frame<'_> {
    fn around(self, content: &Markup) -> Markup {
        let Self { title, tab, live } = self;
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · fhpa" }
                    link rel="stylesheet" href="/style.css";
                    link rel="icon" href="/icon.svg" type="image/svg+xml";
                    script src="/script.js" defer {}
                    @if live { noscript { meta http-equiv="refresh" content="15"; } }
                }
                body data-live[live] {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        p.brand { a href="/" { "fhpa" } }
                        nav aria-label="Pages" {
                            ul {
                                @for one in Tab::ALL {
                                    @let (href, words) = one.link();
                                    li { a href=(href) aria-current=[(tab == Some(one)).then_some("page")] { (words) } }
                                }
                            }
                        }
                        p #live role="status" {}
                    }
                    main #main tabindex="-1" { (content) }
                    footer { p { "Read with your own rights. Nothing is written." } }
                }
            }
        }
    }
}

/// A page that says that something is not there, or not yet.
pub(super) fn missing(shared: &Shared, is_loading: bool, what: &str) -> Markup {
    let content = html! {
        h1 { "Not found" }
        (unread(&shared.cache.read().unread(shared.cache.now())))
        (loading(is_loading))
        p { (what) }
        p { a href="/" { "All objects" } }
    };
    Frame { title: "Not found", tab: None, live: true }.around(&content)
}

/// What could not be read, and what is still being read.
fn notices(shared: &Shared, content: &Content) -> Markup {
    html! {
        (unread(&content.unread(shared.cache.now())))
        (loading(content.is_loading()))
    }
}

fn loading(is_loading: bool) -> Markup {
    html! { @if is_loading { p.notice { "The objects are being listed." } } }
}

fn unread(unread: &[Unread]) -> Markup {
    html! {
        @if !unread.is_empty() {
            section.notice.bad aria-labelledby="unread" {
                h2 #unread { "Not everything can be read" }
                ul {
                    @for Unread { verb, resource, reason, message } in unread {
                        li { strong { "cannot " (verb) " " (resource) ": " (reason) } br; (message) }
                    }
                }
            }
        }
    }
}
