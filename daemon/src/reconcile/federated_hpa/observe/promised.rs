//! Free capacity without what is promised to other objects (docs/design.md#law-13-promise-capacity-once).

use std::cmp::Reverse;

use jiff::Timestamp;

use super::Observed;
use super::live_state::LiveState;
use crate::decision::ledger::{Ledger, Rank, Standing};
use crate::decision::plan::{Plan, plan};
use crate::decision::promises;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;

/// Who comes first where capacity is scarce.
#[must_use]
pub fn standing(view: &View, binding: &Binding, rank: Rank) -> Standing {
    let object = &view.federated_hpa.object;
    Standing {
        rank,
        priority: Reverse(binding.object.spec.schedule_priority.unwrap_or_default().priority),
        created: object.metadata.creation_timestamp.as_ref().map(|time| time.0),
        name: view.federated_hpa.key().to_string(),
    }
}

impl Observed<'_> {
    /// Takes what is promised to others from the free capacity of each cluster.
    pub fn leave_promised(
        &mut self,
        live: &LiveState,
        ledger: &mut Ledger,
        view: &View,
        binding: &Binding,
        now: Timestamp,
    ) {
        let Some(each) = self.requirements.demand().filter(|_| !ledger.is_empty()) else { return };
        let standing = standing(view, binding, self.request.rank());
        let report = |name: &str| {
            let reported = !live.capacity.is_estimated(name, &self.requirements);
            view.cluster(name)?.summary.as_ref().filter(|_| reported)
        };
        promises::leave(ledger, &mut self.request, &standing, each, report, now);
    }

    /// Plans, and promises what is asked for, under the lock of the ledger: the next object sees it. Returns when to
    /// look again, where something waits.
    pub fn promise(
        &self,
        ledger: &mut Ledger,
        view: &View,
        binding: &Binding,
        now: Timestamp,
    ) -> (Plan<'_>, Option<Timestamp>) {
        let Some(each) = self.requirements.demand() else {
            ledger.forget(&view.federated_hpa.key().to_string());
            return (plan(&self.request), None);
        };
        let standing = standing(view, binding, self.request.rank());
        let report = |name: &str| view.cluster(name)?.summary.as_ref();
        promises::promise(ledger, &self.request, &standing, each, report, now)
    }
}
