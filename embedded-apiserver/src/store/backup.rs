//! Restores an earlier state of all objects, like a restore of etcd. In memory; no I/O.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{Key, Store};
use crate::object::Object;

/// All objects at one moment.
#[derive(Debug, Clone)]
pub struct Backup {
    version: u64,
    objects: HashMap<Arc<str>, BTreeMap<Arc<str>, Arc<Object>>>,
}

impl Store {
    /// All current objects, like a snapshot of etcd.
    pub fn backup(&self) -> Backup {
        let inner = self.inner.read();
        let objects = inner.buckets.iter().map(|(name, bucket)| (name.clone(), bucket.objects.clone())).collect();
        Backup { version: inner.version, objects }
    }

    /// Restores `backup`. The next version is one after those of the backup, or, with `bump`, greater than all earlier
    /// ones: like a restore of etcd without or with `--bump-revision`. No watch can continue from an earlier version.
    pub fn restore(&self, backup: &Backup, bump: bool) {
        let mut inner = self.inner.write();
        let version = if bump { inner.version.saturating_add(1) } else { backup.version };
        (inner.version, inner.uids, inner.dependents, inner.population) =
            (version, HashMap::new(), HashMap::new(), HashMap::new());
        inner.moved = inner.moved.saturating_add(1);
        for (name, bucket) in &mut inner.buckets {
            bucket.objects = backup.objects.get(name).cloned().unwrap_or_default();
            bucket.log.clear();
            bucket.compacted = version;
        }
        for (name, objects) in &backup.objects {
            for (path, object) in objects {
                let key = Key { bucket: name.clone(), path: path.clone() };
                inner.index(&key, None, Some(object));
            }
        }
        self.changed.send_replace(version);
    }
}
