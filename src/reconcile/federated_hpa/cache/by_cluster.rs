//! Values of clusters: one for each cluster of an object. No I/O.

use std::sync::{Arc, LazyLock};

use crate::controller::shared::{self, Shared};

/// A value for each cluster, in the order of the object. Most objects have the same clusters: their names are stored
/// once.
#[derive(Clone, Debug)]
pub struct ByCluster<T> {
    clusters: Arc<Vec<Arc<str>>>,
    values: Box<[T]>,
}

impl<T> ByCluster<T> {
    /// Number of clusters.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no cluster.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The clusters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.clusters.iter().map(|cluster| &**cluster).zip(&self.values)
    }
}

impl<N: AsRef<str>, T> FromIterator<(N, T)> for ByCluster<T> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(all: I) -> Self {
        static CLUSTERS: LazyLock<Shared<Vec<Arc<str>>>> = LazyLock::new(Shared::default);
        let (mut clusters, mut values) = (Vec::new(), Vec::new());
        for (cluster, value) in all {
            clusters.push(shared::text(cluster.as_ref()));
            values.push(value);
        }
        clusters.shrink_to_fit();
        Self { clusters: CLUSTERS.keep(clusters), values: values.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clusters_are_stored_once_and_keep_their_order() {
        let one: ByCluster<i32> = [("b", 1), ("a", 2)].into_iter().collect();
        let other: ByCluster<bool> = ["b", "a"].map(|name| (name, true)).into_iter().collect();
        assert!(Arc::ptr_eq(&one.clusters, &other.clusters));
        assert_eq!(one.iter().collect::<Vec<_>>(), [("b", &1), ("a", &2)]);
        assert_eq!((one.len(), one.is_empty()), (2, false));
    }
}
