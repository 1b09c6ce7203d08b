//! Confirms HPA writes that Karmada does not report by reading them from the members (docs/design.md#on-the-wire). Does
//! not wait; queries run in the background.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::live_state::{LiveState, can_be_asked};
use super::members::Question;
use crate::controller::key::Key;
use crate::convert;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::{MemberHpa, Reading};
use crate::reconcile::federated_hpa::status;
use crate::reconcile::federated_hpa::write::{manifest, write_id};

/// A write that Karmada does not report for this long is read from the member.
const FIRST: SignedDuration = SignedDuration::from_secs(5);
/// Longest interval between reads for one write.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
/// Shortest interval between reads of one status, when its replicas change.
const AGAIN: Duration = Duration::from_secs(15);

/// Stores the responses of members. Returns whether any of them is new.
pub fn take_in(live: &LiveState, view: &View, now: Timestamp) -> bool {
    let key = view.order.key();
    let metrics = view.order.object.spec.metrics.as_deref().unwrap_or_default();
    let mut news = false;
    for sent in view.sent.iter().filter(|sent| is_open(view, sent)) {
        let Some((heard, status)) = live.members.hpa(sent.cluster(), &question(&key, sent)) else { continue };
        if sent.reading.as_ref().is_some_and(|known| known.heard >= heard) {
            continue;
        }
        let measured = status.current_metrics.as_deref().unwrap_or_default();
        let load = convert::scaling::load(metrics, measured, &key.namespace);
        let reading = Reading { mark: sent.token.clone(), status, load, heard, at: now, beside: sent.reported() };
        news |= live.cache.read_member(sent, reading);
    }
    news
}

/// Queries members with writes unconfirmed for long, and those whose replicas changed since they were read. Returns
/// when to query again.
pub fn look(live: &LiveState, view: &View, now: Timestamp) -> Option<Timestamp> {
    let key = view.order.key();
    let mut next = None;
    for sent in view.sent.iter().filter(|sent| is_open(view, sent)) {
        let question = question(&key, sent);
        if sent.hpa.confirmed {
            live.members.look(sent.cluster(), &question, AGAIN);
            continue;
        }
        let written = write_id::time(&sent.token).unwrap_or(now);
        let age = now.duration_since(written);
        let wait = if age < FIRST { FIRST.saturating_sub(age) } else { age.clamp(FIRST, LONGEST) };
        if age >= FIRST {
            live.members.look(sent.cluster(), &question, Duration::try_from(wait / 4).unwrap_or_default());
        }
        next = next.into_iter().chain(now.checked_add(wait).ok()).min();
    }
    next
}

/// Clusters whose writes stay unconfirmed because they reject reads, and the message of the first.
#[must_use]
pub fn unread<'a>(live: &LiveState, view: &'a View) -> Option<(Vec<&'a str>, String)> {
    let key = view.order.key();
    let open = view.sent.iter().filter(|sent| !sent.hpa.confirmed && is_open(view, sent));
    let refused = |sent: &MemberHpa| live.members.refused(sent.cluster(), &question(&key, sent));
    let mut all: Vec<(&str, String)> = open.filter_map(|sent| Some((sent.cluster(), refused(sent)?))).collect();
    let why = std::mem::take(&mut all.first_mut()?.1);
    Some((all.into_iter().map(|(cluster, _)| cluster).collect(), why))
}

/// Whether the write reached a member that can be queried, as far as known, and its state is not known.
fn is_open(view: &View, sent: &MemberHpa) -> bool {
    let outdated = sent.reading.as_ref().is_some_and(|reading| reading.beside != sent.reported());
    let asked = || view.place(sent.cluster()).is_some_and(|place| can_be_asked(&place.object));
    sent.applied
        && !sent.deleting
        && (!sent.hpa.confirmed || outdated)
        && !status::is_silent(view, sent.cluster())
        && asked()
}

fn question(key: &Key, sent: &MemberHpa) -> Question {
    Question::Hpa { key: key.clone(), version: manifest::hpa_version(sent.hpa.version), mark: sent.token.clone() }
}
