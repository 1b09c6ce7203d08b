//! The last observed FederatedHPAs, ResourceBindings, member clusters and Works, and which FederatedHPAs a change
//! affects. No I/O.
//!
//! Watches fill it on every replica, leading or not. Writes of this process are stored at once and not reported as
//! changes.
//!
//! Each kind is kept in a [`Table`]. Unlike other caches, this one holds several kinds under one lock, as a view is of
//! one moment, and some of its changes cause a reconcile only at a later time.

mod binding;
pub mod entry;
mod groups;
mod hpa_status;
mod intake;
mod member_hpa;
pub mod relist;
mod suspended_bindings;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use self::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa, target_of};
use self::groups::{Groups, NeighbourClusters};
use self::intake::CachedKind;
pub use self::intake::{MEASUREMENTS, Reader};
pub use self::suspended_bindings::Marked;
use self::suspended_bindings::Marks;
pub use self::view::{Fleet, View};
use crate::api::{FederatedHPA, ResourceBinding, Work};
use crate::controller::key::Key;
use crate::controller::table::{Change, Item as _, Table};
use crate::decision::related_objects::Target;
use crate::estimator::messages::ObjectReference;
use crate::runtime::clock;
use crate::runtime::watch::{KeptKinds, Scalers};

/// All observed objects.
#[derive(Default)]
pub struct Cache {
    inner: Mutex<Inner>,
    change: Notify,
    /// The kinds whose replicas members keep.
    pub kinds: Arc<KeptKinds>,
    /// Autoscalers in karmada-apiserver that are not fhpa's.
    pub scalers: Arc<Scalers>,
}

#[derive(Default)]
struct Inner {
    federated_hpas: Table<FederatedHpaEntry>,
    bindings: Table<Binding>,
    clusters: Table<ClusterEntry>,
    member_hpas: Table<MemberHpa>,
    marks: Marks,
    groups: Groups,
    fleet: Option<Arc<Fleet>>,
    reported: Option<Arc<[Arc<ClusterEntry>]>>,
    changed: BTreeSet<Key>,
    /// FederatedHPAs with changed measurements, and when these are reported.
    moved: (BTreeSet<Key>, Option<Instant>),
    /// While lists are read beside the watches: the uids of the objects that the watches reported as deleted meanwhile.
    gone: Option<BTreeSet<Box<str>>>,
    complete: bool,
}

impl Inner {
    fn fleet(&mut self) -> Arc<Fleet> {
        let clusters = &self.clusters;
        let fleet = self.fleet.get_or_insert_with(|| {
            let (members, versions) = clusters.all().map(|cluster| (cluster.member.clone(), cluster.version)).unzip();
            Arc::new(Fleet::new(members, versions))
        });
        Arc::clone(fleet)
    }

    fn clusters(&mut self) -> Arc<[Arc<ClusterEntry>]> {
        let clusters = &self.clusters;
        Arc::clone(self.reported.get_or_insert_with(|| clusters.all().cloned().collect()))
    }

    /// All FederatedHPAs, and deleted ones that left objects behind.
    fn owners(&self) -> BTreeSet<Key> {
        let left = self.marks.owners().chain(self.member_hpas.subjects().map(|owner| &**owner)).cloned();
        self.federated_hpas.all().map(|entry| entry.key()).chain(left).collect()
    }

    fn view(&mut self, entry: Arc<FederatedHpaEntry>) -> Option<View> {
        if !self.complete {
            return None;
        }
        let key = entry.key();
        let binding = self.bindings.about(&entry.target).next().cloned();
        let member_hpas = self.member_hpas.about(&key).cloned().collect();
        let rivals = self.federated_hpas.about(&entry.target).filter(|other| other.key() != key).cloned().collect();
        let taken_over_binding = self.bindings.about(&entry.taken_over_target()).next().cloned();
        let neighbours = binding.as_ref().map(|binding| self.groups.of(binding.key())).unwrap_or_default();
        let (fleet, clusters) = (self.fleet(), self.clusters());
        Some(View {
            federated_hpa: entry,
            rivals,
            binding,
            taken_over_binding,
            member_hpas,
            fleet,
            clusters,
            neighbours,
            scalers: Vec::new(),
        })
    }

    /// Follows a change of a kind in everything that depends on it.
    fn follow<I: CachedKind>(&mut self, change: &Change<I>) {
        I::index(self, change);
        I::touch(self, change);
        if let (Some(before), Some(gone)) = (&change.before, &mut self.gone)
            && change.after.as_ref().is_none_or(|after| after.uid() != before.uid())
        {
            gone.insert(before.uid().into());
        }
    }

