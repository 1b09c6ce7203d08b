//! The reconciles of FederatedHPAs as a worker of the engine (`controller::engine`).

use std::collections::BTreeSet;
use std::time::Duration;

use super::reconcile::FederatedHpaRetryState;
use super::worker::FederatedHpaWorker;
use crate::controller::engine::{Ended, QueueStats, Worker};
use crate::controller::key::Key;
use crate::decision::ledger::Ledger;
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::ReconcileResult;

impl Worker for FederatedHpaWorker {
    type RetryState = FederatedHpaRetryState;

    async fn wait_for_change(&self) {
        tokio::select! {
            () = self.live.wait_for_change() => {}
            () = self.coverage.wait_for_change() => {}
        }
    }

    fn changed(&self) -> BTreeSet<Key> {
        let mut changed = self.live.changed();
        changed.extend(self.coverage.changed());
        changed
    }

    fn begin_term(&self) {
        *self.live.ledger.lock() = Ledger::default();
        self.live.cache.unassign_all();
    }

    fn keys(&self) -> Vec<Key> {
        self.live.cache.keys()
    }

    async fn reconcile(
        &self,
        leader: &Leader,
        key: &Key,
        retry_state: FederatedHpaRetryState,
    ) -> Result<Ended<FederatedHpaRetryState>, LeaseLost> {
        self.reconcile_object(leader, key, retry_state).await
    }

    fn queue_stats(&self, queue_stats: QueueStats<'_>) {
        queue_stats.show(&self.reporter.metrics.distributed);
    }

    fn dequeued(&self, waited: Duration) {
        self.reporter.metrics.dequeued(waited);
    }

    fn ended(&self, result: ReconcileResult, took: Duration) {
        let metrics = &self.reporter.metrics;
        if result == ReconcileResult::Panic {
            metrics.panics.inc();
        }
        metrics.distributed.reconciled(result, took);
    }
}
