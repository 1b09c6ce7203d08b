//! What an uninstallation ends in member clusters. Talks to the API server; reads only.

use std::collections::BTreeSet;
use std::fmt;

use kube::api::ListParams;
use kube::{Client, Resource as _};

use super::apply::each_metadata;
use crate::api::{FederatedHPA, Work};
use crate::controller::failure::Failure;
use crate::decision::freeze::FREEZE;
use crate::decision::names::EXECUTION_SPACE;
use crate::reconcile::federated_hpa::cache::entry::is_held;
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
        let (mut workloads, mut hpas, mut clusters) = (0_usize, 0_usize, BTreeSet::new());
        let place = ("autoscaling.karmada.io", "federatedhpas");
        each_metadata(client, &FederatedHPA::url_path(&(), None), ListParams::default(), place, |hpa| {
            workloads = workloads.saturating_add(usize::from(is_held(&hpa)));
        })
        .await?;
        let ours = ListParams::default().labels(&format!("{MANAGED_BY}={OURS}"));
        each_metadata(client, &Work::url_path(&(), None), ours, ("work.karmada.io", "works"), |work| {
            // Users may make Works in their own namespaces.
            if let Some(space) = work.namespace.filter(|space| space.starts_with(EXECUTION_SPACE)) {
                hpas = hpas.saturating_add(1);
                clusters.insert(space);
            }
        })
        .await?;
        Ok(Self { workloads, hpas, clusters: clusters.len() })
    }

    /// Whether nothing scales a workload less than before.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.workloads == 0 && self.hpas == 0
    }
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

#[cfg(test)]
mod tests {
    use super::Effect;

    #[test]
    fn what_ends_is_counted() {
        let said = Effect { workloads: 1, hpas: 3, clusters: 2 }.to_string();
        assert!(said.starts_with("This deletes 3 HPAs in 2 member clusters and hands 1 workload back"), "{said}");
    }
}
