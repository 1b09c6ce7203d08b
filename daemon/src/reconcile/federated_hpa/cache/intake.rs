//! Watches -> cache, and which FederatedHPAs a change of a cached object affects. No I/O.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kube::core::ObjectMeta;

use super::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa};
use super::{Cache, Inner};
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::controller::key::Key;
use crate::controller::table::{Change, Item, Table};
use crate::runtime::clock;
use crate::runtime::watch::{EventHandler, KindReader, Readers};

/// Shortest interval between writes of measurements.
pub const MEASUREMENTS: SignedDuration = SignedDuration::from_secs(30);

/// Changed measurements that do not affect decisions are reported after this time, together.
const MEASUREMENTS_AFTER: Duration = MEASUREMENTS.unsigned_abs();

/// Reads the objects of one kind.
pub struct Reader<K, I> {
    cache: Arc<Cache>,
    read: fn(&K) -> I,
}

impl<K, I> Reader<K, I> {
    fn boxed(cache: &Arc<Cache>, read: fn(&K) -> I) -> Box<Self> {
        Box::new(Self { cache: Arc::clone(cache), read })
    }
}

impl Cache {
    /// Registers the cache with `readers`.
    pub fn read_by(self: &Arc<Self>, readers: &mut Readers) {
        readers.federated_hpas.push(Reader::<FederatedHPA, FederatedHpaEntry>::boxed(self, FederatedHpaEntry::of));
        readers.resource_bindings.push(Reader::<ResourceBinding, Binding>::boxed(self, Binding::of));
        readers.clusters.push(Reader::<Cluster, ClusterEntry>::boxed(self, ClusterEntry::of));
        readers.works.push(Reader::<Work, MemberHpa>::boxed(self, MemberHpa::of));
        let cache = Arc::clone(self);
        let reader = KindReader::new(Arc::clone(&self.kinds), move || cache.learnt_kinds());
        readers.customizations.push(Box::new(reader));
        let cache = Arc::clone(self);
        readers.read_scalers(&self.scalers, move |targets| cache.rescaled(targets));
    }

    /// Stores what counts of an object that was created or changed and cannot be decoded.
    pub(super) fn put_undecodable<I: CachedKind>(&self, metadata: &ObjectMeta) {
        let key = Key::of(metadata);
        let how = |table: &mut Table<I>| match I::undecoded(metadata, table.get(&key).map(Arc::as_ref)) {
            Some(item) => table.put(item),
            None => table.take(&key),
        };
        if self.change(how) {
            self.change.notify_one();
        }
    }

    /// Stores what counts of an object of a list that cannot be decoded.
    pub(super) fn list_undecodable<I: CachedKind>(&self, metadata: &ObjectMeta) {
        self.change(|table: &mut Table<I>| {
            let item = I::undecoded(metadata, table.get(&Key::of(metadata)).map(Arc::as_ref))?;
            table.list(item)
        });
    }

    /// Drops all objects of a kind until the next list.
    pub(super) fn forget<I: CachedKind>(&self) {
        let mut inner = self.inner.lock();
        let table = std::mem::take(I::table(&mut inner));
        for known in table.all() {
            I::index(&mut inner, &Change { key: known.key().clone(), before: Some(Arc::clone(known)), after: None });
        }
        (inner.fleet, inner.reported, inner.gone) = (None, None, None);
        inner.complete = false;
    }
}

impl<K, I: CachedKind + Send> EventHandler<K> for Reader<K, I>
where
    I: 'static,
{
    fn begin(&mut self) {
        self.cache.begin::<I>();
    }
    fn listed(&mut self, object: &K) {
        self.cache.list((self.read)(object));
    }
    fn end(&mut self) {
        self.cache.end::<I>();
    }
    fn put(&mut self, object: &K) {
        self.cache.put((self.read)(object));
    }
    fn listed_undecodable(&mut self, metadata: &ObjectMeta, _error: &str) {
        self.cache.list_undecodable::<I>(metadata);
    }
    fn undecodable(&mut self, metadata: &ObjectMeta, _error: &str) {
        self.cache.put_undecodable::<I>(metadata);
    }
    fn take(&mut self, namespace: &str, name: &str) {
        self.cache.take::<I>(&Key::new(namespace, name));
    }
    fn deleted(&mut self, namespace: &str, name: &str, uid: &str) {
        self.cache.deleted::<I>(&Key::new(namespace, name), uid);
    }
    fn forget(&mut self) {
        self.cache.forget::<I>();
    }
}

