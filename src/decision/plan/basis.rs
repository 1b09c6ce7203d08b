//! Inputs of an assignment as a digest: while it is unchanged, targets are kept (docs/design.md#initial-assignment).
//! Pure.

use std::fmt;
use std::str::FromStr;

use super::{Cluster, Policy, Request};
use crate::decision::fnv::Fnv64;

/// A digest of the user's bounds, the policy and the user's settings for the selected clusters.
///
/// Measurements (capacity, replicas) are not part of it: a change there causes no new assignment. Failed clusters are
/// part of it, because failure and return have rules of their own. The digest is the same in every version and on every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Basis(u64);

impl Basis {
    pub(super) fn of(request: &Request<'_>, sorted: &[&Cluster<'_>]) -> Self {
        let mut digest = Digest::default();
        digest.text(request.policy.name());
        digest.number(request.total.min.into());
        digest.number(request.total.max.into());
        for cluster in sorted.iter().filter(|cluster| cluster.chosen) {
            digest.text(cluster.name);
            digest.number(cluster.limits.least.into());
            digest.number(cluster.limits.most.into());
            match request.policy {
                Policy::StaticWeighted => digest.number(cluster.weight),
                Policy::Prioritized => {
                    digest.number(u64::from(cluster.priority.is_some()));
                    digest.number(cluster.priority.unwrap_or_default().cast_unsigned().into());
                }
                Policy::Duplicated | Policy::DynamicWeighted | Policy::Aggregated => {}
            }
        }
        // Only where there is one: without it the digest is that of earlier versions.
        if let Some(rescheduled) = request.rescheduled {
            digest.text("rescheduled");
            digest.number(rescheduled.as_second().cast_unsigned());
        }
        Self(digest.0.value())
    }
}

#[derive(Default)]
struct Digest(Fnv64);

impl Digest {
    fn number(&mut self, number: u64) {
        // The length first, so that different lists of numbers and names have different digests.
        let bytes = number.to_le_bytes();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        self.0.byte(u8::try_from(used).unwrap_or(u8::MAX));
        bytes.iter().take(used).for_each(|byte| self.0.byte(*byte));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        text.bytes().for_each(|byte| self.0.byte(byte));
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Basis {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::plan::{Bounds, ClusterState};

    fn basis(request: &Request<'_>) -> Basis {
        Basis::of(request, &request.clusters.iter().collect::<Vec<_>>())
    }

    fn request() -> Request<'static> {
        let clusters = ["a", "b"].map(|name| Cluster { name, chosen: true, weight: 1, ..Cluster::default() });
        let total = Bounds { min: 1, max: 10 };
        Request { total, policy: Policy::StaticWeighted, clusters: clusters.to_vec(), ..Request::default() }
    }

    #[test]
    fn what_the_user_says_is_in_it_and_what_is_measured_is_not() {
        let before = basis(&request());
        let change = |edit: fn(&mut Request<'_>)| {
            let mut request = request();
            edit(&mut request);
            basis(&request) != before
        };
        assert!(change(|request| request.total.max = 11));
        assert!(change(|request| request.policy = Policy::Duplicated));
        assert!(change(|request| request.clusters[0].weight = 2));
        assert!(change(|request| request.clusters[0].limits.most = 2));
        assert!(change(|request| request.clusters[0].chosen = false));
        assert!(!change(|request| request.clusters[0].priority = Some(2)));
        assert!(!change(|request| request.clusters[0].available = Some(2)));
        assert!(!change(|request| request.clusters[0].state = ClusterState::Away));
    }

    #[test]
    fn it_survives_being_written_down() {
        let before = basis(&request());
        assert_eq!(before.to_string().parse(), Ok(before));
        // Stored in objects: a different digest would cause a new assignment.
        assert_eq!(before.to_string(), "9fc041e816850073");
    }
}
