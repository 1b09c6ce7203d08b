//! FederatedHPAs in numbers, while this process leads: how many there are and how their clusters are, and for a limited
//! number of objects series of their own, named as those of kube-state-metrics. No I/O.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::registered;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabels {
    mode: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    namespace: String,
    federatedhpa: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConditionLabels {
    namespace: String,
    federatedhpa: String,
    condition: String,
    status: String,
}

/// How the clusters of an object are; a cluster may be in several states.
pub(super) const STATES: [&str; 6] = ["total", "ready", "limited", "unknown", "scaled_to_zero", "leaving"];

/// The numbers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectFigures {
    /// Its mode; empty: not decided.
    pub mode: &'static str,
    /// `minReplicas`, `maxReplicas`, current and desired replicas.
    pub replicas: [i64; 4],
    /// Clusters by state: all, ready, limited, unknown, scaled to zero, leaving.
    pub clusters: [i64; 6],
    /// Replicas of `maxReplicas` that no cluster has in its bounds; 0 in Centralized mode.
    pub unassigned: i64,
    /// Type and status of each condition.
    pub conditions: Vec<(String, String)>,
}

/// The gauges.
#[derive(Clone, Debug)]
pub struct ObjectMetrics {
    modes: Family<ModeLabels, Gauge>,
    clusters: Family<StateLabels, Gauge>,
    replicas: [Family<ObjectLabels, Gauge>; 4],
    unassigned: Gauge,
    conditions: Family<ConditionLabels, Gauge>,
    omitted: Gauge,
    limit: Arc<AtomicUsize>,
    known: Arc<Mutex<HashMap<ObjectKey, RecordedObject>>>,
    shown: Arc<AtomicUsize>,
}

/// Namespace and name.
type ObjectKey = (Box<str>, Box<str>);

#[derive(Clone, Debug)]
struct RecordedObject {
    figures: ObjectFigures,
    /// Whether it has series of its own.
    shown: bool,
}

impl ObjectMetrics {
    pub(super) fn new(r: &mut Registry) -> Self {
        let clusters: Family<StateLabels, Gauge> = registered(
            r,
            "federated_hpa_clusters",
            "Clusters of all FederatedHPAs by state; a cluster counts for each FederatedHPA",
        );
        for state in STATES {
            clusters.get_or_create(&StateLabels { state }).set(0);
        }
        Self {
            modes: registered(r, "federated_hpas", "FederatedHPAs by mode"),
            clusters,
            replicas: [
                ("federated_hpa_spec_min_replicas", "spec.minReplicas of a FederatedHPA"),
                ("federated_hpa_spec_max_replicas", "spec.maxReplicas of a FederatedHPA"),
                ("federated_hpa_status_current_replicas", "Replicas that run, over all clusters"),
                ("federated_hpa_status_desired_replicas", "Replicas that are wanted, over all clusters"),
            ]
            .map(|(name, help)| registered(r, name, help)),
            unassigned: registered(
                r,
                "federated_hpa_unassigned_replicas",
                "Replicas of spec.maxReplicas that no cluster has in its bounds, over all FederatedHPAs in Distributed mode",
            ),
            conditions: registered(r, "federated_hpa_status_condition", "1 for the status of each condition"),
            omitted: registered(
                r,
                "federated_hpa_series_omitted",
                "FederatedHPAs without series of their own, as there are more than --object-metrics",
            ),
            limit: Arc::default(),
            known: Arc::default(),
            shown: Arc::default(),
        }
    }

    /// Sets how many objects have series of their own.
    pub fn limit(&self, objects: usize) {
        self.limit.store(objects, Ordering::Relaxed);
    }

    /// Sets the numbers of an object.
    pub fn set(&self, (namespace, name): (&str, &str), figures: &ObjectFigures) {
        let mut known = self.known.lock();
        let key: ObjectKey = (namespace.into(), name.into());
        let before = known.get(&key);
        if before.is_some_and(|before| before.figures == *figures) {
            return;
        }
        let shown =
            before.map_or_else(|| self.shown.load(Ordering::Relaxed) < self.limit.load(Ordering::Relaxed), |b| b.shown);
        let before = known.insert(key, RecordedObject { figures: figures.clone(), shown });
        self.add(figures, 1);
        match &before {
            Some(before) => self.add(&before.figures, -1),
            None if shown => _ = self.shown.fetch_add(1, Ordering::Relaxed),
            None => {}
        }
        if shown {
            self.show(namespace, name, figures, before.as_ref().map(|before| &before.figures));
        }
        self.count_omitted(known.len());
    }

    /// Removes an object that is gone, or is no longer handled.
    pub fn forget(&self, (namespace, name): (&str, &str)) {
        let mut known = self.known.lock();
        let Some(RecordedObject { figures, shown }) = known.remove(&(namespace.into(), name.into())) else { return };
        self.add(&figures, -1);
        if shown {
            self.shown.fetch_sub(1, Ordering::Relaxed);
            let labels = ObjectLabels { namespace: namespace.to_owned(), federatedhpa: name.to_owned() };
            for family in &self.replicas {
                family.remove(&labels);
            }
            self.hide(namespace, name, &figures.conditions);
        }
        self.count_omitted(known.len());
    }

