//! Affinity and anti-affinity groups of workloads: which clusters the others of a group have. No I/O.
//!
//! Most workloads of a group are in the same clusters. So each set of clusters is kept once with the number of its
//! workloads, and what changes that number alone concerns nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use parking_lot::MutexGuard;

use super::binding::{Affinity, Binding};
use super::{Cache, Inner};
use crate::controller::intern::{self, Shared};
use crate::controller::key::Key;
use crate::controller::table::{Change, Item as _};
use crate::decision::fleet::workload_affinity::{ClusterNames, Neighbours};
use crate::decision::plan::Plan;

/// A group: its kind, its namespace and its name.
type GroupKey = (Affinity, Arc<str>, Arc<str>);

/// The clusters of the other workloads of the groups of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighbourClusters {
    affinity: Vec<ClusterNames>,
    anti_affinity: Vec<ClusterNames>,
}

impl NeighbourClusters {
    /// As input of the rules.
    #[must_use]
    pub fn neighbours(&self) -> Neighbours<'_> {
        Neighbours { affinity: &self.affinity, anti_affinity: &self.anti_affinity }
    }
}

/// A group.
#[derive(Debug, Default)]
struct Group {
    bindings: BTreeSet<Key>,
    /// The sets of clusters, each with the number of bindings that have it; none is empty.
    sets: BTreeMap<ClusterNames, usize>,
}

/// The binding of a workload that is in a group.
#[derive(Clone, Debug, Default)]
struct Member {
    groups: Vec<GroupKey>,
    /// The clusters in the binding.
    entries: ClusterNames,
    /// Those that this leader assigned: the binding may not have them yet.
    assigned: ClusterNames,
}

impl Member {
    fn clusters(&self) -> ClusterNames {
        if self.assigned.is_subset(&self.entries) {
            return Arc::clone(&self.entries);
        }
        kept(self.entries.union(&self.assigned).cloned())
    }
}

fn kept(names: impl Iterator<Item = Arc<str>>) -> ClusterNames {
    static SETS: LazyLock<Shared<BTreeSet<Arc<str>>>> = LazyLock::new(Shared::default);
    SETS.keep(names.collect())
}

/// The groups of all bindings.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_key: BTreeMap<GroupKey, Group>,
    members: BTreeMap<Key, Member>,
    /// The bindings with assigned clusters, by their FederatedHPA.
    assigned: BTreeMap<Key, Key>,
}

impl Groups {
    /// Applies a change of a binding. Returns the others that it concerns.
    pub(super) fn follow(&mut self, change: &Change<Binding>) -> BTreeSet<Key> {
        let key = &change.key;
        let known = self.members.get(key).cloned();
        let groups: Vec<GroupKey> = change.after.iter().flat_map(|binding| binding.groups()).map(group(key)).collect();
        let Some(binding) = change.after.as_ref().filter(|_| !groups.is_empty()) else {
            return self.set(key, known, None);
        };
        let entries = kept(binding.entries().map(|(cluster, _)| intern::text(cluster)));
        let assigned = known.as_ref().map(|known| Arc::clone(&known.assigned)).unwrap_or_default();
        self.set(key, known, Some(Member { groups, entries, assigned }))
    }

    /// The clusters of the others in the groups of a binding.
    pub(super) fn of(&self, binding: &Key) -> NeighbourClusters {
        let Some(member) = self.members.get(binding) else { return NeighbourClusters::default() };
        let own = member.clusters();
        let mut found = NeighbourClusters::default();
        for (key, group) in member.groups.iter().filter_map(|key| Some((key, self.by_key.get(key)?))) {
            let others = group.sets.iter().filter(|(set, count)| **count > usize::from(**set == own));
            let others = others.map(|(set, _)| Arc::clone(set)).collect();
            match key.0 {
                Affinity::Together => found.affinity = others,
                Affinity::Apart => found.anti_affinity = others,
            }
        }
        found
    }

    /// Assigns clusters to the binding of a FederatedHPA, if the others of its groups are where they were `seen`. Returns
    /// the others that it concerns; `None`: they moved.
    fn assign(
        &mut self,
        (owner, binding): (&Key, &Key),
        clusters: impl Iterator<Item = Arc<str>>,
        seen: &NeighbourClusters,
    ) -> Option<BTreeSet<Key>> {
        let Some(known) = self.members.get(binding).cloned() else { return Some(BTreeSet::new()) };
        if self.of(binding) != *seen {
            return None;
        }
        let after = Member { assigned: kept(clusters), ..known.clone() };
        self.assigned.insert(owner.clone(), binding.clone());
        Some(self.set(binding, Some(known), Some(after)))
    }

