//! Usage of the resources of pods, as the metrics APIs list it, in the least room. No I/O.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use crate::api::metrics::{PodMetrics, QUERY_SOURCE};
use crate::decision::hpa::metric::Sample;
use crate::decision::quantity::milli;

/// Window of a resource metric without one: that of metrics-server.
const DEFAULT_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// Resources of the containers of a pod by their names, and the cluster that karmada-metrics-adapter names for it; that
/// is empty in an answer of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shape {
    cluster: Box<str>,
    containers: Vec<(Box<str>, Vec<Box<str>>)>,
}

impl Shape {
    fn is(&self, cluster: &str, containers: &[ContainerUsage<'_>]) -> bool {
        let named = |(known, resources): &(Box<str>, Vec<Box<str>>), (name, usage): &ContainerUsage<'_>| {
            **known == **name && resources.iter().map(|resource| &**resource).eq(usage.iter().map(|(name, _)| *name))
        };
        *self.cluster == *cluster
            && self.containers.len() == containers.len()
            && self.containers.iter().zip(containers).all(|(known, given)| named(known, given))
    }
}

/// What one pod uses. Its name is at the end of those of the pods before it, and so are its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Usage {
    name_end: u32,
    values_end: u32,
    /// Index of its shape.
    shape: u32,
    /// The end of the window, with nanoseconds apart: together with seconds they would fill eight bytes.
    nanosecond: i32,
    second: i64,
    /// Length of the window in nanoseconds.
    window: i64,
}

/// Usage of the pods of a list, whose items may come one by one. A list may have a hundred thousand pods: names and
/// values have no allocations of their own, and containers and resources are named once for all pods with the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usages {
    names: String,
    values: Vec<i64>,
    all: Vec<Usage>,
    shapes: Vec<Shape>,
    /// The shapes by their hashes, while pods are added.
    known: HashMap<u64, u32>,
}

/// Usage of one pod in a list.
#[derive(Clone, Copy, Debug)]
pub struct PodUsage<'a> {
    of: &'a Usages,
    index: usize,
}

