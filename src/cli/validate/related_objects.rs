//! The given files in the role of the other objects of the control plane. No I/O.

use crate::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, KnownScaler, RelatedObjects, Target};

/// The objects of all given files.
#[derive(Debug, Default)]
pub(crate) struct GivenObjects {
    pub(crate) federated_hpas: Vec<KnownFederatedHPA>,
    pub(crate) cron_federated_hpas: Vec<KnownCronFederatedHPA>,
    pub(crate) scalers: Vec<KnownScaler>,
}

impl GivenObjects {
    /// Sorts by name; the first of duplicates counts.
    pub(crate) fn in_order(mut self) -> Self {
        self.federated_hpas.sort_by(|a, b| (&a.target.namespace, &a.name).cmp(&(&b.target.namespace, &b.name)));
        self.federated_hpas.dedup_by(|a, b| (&a.target.namespace, &a.name) == (&b.target.namespace, &b.name));
        self.cron_federated_hpas.sort_by(|a, b| (&a.target.namespace, &a.name).cmp(&(&b.target.namespace, &b.name)));
        self.cron_federated_hpas.dedup_by(|a, b| (&a.target.namespace, &a.name) == (&b.target.namespace, &b.name));
        self.scalers.sort();
        self.scalers.dedup();
        self
    }
}

impl RelatedObjects for GivenObjects {
    fn federated_hpas_on(&self, target: &Target) -> Vec<KnownFederatedHPA> {
        self.federated_hpas.iter().filter(|known| known.target == *target).cloned().collect()
    }

    fn cron_federated_hpas_on(&self, target: &Target) -> Vec<KnownCronFederatedHPA> {
        self.cron_federated_hpas.iter().filter(|known| known.target == *target).cloned().collect()
    }

    fn scalers_on(&self, target: &Target) -> Vec<KnownScaler> {
        self.scalers.iter().filter(|known| known.target == *target).cloned().collect()
    }

    fn federated_hpa(&self, namespace: &str, name: &str) -> Option<KnownFederatedHPA> {
        self.federated_hpas.iter().find(|known| known.target.namespace == namespace && known.name == name).cloned()
    }
}