    /// Removes all objects: another process reports them now.
    pub fn clear(&self) {
        self.known.lock().clear();
        self.shown.store(0, Ordering::Relaxed);
        self.modes.clear();
        for state in STATES {
            self.clusters.get_or_create(&StateLabels { state }).set(0);
        }
        for family in &self.replicas {
            family.clear();
        }
        self.unassigned.set(0);
        self.conditions.clear();
        self.omitted.set(0);
    }

    fn add(&self, figures: &ObjectFigures, sign: i64) {
        if !figures.mode.is_empty() {
            self.modes.get_or_create(&ModeLabels { mode: figures.mode }).inc_by(sign);
        }
        for (state, count) in STATES.into_iter().zip(figures.clusters) {
            self.clusters.get_or_create(&StateLabels { state }).inc_by(count.saturating_mul(sign));
        }
        self.unassigned.inc_by(figures.unassigned.saturating_mul(sign));
    }

    fn show(&self, namespace: &str, name: &str, figures: &ObjectFigures, before: Option<&ObjectFigures>) {
        let labels = ObjectLabels { namespace: namespace.to_owned(), federatedhpa: name.to_owned() };
        for (family, value) in self.replicas.iter().zip(figures.replicas) {
            family.get_or_create(&labels).set(value);
        }
        let gone = before.into_iter().flat_map(|before| &before.conditions);
        let gone: Vec<(String, String)> = gone.filter(|one| !figures.conditions.contains(one)).cloned().collect();
        self.hide(namespace, name, &gone);
        for (condition, status) in &figures.conditions {
            self.conditions.get_or_create(&condition_labels(namespace, name, condition, status)).set(1);
        }
    }

    fn hide(&self, namespace: &str, name: &str, conditions: &[(String, String)]) {
        for (condition, status) in conditions {
            self.conditions.remove(&condition_labels(namespace, name, condition, status));
        }
    }

    fn count_omitted(&self, all: usize) {
        let limited = self.limit.load(Ordering::Relaxed) > 0;
        let left = if limited { all.saturating_sub(self.shown.load(Ordering::Relaxed)) } else { 0 };
        self.omitted.set(i64::try_from(left).unwrap_or(i64::MAX));
    }
}

fn condition_labels(namespace: &str, name: &str, condition: &str, status: &str) -> ConditionLabels {
    ConditionLabels {
        namespace: namespace.to_owned(),
        federatedhpa: name.to_owned(),
        condition: condition.to_owned(),
        status: status.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectFigures;
    use crate::runtime::metrics::Metrics;

    fn figures(max: i64, ready: &str) -> ObjectFigures {
        ObjectFigures {
            mode: "Distributed",
            replicas: [1, max, 2, 3],
            clusters: [3, 2, 1, 0, 0, 0],
            unassigned: 4,
            conditions: vec![("Ready".to_owned(), ready.to_owned())],
        }
    }

    fn lines(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text();
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("fhpa_federated_hpa") && !line.ends_with(" 0"))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn objects_and_their_clusters_are_counted() {
        let metrics = Metrics::new();
        let objects = &metrics.controller().objects;
        objects.set(("prod", "web"), &figures(10, "True"));
        objects.set(("prod", "api"), &figures(5, "True"));
        objects.set(("prod", "api"), &figures(6, "True"));
        let all = [
            r#"fhpa_federated_hpa_clusters{state="limited"} 2"#,
            r#"fhpa_federated_hpa_clusters{state="ready"} 4"#,
            r#"fhpa_federated_hpa_clusters{state="total"} 6"#,
            "fhpa_federated_hpa_unassigned_replicas 8",
            r#"fhpa_federated_hpas{mode="Distributed"} 2"#,
        ];
        assert_eq!(lines(&metrics), all);
        objects.forget(("prod", "api"));
        objects.forget(("prod", "api"));
        assert_eq!(lines(&metrics).last().unwrap(), r#"fhpa_federated_hpas{mode="Distributed"} 1"#);
        metrics.controller().leads(true);
        metrics.controller().leads(false);
        assert_eq!(lines(&metrics), [""; 0]);
    }

    #[test]
    fn as_many_objects_as_the_limit_says_have_series_of_their_own() {
        let metrics = Metrics::new();
        let objects = &metrics.controller().objects;
        objects.limit(1);
        objects.set(("prod", "web"), &figures(10, "True"));
        objects.set(("prod", "api"), &figures(5, "True"));
        objects.set(("prod", "web"), &figures(12, "False"));
        let own = |metrics: &Metrics| -> Vec<String> {
            lines(metrics).into_iter().filter(|line| line.contains("namespace") || line.contains("omitted")).collect()
        };
        let shown = [
            "fhpa_federated_hpa_series_omitted 1",
            r#"fhpa_federated_hpa_spec_max_replicas{namespace="prod",federatedhpa="web"} 12"#,
            r#"fhpa_federated_hpa_spec_min_replicas{namespace="prod",federatedhpa="web"} 1"#,
            r#"fhpa_federated_hpa_status_condition{namespace="prod",federatedhpa="web",condition="Ready",status="False"} 1"#,
            r#"fhpa_federated_hpa_status_current_replicas{namespace="prod",federatedhpa="web"} 2"#,
            r#"fhpa_federated_hpa_status_desired_replicas{namespace="prod",federatedhpa="web"} 3"#,
        ];
        assert_eq!(own(&metrics), shown);
        objects.forget(("prod", "web"));
        assert_eq!(own(&metrics), ["fhpa_federated_hpa_series_omitted 1"]);
    }
}
