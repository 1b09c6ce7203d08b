//! What an uninstallation ends in member clusters. Talks to the API server; reads only.

use std::collections::BTreeSet;
use std::fmt;

use kube::api::ListParams;
use kube::{Api, Client};

use crate::api::{FederatedHPA, Work};
use crate::controller::failure::{Asked, Failure};
use crate::decision::freeze::FREEZE;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// Workloads that are handed back, and their HPAs in members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    workloads: usize,
    hpas: usize,
    clusters: usize,
}

impl Effect {
    /// What is stored now.
    ///
    /// # Errors
    /// When the API server rejects a request or is unreachable.
    pub async fn read(client: &Client) -> Result<Self, Failure> {
        let stored = Api::<FederatedHPA>::all(client.clone()).list(&ListParams::default()).await;
        let stored = stored.map(|list| list.items).or_else(none_served);
        let stored = stored.map_err(|error| unread(&error, "autoscaling.karmada.io", "federatedhpas"))?;
        let ours = ListParams::default().labels(&format!("{MANAGED_BY}={OURS}"));
        let works = Api::<Work>::all(client.clone()).list_metadata(&ours).await;
        let works = works.map(|list| list.items).or_else(none_served);
        let works = works.map_err(|error| unread(&error, "work.karmada.io", "works"))?;
        let clusters: BTreeSet<_> = works.iter().map(|work| work.metadata.namespace.as_deref()).collect();
        Ok(Self {
            workloads: stored.iter().map(FederatedHpaEntry::of).filter(FederatedHpaEntry::held).count(),
            hpas: works.len(),
            clusters: clusters.len(),
        })
    }

    /// Whether nothing scales a workload less than before.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.workloads == 0 && self.hpas == 0
    }
}

fn unread(error: &kube::Error, group: &str, resource: &str) -> Failure {
    Failure::of(error, Asked { verb: "list", group, resource, object: &resource })
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workloads, hpas, clusters } = self;
        let of = |count: &usize, one: &str| if *count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
        write!(
            f,
            "This deletes {} in {} and hands {} back to Karmada. Pods stay, and nothing scales them afterwards.\nTo halt the \
             controllers while members keep scaling, annotate the Lease with {FREEZE}=REASON instead.",
            of(hpas, "HPA"),
            of(clusters, "member cluster"),
            of(workloads, "workload"),
        )
    }
}

/// Without the kind there are no objects of it.
fn none_served<T>(error: kube::Error) -> Result<Vec<T>, kube::Error> {
    match error {
        kube::Error::Api(status) if status.code == 404 => Ok(Vec::new()),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::Effect;

    #[test]
    fn what_ends_is_counted() {
        let said = Effect { workloads: 1, hpas: 3, clusters: 2 }.to_string();
        assert!(said.starts_with("This deletes 3 HPAs in 2 member clusters and hands 1 workload back"), "{said}");
    }
}
