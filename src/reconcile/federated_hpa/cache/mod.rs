//! FederatedHPAs, ResourceBindings, member clusters and our Works as they were last seen, and which FederatedHPAs a change
//! is about. No I/O.
//!
//! Watches fill it on every replica, leading or not. What this process wrote itself is put in at once and is no news.
//!
//! Each kind is kept in a [`Table`]. Unlike other caches this one holds several kinds under one lock, as a view is of
//! one moment, and some of its changes wake nobody until a later time.

pub mod entry;
mod intake;
mod marks;
mod member_hpa;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use self::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa, target_of};
pub use self::intake::Reader;
pub use self::marks::Marked;
use self::marks::Marks;
pub use self::view::{Fleet, View};
use super::status::throttle::MEASUREMENTS;
use crate::api::{FederatedHPA, ResourceBinding, Work};
use crate::controller::key::Key;
use crate::controller::table::{Change, Item, Table};
use crate::decision::names::execution_space;
use crate::estimator::messages::ObjectReference;
use crate::runtime::clock;
use crate::runtime::watch::KeptKinds;

/// What moves and is no matter for decisions is looked at after this time, with all that moved meanwhile.
const SHOWN: Duration = MEASUREMENTS.unsigned_abs();

/// All that is seen.
#[derive(Default)]
pub struct Cache {
    inner: Mutex<Inner>,
    news: Notify,
    /// The kinds whose replicas members keep.
    pub kinds: Arc<KeptKinds>,
}

#[derive(Default)]
struct Inner {
    orders: Table<FederatedHpaEntry>,
    bindings: Table<Binding>,
    places: Table<ClusterEntry>,
    sent: Table<MemberHpa>,
    marks: Marks,
    fleet: Option<Arc<Fleet>>,
    changed: BTreeSet<Key>,
    /// FederatedHPAs of which measurements moved, and when they are shown.
    moved: (BTreeSet<Key>, Option<Instant>),
    /// While Works are read beside the watch: the uids of those that it told to be gone meanwhile.
    gone: Option<BTreeSet<Box<str>>>,
    complete: bool,
}

/// Takes in Works that are read beside the watch, until it is dropped.
pub struct Reading<'a>(&'a Cache);

impl Reading<'_> {
    /// Takes in a Work, unless the watch told more already.
    pub fn put(&self, work: &Work) {
        let sent = MemberHpa::of(work);
        let gone = self.0.inner.lock().gone.as_ref().is_some_and(|gone| gone.contains(&sent.uid));
        if !gone {
            self.0.put(entry::key(&work.metadata), sent);
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().gone = None;
    }
}

/// A kind that is kept.
trait Kept: Item + Sized {
    fn table(inner: &mut Inner) -> &mut Table<Self>;
    /// Keeps what is found by a change.
    fn index(_inner: &mut Inner, _change: &Change<Self>) {}
    /// Notes the FederatedHPAs that the change is about.
    fn touch(inner: &mut Inner, change: &Change<Self>);
}

impl Kept for FederatedHpaEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.orders
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        for order in [&change.before, &change.after].into_iter().flatten() {
            inner.changed.insert(order.key());
            // Of several on one workload one acts; another may be that one now.
            for target in [Some(&order.target), order.also_about().as_ref()].into_iter().flatten() {
                inner.changed.extend(inner.orders.keys_about(target).cloned());
            }
        }
    }
}

impl Kept for Binding {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.bindings
    }
    fn index(inner: &mut Inner, change: &Change<Self>) {
        inner.marks.follow(change);
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        let namespace = &change.key.namespace;
        let marked = [&change.before, &change.after].into_iter().flatten().filter_map(|binding| binding.marked());
        inner.changed.extend(marked.map(|name| Key::new(namespace, name)));
        let targets = [&change.before, &change.after].into_iter().flatten().filter_map(|binding| binding.about());
        for target in targets {
            inner.changed.extend(inner.orders.keys_about(&target).cloned());
        }
    }
}

impl Kept for MemberHpa {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.sent
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        let owners = [&change.before, &change.after].into_iter().flatten().filter_map(|sent| sent.owner.clone());
        if let (Some(before), None, Some(gone)) = (&change.before, &change.after, &mut inner.gone) {
            gone.insert(before.uid.clone());
        }
        if let (Some(before), Some(after)) = (&change.before, &change.after)
            && before.is_like(after)
        {
            let (moved, due) = &mut inner.moved;
            moved.extend(owners);
            due.get_or_insert_with(|| clock::steady() + SHOWN);
            return;
        }
        inner.changed.extend(owners);
    }
}