    /// Forgets what was assigned to the binding of a FederatedHPA. Returns the others that it concerns.
    fn unassign(&mut self, owner: &Key) -> BTreeSet<Key> {
        let Some(binding) = self.assigned.remove(owner) else { return BTreeSet::new() };
        let Some(known) = self.members.get(&binding).cloned() else { return BTreeSet::new() };
        let after = Member { assigned: ClusterNames::default(), ..known.clone() };
        self.set(&binding, Some(known), Some(after))
    }

    /// Replaces what is known of a binding. Returns the others of the groups in which there is another set of clusters.
    fn set(&mut self, key: &Key, before: Option<Member>, after: Option<Member>) -> BTreeSet<Key> {
        let mut changed: BTreeSet<GroupKey> = BTreeSet::new();
        if let (Some(before), Some(after)) = (&before, &after)
            && (&before.groups, before.clusters()) == (&after.groups, after.clusters())
        {
            self.members.insert(key.clone(), after.clone());
            return BTreeSet::new();
        }
        if let Some(before) = before {
            self.leave(key, &before, &mut changed);
        }
        if let Some(after) = after {
            self.join(key, after, &mut changed);
        } else {
            self.members.remove(key);
        }
        let groups = changed.iter().filter_map(|group| self.by_key.get(group));
        groups.flat_map(|group| &group.bindings).filter(|other| *other != key).cloned().collect()
    }

    fn leave(&mut self, key: &Key, member: &Member, changed: &mut BTreeSet<GroupKey>) {
        let set = member.clusters();
        for name in &member.groups {
            let Some(group) = self.by_key.get_mut(name) else { continue };
            group.bindings.remove(key);
            if let Some(count) = group.sets.get_mut(&set) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    group.sets.remove(&set);
                    changed.insert(name.clone());
                }
            }
            if group.bindings.is_empty() {
                self.by_key.remove(name);
            }
        }
    }

    fn join(&mut self, key: &Key, member: Member, changed: &mut BTreeSet<GroupKey>) {
        let set = member.clusters();
        for name in &member.groups {
            let group = self.by_key.entry(name.clone()).or_default();
            group.bindings.insert(key.clone());
            if set.is_empty() {
                continue;
            }
            let count = group.sets.entry(Arc::clone(&set)).or_default();
            *count = count.saturating_add(1);
            if *count == 1 {
                changed.insert(name.clone());
            }
        }
        self.members.insert(key.clone(), member);
    }
}

impl Cache {
    /// The clusters of the other workloads of the groups of a workload, as they are now.
    #[must_use]
    pub fn neighbours(&self, binding: &Binding) -> NeighbourClusters {
        self.inner.lock().groups.of(binding.key())
    }

    /// Assigns the clusters of the plan of `owner` to its workload: for the others of its groups it has them from now on.
    /// `false`: one of them moved since the plan has `seen` them, and it is to be made again.
    #[must_use]
    pub fn assign(&self, owner: &Key, binding: &Binding, seen: &NeighbourClusters, plan: &Plan<'_>) -> bool {
        if binding.groups().next().is_none() {
            return true;
        }
        let bounded = plan.shares.iter().filter(|share| share.target.is_some());
        let clusters = bounded.map(|share| intern::text(share.cluster));
        let mut inner = self.inner.lock();
        let concerned = inner.groups.assign((owner, binding.key()), clusters, seen);
        self.concern(inner, concerned.as_ref());
        concerned.is_some()
    }

    /// Forgets what was assigned to an object.
    pub fn unassign(&self, owner: &Key) {
        let mut inner = self.inner.lock();
        let concerned = inner.groups.unassign(owner);
        self.concern(inner, Some(&concerned));
    }

    fn concern(&self, mut inner: MutexGuard<'_, Inner>, bindings: Option<&BTreeSet<Key>>) {
        let Some(bindings) = bindings.filter(|bindings| !bindings.is_empty()) else { return };
        inner.concern(bindings);
        drop(inner);
        self.change.notify_one();
    }

    /// Forgets what was assigned to all objects.
    pub fn unassign_all(&self) {
        let owners: Vec<Key> = self.inner.lock().groups.assigned.keys().cloned().collect();
        for owner in &owners {
            self.unassign(owner);
        }
    }
}

impl Inner {
    /// Marks the FederatedHPAs on the workloads of these bindings.
    pub(super) fn concern<'k>(&mut self, bindings: impl IntoIterator<Item = &'k Key>) {
        let targets = bindings.into_iter().filter_map(|key| self.bindings.get(key)?.about());
        let concerned = targets.flat_map(|target| self.federated_hpas.keys_about(&target).cloned());
        self.changed.extend(concerned);
    }
}

