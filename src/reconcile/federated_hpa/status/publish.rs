//! Publishes a status: writes it when it changed, updates metrics, and reports worse conditions as Events. Talks to the
//! API server.

use jiff::Timestamp;

use super::shown::ledger;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::controller::failure::{WriteError, reason};
use crate::controller::key::Key;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::status;
use crate::reconcile::federated_hpa::worker::FederatedHpaWorker;
use crate::runtime::leader::Leader;

/// What became of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// It was written.
    Written,
    /// The stored one is equal.
    Unchanged,
    /// Nothing depends on it, and it is written then.
    Later(Timestamp),
}

impl FederatedHpaWorker {
    /// Updates the metrics of an object.
    pub(crate) fn count(&self, order: &FederatedHpaEntry, status: &FederatedHPAStatus) {
        let conditions = status.conditions.iter().flatten();
        let words = conditions
            .map(|condition| (&*condition.type_, &*condition.status, condition.reason.as_deref().unwrap_or_default()));
        self.reporter.metrics.conditions.say(&order.key().to_string(), words);
    }

    /// Removes the metrics of an object that is gone, or no longer handled.
    pub(crate) fn forget(&self, key: &Key) {
        self.status_throttle.forget(key);
        self.too_large.forget(key);
        self.centralized.forget(key);
        self.reporter.metrics.conditions.forget(&key.to_string());
    }

    /// Writes the status where it differs, updates the metrics, and reports conditions that became worse.
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

    /// Writes the status where it differs, and updates the metrics. Measurements and words alone are written at their
    /// pace. The caller reports what was written.
    pub(crate) async fn pace(
        &self,
        leader: &Leader,
        order: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
        now: Timestamp,
    ) -> Result<Published, WriteError> {
        self.count(order, status);
        if status::stands(order, status) {
            return Ok(Published::Unchanged);
        }
        if let Some(later) = self.status_throttle.due(order, status, now) {
            return Ok(Published::Later(later));
        }
        self.status_throttle.wrote(&order.key(), now);
        self.put(leader, order, status).await?;
        Ok(Published::Written)
    }

    /// Writes the status; where it is too large for the store, without information that is only shown: stored state
    /// must be written before the steps that depend on it.
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
