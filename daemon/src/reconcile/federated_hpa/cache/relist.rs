//! Lists that a new leader reads beside the watches -> cache. No I/O.

use std::collections::BTreeSet;

use super::Cache;
use super::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa};
use super::intake::CachedKind;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::controller::table::Table;

/// Stores one list that is read beside the watch.
pub trait ListHandler<K>: Send {
    /// Stores an object of the list, unless the watch delivered a newer state.
    fn put(&mut self, object: &K);
    /// An object of the list cannot be decoded; the watch reports it.
    fn undecodable(&mut self, uid: &str);
    /// The list, of this `metadata.resourceVersion`, is complete: what it does not have is gone, or is left to the watch.
    fn end(&mut self, revision: &str);
}

/// Stores lists that are read beside the watches, until it is dropped.
pub struct Reading<'a>(&'a Cache);

impl Cache {
    /// Begins to read lists beside the watches. One reading at a time.
    #[must_use]
    pub fn read(&self) -> Reading<'_> {
        self.inner.lock().gone = Some(BTreeSet::new());
        Reading(self)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().gone = None;
    }
}

impl Reading<'_> {
    fn kind<K, I>(&self, read: fn(&K) -> I) -> KindReading<'_, K, I> {
        KindReading { cache: self.0, read, seen: Some(BTreeSet::new()) }
    }

    /// For all FederatedHPAs.
    #[must_use]
    pub fn federated_hpas(&self) -> impl ListHandler<FederatedHPA> {
        self.kind(FederatedHpaEntry::of)
    }

    /// For all ResourceBindings.
    #[must_use]
    pub fn bindings(&self) -> impl ListHandler<ResourceBinding> {
        self.kind(Binding::of)
    }

    /// For all Clusters.
    #[must_use]
    pub fn clusters(&self) -> impl ListHandler<Cluster> {
        self.kind(ClusterEntry::of)
    }

    /// For the Works of fhpa. There may be a million: a deleted one is left to the watch, as the server rejects writes
    /// to it.
    #[must_use]
    pub fn works(&self) -> impl ListHandler<Work> {
        KindReading { seen: None, ..self.kind(MemberHpa::of) }
    }
}

/// Stores the list of one kind.
struct KindReading<'a, K, I> {
    cache: &'a Cache,
    read: fn(&K) -> I,
    /// The uids in the list; `None` where objects that it does not have are kept.
    seen: Option<BTreeSet<Box<str>>>,
}

