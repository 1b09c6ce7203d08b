//! Bindings that fhpa suspended, by the FederatedHPA for which it did so. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::entry::{Binding, FederatedHpaEntry};
use crate::controller::key::Key;
use crate::controller::table::Change;

/// The marks.
#[derive(Debug, Default)]
pub(super) struct Marks(BTreeMap<Key, BTreeSet<Key>>);

impl Marks {
    /// Applies a change of a binding.
    pub(super) fn follow(&mut self, change: &Change<Binding>) {
        let owner = |binding: &Arc<Binding>| binding.marked().map(|name| Key::new(&change.key.namespace, name));
        if let Some(owner) = change.before.as_ref().and_then(owner)
            && let Some(bindings) = self.0.get_mut(&owner)
        {
            bindings.remove(&change.key);
            if bindings.is_empty() {
                self.0.remove(&owner);
            }
        }
        if let Some(owner) = change.after.as_ref().and_then(owner) {
            self.0.entry(owner).or_default().insert(change.key.clone());
        }
    }

    /// The FederatedHPAs that bindings are marked for, existing or not.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// The bindings that are marked for a FederatedHPA.
    pub(super) fn of<'a>(&'a self, owner: &Key) -> impl Iterator<Item = &'a Key> + use<'a> {
        self.0.get(owner).into_iter().flatten()
    }
}

/// A binding that is marked for a FederatedHPA.
pub struct Marked {
    /// The binding.
    pub binding: Arc<Binding>,
    /// The FederatedHPAs that scale its workload, or still hold it.
    pub federated_hpas: Vec<Arc<FederatedHpaEntry>>,
}
