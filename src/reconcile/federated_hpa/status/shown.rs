//! Information that a status shows beside the stored state: details of clusters, and how they are reduced where the
//! status is too large for the store. No I/O.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

use crate::api::federated_hpa::{ClusterCounts, FederatedHPAStatus};
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
        view.member_hpas.iter().filter(|member_hpa| !member_hpa.deleting).map(|member_hpa| &**member_hpa).collect();
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
#[must_use]
pub fn ledger(status: &FederatedHPAStatus) -> FederatedHPAStatus {
    let shown = status.aggregated_status.as_ref().map_or(0, Vec::len);
    let omitted = status.aggregated_status_omitted.unwrap_or_default().saturating_add(count(shown));
    FederatedHPAStatus { aggregated_status: None, aggregated_status_omitted: Some(omitted), ..status.clone() }
}

/// Sizes that were rejected as too large; lost with the process.
#[derive(Debug, Default)]
pub struct TooLarge(Mutex<HashMap<Key, usize>>);

impl TooLarge {
    /// Records that the API server rejected this status.
    pub fn refuse(&self, key: &Key, status: &FederatedHPAStatus) {
        self.0.lock().insert(key.clone(), size(status));
    }

    /// Whether a status of this object was rejected.
    #[must_use]
    pub fn knows(&self, key: &Key) -> bool {
        self.0.lock().contains_key(key)
    }

    /// The status, without information that is only shown if it is about as large as a rejected one.
    #[must_use]
    pub fn fit(&self, key: &Key, status: FederatedHPAStatus) -> FederatedHPAStatus {
        let Some(refused) = self.0.lock().get(key).copied() else { return status };
        // A slightly smaller one would also be rejected, at every attempt.
        if size(&status) < refused.saturating_sub(refused / 10) {
            self.forget(key);
            return status;
        }
        ledger(&status)
    }

    /// Forgets an object that is gone, or whose status is smaller now.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

/// Bytes of a status.
fn size(status: &FederatedHPAStatus) -> usize {
    serde_json::to_vec(status).map_or(usize::MAX, |text| text.len())
}
