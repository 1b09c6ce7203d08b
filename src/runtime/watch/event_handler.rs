//! What takes in the objects of a watch. No I/O.

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
    /// The object of that namespace and name is gone, or can no longer be decoded.
    fn take(&mut self, namespace: &str, name: &str);
    /// The object with this uid was deleted. A handler that reads objects beside the watch may know a later one of that
    /// name already.
    fn deleted(&mut self, namespace: &str, name: &str, _uid: &str) {
        self.take(namespace, name);
    }
    /// All objects of the kind were read through a foreign CRD: they no longer count, and a list follows.
    fn forget(&mut self) {}
    /// An object, of a list or changed, cannot be decoded.
    fn undecodable(&mut self, _namespace: &str, _name: &str, _error: &str) {}
    /// The list or the watch failed; it is tried again.
    fn failed(&mut self, _error: &watcher::Error) {}
}