/// Usage of a container: its name, and a value in thousandths for each resource.
pub type ContainerUsage<'a> = (&'a str, Vec<(&'a str, i64)>);

impl Usages {
    /// Adds a pod. Invalid quantities are left out.
    pub fn push(&mut self, metrics: &PodMetrics) {
        let containers = metrics.containers.iter().map(|container| {
            let usage = container.usage.iter();
            let usage = usage.filter_map(|(resource, value)| Some((resource.as_str(), milli(&value.0)?)));
            (container.name.as_str(), usage.collect())
        });
        let cluster = metrics.metadata.annotations.get(QUERY_SOURCE).map(String::as_str).unwrap_or_default();
        let at = metrics.timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
        let window = metrics.window.parse().unwrap_or(DEFAULT_WINDOW);
        self.add((&metrics.metadata.name, cluster), &containers.collect::<Vec<_>>(), at, window);
    }

    /// Adds the usage of the pod of this name and cluster, in the `window` that ended `at`.
    pub fn add(
        &mut self,
        (pod, cluster): (&str, &str),
        containers: &[ContainerUsage<'_>],
        at: Timestamp,
        window: SignedDuration,
    ) {
        let shape = self.shape(cluster, containers);
        let window = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        let (second, nanosecond) = (at.as_second(), at.subsec_nanosecond());
        let usage = Usage { name_end: 0, values_end: 0, shape, nanosecond, second, window };
        self.store(pod, containers.iter().flat_map(|(_, usage)| usage).map(|(_, value)| *value), usage);
    }

    /// Adds `usage` with its name and values behind those that are there.
    fn store(&mut self, pod: &str, values: impl IntoIterator<Item = i64>, usage: Usage) {
        self.names.push_str(pod);
        self.values.extend(values);
        let ends = (u32::try_from(self.names.len()), u32::try_from(self.values.len()));
        // No list is so long: its text is limited.
        let (Ok(name_end), Ok(values_end)) = ends else { return };
        self.all.push(Usage { name_end, values_end, ..usage });
    }

    /// The index of the shape of these containers.
    fn shape(&mut self, cluster: &str, containers: &[ContainerUsage<'_>]) -> u32 {
        let mut hasher = DefaultHasher::new();
        cluster.hash(&mut hasher);
        for (name, usage) in containers {
            (name, usage.len()).hash(&mut hasher);
            for (resource, _) in usage {
                resource.hash(&mut hasher);
            }
        }
        let hash = hasher.finish();
        let known = self.known.get(&hash).copied();
        let shape = known.and_then(|index| self.shapes.get(usize::try_from(index).ok()?));
        if let (Some(index), true) = (known, shape.is_some_and(|shape| shape.is(cluster, containers))) {
            return index;
        }
        let named = |(name, usage): &ContainerUsage<'_>| {
            (Box::from(*name), usage.iter().map(|(resource, _)| Box::from(*resource)).collect())
        };
        let index = u32::try_from(self.shapes.len()).unwrap_or(u32::MAX);
        self.shapes.push(Shape { cluster: cluster.into(), containers: containers.iter().map(named).collect() });
        self.known.insert(hash, index);
        index
    }

    /// These, sorted by pod and cluster. Mostly they are so already.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        let key = |index: usize| {
            let usage = PodUsage { of: &self, index };
            (usage.pod(), usage.cluster())
        };
        if !(0..self.all.len()).is_sorted_by_key(key) {
            let mut order: Vec<usize> = (0..self.all.len()).collect();
            order.sort_by_key(|index| key(*index));
            self = self.in_order(&order);
        }
        self.known = HashMap::new();
        self.names.shrink_to_fit();
        self.values.shrink_to_fit();
        self.all.shrink_to_fit();
        self
    }

    fn in_order(&self, order: &[usize]) -> Self {
        let mut sorted = Self { shapes: self.shapes.clone(), ..Self::default() };
        for index in order {
            let usage = PodUsage { of: self, index: *index };
            let Some(known) = usage.known() else { continue };
            sorted.store(usage.pod(), usage.values().iter().copied(), *known);
        }
        sorted
    }

    /// Usage of the pod of that name, of whichever clusters it is; in the order of the clusters. They must be sorted.
    pub fn of<'a>(&'a self, pod: &str) -> impl Iterator<Item = PodUsage<'a>> {
        let (mut low, mut high) = (0, self.all.len());
        while low < high {
            let index = low.midpoint(high);
            if (PodUsage { of: self, index }).pod() < pod {
                low = index.saturating_add(1);
            } else {
                high = index;
            }
        }
        (low..self.all.len()).map(|index| PodUsage { of: self, index }).take_while(move |usage| usage.pod() == pod)
    }
}

impl<'a> PodUsage<'a> {
    fn known(&self) -> Option<&'a Usage> {
        self.of.all.get(self.index)
    }

    fn before(&self) -> Option<&'a Usage> {
        self.index.checked_sub(1).and_then(|before| self.of.all.get(before))
    }

    fn shape(&self) -> Option<&'a Shape> {
        self.of.shapes.get(usize::try_from(self.known()?.shape).ok()?)
    }

    /// Name of the pod.
    fn pod(&self) -> &'a str {
        let end = |usage: &Usage| usage.name_end;
        self.of.names.get(range(self.before(), self.known(), end)).unwrap_or_default()
    }

    fn values(&self) -> &'a [i64] {
        let end = |usage: &Usage| usage.values_end;
        self.of.values.get(range(self.before(), self.known(), end)).unwrap_or_default()
    }

    /// The cluster that karmada-metrics-adapter names; empty in an answer of a member.
    #[must_use]
    pub fn cluster(&self) -> &'a str {
        self.shape().map_or("", |shape| &*shape.cluster)
    }

    /// The usage of a resource over all containers, or of the named one. `None` when a container has no value, or
    /// none is listed, as in Kubernetes.
    ///
    /// # Errors
    /// The pod has no container of that name.
    pub fn sample(&self, resource: &str, container: Option<&str>) -> Result<Option<Sample>, String> {
        let mut values = self.values().iter();
        let mut known = self.shape().into_iter().flat_map(|shape| &shape.containers).map(|(name, resources)| {
            // All values of a container are taken, so that those of the next one follow.
            let own: Option<i64> = resources
                .iter()
                .zip(values.by_ref())
                .fold(None, |found, (name, value)| if **name == *resource { found.or(Some(*value)) } else { found });
            (&**name, own)
        });
        let value = match container {
            Some(name) => {
                let found = known.find(|(container, _)| *container == name);
                found.ok_or_else(|| format!("container {name} not present in metrics for pod {}", self.pod()))?.1
            }
            None => known
                .try_fold(None, |sum, (_, value)| Some(Some(sum.unwrap_or(0_i64).saturating_add(value?))))
                .flatten(),
        };
        let Some(Usage { second, nanosecond, window, .. }) = self.known() else { return Ok(None) };
        let at = Timestamp::new(*second, *nanosecond).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(value.map(|value| Sample { value, at, window: SignedDuration::from_nanos(*window) }))
    }
}