impl Kept for ClusterEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.places
    }
    /// A cluster reports every few seconds; that alone is no news to anybody.
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        if let (Some(before), Some(after)) = (&change.before, &change.after)
            && before.is_like(after)
        {
            return;
        }
        inner.fleet = None;
        inner.changed.extend(inner.orders.all().keys().cloned());
    }
}

impl Inner {
    fn fleet(&mut self) -> Arc<Fleet> {
        let places = &self.places;
        let fleet = self.fleet.get_or_insert_with(|| {
            let (members, versions) = places.all().values().map(|place| (place.member.clone(), place.version)).unzip();
            Arc::new(Fleet::new(members, versions))
        });
        Arc::clone(fleet)
    }

    /// All FederatedHPAs, and those that left something behind.
    fn owners(&self) -> BTreeSet<Key> {
        let left = self.marks.owners().chain(self.sent.subjects());
        self.orders.all().keys().chain(left).cloned().collect()
    }

    fn view(&mut self, order: Arc<FederatedHpaEntry>) -> Option<View> {
        if !self.complete {
            return None;
        }
        let key = order.key();
        let binding = self.bindings.about(&order.target).next().cloned();
        let sent = self.sent.about(&key).cloned().collect();
        let rivals = self.orders.about(&order.target).filter(|other| other.key() != key).cloned().collect();
        let taken = self.bindings.about(&order.taken_target()).next().cloned();
        Some(View { order, rivals, binding, taken, sent, fleet: self.fleet() })
    }

    /// Once everything was listed, everybody is looked at: what was decided before knew only a part.
    fn complete(&mut self) {
        let listed = self.orders.listed() && self.bindings.listed() && self.places.listed() && self.sent.listed();
        if listed && !self.complete {
            self.complete = true;
            self.changed.extend(self.owners());
        }
    }
}

impl Cache {
    /// What is seen of a FederatedHPA; nothing when there is none, or not everything was listed yet.
    #[must_use]
    pub fn view(&self, key: &Key) -> Option<View> {
        let mut inner = self.inner.lock();
        let order = Arc::clone(inner.orders.get(key)?);
        inner.view(order)
    }

    /// What would be seen of a FederatedHPA if it were like `order`; nothing when not everything was listed yet.
    #[must_use]
    pub fn as_if(&self, order: FederatedHpaEntry) -> Option<View> {
        self.inner.lock().view(Arc::new(order))
    }

