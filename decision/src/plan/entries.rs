//! The entries of the workload's ResourceBinding (docs/design.md#initial-assignment). Pure.

use jiff::Timestamp;

use super::observed::ENTRIES;
use super::row::{Row, Transition};
use super::{ClusterState, Entry, Eviction, Purge, Request};
use crate::split::Replicas;

/// The entries.
pub(super) struct Entries<'a> {
    /// Entries that are possible now.
    pub(super) now: Vec<Entry<'a>>,
    /// Final entries.
    pub(super) last: Vec<Entry<'a>>,
    /// Eviction tasks for clusters that leave now and run replicas.
    pub(super) evictions: Vec<Eviction<'a>>,
}

/// The entries for the transitions.
///
/// A cluster without an HPA, or that waits for one, gets no entry yet, and a first one no more than the max that is
/// written: no replicas run outside the budget. A cluster with an eviction in progress gets none either: its old
/// workload must be gone first.
pub(super) fn entries<'a>(request: &Request<'_>, rows: &[Row<'a>]) -> Entries<'a> {
    let [now, last] = [(); 2].map(|()| Vec::with_capacity(rows.len()));
    let mut entries = Entries { now, last, evictions: Vec::new() };
    for row in rows {
        let cluster = row.cluster;
        let entry = |replicas| Entry { cluster: cluster.name, replicas };
        match row.transition {
            Transition::Have { bounds, .. } if bounds.is_some() || cluster.entry.is_some() => {
                let replicas = row.next_entry(bounds);
                entries.last.push(entry(replicas));
                let most = row.first_max.or_else(|| Some(cluster.written()?.max));
                if cluster.entry.is_some() {
                    entries.now.push(entry(replicas));
                } else if let Some(most) = most.filter(|_| !cluster.evicting) {
                    entries.now.push(entry(replicas.min(most)));
                }
            }
            Transition::Have { .. } | Transition::Rest => {
                // What Karmada leaves alone it may create one day, before there is an HPA that holds it.
                let most = if cluster.not_karmadas { 1 } else { Replicas::MAX };
                let kept = cluster.entry.map(|replicas| entry(replicas.min(most)));
                entries.now.extend(kept);
                entries.last.extend(kept);
            }
            Transition::Leave(_) | Transition::Drop => {
                let Some(replicas) = cluster.entry else { continue };
                if !row.goes {
                    entries.now.push(entry(replicas));
                } else if evicts(row) {
                    let failed =
                        row.transition == Transition::Drop || cluster.state == ClusterState::Leaving { evicted: true };
                    let purge = if failed { request.purge } else { Purge::Gracefully };
                    entries.evictions.push(Eviction { cluster: cluster.name, replicas, purge });
                }
            }
        }
    }
    entries
}

fn evicts(row: &Row<'_>) -> bool {
    let evicts = if row.transition == Transition::Drop { !row.cluster.deleted } else { row.cluster.may_run() > 0 };
    evicts && !row.cluster.evicting
}

/// Entries that follow what runs.
pub(super) struct Followed<'a> {
    /// All entries.
    pub(super) entries: Vec<Entry<'a>>,
    /// When they may be written; `None`: now.
    pub(super) due: Option<Timestamp>,
}

/// `entries` with what runs in the clusters that report it; `None` where that is what they are.
///
/// An entry counts when the workload is created in the cluster, and when it has lost the label with which members keep
/// their replicas: no more than the last minute brought is lost then (docs/design.md#on-the-wire).
pub(super) fn followed<'a>(request: &Request<'_>, rows: &[Row<'a>], entries: &[Entry<'a>]) -> Option<Followed<'a>> {
    if !request.entries_count {
        return None;
    }
    let of = |name: &str| {
        let row = rows.binary_search_by_key(&name, |row| row.cluster.name).ok().and_then(|at| rows.get(at))?;
        let runs = row.cluster.reported_without_surge()?;
        match row.transition {
            Transition::Have { .. } if row.memory.scaled_to_zero => None,
            Transition::Have { bounds, .. } => Some(runs.clamp(bounds.min.min(bounds.max), bounds.max)),
            Transition::Leave(_) => Some(runs),
            Transition::Drop | Transition::Rest => None,
        }
    };
    let follow = |entry: &Entry<'a>| Entry { replicas: of(entry.cluster).unwrap_or(entry.replicas), ..*entry };
    let followed: Vec<Entry<'a>> = entries.iter().map(follow).collect();
    let due = request.entries_followed.and_then(|followed| followed.checked_add(ENTRIES).ok());
    let due = due.filter(|due| request.now < *due);
    (followed != entries).then_some(Followed { entries: followed, due })
}
