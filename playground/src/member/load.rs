//! The load of users, in millicores for each workload, shared evenly over its ready pods in all clusters. No I/O.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Namespace and name of a workload.
type Name = (String, String);

/// The load of all workloads.
#[derive(Debug, Default)]
pub struct Load(Mutex<WorkloadLoads>);

#[derive(Debug, Default)]
struct WorkloadLoads {
    totals: BTreeMap<Name, i64>,
    /// Loads that one cluster has to itself.
    own: BTreeMap<String, BTreeMap<Name, i64>>,
    ready: BTreeMap<String, BTreeMap<Name, u32>>,
}

impl WorkloadLoads {
    /// The load of each ready pod of a workload in a cluster; the whole load as an error when none is ready.
    fn share(&self, cluster: &str, name: &Name) -> Result<i64, i64> {
        let own = self.own.get(cluster).and_then(|own| own.get(name));
        let there = self.ready.iter().filter(|(other, _)| own.is_none() || *other == cluster);
        let ready: u32 = there.filter_map(|(_, ready)| ready.get(name)).sum();
        let total = own.or_else(|| self.totals.get(name)).copied().unwrap_or_default();
        total.checked_div(i64::from(ready)).ok_or(total)
    }
}

impl Load {
    /// Sets the load of a workload in millicores.
    pub fn set(&self, namespace: &str, name: &str, total: i64) {
        self.with(|state| state.totals.insert((namespace.to_owned(), name.to_owned()), total.max(0)));
    }

    /// Sets the load in millicores that a workload has in one cluster, whatever the others have.
    pub fn set_in(&self, cluster: &str, namespace: &str, name: &str, total: i64) {
        let name = (namespace.to_owned(), name.to_owned());
        self.with(|state| state.own.entry(cluster.to_owned()).or_default().insert(name, total.max(0)));
    }

    /// The load of a workload in millicores.
    #[must_use]
    pub fn total(&self, namespace: &str, name: &str) -> i64 {
        let name = (namespace.to_owned(), name.to_owned());
        self.with(|state| state.totals.get(&name).copied().unwrap_or_default())
    }

    /// The load of each ready pod of a workload in a cluster; the whole load when none is ready.
    #[must_use]
    pub fn share(&self, cluster: &str, namespace: &str, name: &str) -> i64 {
        let name = (namespace.to_owned(), name.to_owned());
        self.with(|state| state.share(cluster, &name).unwrap_or_else(|whole| whole))
    }

    /// The load that waits for a cluster where `ready` pods are ready: their share. While none is ready anywhere, all of
    /// it waits, for each cluster.
    #[must_use]
    pub fn waiting(&self, cluster: &str, namespace: &str, name: &str, ready: usize) -> i64 {
        let name = (namespace.to_owned(), name.to_owned());
        let here = |share: i64| share.saturating_mul(i64::try_from(ready).unwrap_or(i64::MAX));
        self.with(|state| state.share(cluster, &name).map_or_else(|whole| whole, here))
    }

    /// Sets how many pods of each workload are ready in a cluster.
    pub(super) fn publish(&self, cluster: &str, ready: BTreeMap<Name, u32>) {
        self.with(|state| state.ready.insert(cluster.to_owned(), ready));
    }

    /// Removes the pods of a cluster.
    pub(super) fn forget(&self, cluster: &str) {
        self.with(|state| state.ready.remove(cluster));
    }

    fn with<T>(&self, work: impl FnOnce(&mut WorkloadLoads) -> T) -> T {
        work(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Load;

    #[test]
    fn load_is_shared_over_the_ready_pods_of_all_clusters() {
        let load = Load::default();
        load.set("shop", "web", 3500);
        let share = |name| load.share("member1", "shop", name);
        assert_eq!(share("web"), 3500);
        for (cluster, ready) in [("member1", 2), ("member2", 5)] {
            load.publish(cluster, BTreeMap::from([(("shop".to_owned(), "web".to_owned()), ready)]));
        }
        assert_eq!(share("web"), 500);
        load.set_in("member2", "shop", "web", 100);
        assert_eq!((share("web"), load.share("member2", "shop", "web")), (500, 20));
        load.forget("member2");
        assert_eq!((share("web"), share("other")), (1750, 0));
    }

    #[test]
    fn load_waits_for_all_clusters_while_none_is_ready() {
        let load = Load::default();
        load.set("prod", "web", 60);
        let waiting = |name, ready| load.waiting("a", "prod", name, ready);
        assert_eq!((waiting("web", 0), waiting("else", 0)), (60, 0));
        let ready = |count| BTreeMap::from([(("prod".to_owned(), "web".to_owned()), count)]);
        load.publish("a", ready(2));
        load.publish("b", ready(0));
        assert_eq!((waiting("web", 2), waiting("web", 0)), (60, 0));
        load.publish("a", ready(0));
        assert_eq!(waiting("web", 0), 60);
    }
}
