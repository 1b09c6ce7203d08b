//! Drops entries of the log: older watches and continue tokens then expire. No I/O.

use super::Store;

impl Store {
    /// Drops the log of one kind and notifies its watches.
    pub fn forget(&self, bucket: &str) {
        let mut inner = self.inner.write();
        let version = inner.version;
        if let Some(content) = inner.buckets.get_mut(bucket) {
            content.log.clear();
            content.compacted = version;
            content.changed.send_modify(|_| {});
        }
    }

    /// Drops the log, like a compaction of etcd: older watches and continue tokens expire.
    pub fn compact(&self) {
        let mut inner = self.inner.write();
        let version = inner.version;
        for bucket in inner.buckets.values_mut() {
            bucket.log.clear();
            bucket.compacted = version;
        }
    }
}
