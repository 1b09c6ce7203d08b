//! The last observed objects of one kind, indexed by name and by subject. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::key::Key;

/// A stored object.
pub trait Item {
    /// Type of its subject.
    type IndexKey: Ord + Clone;
    /// `metadata.uid`
    fn uid(&self) -> &str;
    /// `metadata.resourceVersion`
    fn version(&self) -> &str;
    /// Its subject, if any.
    fn about(&self) -> Option<Self::IndexKey>;
    /// Its second subject, if any.
    fn also_about(&self) -> Option<Self::IndexKey> {
        None
    }
    /// Copies state beside the object from its previous version.
    fn inherit(&mut self, _known: &Self) {}
}

/// Whether `new` is newer than `known`. Versions are increasing numbers; where they are not numbers, any difference
/// counts as newer.
fn is_news<I: Item>(new: &I, known: &I) -> bool {
    if new.uid() != known.uid() {
        return true;
    }
    match (new.version().parse::<u64>(), known.version().parse::<u64>()) {
        (Ok(new), Ok(known)) => new > known,
        _ => new.version() != known.version(),
    }
}

/// An object before and after a change.
pub struct Change<I> {
    /// Its name.
    pub key: Key,
    /// `None`: it was not known.
    pub before: Option<Arc<I>>,
    /// `None`: it is gone.
    pub after: Option<Arc<I>>,
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Table<I: Item> {
    entries: BTreeMap<Key, Arc<I>>,
    by_subject: BTreeMap<I::IndexKey, BTreeSet<Key>>,
    listed: bool,
    /// Objects that this process wrote since a list began.
    written: BTreeSet<Key>,
}

impl<I: Item> Default for Table<I> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), by_subject: BTreeMap::new(), listed: false, written: BTreeSet::new() }
    }
}

impl<I: Item> Table<I> {
    /// Whether all objects were listed once.
    pub const fn listed(&self) -> bool {
        self.listed
    }

    /// The object of that name.
    pub fn get(&self, key: &Key) -> Option<&Arc<I>> {
        self.entries.get(key)
    }

    /// All of them.
    pub const fn all(&self) -> &BTreeMap<Key, Arc<I>> {
        &self.entries
    }

    /// The subjects of all objects.
    pub fn subjects(&self) -> impl Iterator<Item = &I::IndexKey> {
        self.by_subject.keys()
    }

