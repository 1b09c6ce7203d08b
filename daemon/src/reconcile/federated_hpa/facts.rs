//! Facts about a FederatedHPA, from its view: they decide what a pass does for it (`decision::phase`). No I/O.

use super::cache::View;
use super::cache::entry::Binding;
use super::progress::bound;
use super::worker::FederatedHpaWorker;
use crate::decision::phase::ObjectFacts;

impl FederatedHpaWorker {
    /// The facts about the object of `view`; `whole` is whether its fields are.
    pub(super) fn facts(&self, view: &View, whole: bool) -> ObjectFacts {
        let entry = &view.federated_hpa;
        let goes = self.retires() || entry.deleting();
        ObjectFacts {
            whole,
            mode: if goes { None } else { self.mode(entry) },
            suspended: self.suspends(entry),
            held: entry.held(),
            retargeted: entry.is_retargeted(),
            assigned: entry.assigned(),
            begun: self.has_begun(view),
            replaces: whole && self.replaces_first(view),
            yields: view.rival().is_some(),
            divisible: bound(view).is_some_and(Binding::is_divisible),
        }
    }
}