/// A cached kind.
pub(super) trait CachedKind: Item + Sized {
    fn table(inner: &mut Inner) -> &mut Table<Self>;
    /// What counts of an object that cannot be decoded, by its metadata and the last state of that name; `None`: it
    /// counts as gone. Nothing is done for the objects of most kinds until they can be decoded again.
    fn undecoded(_metadata: &ObjectMeta, _known: Option<&Self>) -> Option<Self> {
        None
    }
    /// Updates indexes that depend on the change.
    fn index(_inner: &mut Inner, _change: &Change<Self>) {}
    /// Marks the FederatedHPAs that the change affects.
    fn touch(inner: &mut Inner, change: &Change<Self>);
}

impl CachedKind for FederatedHpaEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.federated_hpas
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        for entry in [&change.before, &change.after].into_iter().flatten() {
            inner.changed.insert(entry.key());
            // Only one of several on a workload acts; that may now be another one.
            for target in [Some(&entry.target), entry.also_about().as_ref()].into_iter().flatten() {
                inner.changed.extend(inner.federated_hpas.keys_about(target).cloned());
            }
        }
    }
}

impl CachedKind for Binding {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.bindings
    }
    fn index(inner: &mut Inner, change: &Change<Self>) {
        inner.marks.follow(change);
        let concerned = inner.groups.follow(change);
        inner.concern(&concerned);
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        let namespace = &change.key.namespace;
        let marked = [&change.before, &change.after].into_iter().flatten().filter_map(|binding| binding.marked());
        inner.changed.extend(marked.map(|name| Key::new(namespace, name)));
        let targets = [&change.before, &change.after].into_iter().flatten().filter_map(|binding| binding.about());
        for target in targets {
            inner.changed.extend(inner.federated_hpas.keys_about(&target).cloned());
        }
    }
}

impl CachedKind for MemberHpa {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.member_hpas
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        let owners = [&change.before, &change.after]
            .into_iter()
            .flatten()
            .filter_map(|member_hpa| member_hpa.owner.as_deref().cloned());
        if let (Some(before), Some(after)) = (&change.before, &change.after)
            && before.is_like(after)
        {
            let (moved, due) = &mut inner.moved;
            moved.extend(owners);
            due.get_or_insert_with(|| clock::steady() + MEASUREMENTS_AFTER);
            return;
        }
        inner.changed.extend(owners);
    }
}

impl CachedKind for ClusterEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.clusters
    }
    /// The workloads of a cluster that is gone go at once.
    fn undecoded(metadata: &ObjectMeta, known: Option<&Self>) -> Option<Self> {
        Some(Self::undecoded(metadata, known))
    }
    /// A cluster reports every few seconds; that alone is not a change. Another list of the kinds that it serves
    /// concerns the workloads of these kinds.
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        inner.reported = None;
        let both = change.before.as_ref().zip(change.after.as_ref());
        if both.is_some_and(|(before, after)| before.is_like(after)) {
            return;
        }
        let mut concerned = inner.owners();
        if let Some((before, after)) = both.filter(|(before, after)| before.differs_by_kinds(after)) {
            let [before, after] = [before, after].map(|entry| &entry.member.enablements);
            let differs = |binding: &Arc<Binding>| before.of(binding.kind()) != after.of(binding.kind());
            concerned.retain(|key| bindings(inner, key).any(differs));
        }
        inner.fleet = None;
        inner.changed.extend(concerned);
    }
}

