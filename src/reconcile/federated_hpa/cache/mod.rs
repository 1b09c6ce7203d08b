//! The last observed FederatedHPAs, ResourceBindings, member clusters and Works, and which FederatedHPAs a change
//! affects. No I/O.
//!
//! Watches fill it on every replica, leading or not. Writes of this process are stored at once and not reported as
//! changes.
//!
//! Each kind is kept in a [`Table`]. Unlike other caches, this one holds several kinds under one lock, as a view is of
//! one moment, and some of its changes cause a reconcile only at a later time.

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
use crate::decision::related_objects::Target;
use crate::estimator::messages::ObjectReference;
use crate::runtime::clock;
use crate::runtime::watch::{KeptKinds, Scalers};

/// Changed measurements that do not affect decisions are reported after this time, together.
const SHOWN: Duration = MEASUREMENTS.unsigned_abs();

/// All observed objects.
#[derive(Default)]
pub struct Cache {
    inner: Mutex<Inner>,
    news: Notify,
    /// The kinds whose replicas members keep.
    pub kinds: Arc<KeptKinds>,
    /// Autoscalers in karmada-apiserver that are not fhpa's.
    pub scalers: Arc<Scalers>,
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
    /// FederatedHPAs with changed measurements, and when these are reported.
    moved: (BTreeSet<Key>, Option<Instant>),
    /// While Works are read beside the watch: the uids of those that the watch reported as deleted meanwhile.
    gone: Option<BTreeSet<Box<str>>>,
    complete: bool,
}

/// Stores Works that are read beside the watch, until it is dropped.
pub struct Reading<'a>(&'a Cache);

impl Reading<'_> {
    /// Stores a Work, unless the watch delivered a newer state.
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

/// A cached kind.
trait Kept: Item + Sized {
    fn table(inner: &mut Inner) -> &mut Table<Self>;
    /// Updates indexes that depend on the change.
    fn index(_inner: &mut Inner, _change: &Change<Self>) {}
    /// Marks the FederatedHPAs that the change affects.
    fn touch(inner: &mut Inner, change: &Change<Self>);
}

impl Kept for FederatedHpaEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.orders
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        for order in [&change.before, &change.after].into_iter().flatten() {
            inner.changed.insert(order.key());
            // Only one of several on a workload acts; that may now be another one.
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
    /// A cluster reports every few seconds; that alone is not a change.
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

    /// All FederatedHPAs, and deleted ones that left objects behind.
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
        Some(View { order, rivals, binding, taken, sent, fleet: self.fleet(), scalers: Vec::new() })
    }

    /// Once everything is listed, all are reconciled: earlier decisions were based on a part.
    fn complete(&mut self) {
        let listed = self.orders.listed() && self.bindings.listed() && self.places.listed() && self.sent.listed();
        if listed && !self.complete {
            self.complete = true;
            self.changed.extend(self.owners());
        }
    }
}

impl Cache {
    /// The view of a FederatedHPA; `None` when it does not exist, or not everything is listed yet.
    #[must_use]
    pub fn view(&self, key: &Key) -> Option<View> {
        let mut inner = self.inner.lock();
        let order = Arc::clone(inner.orders.get(key)?);
        let view = inner.view(order)?;
        Some(self.with_scalers(view))
    }

    fn with_scalers(&self, view: View) -> View {
        View { scalers: self.scalers.on(&view.order.target), ..view }
    }

    /// The view of a FederatedHPA if it were like `order`; `None` when not everything is listed yet.
    #[must_use]
    pub fn as_if(&self, order: FederatedHpaEntry) -> Option<View> {
        let view = self.inner.lock().view(Arc::new(order))?;
        Some(self.with_scalers(view))
    }

