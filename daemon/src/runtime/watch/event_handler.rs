//! What takes in the objects of a watch. No I/O.

use kube::api::ObjectMeta;
use kube::runtime::watcher;

/// Handles the events of a watch on one kind. A list replaces all previous objects.
pub trait EventHandler<K>: Send {
    /// A list begins.
    fn begin(&mut self);
    /// An object of the list.
    fn listed(&mut self, object: &K);
    /// The list is complete.
    fn end(&mut self);
    /// An object was created or changed.
    fn put(&mut self, object: &K);
    /// The object of that namespace and name is gone.
    fn take(&mut self, namespace: &str, name: &str);
    /// The object with this uid was deleted. A handler that reads objects beside the watch may know a later one of that
    /// name already.
    fn deleted(&mut self, namespace: &str, name: &str, _uid: &str) {
        self.take(namespace, name);
    }
    /// All objects of the kind were read through a foreign CRD: they no longer count, and a list follows.
    fn forget(&mut self) {}
    /// An object of the list cannot be decoded; its names, labels and deletion are known.
    fn listed_undecodable(&mut self, _metadata: &ObjectMeta, _error: &str) {}
    /// An object was created or changed, and cannot be decoded: for most handlers that is as if it were gone.
    fn undecodable(&mut self, metadata: &ObjectMeta, _error: &str) {
        let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
        self.take(namespace.unwrap_or_default(), name.unwrap_or_default());
    }
    /// The list or the watch failed; it is tried again.
    fn failed(&mut self, _error: &watcher::Error) {}
}