/// The bindings of the workloads that a FederatedHPA scales, or has taken over.
fn bindings<'a>(inner: &'a Inner, key: &Key) -> impl Iterator<Item = &'a Arc<Binding>> {
    let entry = inner.federated_hpas.get(key);
    let targets = entry.into_iter().flat_map(|entry| [Some(entry.target.clone()), entry.also_about()]).flatten();
    targets.flat_map(|target| inner.bindings.about(&target))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decision::fleet::Readiness;

    fn cluster(uid: &str, version: u32, ready: &str) -> Cluster {
        let condition = json!({"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-01T00:00:00Z"});
        let summary = json!({"allocatable": {"cpu": "4"}});
        serde_json::from_value(json!({"metadata": {"name": "m", "uid": uid, "resourceVersion": version.to_string()},
            "spec": {"region": "north"},
            "status": {"kubernetesVersion": "v1.36.2", "conditions": [condition], "resourceSummary": summary}}))
        .unwrap()
    }

    fn metadata(uid: &str, version: u32, deleted: bool) -> ObjectMeta {
        let deleted = deleted.then_some("2026-11-20T08:00:00Z");
        serde_json::from_value(json!({"name": "m", "uid": uid, "resourceVersion": version.to_string(),
            "labels": {"a": "b"}, "deletionTimestamp": deleted}))
        .unwrap()
    }

    /// The cache with one cluster, through its reader.
    fn listed() -> (Arc<Cache>, Box<Reader<Cluster, ClusterEntry>>) {
        let cache = Arc::new(Cache::default());
        let mut reader = Reader::boxed(&cache, ClusterEntry::of);
        reader.begin();
        reader.listed(&cluster("u", 5, "True"));
        reader.end();
        (cache, reader)
    }

    fn known(cache: &Cache) -> Option<(Readiness, String, bool, usize)> {
        let entry = cache.cluster("m")?;
        let member = &entry.member;
        let labels = member.labels.len();
        Some((member.readiness, member.region.to_string(), member.deleting || entry.summary.is_none(), labels))
    }

    #[test]
    fn a_cluster_that_can_no_longer_be_decoded_is_as_it_was_until_it_is_deleted() {
        let (cache, mut reader) = listed();
        let as_it_was = |labels| Some((Readiness::Ready, "north".to_owned(), false, labels));
        assert_eq!(known(&cache), as_it_was(0));
        reader.undecodable(&metadata("u", 6, false), "");
        assert_eq!(known(&cache), as_it_was(1));
        reader.begin();
        reader.listed_undecodable(&metadata("u", 7, false), "");
        reader.end();
        assert_eq!(known(&cache), as_it_was(1));
        reader.undecodable(&metadata("u", 8, true), "");
        assert!(cache.cluster("m").is_some_and(|entry| entry.member.deleting));
        reader.deleted("", "m", "u");
        assert_eq!(known(&cache), None);
    }

    #[test]
    fn a_cluster_that_was_never_decoded_is_there_until_it_can_be() {
        let (cache, mut reader) = listed();
        let never = Some((Readiness::Undecoded, String::new(), true, 1));
        // Another one of that name.
        reader.undecodable(&metadata("w", 6, false), "");
        assert_eq!(known(&cache), never);
        reader.undecodable(&metadata("w", 7, false), "");
        assert_eq!(known(&cache), never);
        reader.put(&cluster("w", 8, "False"));
        assert!(matches!(known(&cache), Some((Readiness::NotReady(_), ..))));
        reader.begin();
        reader.end();
        assert_eq!(known(&cache), None);
    }

    #[test]
    fn another_list_of_the_kinds_that_a_cluster_serves_concerns_the_workloads_of_these_kinds() {
        let (cache, mut clusters) = listed();
        let read = |kinds: &[&str], version: u32, complete: &str| {
            let resources: Vec<_> = kinds.iter().map(|kind| json!({"kind": kind})).collect();
            let mut cluster = cluster("u", version, "True");
            let served = json!([{"groupVersion": "apps/v1", "resources": resources}]);
            cluster.status.api_enablements = serde_json::from_value(served).unwrap();
            let condition = json!({"type": "CompleteAPIEnablements", "status": complete});
            cluster.status.conditions.push(serde_json::from_value(condition).unwrap());
            cluster
        };
        clusters.put(&read(&["Deployment", "StatefulSet"], 6, "True"));
        let mut hpas = Reader::boxed(&cache, FederatedHpaEntry::of);
        let mut bindings = Reader::boxed(&cache, Binding::of);
        let mut works = Reader::boxed(&cache, MemberHpa::of);
        hpas.begin();
        bindings.begin();
        works.begin();
        for kind in ["Deployment", "StatefulSet"] {
            let metadata =
                json!({"namespace": "prod", "name": kind.to_lowercase(), "uid": kind, "resourceVersion": "1"});
            let target = json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"});
            let hpa = json!({"metadata": metadata, "spec": {"scaleTargetRef": target, "maxReplicas": 2}});
            hpas.listed(&serde_json::from_value::<FederatedHPA>(hpa).unwrap());
            let resource = json!({"apiVersion": "apps/v1", "kind": kind, "namespace": "prod", "name": "web"});
            let binding = json!({"metadata": metadata, "spec": {"resource": resource}});
            bindings.listed(&serde_json::from_value::<ResourceBinding>(binding).unwrap());
        }
        hpas.end();
        bindings.end();
        works.end();
        let mut changed = |kinds: &[&str], version, complete| {
            drop(cache.changed());
            clusters.put(&read(kinds, version, complete));
            cache.changed().into_iter().map(|key| key.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(changed(&["Deployment", "StatefulSet", "DaemonSet"], 7, "True"), [""; 0]);
        assert_eq!(changed(&["Deployment", "DaemonSet"], 8, "True"), ["statefulset"]);
        assert_eq!(changed(&["Deployment"], 9, "False"), ["statefulset"], "that is unknown now");
        assert_eq!(changed(&["StatefulSet"], 10, "False"), ["deployment", "statefulset"]);
    }
}