    /// A cluster as it reported last.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<Arc<ClusterEntry>> {
        self.inner.lock().places.get(&Key::new("", name)).cloned()
    }

    /// All FederatedHPAs, and those that are gone and left something behind.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.inner.lock().owners().into_iter().collect()
    }

    /// The FederatedHPAs with our finalizer, and those that left something behind; nothing when not everything was listed yet.
    #[must_use]
    pub fn held(&self) -> Option<Vec<Key>> {
        let inner = self.inner.lock();
        let held = inner.orders.all().iter().filter(|(_, order)| order.held()).map(|(key, _)| key);
        let all: BTreeSet<&Key> = held.chain(inner.marks.owners()).chain(inner.sent.subjects()).collect();
        inner.complete.then(|| all.into_iter().cloned().collect())
    }

    /// The bindings that are marked for a FederatedHPA, whether it exists or not, with those that scale their workloads; none
    /// when not everything was listed yet.
    #[must_use]
    pub fn marked_for(&self, key: &Key) -> Vec<Marked> {
        let inner = self.inner.lock();
        let found = inner.marks.of(key).filter(|_| inner.complete).filter_map(|key| inner.bindings.get(key));
        let orders = |binding: &Arc<Binding>| match binding.about() {
            Some(target) => inner.orders.about(&target).cloned().collect(),
            None => Vec::new(),
        };
        found.map(|binding| Marked { orders: orders(binding), binding: Arc::clone(binding) }).collect()
    }

    /// What there would be to see of a FederatedHPA like `order`, had it taken the workload of `binding` over.
    #[must_use]
    pub fn left_behind(&self, order: FederatedHpaEntry, binding: Option<Arc<Binding>>) -> View {
        let mut inner = self.inner.lock();
        let key = order.key();
        let gone = inner.orders.get(&key).is_none();
        let sent = inner.sent.about(&key).filter(|_| gone).cloned().collect();
        let fleet = inner.fleet();
        View { order: Arc::new(order), rivals: Vec::new(), binding: None, taken: binding, sent, fleet }
    }

    /// Whether there are HPAs of a FederatedHPA.
    #[must_use]
    pub fn has_sent(&self, key: &Key) -> bool {
        let inner = self.inner.lock();
        inner.complete && inner.sent.about(key).next().is_some()
    }

    /// The kinds that can be scaled may be others now: those that wait for that are looked at again.
    pub fn learnt_kinds(&self) {
        let mut inner = self.inner.lock();
        let waiting = inner.orders.all().iter().filter(|(_, order)| !order.held()).map(|(key, _)| key.clone());
        let waiting: Vec<Key> = waiting.collect();
        inner.changed.extend(waiting);
        drop(inner);
        self.news.notify_one();
    }

    /// Waits until something changed, or what moved is to be shown.
    pub async fn news(&self) {
        loop {
            let due = self.inner.lock().moved.1;
            let Some(due) = due else {
                self.news.notified().await;
                if self.inner.lock().changed.is_empty() {
                    continue;
                }
                return;
            };
            tokio::select! {
                () = self.news.notified() => {}
                () = sleep_until(due) => {}
            }
            let inner = self.inner.lock();
            if !inner.changed.is_empty() || due <= clock::steady() {
                return;
            }
        }
    }

    /// The FederatedHPAs that changes were about since this was last asked.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<Key> {
        let mut inner = self.inner.lock();
        let mut changed = std::mem::take(&mut inner.changed);
        if inner.moved.1.is_some_and(|due| due <= clock::steady()) {
            changed.extend(std::mem::take(&mut inner.moved).0);
        }
        changed
    }

    /// Works are read beside the watch. One reading at a time.
    #[must_use]
    pub fn read_works(&self) -> Reading<'_> {
        self.inner.lock().gone = Some(BTreeSet::new());
        Reading(self)
    }

    /// The FederatedHPAs that scale a workload.
    #[must_use]
    pub fn scaling(&self, workload: &ObjectReference) -> Vec<Key> {
        self.inner.lock().orders.keys_about(&target_of(workload)).cloned().collect()
    }

    /// A member answered about the write that was seen as `sent`; about another one it says nothing. Returns whether it was
    /// taken in.
    pub fn read_member(&self, sent: &MemberHpa, reading: entry::Reading) -> bool {
        let key = Key::new(&execution_space(&sent.cluster), &sent.name);
        let mut inner = self.inner.lock();
        let known = inner.sent.get(&key).is_some_and(|known| known.uid == sent.uid && known.token == sent.token);
        let Some(known) = inner.sent.note(&key).filter(|_| known) else { return false };
        known.read(reading);
        true
    }

    /// This process wrote a FederatedHPA.
    pub fn wrote_order(&self, written: &FederatedHPA) {
        self.wrote(entry::key(&written.metadata), FederatedHpaEntry::of(written));
    }

    /// This process wrote a ResourceBinding.
    pub fn wrote_binding(&self, written: &ResourceBinding) {
        self.wrote(entry::key(&written.metadata), Binding::of(written));
    }

    /// This process changed a Work.
    pub fn wrote_work(&self, written: &Work) {
        self.wrote(entry::key(&written.metadata), MemberHpa::of(written));
    }

    /// This process made a Work.
    pub fn made_work(&self, made: &Work) {
        self.inner.lock().sent.wrote(entry::key(&made.metadata), MemberHpa::of(made));
    }

    /// An object that is gone meanwhile does not come back by this.
    fn wrote<I: Kept>(&self, key: Key, item: I) {
        let mut inner = self.inner.lock();
        let table = I::table(&mut inner);
        if table.get(&key).is_some_and(|known| known.uid() == item.uid())
            && let Some(change) = table.wrote(key, item)
        {
            I::index(&mut inner, &change);
        }
    }

    fn begin<I: Kept>(&self) {
        I::table(&mut self.inner.lock()).begin();
    }

    fn put<I: Kept>(&self, key: Key, item: I) {
        let mut inner = self.inner.lock();
        if let Some(change) = I::table(&mut inner).put(key, item) {
            I::index(&mut inner, &change);
            I::touch(&mut inner, &change);
            drop(inner);
            self.news.notify_one();
        }
    }

    fn take<I: Kept>(&self, key: &Key) {
        let mut inner = self.inner.lock();
        if let Some(change) = I::table(&mut inner).take(key) {
            I::index(&mut inner, &change);
            I::touch(&mut inner, &change);
            drop(inner);
            self.news.notify_one();
        }
    }

    /// What was read of a kind counts no more, until it is listed again.
    fn forget<I: Kept>(&self) {
        let mut inner = self.inner.lock();
        *I::table(&mut inner) = Table::default();
        inner.complete = false;
    }

    fn replace<I: Kept>(&self, all: Vec<(Key, I)>) {
        let mut inner = self.inner.lock();
        for change in I::table(&mut inner).replace(all) {
            I::index(&mut inner, &change);
            I::touch(&mut inner, &change);
        }
        inner.complete();
        drop(inner);
        self.news.notify_one();
    }
}
