//! The given files in the role of the other objects of the control plane. No I/O.

use std::collections::HashMap;

use crate::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, KnownScaler, RelatedObjects, Target};

/// The objects of all given files, in any order.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) federated_hpas: Vec<KnownFederatedHPA>,
    pub(super) cron_federated_hpas: Vec<KnownCronFederatedHPA>,
    pub(super) scalers: Vec<KnownScaler>,
}

/// The objects of all given files by what they scale: each is looked up for each other one.
#[derive(Debug)]
pub(crate) struct GivenObjects {
    federated_hpas: HashMap<Target, Vec<KnownFederatedHPA>>,
    cron_federated_hpas: HashMap<Target, Vec<KnownCronFederatedHPA>>,
    scalers: HashMap<Target, Vec<KnownScaler>>,
    /// By namespace and name.
    named: HashMap<(String, String), KnownFederatedHPA>,
}

impl Collected {
    /// Sorts by name; the first of duplicates counts.
    pub(super) fn in_order(mut self) -> GivenObjects {
        self.federated_hpas.sort_by(|a, b| (&a.target.namespace, &a.name).cmp(&(&b.target.namespace, &b.name)));
        self.federated_hpas.dedup_by(|a, b| (&a.target.namespace, &a.name) == (&b.target.namespace, &b.name));
        self.cron_federated_hpas.sort_by(|a, b| (&a.target.namespace, &a.name).cmp(&(&b.target.namespace, &b.name)));
        self.cron_federated_hpas.dedup_by(|a, b| (&a.target.namespace, &a.name) == (&b.target.namespace, &b.name));
        self.scalers.sort();
        self.scalers.dedup();
        let name = |known: &KnownFederatedHPA| (known.target.namespace.clone(), known.name.clone());
        GivenObjects {
            named: self.federated_hpas.iter().map(|known| (name(known), known.clone())).collect(),
            federated_hpas: by_target(self.federated_hpas, |known| &known.target),
            cron_federated_hpas: by_target(self.cron_federated_hpas, |known| &known.target),
            scalers: by_target(self.scalers, |known| &known.target),
        }
    }
}

fn by_target<T>(objects: Vec<T>, target: impl Fn(&T) -> &Target) -> HashMap<Target, Vec<T>> {
    let mut all = HashMap::<Target, Vec<T>>::new();
    for object in objects {
        all.entry(target(&object).clone()).or_default().push(object);
    }
    all
}

impl RelatedObjects for GivenObjects {
    fn federated_hpas_on(&self, target: &Target) -> Vec<KnownFederatedHPA> {
        self.federated_hpas.get(target).cloned().unwrap_or_default()
    }

    fn cron_federated_hpas_on(&self, target: &Target) -> Vec<KnownCronFederatedHPA> {
        self.cron_federated_hpas.get(target).cloned().unwrap_or_default()
    }

    fn scalers_on(&self, target: &Target) -> Vec<KnownScaler> {
        self.scalers.get(target).cloned().unwrap_or_default()
    }

    fn federated_hpa(&self, namespace: &str, name: &str) -> Option<KnownFederatedHPA> {
        self.named.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}
