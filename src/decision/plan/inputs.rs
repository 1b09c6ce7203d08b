//! Inputs of an assignment as a digest: while it is unchanged, targets are kept (docs/design.md#initial-assignment).
//! Pure.

use super::basis::Digest;
use super::row::Row;
use super::{Basis, Policy, Request};

/// The digest of the inputs.
pub(super) fn basis(request: &Request<'_>, rows: &[Row<'_>]) -> Basis {
    let mut digest = Digest::default();
    digest.text(request.policy.name());
    digest.number(request.total.min.into());
    digest.number(request.total.max.into());
    for cluster in rows.iter().map(|row| row.cluster).filter(|cluster| cluster.chosen) {
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
    digest.basis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::plan::row::rows;
    use crate::decision::plan::{Bounds, Cluster, ClusterState};

    fn basis(request: &Request<'_>) -> Basis {
        super::basis(request, &rows(request))
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