/// From the end of what is before to the end of what is known.
fn range(before: Option<&Usage>, known: Option<&Usage>, end: impl Fn(&Usage) -> u32) -> Range<usize> {
    let at = |usage: Option<&Usage>| usage.map_or(0, |usage| usize::try_from(end(usage)).unwrap_or(usize::MAX));
    at(before)..at(known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::metrics::List;

    #[test]
    fn usage_is_read_as_metrics_server_writes_it() {
        let list = json!({"items": [
            {"metadata": {"name": "web-0"},
             "timestamp": "2026-11-20T08:00:15Z", "window": "15.02s",
             "containers": [{"name": "web", "usage": {"cpu": "123456789n", "memory": "2Ki"}}, {"name": "proxy", "usage": {"cpu": "1m"}}]},
            {"metadata": {"name": "web-1"}, "containers": null},
            {"metadata": {"name": "web-2"}, "containers": [{"name": "web", "usage": {"cpu": "7m"}}]},
        ]});
        let list: List<PodMetrics> = serde_json::from_value(list).unwrap();
        let mut usages = Usages::default();
        list.items.iter().rev().for_each(|metrics| usages.push(metrics));
        let usages = usages.sorted();
        let of = |pod| usages.of(pod).next().unwrap();
        let web = of("web-0");
        assert!(usages.of("web").next().is_none() && usages.of("web-3").next().is_none());
        let sample = |resource, container| web.sample(resource, container);
        assert_eq!(sample("cpu", None).unwrap().unwrap().value, 125);
        assert_eq!(sample("cpu", Some("proxy")).unwrap().unwrap().value, 1);
        assert_eq!(sample("memory", None).unwrap(), None, "a container does not say");
        assert!(sample("cpu", Some("other")).unwrap_err().contains("container other not present"));
        let taken = sample("cpu", None).unwrap().unwrap();
        assert_eq!(
            (taken.at.to_string().as_str(), taken.window),
            ("2026-11-20T08:00:15Z", SignedDuration::new(15, 20_000_000))
        );
        assert_eq!(of("web-1").sample("cpu", None).unwrap(), None, "no container is listed");
        let plain = of("web-2").sample("cpu", None).unwrap().unwrap();
        assert_eq!((plain.value, plain.window, plain.at), (7, DEFAULT_WINDOW, Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn pods_of_one_name_have_the_usage_of_their_clusters() {
        let mut usages = Usages::default();
        for (pod, cluster, value) in [("b", "member2", 4), ("b", "member1", 3), ("a", "member1", 1), ("c", "", 9)] {
            let containers = [("web", vec![("cpu", value), ("memory", value + 10)])];
            usages.add((pod, cluster), &containers, Timestamp::UNIX_EPOCH, DEFAULT_WINDOW);
        }
        let usages = usages.sorted();
        let found = |pod| -> Vec<(&str, i64)> {
            usages.of(pod).map(|of| (of.cluster(), of.sample("memory", None).unwrap().unwrap().value)).collect()
        };
        assert_eq!(found("b"), [("member1", 13), ("member2", 14)]);
        assert_eq!((found("a"), found("c")), (vec![("member1", 11)], vec![("", 19)]));
        assert_eq!(usages.shapes.len(), 3, "each is stored once");
    }
}
