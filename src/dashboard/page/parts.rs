//! Parts of several pages. No I/O.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maud::{Markup, html};

use crate::dashboard::query::Query;
use crate::overview::age;
use crate::overview::model::{ConditionView, MetricView, Pressure, Target};

/// Characters that a part of a path need not escape.
const PLAIN: &[char] = &['-', '.', '_', '~'];

/// A path of `parts`, each escaped.
pub(super) fn path(parts: &[&str]) -> String {
    let escaped = |part: &&str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || PLAIN.contains(&char::from(byte));
        part.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    parts.iter().flat_map(|part| ["/".to_owned(), escaped(part)]).collect()
}

/// How long ago a time was, with the time itself.
pub(super) fn ago(time: Option<&Time>, now: Timestamp) -> Markup {
    html! {
        @match time {
            Some(at) => time datetime=(at.0) title=(at.0) { (age::since(Some(at), now)) " ago" },
            None => "–",
        }
    }
}

/// When a time to come is.
pub(super) fn until(time: &Time, now: Timestamp) -> Markup {
    html! { time datetime=(time.0) title=(time.0) { (age::until(time, now)) } }
}

pub(super) fn number(number: Option<i32>) -> String {
    number.map_or_else(|| "–".to_owned(), |number| number.to_string())
}

pub(super) fn target(target: &Target) -> String {
    format!("{}/{}", target.kind, target.name)
}

/// The status of a condition in a word and a colour.
pub(super) fn status(condition: &ConditionView) -> Markup {
    let class = match condition.is_well() {
        Some(true) => "good",
        Some(false) => "bad",
        None => "unsure",
    };
    html! { span class={ "badge " (class) } { (condition.status) } }
}

/// Class of a cell, which shades it.
pub(super) const fn shade(pressure: Pressure) -> &'static str {
    match pressure {
        Pressure::Unknown => "pu",
        Pressure::Idle => "p0",
        Pressure::Low => "p1",
        Pressure::Medium => "p2",
        Pressure::High => "p3",
        Pressure::Full => "p4",
        Pressure::Blocked => "p5",
    }
}

/// Conditions with what to do about them.
pub(super) fn conditions(all: &[ConditionView], now: Timestamp) -> Markup {
    html! {
        @if all.is_empty() { p { "No controller has written a condition yet." } }
        @else {
            dl.conditions {
                @for one in all {
                    dt class=[one.needs_attention.then_some("attention")] {
                        (one.type_) " " (status(one)) " " span.reason { (one.reason) }
                        " " small { "since " (ago(one.since.as_ref(), now)) }
                    }
                    dd {
                        @if !one.message.is_empty() { p { (one.message) } }
                        @if !one.to_do.is_empty() { p.todo { strong { "What to do: " } (one.to_do) } }
                    }
                }
            }
        }
    }
}

/// A metric beside its target.
pub(super) fn metric(metric: &MetricView) -> Markup {
    let MetricView { name, current, target, percent_of_target, .. } = metric;
    let percent = percent_of_target.unwrap_or_default();
    html! {
        span.metric {
            (name) " "
            @if percent_of_target.is_some() {
                meter min="0" max="150" high="100" optimum="0" value=(percent.clamp(0, 150))
                    aria-label={ (percent) " percent of the target" } {}
                " "
            }
            (current.as_deref().unwrap_or("?")) " / " (target)
        }
    }
}

/// Links to the pages of a list.
pub(super) fn pages(query: &Query, path: &str, shown: usize, all: usize, most: usize) -> Markup {
    let first = query.page.saturating_mul(most);
    let link = |page| Query { page, ..query.clone() }.link(path);
    html! {
        nav.pages aria-label="Pages of the list" {
            @if query.page > 0 { a rel="prev" href=(link(query.page.saturating_sub(1))) { "← previous" } }
            span {
                @if shown == 0 { "none of " (all) }
                @else { (first.saturating_add(1)) "–" (first.saturating_add(shown)) " of " (all) }
            }
            @if first.saturating_add(shown) < all && shown > 0 {
                a rel="next" href=(link(query.page.saturating_add(1))) { "next →" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn names_are_escaped_in_paths() {
        assert_eq!(path(&["objects", "shop", "a/b?c#ä"]), "/objects/shop/a%2Fb%3Fc%23%C3%A4");
    }
}
