//! Serializes reconciles of different objects on one target, so that the last write is that of the later run. No I/O.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Mutex as Lane, OwnedMutexGuard};

use super::entry::TargetKey;

/// Targets with several objects that are being reconciled.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<BTreeMap<TargetKey, Weak<Lane<()>>>>);

impl Lanes {
    /// Waits until no other reconcile on the target is in progress, and blocks others until the returned guard is
    /// dropped.
    pub async fn enter(&self, subject: TargetKey) -> OwnedMutexGuard<()> {
        self.lane(subject).lock_owned().await
    }

    fn lane(&self, subject: TargetKey) -> Arc<Lane<()>> {
        let mut lanes = self.0.lock();
        // At most as many remain as there are reconciles in progress.
        lanes.retain(|_, lane| lane.strong_count() > 0);
        if let Some(lane) = lanes.get(&subject).and_then(Weak::upgrade) {
            return lane;
        }
        let lane = Arc::new(Lane::default());
        lanes.insert(subject, Arc::downgrade(&lane));
        lane
    }
}