    /// Keys of the objects with `subject`, in order.
    pub fn keys_about<'a>(&'a self, subject: &I::IndexKey) -> impl Iterator<Item = &'a Key> + use<'a, I> {
        self.by_subject.get(subject).into_iter().flatten()
    }

    /// The objects with `subject`, by key.
    pub fn about<'a>(&'a self, subject: &I::IndexKey) -> impl Iterator<Item = &'a Arc<I>> + use<'a, I> {
        self.keys_about(subject).filter_map(|key| self.entries.get(key))
    }

    /// Stores an object, unless the known one is as new.
    pub fn put(&mut self, key: Key, item: I) -> Option<Change<I>> {
        if self.entries.get(&key).is_some_and(|known| !is_news(&item, known)) {
            return None;
        }
        Some(self.set(key, item))
    }

    /// Stores an object that this process wrote.
    pub fn wrote(&mut self, key: Key, item: I) -> Option<Change<I>> {
        self.written.insert(key.clone());
        self.put(key, item)
    }

    fn set(&mut self, key: Key, mut item: I) -> Change<I> {
        if let Some(known) = self.entries.get(&key) {
            item.inherit(known);
        }
        let after = Arc::new(item);
        let before = self.insert(key.clone(), Arc::clone(&after));
        Change { key, before, after: Some(after) }
    }

    fn insert(&mut self, key: Key, item: Arc<I>) -> Option<Arc<I>> {
        let before = self.remove(&key);
        for subject in item.about().into_iter().chain(item.also_about()) {
            self.by_subject.entry(subject).or_default().insert(key.clone());
        }
        self.entries.insert(key, item);
        before
    }

    /// The stored object, to change state beside it.
    pub fn note(&mut self, key: &Key) -> Option<&mut I>
    where
        I: Clone,
    {
        self.entries.get_mut(key).map(Arc::make_mut)
    }

    /// Removes an object.
    pub fn take(&mut self, key: &Key) -> Option<Change<I>> {
        let before = self.remove(key)?;
        Some(Change { key: key.clone(), before: Some(before), after: None })
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<I>> {
        let before = self.entries.remove(key)?;
        for subject in before.about().into_iter().chain(before.also_about()) {
            if let Some(keys) = self.by_subject.get_mut(&subject) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_subject.remove(&subject);
                }
            }
        }
        Some(before)
    }

    /// Marks the start of a list of all objects. The list will be at least as new as every stored object.
    pub fn begin(&mut self) {
        self.written.clear();
    }

    /// Replaces all objects with a list. The list also wins where its version is smaller: the store was then restored
    /// from a backup. Only objects that this process wrote since the start of the list may be newer.
    pub fn replace(&mut self, all: Vec<(Key, I)>) -> Vec<Change<I>> {
        let written = std::mem::take(&mut self.written);
        let mut gone: BTreeSet<Key> = self.entries.keys().filter(|key| !written.contains(key)).cloned().collect();
        let mut changes = Vec::new();
        for (key, item) in all {
            gone.remove(&key);
            let known = self.entries.get(&key);
            if written.contains(&key) {
                changes.extend(self.put(key, item));
            } else if known.is_none_or(|known| known.uid() != item.uid() || known.version() != item.version()) {
                changes.push(self.set(key, item));
            }
        }
        changes.extend(gone.iter().filter_map(|key| self.take(key)));
        self.listed = true;
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(&'static str, &'static str, Option<&'static str>);

    impl Item for Thing {
        type IndexKey = &'static str;
        fn uid(&self) -> &str {
            self.0
        }
        fn version(&self) -> &str {
            self.1
        }
        fn about(&self) -> Option<&'static str> {
            self.2
        }
    }

    fn key(name: &str) -> Key {
        Key::new("prod", name)
    }

    #[test]
    fn only_what_is_newer_or_another_object_is_news() {
        let mut table = Table::default();
        assert!(table.put(key("a"), Thing("u", "9", None)).is_some());
        assert!(table.put(key("a"), Thing("u", "9", None)).is_none());
        assert!(table.put(key("a"), Thing("u", "8", None)).is_none());
        assert!(table.put(key("a"), Thing("u", "10", None)).is_some());
        assert!(table.put(key("a"), Thing("v", "3", None)).is_some());
    }

    #[test]
    fn an_object_is_found_by_what_it_is_about_now() {
        let mut table = Table::default();
        table.put(key("a"), Thing("u", "1", Some("x")));
        table.put(key("b"), Thing("v", "2", Some("x")));
        table.put(key("a"), Thing("u", "3", Some("y")));
        let names = |table: &Table<Thing>, about| table.about(&about).map(|thing| thing.0).collect::<Vec<_>>();
        assert_eq!((names(&table, "x"), names(&table, "y")), (vec!["v"], vec!["u"]));
        table.take(&key("a"));
        assert_eq!(names(&table, "y"), [""; 0]);
    }

    #[test]
    fn a_list_holds_where_the_versions_went_back_but_not_against_what_was_written_since() {
        let mut table = Table::default();
        let version = |table: &Table<Thing>, name| table.get(&key(name)).map(|thing| thing.1);
        for name in ["restored", "written", "made"] {
            table.put(key(name), Thing("u", "900", None));
        }
        table.begin();
        table.wrote(key("written"), Thing("u", "901", None));
        table.wrote(key("made"), Thing("m", "902", None));
        table.replace(vec![(key("restored"), Thing("u", "5", None)), (key("written"), Thing("u", "900", None))]);
        assert_eq!(
            ["restored", "written", "made"].map(|name| version(&table, name)),
            [Some("5"), Some("901"), Some("902")]
        );
        // A watch continues from the list.
        assert!(table.put(key("restored"), Thing("u", "4", None)).is_none());
        assert!(table.put(key("restored"), Thing("u", "6", None)).is_some());
        table.begin();
        table.replace(vec![(key("written"), Thing("u", "7", None))]);
        assert_eq!(["restored", "written", "made"].map(|name| version(&table, name)), [None, Some("7"), None]);
    }

    #[test]
    fn a_list_says_what_is_new_and_what_is_gone() {
        let mut table = Table::default();
        table.put(key("gone"), Thing("g", "1", None));
        table.put(key("same"), Thing("s", "2", None));
        assert!(!table.listed());
        let changes = table.replace(vec![(key("same"), Thing("s", "2", None)), (key("new"), Thing("n", "3", None))]);
        let told: Vec<_> = changes.iter().map(|change| (change.before.is_some(), change.after.is_some())).collect();
        assert_eq!((told, table.listed()), (vec![(false, true), (true, false)], true));
    }
}
