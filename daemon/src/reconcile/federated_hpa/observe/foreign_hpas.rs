//! HPAs in members that are not fhpa's and scale the workload too (docs/design.md#on-the-wire). Only a takeover waits
//! for the answers; other queries run in the background.

use std::time::Duration;

use jiff::Timestamp;

use super::foreign_hpa::ForeignHpa;
use super::is_silent;
use super::live_state::{LiveState, can_be_asked};
use super::members::{HPA_TIMES, MemberQuery, TIMES};
use crate::reconcile::federated_hpa::cache::View;

/// Before a takeover an answer that is younger than this counts: less than the time until the next attempt, so that each
/// attempt asks again.
const LATELY: Duration = Duration::from_secs(30);

/// An HPA that is not fhpa's, with its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Name of the cluster.
    pub cluster: String,
    /// The HPA.
    pub hpa: ForeignHpa,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} in {}", self.hpa.name, self.cluster)?;
        self.hpa.owner.as_ref().map_or(Ok(()), |owner| write!(f, " (of {owner})"))
    }
}

/// The HPAs of these clusters that scale the workload too, as far as members have answered.
#[must_use]
pub fn found<'a>(live: &LiveState, view: &View, clusters: impl Iterator<Item = &'a str>) -> Vec<Found> {
    let query = query(view);
    let of = |cluster: &'a str| {
        let all = live.members.foreign_hpas(cluster, &query).unwrap_or_default();
        let on_it = all.iter().filter(|hpa| hpa.target == view.federated_hpa.target).cloned().collect::<Vec<_>>();
        on_it.into_iter().map(move |hpa| Found { cluster: cluster.to_owned(), hpa })
    };
    clusters.flat_map(of).collect()
}

/// Clusters whose HPA reports that another one selects the same pods.
pub fn ambiguous(view: &View) -> impl Iterator<Item = &str> {
    view.member_hpas
        .iter()
        .filter(|member_hpa| member_hpa.is_ambiguous())
        .map(|member_hpa| member_hpa.cluster())
        .filter(|cluster| !is_silent(view, cluster))
}

/// Queries the clusters that report another HPA. Returns when to query again.
pub fn refresh(live: &LiveState, view: &View, now: Timestamp) -> Option<Timestamp> {
    let mut asked = false;
    for cluster in ambiguous(view) {
        // An answer that names none may be from before the other HPA, as from the takeover.
        let named = !found(live, view, std::iter::once(cluster)).is_empty();
        asked |= refresh_in(live, view, cluster, if named { TIMES.kept } else { TIMES.fresh });
    }
    asked.then(|| now.checked_add(TIMES.kept).ok()).flatten()
}

/// Queries the clusters of a Centralized workload, in which no HPA should scale it.
pub fn refresh_all<'a>(live: &LiveState, view: &View, clusters: impl Iterator<Item = &'a str>) {
    for cluster in clusters {
        refresh_in(live, view, cluster, HPA_TIMES.fresh);
    }
}

/// Queries the clusters that are reachable and waits for their answers, but no longer than one of them may take. Returns
/// the HPAs that scale the workload and count.
pub async fn look(
    live: &LiveState,
    view: &View,
    mut clusters: Vec<&str>,
    counts: impl Fn(&Found) -> bool + Copy,
) -> Vec<Found> {
    clusters.retain(|cluster| is_reachable(live, cluster) && !is_silent(view, cluster));
    let known = |clusters: &[&str]| -> Vec<Found> {
        found(live, view, clusters.iter().copied()).into_iter().filter(counts).collect()
    };
    // As long as one cluster still has such an HPA, the others need not be asked again.
    if let Some(Found { cluster, .. }) = known(&clusters).first() {
        let first = [cluster.as_str()];
        live.members.wait_for(&first, &query(view), LATELY).await;
        if !known(&first).is_empty() {
            return known(&clusters);
        }
    }
    live.members.wait_for(&clusters, &query(view), LATELY).await;
    known(&clusters)
}

fn is_reachable(live: &LiveState, cluster: &str) -> bool {
    live.cache.cluster(cluster).is_some_and(|known| can_be_asked(&known.object))
}

fn refresh_in(live: &LiveState, view: &View, cluster: &str, fresh: Duration) -> bool {
    let reachable = is_reachable(live, cluster);
    if reachable {
        live.members.refresh(cluster, &query(view), fresh);
    }
    reachable
}

/// Forgets an HPA that was deleted: its cluster is queried again at once.
pub fn refresh_at_once(live: &LiveState, view: &View, cluster: &str) {
    refresh_in(live, view, cluster, Duration::ZERO);
}

fn query(view: &View) -> MemberQuery {
    MemberQuery::ForeignHpas(view.federated_hpa.key().namespace)
}
