//! Confirms HPA writes that Karmada does not report by reading them from the members (docs/design.md#on-the-wire). Does
//! not wait; queries run in the background.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::live_state::{LiveState, can_be_asked};
use super::members::MemberQuery;
use crate::controller::key::Key;
use crate::convert;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::{MemberHpa, Reading};
use crate::reconcile::federated_hpa::{manifest, write_id};

/// A write that Karmada does not report for this long is read from the member.
const FIRST: SignedDuration = SignedDuration::from_secs(5);
/// Longest interval between reads for one write.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
/// Shortest interval between reads of one status, when its replicas change.
const AGAIN: Duration = Duration::from_secs(15);

/// Stores the responses of members. Returns whether any of them is new.
pub fn store_responses(live: &LiveState, view: &View, now: Timestamp) -> bool {
    let key = view.federated_hpa.key();
    let metrics = view.federated_hpa.object.spec.metrics.as_deref().unwrap_or_default();
    let mut stored = false;
    for member_hpa in view.member_hpas.iter().filter(|member_hpa| is_open(view, member_hpa)) {
        let Some((received, status)) = live.members.hpa(member_hpa.cluster(), &query(&key, member_hpa)) else {
            continue;
        };
        if member_hpa.reading.as_ref().is_some_and(|known| known.received >= received) {
            continue;
        }
        let measured = status.current_metrics.as_deref().unwrap_or_default();
        let load = convert::scaling::load(metrics, measured);
        let reading =
            Reading { mark: member_hpa.token.clone(), status, load, received, at: now, beside: member_hpa.reported() };
        stored |= live.cache.read_member(member_hpa, reading);
    }
    stored
}

/// Queries members with writes unconfirmed for long, and those whose replicas changed since they were read. Returns
/// when to query again.
pub fn refresh(live: &LiveState, view: &View, now: Timestamp) -> Option<Timestamp> {
    let key = view.federated_hpa.key();
    let mut next = None;
    for member_hpa in view.member_hpas.iter().filter(|member_hpa| is_open(view, member_hpa)) {
        let query = query(&key, member_hpa);
        if member_hpa.hpa.confirmed {
            live.members.refresh(member_hpa.cluster(), &query, AGAIN);
            continue;
        }
        // Where the time of the write is not known, the member is asked at once.
        let age = write_id::time(&member_hpa.token, now).map_or(FIRST, |written| now.duration_since(written));
        let wait = if age < FIRST { FIRST.saturating_sub(age) } else { age.clamp(FIRST, LONGEST) };
        if age >= FIRST {
            live.members.refresh(member_hpa.cluster(), &query, Duration::try_from(wait / 4).unwrap_or_default());
        }
        next = next.into_iter().chain(now.checked_add(wait).ok()).min();
    }
    next
}

/// Clusters whose writes stay unconfirmed because they reject reads, and the message of the first.
#[must_use]
pub fn unread<'a>(live: &LiveState, view: &'a View) -> Option<(Vec<&'a str>, String)> {
    let key = view.federated_hpa.key();
    let open = view.member_hpas.iter().filter(|member_hpa| !member_hpa.hpa.confirmed && is_open(view, member_hpa));
    let refused = |member_hpa: &MemberHpa| live.members.refused(member_hpa.cluster(), &query(&key, member_hpa));
    let mut all: Vec<(&str, String)> =
        open.filter_map(|member_hpa| Some((member_hpa.cluster(), refused(member_hpa)?))).collect();
    let why = std::mem::take(&mut all.first_mut()?.1);
    Some((all.into_iter().map(|(cluster, _)| cluster).collect(), why))
}

/// Whether the write reached a member that can be queried, as far as known, and its state is not known.
fn is_open(view: &View, member_hpa: &MemberHpa) -> bool {
    let outdated = member_hpa.reading.as_ref().is_some_and(|reading| reading.beside != member_hpa.reported());
    let asked = || view.cluster(member_hpa.cluster()).is_some_and(|cluster| can_be_asked(&cluster.object));
    member_hpa.applied
        && !member_hpa.deleting()
        && (!member_hpa.hpa.confirmed || outdated)
        && !super::is_silent(view, member_hpa.cluster())
        && asked()
}

fn query(key: &Key, member_hpa: &MemberHpa) -> MemberQuery {
    MemberQuery::Hpa {
        key: key.clone(),
        version: manifest::hpa_version(member_hpa.hpa.version),
        mark: member_hpa.token.clone(),
    }
}