    /// A cluster as it last reported.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<Arc<ClusterEntry>> {
        self.inner.lock().places.get(&Key::new("", name)).cloned()
    }

    /// All FederatedHPAs, and deleted ones that left objects behind.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.inner.lock().owners().into_iter().collect()
    }

    /// The FederatedHPAs of a namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &Arc<str>) -> Vec<Arc<FederatedHpaEntry>> {
        let inner = self.inner.lock();
        let from = Key { namespace: Arc::clone(namespace), name: "".into() };
        let of_namespace = inner.orders.all().range(from..).take_while(|(key, _)| key.namespace == *namespace);
        of_namespace.map(|(_, order)| Arc::clone(order)).collect()
    }

    /// The FederatedHPAs with the finalizer, and deleted ones that left objects behind; `None` when not everything is
    /// listed yet.
    #[must_use]
    pub fn held(&self) -> Option<Vec<Key>> {
        let inner = self.inner.lock();
        let held = inner.orders.all().iter().filter(|(_, order)| order.held()).map(|(key, _)| key);
        let all: BTreeSet<&Key> = held.chain(inner.marks.owners()).chain(inner.sent.subjects()).collect();
        inner.complete.then(|| all.into_iter().cloned().collect())
    }

    /// The bindings that are marked for a FederatedHPA, existing or not, with the FederatedHPAs that scale their
    /// workloads; empty when not everything is listed yet.
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

    /// The view of a FederatedHPA like `order`, if it had taken over the workload of `binding`.
    #[must_use]
    pub fn left_behind(&self, order: FederatedHpaEntry, binding: Option<Arc<Binding>>) -> View {
        let mut inner = self.inner.lock();
        let key = order.key();
        let gone = inner.orders.get(&key).is_none();
        let sent = inner.sent.about(&key).filter(|_| gone).cloned().collect();
        let fleet = inner.fleet();
        let order = Arc::new(order);
        View { order, rivals: Vec::new(), binding: None, taken: binding, sent, fleet, scalers: Vec::new() }
    }

    /// Whether a FederatedHPA has Works.
    #[must_use]
    pub fn has_sent(&self, key: &Key) -> bool {
        let inner = self.inner.lock();
        inner.complete && inner.sent.about(key).next().is_some()
    }

    /// The scalable kinds may have changed: objects that wait for this are reconciled again.
    pub fn learnt_kinds(&self) {
        let mut inner = self.inner.lock();
        let waiting = inner.orders.all().iter().filter(|(_, order)| !order.held()).map(|(key, _)| key.clone());
        let waiting: Vec<Key> = waiting.collect();
        inner.changed.extend(waiting);
        drop(inner);
        self.news.notify_one();
    }

    /// Other autoscalers of these targets changed: the FederatedHPAs on them are reconciled again.
    pub fn rescaled(&self, targets: &[Target]) {
        let mut inner = self.inner.lock();
        let keys: Vec<Key> = targets.iter().flat_map(|target| inner.orders.keys_about(target).cloned()).collect();
        inner.changed.extend(keys);
        drop(inner);
        self.news.notify_one();
    }

    /// Waits until an object changed, or changed measurements are due.
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

    /// The FederatedHPAs that changed since the last call.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<Key> {
        let mut inner = self.inner.lock();
        let mut changed = std::mem::take(&mut inner.changed);
        if inner.moved.1.is_some_and(|due| due <= clock::steady()) {
            changed.extend(std::mem::take(&mut inner.moved).0);
        }
        changed
    }

    /// Begins to read Works beside the watch. One reading at a time.
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

    /// Stores the response of a member about the write `sent`; the response is ignored for any other write. Returns
    /// whether it was stored.
    pub fn read_member(&self, sent: &MemberHpa, reading: entry::Reading) -> bool {
        let key = Key::new(&execution_space(&sent.cluster), &sent.name);
        let mut inner = self.inner.lock();
        let known = inner.sent.get(&key).is_some_and(|known| known.uid == sent.uid && known.token == sent.token);
        let Some(known) = inner.sent.note(&key).filter(|_| known) else { return false };
        known.read(reading);
        true
    }

    /// Stores a FederatedHPA that this process wrote.
    pub fn wrote_order(&self, written: &FederatedHPA) {
        self.wrote(entry::key(&written.metadata), FederatedHpaEntry::of(written));
    }

    /// Stores a ResourceBinding that this process wrote.
    pub fn wrote_binding(&self, written: &ResourceBinding) {
        self.wrote(entry::key(&written.metadata), Binding::of(written));
    }

    /// Stores a Work that this process changed.
    pub fn wrote_work(&self, written: &Work) {
        self.wrote(entry::key(&written.metadata), MemberHpa::of(written));
    }

    /// Stores a Work that this process created.
    pub fn made_work(&self, made: &Work) {
        self.inner.lock().sent.wrote(entry::key(&made.metadata), MemberHpa::of(made));
    }

    /// An object that was deleted meanwhile is not stored again.
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

    /// Drops all objects of a kind until the next list.
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
