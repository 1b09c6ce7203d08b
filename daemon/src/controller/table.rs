//! The last observed objects of one kind, indexed by name and by subject. No I/O.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::key::Key;

/// A stored object.
pub trait Item {
    /// Type of its subject.
    type IndexKey: Ord + Clone;
    /// Its name.
    fn key(&self) -> &Key;
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
fn is_newer_or_other<I: Item>(new: &I, known: &I) -> bool {
    if new.uid() != known.uid() {
        return true;
    }
    match (number(new), number(known)) {
        (Some(new), Some(known)) => new > known,
        _ => new.version() != known.version(),
    }
}

/// The version of an object, where it is a number.
fn number<I: Item>(item: &I) -> Option<u64> {
    item.version().parse().ok()
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

/// An object, ordered and found by its name. The name is stored in the object only: there may be a million of them.
#[derive(Debug)]
struct Named<I>(Arc<I>);

impl<I: Item> PartialEq for Named<I> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl<I: Item> Eq for Named<I> {}

impl<I: Item> PartialOrd for Named<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I: Item> Ord for Named<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key().cmp(other.0.key())
    }
}

impl<I: Item> Borrow<Key> for Named<I> {
    fn borrow(&self) -> &Key {
        self.0.key()
    }
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Table<I: Item> {
    entries: BTreeSet<Named<I>>,
    by_subject: BTreeMap<I::IndexKey, BTreeSet<Named<I>>>,
    listed: bool,
    /// Objects that this process wrote, or read beside the watch, since a list began.
    written: BTreeSet<Key>,
    /// During a list: objects that it did not bring yet.
    unlisted: Option<BTreeSet<Key>>,
    /// Version of the last list that was read beside the watch, until the watch lists: events up to it are known.
    read_to: Option<u64>,
}

impl<I: Item> Default for Table<I> {
    fn default() -> Self {
        Self {
            entries: BTreeSet::new(),
            by_subject: BTreeMap::new(),
            listed: false,
            written: BTreeSet::new(),
            unlisted: None,
            read_to: None,
        }
    }
}

impl<I: Item> Table<I> {
    /// Whether all objects were listed once.
    pub const fn listed(&self) -> bool {
        self.listed
    }

    /// The object of that name.
    pub fn get(&self, key: &Key) -> Option<&Arc<I>> {
        self.entries.get(key).map(|named| &named.0)
    }

    /// All of them, by key.
    pub fn all(&self) -> impl Iterator<Item = &Arc<I>> {
        self.entries.iter().map(|named| &named.0)
    }

    /// Those whose key is `from` or greater.
    pub fn from<'a>(&'a self, from: &Key) -> impl Iterator<Item = &'a Arc<I>> + use<'a, I> {
        self.entries.range::<Key, _>((Bound::Included(from), Bound::Unbounded)).map(|named| &named.0)
    }

    /// The subjects of all objects.
    pub fn subjects(&self) -> impl Iterator<Item = &I::IndexKey> {
        self.by_subject.keys()
    }

