//! A status on its way out: written when it says something new, counted, and told as Events where it turned bad. Talks to the
//! API server.

use super::shown::ledger;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::controller::failure::{WriteError, reason};
use crate::controller::key::Key;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::status;
use crate::reconcile::federated_hpa::worker::FederatedHpaWorker;
use crate::runtime::leader::Leader;

impl FederatedHpaWorker {
    /// Counts what an object says.
    pub(crate) fn count(&self, order: &FederatedHpaEntry, status: &FederatedHPAStatus) {
        let conditions = status.conditions.iter().flatten();
        let words = conditions
            .map(|condition| (&*condition.type_, &*condition.status, condition.reason.as_deref().unwrap_or_default()));
        self.reporter.metrics.conditions.say(&order.key().to_string(), words);
    }

    /// Forgets an object that is gone, or is nothing of ours any more.
    pub(crate) fn forget(&self, key: &Key) {
        self.status_throttle.forget(key);
        self.too_large.forget(key);
        self.centralized.forget(key);
        self.reporter.metrics.conditions.forget(&key.to_string());
    }

    /// Writes the status where another one stands, counts it, and tells of what turned bad.
    pub(crate) async fn say(
        &self,
        leader: &Leader,
        order: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
    ) -> Result<(), WriteError> {
        self.count(order, status);
        if !status::stands(order, status) {
            self.put(leader, order, status).await?;
            self.reporter.worsened(leader, order, status);
        }
        Ok(())
    }

    /// Writes the status; where the store takes no more, without what is only shown: what is remembered must be stored before
    /// anything that follows from it.
    pub(crate) async fn put(
        &self,
        leader: &Leader,
        order: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
    ) -> Result<(), WriteError> {
        match status::write(&self.writer, leader, order, status).await {
            Err(WriteError::Failed(failure))
                if failure.reason == reason::TOO_LARGE && status.aggregated_status.is_some() =>
            {
                self.too_large.refuse(&order.key(), status);
                status::write(&self.writer, leader, order, &ledger(status)).await
            }
            written => written,
        }
    }
}
