//! Watch -> index: the records of one kind. No I/O.

use std::sync::Arc;

use super::event_handler::EventHandler;
use super::index::Index;
use super::kind_index::{IndexedObject, KindIndex};

/// Stores the records of one kind in the index.
pub(super) struct Indexing<K, R> {
    index: Arc<Index>,
    shelf: fn(&Index) -> &KindIndex<R>,
    record: Box<dyn Fn(&K) -> R + Send>,
    listing: Vec<R>,
}

impl<K, R> Indexing<K, R> {
    pub(super) fn new(
        index: Arc<Index>,
        shelf: fn(&Index) -> &KindIndex<R>,
        record: impl Fn(&K) -> R + Send + 'static,
    ) -> Self {
        Self { index, shelf, record: Box::new(record), listing: Vec::new() }
    }
}

impl<K, R: IndexedObject> EventHandler<K> for Indexing<K, R> {
    fn begin(&mut self) {
        self.listing.clear();
    }
    fn listed(&mut self, object: &K) {
        self.listing.push((self.record)(object));
    }
    fn end(&mut self) {
        (self.shelf)(&self.index).replace(std::mem::take(&mut self.listing));
    }
    fn put(&mut self, object: &K) {
        (self.shelf)(&self.index).put((self.record)(object));
    }
    fn take(&mut self, namespace: &str, name: &str) {
        (self.shelf)(&self.index).take(&(namespace.to_owned(), name.to_owned()));
    }
}
