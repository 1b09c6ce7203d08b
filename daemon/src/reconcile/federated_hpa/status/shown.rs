//! Information that a status shows beside the stored state: details of clusters, and how they are reduced where the
//! status is too large for the store. No I/O.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use serde::Serialize;

use crate::api::federated_hpa::{ClusterCounts, ClusterHPADesired, FederatedHPAStatus};
use crate::controller::key::Key;
use crate::convert::fleet::count;
use crate::decision::health::{self, Grade, Member};
use crate::decision::showing::{Before, chosen};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;

/// The HPAs that are shown, and how many clusters are left out.
#[must_use]
pub fn hpas<'a>(view: &'a View, members: &[Member<'_>]) -> (Vec<&'a MemberHpa>, Option<i32>) {
    let grades: BTreeMap<&str, Grade> = members.iter().map(|member| (member.cluster, member.grade())).collect();
    // A leaving cluster is shown.
    let grade = |member_hpa: &MemberHpa| grades.get(member_hpa.cluster()).copied().unwrap_or(Grade::Limited);
    let member_hpas: Vec<&MemberHpa> =
        view.member_hpas.iter().filter(|member_hpa| !member_hpa.deleting()).map(|member_hpa| &**member_hpa).collect();
    let of_members: Vec<(&str, Grade)> =
        member_hpas.iter().map(|member_hpa| (member_hpa.cluster(), grade(member_hpa))).collect();
    let known = view.federated_hpa.object.status.as_ref();
    let before = Before {
        shown: view.federated_hpa.shown().collect(),
        partly: known.is_some_and(|status| status.aggregated_status_omitted.is_some()),
    };
    let Some(chosen) = chosen(&of_members, &before) else { return (member_hpas, None) };
    let all = member_hpas.len();
    let shown: Vec<&MemberHpa> =
        member_hpas.into_iter().filter(|member_hpa| chosen.contains(member_hpa.cluster())).collect();
    let omitted = all.saturating_sub(shown.len());
    (shown, Some(count(omitted)))
}

/// The counts in their stored form.
#[must_use]
pub fn counts(members: &[Member<'_>]) -> ClusterCounts {
    let health::Counts { total, ready, limited, unknown, scaled_to_zero } = health::counts(members);
    ClusterCounts {
        total: count(total),
        ready: count(ready),
        limited: count(limited),
        unknown: count(unknown),
        scaled_to_zero: count(scaled_to_zero),
    }
}

/// The status without information that is only shown: all that the next leader must know.
fn ledger(status: &FederatedHPAStatus) -> FederatedHPAStatus {
    let shown = status.aggregated_status.as_ref().map_or(0, Vec::len);
    let omitted = status.aggregated_status_omitted.unwrap_or_default().saturating_add(count(shown));
    FederatedHPAStatus { aggregated_status: None, aggregated_status_omitted: Some(omitted), ..status.clone() }
}

/// A ledger of at most `limit` bytes, as far as possible: the last clusters keep only their bounds and what protects
/// replicas, not what only times and paces further help. The rule is the same each time, so the same clusters do.
fn reduced(mut ledger: FederatedHPAStatus, limit: usize) -> FederatedHPAStatus {
    let mut excess = bytes(&ledger).saturating_sub(limit);
    for desired in ledger.cluster_hpa_desired.iter_mut().flatten().rev() {
        if excess == 0 {
            break;
        }
        let kept = essential(desired);
        excess = excess.saturating_sub(bytes(desired).saturating_sub(bytes(&kept)));
        *desired = kept;
    }
    ledger
}

/// What replicas depend on: bounds, zero, replacement, failures.
fn essential(desired: &ClusterHPADesired) -> ClusterHPADesired {
    ClusterHPADesired {
        reason: None,
        scale_up_blocked_reason: None,
        scale_up_blocked_time: None,
        last_donated_time: None,
        last_received_time: None,
        covered_replicas: None,
        assist_replicas: None,
        assist_time: None,
        recent_scale_ups: None,
        ..desired.clone()
    }
}

/// A status that was rejected as too large.
#[derive(Clone, Copy, Debug)]
struct Rejected {
    bytes: usize,
    /// Whether it was a ledger.
    ledger: bool,
}

/// Sizes that were rejected as too large; lost with the process.
#[derive(Debug, Default)]
pub struct TooLarge(Mutex<HashMap<Key, Rejected>>);

impl TooLarge {
    /// Records that the API server rejected this status.
    pub fn refuse(&self, key: &Key, status: &FederatedHPAStatus) {
        let rejected = Rejected { bytes: bytes(status), ledger: status.aggregated_status.is_none() };
        self.0.lock().insert(key.clone(), rejected);
    }

    /// The status, without information that is only shown if it is about as large as a rejected one, and with a reduced
    /// ledger if that was rejected, too.
    #[must_use]
    pub fn fit(&self, key: &Key, status: FederatedHPAStatus) -> FederatedHPAStatus {
        let Some(rejected) = self.0.lock().get(key).copied() else { return status };
        // A slightly smaller one would also be rejected, at every attempt.
        let limit = rejected.bytes.saturating_sub(rejected.bytes / 10);
        if bytes(&status) < limit {
            self.forget(key);
            return status;
        }
        let ledger = ledger(&status);
        if rejected.ledger { reduced(ledger, limit) } else { ledger }
    }

    /// Forgets an object that is gone, or whose status is smaller now.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

/// Its size in the store.
fn bytes(stored: &impl Serialize) -> usize {
    serde_json::to_vec(stored).map_or(usize::MAX, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ledger of a fleet in which everything is remembered of each cluster.
    fn full(clusters: usize) -> FederatedHPAStatus {
        let desired = |index| ClusterHPADesired {
            cluster_name: format!("member-{index:05}"),
            min_replicas: Some(1),
            max_replicas: Some(9),
            reason: Some("StaticWeighted".to_owned()),
            covered_replicas: Some(4),
            lost_replicas: Some(7),
            ..ClusterHPADesired::default()
        };
        FederatedHPAStatus {
            cluster_hpa_desired: Some((0..clusters).map(desired).collect()),
            ..FederatedHPAStatus::default()
        }
    }

    #[test]
    fn a_ledger_that_was_rejected_loses_what_no_replica_depends_on_from_its_end_until_it_fits() {
        let (too_large, key, status) = (TooLarge::default(), Key::new("prod", "web"), full(100));
        too_large.refuse(&key, &status);
        let fitting = too_large.fit(&key, status.clone());
        let whole = bytes(&status);
        assert!(
            bytes(&fitting) <= whole - whole / 10 && bytes(&fitting) > whole - whole / 10 - 60,
            "{}",
            bytes(&fitting)
        );
        let (before, after) = (status.cluster_hpa_desired.unwrap(), fitting.cluster_hpa_desired.unwrap());
        assert_eq!((after.len(), &after[0]), (100, &before[0]));
        let last = &after[99];
        assert_eq!((last.reason.as_deref(), last.covered_replicas), (None, None));
        assert_eq!((last.max_replicas, last.lost_replicas), (Some(9), Some(7)));
    }

    #[test]
    fn a_status_that_shrank_is_whole_again() {
        let (too_large, key) = (TooLarge::default(), Key::new("prod", "web"));
        too_large.refuse(&key, &full(100));
        assert_eq!(too_large.fit(&key, full(80)), full(80));
        assert_eq!(too_large.fit(&key, full(100)), full(100), "the store may have grown");
    }
}