impl<K, I: CachedKind> ListHandler<K> for KindReading<'_, K, I> {
    fn put(&mut self, object: &K) {
        let item = (self.read)(object);
        self.undecodable(item.uid());
        let is_gone = match &self.cache.inner.lock().gone {
            Some(gone) => gone.contains(item.uid()),
            // All objects were dropped meanwhile, and a list of the watch follows.
            None => true,
        };
        if !is_gone && self.cache.change(|table| table.read(item)) {
            self.cache.change.notify_one();
        }
    }

    fn undecodable(&mut self, uid: &str) {
        if let Some(seen) = &mut self.seen {
            seen.insert(uid.into());
        }
    }

    fn end(&mut self, revision: &str) {
        let Ok(revision) = revision.parse() else { return };
        if self.cache.inner.lock().gone.is_some() {
            let seen = self.seen.take();
            self.cache.change(|table: &mut Table<I>| table.read_to(revision, seen.as_ref()));
            self.cache.change.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::key::Key;

    fn hpa(name: &str, uid: &str, version: u64, max: i32) -> FederatedHPA {
        serde_json::from_value(json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod", "uid": uid, "resourceVersion": version.to_string()},
            "spec": {"maxReplicas": max, "scaleTargetRef": {"kind": "Deployment", "name": name}}}))
        .unwrap()
    }

    /// A cache with these objects, as the watch listed them.
    fn listed(objects: &[FederatedHPA]) -> Cache {
        let cache = Cache::default();
        cache.begin::<FederatedHpaEntry>();
        for object in objects {
            cache.list(FederatedHpaEntry::of(object));
        }
        cache.end::<FederatedHpaEntry>();
        cache
    }

    fn read(cache: &Cache, objects: &[FederatedHPA], revision: &str) {
        let reading = cache.read();
        let mut list = reading.federated_hpas();
        for object in objects {
            list.put(object);
        }
        list.end(revision);
    }

    /// The max of each object, by name.
    fn known(cache: &Cache) -> Vec<(String, i32)> {
        let inner = cache.inner.lock();
        let entries = inner.federated_hpas.all();
        entries.map(|entry| (entry.key().name.to_string(), entry.object.spec.max_replicas)).collect()
    }

    fn put(cache: &Cache, object: &FederatedHPA) {
        cache.put(FederatedHpaEntry::of(object));
    }

    #[test]
    fn what_a_watch_reports_late_hides_nothing_that_was_read() {
        let cache = listed(&[hpa("a", "u", 5, 5)]);
        read(&cache, &[hpa("a", "u", 9, 9)], "20");
        put(&cache, &hpa("a", "u", 7, 7));
        assert_eq!(known(&cache), [("a".to_owned(), 9)]);
        put(&cache, &hpa("a", "u", 21, 21));
        assert_eq!(known(&cache), [("a".to_owned(), 21)]);
    }

    #[test]
    fn what_a_list_does_not_have_is_gone_and_no_late_event_brings_it_back() {
        let cache = listed(&[hpa("a", "u", 5, 5), hpa("b", "v", 6, 6)]);
        read(&cache, &[hpa("b", "v", 6, 6)], "20");
        put(&cache, &hpa("a", "u", 8, 8));
        assert_eq!(known(&cache), [("b".to_owned(), 6)]);
        put(&cache, &hpa("a", "w", 22, 22));
        assert_eq!(known(&cache), [("a".to_owned(), 22), ("b".to_owned(), 6)]);
    }

    #[test]
    fn a_late_event_of_a_work_does_not_hide_the_one_that_was_made_anew() {
        let work = |uid: &str, version: u64| -> Work {
            serde_json::from_value(json!({"metadata": {"name": "web-1", "namespace": "karmada-es-m1", "uid": uid,
                "resourceVersion": version.to_string()}}))
            .unwrap()
        };
        let cache = Cache::default();
        cache.begin::<MemberHpa>();
        cache.list(MemberHpa::of(&work("u", 5)));
        cache.end::<MemberHpa>();
        let known = || cache.inner.lock().member_hpas.all().map(|one| one.uid.to_string()).collect::<Vec<_>>();
        let reading = cache.read();
        reading.works().end("20");
        drop(reading);
        assert_eq!(known(), ["u"], "a deleted one is left to the watch");
        cache.made_work(&work("w", 22));
        cache.put(MemberHpa::of(&work("u", 8)));
        cache.deleted::<MemberHpa>(&Key::new("karmada-es-m1", "web-1"), "u");
        assert_eq!(known(), ["w"]);
        cache.put(MemberHpa::of(&work("x", 23)));
        assert_eq!(known(), ["x"]);
    }

    #[test]
    fn what_is_newer_than_a_list_or_cannot_be_decoded_in_it_stays() {
        let cache = listed(&[hpa("a", "u", 25, 25), hpa("b", "v", 6, 6)]);
        let reading = cache.read();
        let mut list = reading.federated_hpas();
        list.undecodable("v");
        list.end("20");
        assert_eq!(known(&cache), [("a".to_owned(), 25), ("b".to_owned(), 6)]);
    }

    #[test]
    fn the_late_deletion_of_an_object_does_not_remove_the_one_that_was_made_anew() {
        let cache = listed(&[hpa("a", "u", 5, 5)]);
        read(&cache, &[hpa("a", "w", 15, 15)], "20");
        put(&cache, &hpa("a", "u", 8, 8));
        cache.deleted::<FederatedHpaEntry>(&Key::new("prod", "a"), "u");
        assert_eq!(known(&cache), [("a".to_owned(), 15)]);
        cache.deleted::<FederatedHpaEntry>(&Key::new("prod", "a"), "w");
        assert_eq!(known(&cache), []);
    }

    #[test]
    fn what_the_watch_reports_as_deleted_meanwhile_does_not_come_back() {
        let cache = listed(&[hpa("a", "u", 5, 5)]);
        let reading = cache.read();
        let mut list = reading.federated_hpas();
        cache.deleted::<FederatedHpaEntry>(&Key::new("prod", "a"), "u");
        list.put(&hpa("a", "u", 6, 6));
        assert_eq!(known(&cache), []);
    }

    #[test]
    fn a_list_that_is_not_complete_does_not_go_back_behind_what_was_read() {
        let cache = listed(&[]);
        cache.begin::<FederatedHpaEntry>();
        read(&cache, &[hpa("a", "u", 9, 9), hpa("b", "v", 10, 10)], "20");
        cache.list(FederatedHpaEntry::of(&hpa("a", "u", 5, 5)));
        cache.end::<FederatedHpaEntry>();
        assert_eq!(known(&cache), [("a".to_owned(), 9), ("b".to_owned(), 10)]);
    }

    #[test]
    fn nothing_is_stored_of_what_was_read_before_the_cache_was_dropped() {
        // A foreign definition prunes what is read through it.
        let cache = listed(&[hpa("a", "u", 5, 5)]);
        let reading = cache.read();
        let mut list = reading.federated_hpas();
        cache.forget::<FederatedHpaEntry>();
        cache.begin::<FederatedHpaEntry>();
        list.put(&hpa("a", "u", 6, 1));
        list.end("20");
        assert_eq!(known(&cache), []);
    }

    #[test]
    fn versions_that_went_back_with_the_store_hold_from_the_next_list_on() {
        let cache = listed(&[hpa("a", "u", 900, 9)]);
        read(&cache, &[hpa("a", "u", 900, 9)], "950");
        cache.begin::<FederatedHpaEntry>();
        cache.list(FederatedHpaEntry::of(&hpa("a", "u", 5, 5)));
        cache.end::<FederatedHpaEntry>();
        put(&cache, &hpa("b", "v", 6, 6));
        assert_eq!(known(&cache), [("a".to_owned(), 5), ("b".to_owned(), 6)]);
    }
}