    /// Once everything is listed, all are reconciled: earlier decisions were based on a part.
    fn complete(&mut self) {
        let listed = self.federated_hpas.listed()
            && self.bindings.listed()
            && self.clusters.listed()
            && self.member_hpas.listed();
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
        let entry = Arc::clone(inner.federated_hpas.get(key)?);
        let view = inner.view(entry)?;
        Some(self.with_scalers(view))
    }

    fn with_scalers(&self, view: View) -> View {
        View { scalers: self.scalers.on(&view.federated_hpa.target), ..view }
    }

    /// The view of a FederatedHPA if it were like `entry`; `None` when not everything is listed yet.
    #[must_use]
    pub fn as_if(&self, entry: FederatedHpaEntry) -> Option<View> {
        let view = self.inner.lock().view(Arc::new(entry))?;
        Some(self.with_scalers(view))
    }

    /// The member clusters.
    #[must_use]
    pub fn fleet(&self) -> Arc<Fleet> {
        self.inner.lock().fleet()
    }

    /// A cluster as it last reported.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<Arc<ClusterEntry>> {
        self.inner.lock().clusters.get(&Key::new("", name)).cloned()
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
        inner.federated_hpas.from(&from).take_while(|entry| entry.key().namespace == *namespace).cloned().collect()
    }

    /// The FederatedHPAs with the finalizer, and deleted ones that left objects behind; `None` when not everything is
    /// listed yet. A Work that is being deleted holds nothing: its finalizer is Karmada's, and stays while the cluster
    /// does not answer.
    #[must_use]
    pub fn held(&self) -> Option<Vec<Key>> {
        let inner = self.inner.lock();
        let held = inner.federated_hpas.all().filter(|entry| entry.held()).map(|entry| entry.key());
        let stays = |owner: &&Key| inner.member_hpas.about(*owner).any(|member_hpa| !member_hpa.deleting());
        let works = inner.member_hpas.subjects().map(|owner| &**owner).filter(stays);
        let all: BTreeSet<Key> = held.chain(inner.marks.owners().chain(works).cloned()).collect();
        inner.complete.then(|| all.into_iter().collect())
    }

    /// The FederatedHPAs whose Works are being deleted, each with a cluster that has the HPA so far.
    #[must_use]
    pub fn leaving(&self) -> Vec<(Key, String)> {
        let inner = self.inner.lock();
        let leaving = inner.member_hpas.all().filter(|member_hpa| member_hpa.deleting());
        let of = |work: &Arc<MemberHpa>| Some((Key::clone(work.owner.as_ref()?), work.cluster().to_owned()));
        leaving.filter_map(of).collect()
    }

    /// The bindings that are marked for a FederatedHPA, existing or not, with the FederatedHPAs that scale their
    /// workloads; empty when not everything is listed yet.
    #[must_use]
    pub fn marked_for(&self, key: &Key) -> Vec<Marked> {
        let inner = self.inner.lock();
        let found = inner.marks.of(key).filter(|_| inner.complete).filter_map(|key| inner.bindings.get(key));
        let federated_hpas = |binding: &Arc<Binding>| match binding.about() {
            Some(target) => inner.federated_hpas.about(&target).cloned().collect(),
            None => Vec::new(),
        };
        found.map(|binding| Marked { federated_hpas: federated_hpas(binding), binding: Arc::clone(binding) }).collect()
    }

    /// The view of a FederatedHPA like `entry`, if it had taken over the workload of `binding`.
    #[must_use]
    pub fn left_behind(&self, entry: FederatedHpaEntry, binding: Option<Arc<Binding>>) -> View {
        let mut inner = self.inner.lock();
        let key = entry.key();
        let gone = inner.federated_hpas.get(&key).is_none_or(|entry| entry.is_left());
        let member_hpas = inner.member_hpas.about(&key).filter(|_| gone).cloned().collect();
        let (fleet, clusters) = (inner.fleet(), inner.clusters());
        View {
            federated_hpa: Arc::new(entry),
            rivals: Vec::new(),
            binding: None,
            taken_over_binding: binding,
            member_hpas,
            fleet,
            clusters,
            neighbours: NeighbourClusters::default(),
            scalers: Vec::new(),
        }
    }

    /// Whether a FederatedHPA has Works.
    #[must_use]
    pub fn has_works(&self, key: &Key) -> bool {
        let inner = self.inner.lock();
        inner.complete && inner.member_hpas.about(key).next().is_some()
    }

    /// The scalable kinds changed: all objects are reconciled again, since what a new one waits for can end what a held
    /// one relies on.
    pub fn learnt_kinds(&self) {
        let mut inner = self.inner.lock();
        let all: Vec<Key> = inner.federated_hpas.all().map(|entry| entry.key()).collect();
        inner.changed.extend(all);
        drop(inner);
        self.change.notify_one();
    }

    /// Other autoscalers of these targets changed: the FederatedHPAs on them are reconciled again.
    pub fn rescaled(&self, targets: &[Target]) {
        let mut inner = self.inner.lock();
        let keys: Vec<Key> =
            targets.iter().flat_map(|target| inner.federated_hpas.keys_about(target).cloned()).collect();
        inner.changed.extend(keys);
        drop(inner);
        self.change.notify_one();
    }

    /// Waits until an object changed, or changed measurements are due.
    pub async fn wait_for_change(&self) {
        loop {
            let due = self.inner.lock().moved.1;
            let Some(due) = due else {
                self.change.notified().await;
                if self.inner.lock().changed.is_empty() {
                    continue;
                }
                return;
            };
            tokio::select! {
                () = self.change.notified() => {}
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

    /// The FederatedHPAs that scale a workload.
    #[must_use]
    pub fn scaling(&self, workload: &ObjectReference) -> Vec<Key> {
        self.inner.lock().federated_hpas.keys_about(&target_of(workload)).cloned().collect()
    }

    /// Stores the response of a member about the write `member_hpa`; it is ignored for any other write. Returns whether
    /// it was stored.
    pub fn read_member(&self, member_hpa: &MemberHpa, reading: entry::Reading) -> bool {
        let mut inner = self.inner.lock();
        let known = inner
            .member_hpas
            .get(&member_hpa.key)
            .is_some_and(|known| known.uid == member_hpa.uid && known.token == member_hpa.token);
        if known {
            inner.member_hpas.note(&member_hpa.key, |known| known.read(reading));
        }
        known
    }

    /// Stores a FederatedHPA that this process wrote.
    pub fn wrote_federated_hpa(&self, written: &FederatedHPA) {
        self.wrote(FederatedHpaEntry::of(written));
    }

    /// Stores a ResourceBinding that this process wrote.
    pub fn wrote_binding(&self, written: &ResourceBinding) {
        self.wrote(Binding::of(written));
    }

    /// Stores a Work that this process changed.
    pub fn wrote_work(&self, written: &Work) {
        self.wrote(MemberHpa::of(written));
    }

    /// Stores a Work that this process created.
    pub fn made_work(&self, made: &Work) {
        self.inner.lock().member_hpas.wrote(MemberHpa::of(made));
    }

    /// An object that was deleted meanwhile is not stored again.
    fn wrote<I: CachedKind>(&self, item: I) {
        let mut inner = self.inner.lock();
        let table = I::table(&mut inner);
        if table.get(item.key()).is_some_and(|known| known.uid() == item.uid())
            && let Some(change) = table.wrote(item)
        {
            I::index(&mut inner, &change);
            self.change.notify_one();
        }
    }

    fn begin<I: CachedKind>(&self) {
        I::table(&mut self.inner.lock()).begin();
    }

    fn put<I: CachedKind>(&self, item: I) {
        if self.change(|table| table.put(item)) {
            self.change.notify_one();
        }
    }

    fn take<I: CachedKind>(&self, key: &Key) {
        if self.change(|table: &mut Table<I>| table.take(key)) {
            self.change.notify_one();
        }
    }

    fn deleted<I: CachedKind>(&self, key: &Key, uid: &str) {
        if self.change(|table: &mut Table<I>| table.deleted(key, uid)) {
            self.change.notify_one();
        }
    }

    /// Stores an object of a list. The changes of a list are reported at its end.
    fn list<I: CachedKind>(&self, item: I) {
        self.change(|table| table.list(item));
    }

    /// Returns whether there was a change.
    fn change<I: CachedKind, C: IntoIterator<Item = Change<I>>>(&self, how: impl FnOnce(&mut Table<I>) -> C) -> bool {
        let mut inner = self.inner.lock();
        let mut any = false;
        for change in how(I::table(&mut inner)) {
            inner.follow(&change);
            any = true;
        }
        any
    }

    fn end<I: CachedKind>(&self) {
        self.change(Table::<I>::end);
        self.inner.lock().complete();
        self.change.notify_one();
    }
}