fn group(binding: &Key) -> impl Fn((Affinity, &str)) -> GroupKey + use<'_> {
    |(affinity, name)| (affinity, Arc::clone(&binding.namespace), intern::text(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::ResourceBinding;

    /// A binding of the groups in these clusters.
    fn binding(name: &str, groups: (&str, &str), clusters: &[&str]) -> Arc<Binding> {
        let clusters: Vec<_> = clusters.iter().map(|name| json!({"name": name, "replicas": 1})).collect();
        let groups = json!({"affinityGroup": groups.0, "antiAffinityGroup": groups.1});
        let wire = json!({"metadata": {"namespace": "prod", "name": name},
            "spec": {"workloadAffinityGroups": groups, "clusters": clusters}});
        Arc::new(Binding::of(&serde_json::from_value::<ResourceBinding>(wire).unwrap()))
    }

    /// The groups, with what each binding was before.
    #[derive(Default)]
    struct Followed(Groups, BTreeMap<Key, Arc<Binding>>);

    impl Followed {
        /// Returns the names of the bindings that the change concerns.
        fn follow(&mut self, name: &str, after: Option<Arc<Binding>>) -> Vec<String> {
            let key = Key::new("prod", name);
            let before = self.1.remove(&key);
            self.1.extend(after.clone().map(|after| (key.clone(), after)));
            names(self.0.follow(&Change { key, before, after }))
        }

        fn of(&self, name: &str) -> [Vec<String>; 2] {
            let NeighbourClusters { affinity, anti_affinity } = self.0.of(&Key::new("prod", name));
            let joined = |set: ClusterNames| set.iter().map(|name| &**name).collect::<Vec<_>>().join(" ");
            [affinity, anti_affinity].map(|sets| sets.into_iter().map(joined).collect())
        }

        fn assign(&mut self, name: &str, clusters: &[&str], seen: &NeighbourClusters) -> Option<Vec<String>> {
            let (owner, key) = (Key::new("prod", "owner"), Key::new("prod", name));
            let clusters = clusters.iter().map(|name| Arc::from(*name));
            self.0.assign((&owner, &key), clusters, seen).map(names)
        }
    }

    fn names(keys: BTreeSet<Key>) -> Vec<String> {
        keys.into_iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn a_change_concerns_the_others_of_a_group_where_it_brings_or_takes_a_set_of_clusters() {
        let mut all = Followed::default();
        let none: [&str; 0] = [];
        assert_eq!(all.follow("a", Some(binding("a", ("app=x", ""), &[]))), none, "it is the first, and nowhere");
        assert_eq!(all.follow("b", Some(binding("b", ("app=x", "app=y"), &["m1"]))), ["a"]);
        assert_eq!(all.follow("c", Some(binding("c", ("app=x", ""), &["m1"]))), none, "as the other one");
        assert_eq!(all.follow("other", Some(binding("other", ("", ""), &["m1"]))), none);
        assert_eq!(all.of("a"), [vec!["m1".to_owned()], vec![]]);
        assert_eq!(all.of("b"), [vec!["m1".to_owned()], vec![]], "there is c");
        assert_eq!(all.of("other"), [vec![], vec![]] as [Vec<String>; 2]);
        assert_eq!(all.follow("a", Some(binding("a", ("app=x", "app=y"), &["m2", "m1"]))), ["b", "c"]);
        assert_eq!(all.of("b"), [vec!["m1".to_owned(), "m1 m2".to_owned()], vec!["m1 m2".to_owned()]]);
        assert_eq!(all.follow("c", None), none);
        assert_eq!(all.of("b"), [["m1 m2"], ["m1 m2"]].map(|sets| sets.map(str::to_owned).to_vec()), "without its own");
        assert_eq!(all.follow("a", None), ["b"]);
        all.follow("b", None);
        all.follow("other", None);
        assert!(all.0.by_key.is_empty() && all.0.members.is_empty(), "nothing is left: {:?}", all.0);
    }

    #[test]
    fn what_a_plan_assigns_counts_at_once_and_a_plan_that_did_not_see_it_is_made_again() {
        let mut all = Followed::default();
        for name in ["a", "b"] {
            all.follow(name, Some(binding(name, ("", "app=x"), &[])));
        }
        let nothing = NeighbourClusters::default();
        assert_eq!(all.assign("a", &["m1"], &nothing), Some(vec!["b".to_owned()]));
        assert_eq!(all.assign("b", &["m1"], &nothing), None, "a was planned meanwhile");
        assert_eq!(all.of("b")[1], ["m1"]);
        assert_eq!(all.assign("a", &["m1"], &nothing), Some(vec![]), "the same again concerns nobody");
        // What is in the binding stays there when its object is no longer planned.
        all.follow("a", Some(binding("a", ("", "app=x"), &["m2"])));
        assert_eq!(all.of("b")[1], ["m1 m2"]);
        assert_eq!(names(all.0.unassign(&Key::new("prod", "owner"))), ["b"]);
        assert_eq!(all.of("b")[1], ["m2"]);
    }
}
