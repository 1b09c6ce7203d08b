//! What the log forgets: then watches and continue tokens from before expire. No I/O.

use super::Store;

impl Store {
    /// Forgets the log of one kind and wakes its watches.
    pub fn forget(&self, bucket: &str) {
        let mut inner = self.inner.write();
        let version = inner.version;
        if let Some(content) = inner.buckets.get_mut(bucket) {
            content.log.clear();
            content.compacted = version;
            content.changed.send_modify(|_| {});
        }
    }

    /// Forgets the log, as a compaction of etcd does: older watches and continue tokens expire.
    pub fn compact(&self) {
        let mut inner = self.inner.write();
        let version = inner.version;
        for bucket in inner.buckets.values_mut() {
            bucket.log.clear();
            bucket.compacted = version;
        }
    }
}