    /// The objects with `subject`, by key.
    pub fn about<'a, Q: Ord>(&'a self, subject: &Q) -> impl Iterator<Item = &'a Arc<I>> + use<'a, I, Q>
    where
        I::IndexKey: Borrow<Q>,
    {
        self.by_subject.get(subject).into_iter().flatten().map(|named| &named.0)
    }

    /// Keys of the objects with `subject`, in order.
    pub fn keys_about<'a, Q: Ord>(&'a self, subject: &Q) -> impl Iterator<Item = &'a Key> + use<'a, I, Q>
    where
        I: 'a,
        I::IndexKey: Borrow<Q>,
    {
        self.about(subject).map(|item| item.key())
    }

    /// Stores an object, unless the known one is as new, or a list that was read beside the watch did not have it any
    /// more.
    pub fn put(&mut self, item: I) -> Option<Change<I>> {
        let known = self.get(item.key());
        let is_other = known.is_none_or(|known| known.uid() != item.uid());
        let is_gone = || self.read_to.zip(number(&item)).is_some_and(|(read_to, version)| version <= read_to);
        if is_other && is_gone() || known.is_some_and(|known| !is_newer_or_other(&item, known)) {
            return None;
        }
        if self.get(item.key()).is_none()
            && let Some(unlisted) = &mut self.unlisted
        {
            unlisted.insert(item.key().clone());
        }
        Some(self.set(item))
    }

    /// Stores an object that this process wrote.
    pub fn wrote(&mut self, item: I) -> Option<Change<I>> {
        self.written.insert(item.key().clone());
        self.put(item)
    }

    fn set(&mut self, mut item: I) -> Change<I> {
        if let Some(known) = self.get(item.key()) {
            item.inherit(known);
        }
        let after = Arc::new(item);
        let before = self.remove(after.key());
        self.insert(Arc::clone(&after));
        Change { key: after.key().clone(), before, after: Some(after) }
    }

    fn insert(&mut self, item: Arc<I>) {
        for subject in item.about().into_iter().chain(item.also_about()) {
            self.by_subject.entry(subject).or_default().insert(Named(Arc::clone(&item)));
        }
        self.entries.insert(Named(item));
    }

    /// Changes state beside the stored object.
    pub fn note(&mut self, key: &Key, change: impl FnOnce(&mut I))
    where
        I: Clone,
    {
        if let Some(mut item) = self.remove(key) {
            change(Arc::make_mut(&mut item));
            self.insert(item);
        }
    }

    /// Stores an object of a list that is read beside the watch. It may be newer than a list of the watch that is not
    /// complete yet. Before the watch lists, nothing is stored.
    pub fn read(&mut self, item: I) -> Option<Change<I>> {
        if self.unlisted.is_some() {
            return self.wrote(item);
        }
        if self.listed { self.put(item) } else { None }
    }

    /// Ends a list of version `read_to` that was read beside the watch: drops the objects whose uids are not among `seen`;
    /// `None` drops nothing.
    pub fn read_to(&mut self, read_to: u64, seen: Option<&BTreeSet<Box<str>>>) -> Vec<Change<I>> {
        self.read_to = Some(read_to);
        let Some(seen) = seen else { return Vec::new() };
        let is_gone =
            |item: &&Arc<I>| !seen.contains(item.uid()) && number(&***item).is_some_and(|version| version <= read_to);
        let gone: Vec<Key> = self.all().filter(is_gone).map(|item| item.key().clone()).collect();
        gone.iter().filter_map(|key| self.take(key)).collect()
    }

    /// Removes an object that was deleted, unless another one of its name is known.
    pub fn deleted(&mut self, key: &Key, uid: &str) -> Option<Change<I>> {
        if self.get(key).is_some_and(|known| known.uid() != uid) { None } else { self.take(key) }
    }

    /// Removes an object.
    pub fn take(&mut self, key: &Key) -> Option<Change<I>> {
        let before = self.remove(key)?;
        Some(Change { key: key.clone(), before: Some(before), after: None })
    }

    fn remove(&mut self, key: &Key) -> Option<Arc<I>> {
        let Named(before) = self.entries.take(key)?;
        for subject in before.about().into_iter().chain(before.also_about()) {
            if let Some(items) = self.by_subject.get_mut(&subject) {
                items.remove(key);
                if items.is_empty() {
                    self.by_subject.remove(&subject);
                }
            }
        }
        Some(before)
    }

    /// Marks the start of a list of all objects. The list will be at least as new as every stored object.
    pub fn begin(&mut self) {
        self.written.clear();
        self.read_to = None;
        self.unlisted = Some(self.all().map(|item| item.key().clone()).collect());
    }

    /// Stores an object of the list. It also counts where its version is smaller than the known one: the store was then
    /// restored from a backup. Only objects that this process wrote since the start of the list may be newer.
    pub fn list(&mut self, item: I) -> Option<Change<I>> {
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.remove(item.key());
        }
        if self.written.contains(item.key()) {
            return self.put(item);
        }
        let known = self.get(item.key());
        let same = known.is_some_and(|known| known.uid() == item.uid() && known.version() == item.version());
        (!same).then(|| self.set(item))
    }

    /// Ends the list: drops the objects that it does not have.
    pub fn end(&mut self) -> Vec<Change<I>> {
        let (written, unlisted) = (std::mem::take(&mut self.written), self.unlisted.take());
        self.listed = true;
        let gone = unlisted.into_iter().flatten().filter(|key| !written.contains(key));
        gone.filter_map(|key| self.take(&key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(Key, &'static str, &'static str, Option<&'static str>);

    impl Item for Thing {
        type IndexKey = &'static str;
        fn key(&self) -> &Key {
            &self.0
        }
        fn uid(&self) -> &str {
            self.1
        }
        fn version(&self) -> &str {
            self.2
        }
        fn about(&self) -> Option<&'static str> {
            self.3
        }
    }

    fn key(name: &str) -> Key {
        Key::new("prod", name)
    }

    #[test]
    fn only_what_is_newer_or_another_object_is_news() {
        let mut table = Table::default();
        assert!(table.put(Thing(key("a"), "u", "9", None)).is_some());
        assert!(table.put(Thing(key("a"), "u", "9", None)).is_none());
        assert!(table.put(Thing(key("a"), "u", "8", None)).is_none());
        assert!(table.put(Thing(key("a"), "u", "10", None)).is_some());
        assert!(table.put(Thing(key("a"), "v", "3", None)).is_some());
    }

    #[test]
    fn an_object_is_found_by_what_it_is_about_now() {
        let mut table = Table::default();
        table.put(Thing(key("a"), "u", "1", Some("x")));
        table.put(Thing(key("b"), "v", "2", Some("x")));
        table.put(Thing(key("a"), "u", "3", Some("y")));
        let names = |table: &Table<Thing>, about| table.about(&about).map(|thing| thing.1).collect::<Vec<_>>();
        assert_eq!((names(&table, "x"), names(&table, "y")), (vec!["v"], vec!["u"]));
        table.take(&key("a"));
        assert_eq!(names(&table, "y"), [""; 0]);
    }

    #[test]
    fn a_list_holds_where_the_versions_went_back_but_not_against_what_was_written_since() {
        let mut table = Table::default();
        let version = |table: &Table<Thing>, name| table.get(&key(name)).map(|thing| thing.2);
        for name in ["restored", "written", "made"] {
            table.put(Thing(key(name), "u", "900", None));
        }
        table.begin();
        table.wrote(Thing(key("written"), "u", "901", None));
        table.wrote(Thing(key("made"), "m", "902", None));
        table.list(Thing(key("restored"), "u", "5", None));
        table.list(Thing(key("written"), "u", "900", None));
        table.end();
        assert_eq!(
            ["restored", "written", "made"].map(|name| version(&table, name)),
            [Some("5"), Some("901"), Some("902")]
        );
        // A watch continues from the list.
        assert!(table.put(Thing(key("restored"), "u", "4", None)).is_none());
        assert!(table.put(Thing(key("restored"), "u", "6", None)).is_some());
        table.begin();
        table.list(Thing(key("written"), "u", "7", None));
        table.end();
        assert_eq!(["restored", "written", "made"].map(|name| version(&table, name)), [None, Some("7"), None]);
    }

    #[test]
    fn a_list_says_what_is_new_and_what_is_gone() {
        let mut table = Table::default();
        table.put(Thing(key("gone"), "g", "1", None));
        table.put(Thing(key("same"), "s", "2", None));
        assert!(!table.listed());
        table.begin();
        let mut changes = Vec::from_iter(table.list(Thing(key("same"), "s", "2", None)));
        changes.extend(table.list(Thing(key("new"), "n", "3", None)));
        changes.extend(table.end());
        let told: Vec<_> = changes.iter().map(|change| (change.before.is_some(), change.after.is_some())).collect();
        assert_eq!((told, table.listed()), (vec![(false, true), (true, false)], true));
    }

    #[test]
    fn what_is_read_beside_a_list_stays_only_if_the_list_has_it() {
        let mut table = Table::default();
        table.begin();
        table.list(Thing(key("listed"), "l", "1", None));
        for (name, uid) in [("listed", "l"), ("gone", "g"), ("later", "n")] {
            table.put(Thing(key(name), uid, "2", None));
        }
        table.list(Thing(key("later"), "n", "2", None));
        let gone: Vec<Key> = table.end().into_iter().map(|change| change.key).collect();
        assert_eq!(gone, [key("gone")]);
        assert_eq!(table.get(&key("listed")).map(|thing| thing.2), Some("2"));
    }

    #[test]
    fn a_list_that_began_again_forgets_what_the_first_brought() {
        let mut table = Table::default();
        table.begin();
        table.list(Thing(key("a"), "u", "1", None));
        table.begin();
        table.list(Thing(key("b"), "v", "2", None));
        assert_eq!(table.end().len(), 1);
        assert_eq!(table.all().map(|thing| thing.1).collect::<Vec<_>>(), ["v"]);
    }
}
