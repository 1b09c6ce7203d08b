//! Which clusters the other workloads of its groups leave to a workload, as Karmada's filters WorkloadAffinity and
//! WorkloadAntiAffinity do (docs/placement.md#workload-affinity). Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The clusters that a workload has.
pub type ClusterNames = Arc<BTreeSet<Arc<str>>>;

/// The clusters of the other workloads of its groups: each set once, none empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours<'a> {
    /// Of its affinity group.
    pub affinity: &'a [ClusterNames],
    /// Of its anti-affinity group.
    pub anti_affinity: &'a [ClusterNames],
}

impl<'a> Neighbours<'a> {
    /// What they leave to it. `lasts`: whether a workload stays in a cluster that has it. Karmada takes the entries of a
    /// lost cluster out of all bindings before it schedules them again, so a neighbour that has no other cluster keeps
    /// nobody from moving on.
    #[must_use]
    pub fn leave(self, lasts: impl Fn(&str) -> bool) -> Admission<'a> {
        let settled = self.affinity.iter().filter(|names| names.iter().any(|name| lasts(name)));
        Admission { all_of: settled.collect(), none_of: self.anti_affinity }
    }
}

/// Clusters that a workload may come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission<'a> {
    all_of: Vec<&'a ClusterNames>,
    none_of: &'a [ClusterNames],
}

impl Admission<'_> {
    /// Whether the workload may come to this cluster.
    #[must_use]
    pub fn admits(&self, cluster: &str) -> bool {
        self.all_of.iter().all(|names| names.contains(cluster))
            && !self.none_of.iter().any(|names| names.contains(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(all: &[&[&str]]) -> Vec<ClusterNames> {
        all.iter().map(|names| Arc::new(names.iter().map(|name| Arc::from(*name)).collect())).collect()
    }

    #[test]
    fn a_workload_comes_to_where_all_others_of_its_affinity_group_are_and_none_of_its_anti_affinity_group() {
        let admitted = |affinity: &[&[&str]], anti_affinity: &[&[&str]]| -> String {
            let (affinity, anti_affinity) = (sets(affinity), sets(anti_affinity));
            let left = Neighbours { affinity: &affinity, anti_affinity: &anti_affinity }.leave(|name| name != "lost");
            ["a", "b", "c"].into_iter().filter(|name| left.admits(name)).collect()
        };
        for (affinity, anti_affinity, expected) in [
            (&[][..], &[][..], "abc"),
            (&[&["a", "b"][..]], &[], "ab"),
            (&[&["a", "b"], &["b", "c"]], &[], "b"),
            (&[&["a"], &["b"]], &[], ""),
            (&[], &[&["a"][..], &["b"]], "c"),
            (&[&["a", "b"]], &[&["a"]], "b"),
            (&[&["lost"]], &[], "abc"),
            (&[&["lost", "b"]], &[], "b"),
            (&[&["lost"], &["c"]], &[], "c"),
            (&[], &[&["lost", "a"]], "bc"),
        ] {
            assert_eq!(admitted(affinity, anti_affinity), expected, "{affinity:?} {anti_affinity:?}");
        }
    }
}
