//! Metrics of the controller: rules and their executions, reconciles, the leader, events. No I/O.

use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::engine::{EngineMetrics, engines};
use super::overdue::Overdue;
use super::{ConditionMetrics, ObjectMetrics, by_result, registered};
use crate::decision::backoff::ErrorClass;
use crate::decision::freeze::Cause;
use crate::decision::plan::Law;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LawLabels {
    law: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterLabels {
    cluster: String,
}

/// An execution with this delay counts as late: only an outage of the controller or of the API server, or an object
/// that was created late, causes it.
pub const LATE_AFTER: Duration = Duration::from_mins(1);

/// Upper bounds of the lateness of executions, in seconds: from a timer's precision to an hour.
const LATENESS: [f64; 16] =
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0];
/// Upper bounds of the time in the queue, in seconds.
const QUEUED: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0];

/// The controller's counters. All handles are kept, so that none is looked up by its labels.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    /// Rules of all CronFederatedHPAs.
    pub cron_rules: Gauge,
    cron_unready: Family<ReasonLabels, Gauge>,
    /// Queue metrics for CronFederatedHPAs.
    pub cron: EngineMetrics,
    /// Queue metrics for FederatedHPAs.
    pub distributed: EngineMetrics,
    /// Conditions of FederatedHPAs.
    pub conditions: ConditionMetrics,
    /// FederatedHPAs in numbers.
    pub objects: ObjectMetrics,
    uncovered: Family<ClusterLabels, Gauge>,
    overdue: Overdue,
    /// Runs that were not executed within the time allowed.
    pub missed_runs: Counter,
    /// Writes of a status.
    pub status_writes: Counter,
    /// Writes that lost against another writer (409).
    conflicts: Counter,
    refusals: [Counter; Law::ALL.len()],
    /// Clusters that failed and whose replicas others took over.
    pub failovers: Counter,
    /// Clusters that leave or failed and whose replicas others were asked to run.
    pub replacements: Counter,
    /// Events stored by the API server.
    pub events_posted: Counter,
    /// Events that were dropped: the queue was full, this process no longer led, or the API server rejected them.
    pub events_dropped: Counter,
    /// Panics caught while reconciling.
    pub panics: Counter,
    next_due: Gauge,
    lateness: Histogram,
    executed: Counter,
    failed: Counter,
    superseded: Counter,
    late_runs: Counter,
    queued: Histogram,
    retries: [Counter; 4],
    leads: Gauge,
    transitions: Counter,
    frozen: [Gauge; Cause::ALL.len()],
}

/// The retries of each class of errors.
fn retries(r: &mut Registry) -> [Counter; 4] {
    let retries: Family<ClassLabels, Counter> =
        registered(r, "workqueue_retries", "Reconciles that failed and are retried, by class of the error");
    [ErrorClass::Conflict, ErrorClass::Transient, ErrorClass::Missing, ErrorClass::Refused]
        .map(|class| retries.get_or_create(&ClassLabels { class: class.label() }).clone())
}

/// Failovers, and all replacements.
fn replacements(r: &mut Registry) -> [Counter; 2] {
    let failed = "Clusters that failed and whose replicas others took over; a cluster counts for each FederatedHPA";
    let all = "Clusters that leave or failed and whose replicas others were asked to run; a cluster counts for each \
               FederatedHPA";
    [("federated_hpa_failovers", failed), ("federated_hpa_replacements", all)]
        .map(|(name, help)| registered(r, name, help))
}

/// What drills find.
fn uncovered(r: &mut Registry) -> Family<ClusterLabels, Gauge> {
    let help = "Replicas of all FederatedHPAs that would run nowhere if the cluster were lost, by the last drill";
    registered(r, "failover_uncovered_replicas", help)
}

/// Writes that a plan held back or told, by law.
fn refusals(r: &mut Registry) -> [Counter; Law::ALL.len()] {
    let help = "Writes that would break a law by what is known, by law: raises beyond maxReplicas, which wait (Budget); \
                ready replicas that are needed and would go (ReadyPods)";
    let refusals: Family<LawLabels, Counter> = registered(r, "plan_refusals", help);
    Law::ALL.map(|law| refusals.get_or_create(&LawLabels { law: law.code() }).clone())
}

/// What halts the leader.
fn frozen(r: &mut Registry) -> [Gauge; Cause::ALL.len()] {
    let help = "1 while this process leads and writes nothing, by what freezes it";
    let frozen: Family<ReasonLabels, Gauge> = registered(r, "controller_frozen", help);
    Cause::ALL.map(|cause| frozen.get_or_create(&ReasonLabels { reason: cause.label().to_owned() }).clone())
}

impl ControllerMetrics {
    /// Registers all metrics in `r`, at zero.
    pub(super) fn new(r: &mut Registry) -> Self {
        let [executed, failed, superseded] = by_result(
            r,
            "cron_executions",
            "Executions of cron rules that came to an end",
            ["executed", "failed", "superseded"],
        );
        let [events_posted, events_dropped] =
            by_result(r, "events", "Kubernetes Events, by result", ["posted", "dropped"]);
        let [failovers, replacements] = replacements(r);
        let [cron, distributed] = engines(r, ["CronFederatedHPA", "FederatedHPA"]);
        Self {
            cron_rules: registered(r, "cron_rules", "Rules of all CronFederatedHPAs"),
            cron_unready: registered(
                r,
                "cron_unready_objects",
                "CronFederatedHPAs that are not Ready, by the reason of that condition",
            ),
            cron,
            distributed,
            conditions: ConditionMetrics::new(r),
            objects: ObjectMetrics::new(r),
            uncovered: uncovered(r),
            overdue: Overdue::new(r),
            missed_runs: registered(r, "cron_missed_runs", "Runs not executed within the time allowed"),
            status_writes: registered(r, "status_writes", "Writes of a status"),
            conflicts: registered(r, "write_conflicts", "Writes that lost against another writer"),
            refusals: refusals(r),
            failovers,
            replacements,
            events_posted,
            events_dropped,
            panics: registered(r, "controller_reconcile_panics", "Panics caught while reconciling"),
            next_due: registered(
                r,
                "cron_next_due_timestamp_seconds",
                "When the next rule is due; 0 while there is none",
            ),
            lateness: histogram(
                r,
                "cron_execution_lateness",
                "Time from the due instant to the target written",
                &LATENESS,
            ),
            executed,
            failed,
            superseded,
            late_runs: registered(r, "cron_late_runs", "Runs executed a minute or more after they were due"),
            queued: histogram(
                r,
                "workqueue_queue_duration",
                "Time that an object waited before its reconcile began",
                &QUEUED,
            ),
            retries: retries(r),
            leads: registered(r, "leader", "Whether this process leads"),
            transitions: registered(r, "leader_transitions", "Times that this process began or ceased to lead"),
            frozen: frozen(r),
        }
    }

    /// Sets the number of CronFederatedHPAs that are not Ready for this reason.
    pub fn cron_unready(&self, reason: String, count: i64) {
        self.cron_unready.get_or_create(&ReasonLabels { reason }).set(count);
    }

    /// Sets the replicas that would run nowhere if a cluster were lost.
    pub fn uncovered(&self, cluster: &str, replicas: u64) {
        let labels = ClusterLabels { cluster: cluster.to_owned() };
        self.uncovered.get_or_create(&labels).set(replicas.try_into().unwrap_or(i64::MAX));
    }

    /// Removes clusters that are gone.
    pub fn uncovered_gone(&self, clusters: &[String]) {
        for cluster in clusters {
            self.uncovered.remove(&ClusterLabels { cluster: cluster.clone() });
        }
    }

    /// Counts a write that would break a law.
    pub fn refused(&self, law: Law) {
        for (counter, _) in self.refusals.iter().zip(Law::ALL).filter(|(_, one)| *one == law) {
            counter.inc();
        }
    }

    /// Sets when the next rule is due; `None` when no rule is scheduled.
    pub fn next_due(&self, at: Option<Timestamp>) {
        self.next_due.set(at.map_or(0, Timestamp::as_second));
    }

    /// Sets the runs of an object that were due and wait for another attempt: their number and the oldest one.
    pub fn overdue(&self, object: &str, runs: usize, oldest: Option<Timestamp>) {
        self.overdue.set(object, oldest.map(|oldest| (runs, oldest.as_second())));
    }

    /// Counts an executed rule and its delay.
    pub fn executed(&self, lateness: Duration) {
        self.executed.inc();
        self.lateness.observe(lateness.as_secs_f64());
        if lateness >= LATE_AFTER {
            self.late_runs.inc();
        }
    }

    /// Counts an execution that failed for good. Missed runs are counted by [`Self::missed_runs`], not here.
    pub fn failed(&self) {
        self.failed.inc();
    }

    /// Counts a run that was not executed, because a later run of another object sets the same values.
    pub fn superseded(&self) {
        self.superseded.inc();
    }

    /// Observes the time in the queue of an object whose reconcile begins.
    pub fn dequeued(&self, waited: Duration) {
        self.queued.observe(waited.as_secs_f64());
    }

    /// Counts a retry after an error of this class.
    pub fn retried(&self, class: ErrorClass) {
        let [conflict, transient, missing, refused] = &self.retries;
        if class == ErrorClass::Conflict {
            self.conflicts.inc();
        }
        match class {
            ErrorClass::Conflict => conflict,
            ErrorClass::Transient => transient,
            ErrorClass::Missing => missing,
            ErrorClass::Refused => refused,
        }
        .inc();
    }

    /// Sets whether this process leads and is halted by `cause`.
    pub fn frozen(&self, cause: Cause, frozen: bool) {
        let [definitions, annotation, flag] = &self.frozen;
        match cause {
            Cause::Definitions => definitions,
            Cause::Annotation => annotation,
            Cause::Flag => flag,
        }
        .set(frozen.into());
    }

    /// Sets whether this process leads.
    pub fn leads(&self, leads: bool) {
        let now = i64::from(leads);
        if self.leads.set(now) != now {
            self.transitions.inc();
        }
        if !leads {
            self.conditions.clear();
            self.objects.clear();
            self.uncovered.clear();
            self.overdue.clear();
        }
    }
}

impl Default for ControllerMetrics {
    /// Creates the metrics in a registry of their own, for tests.
    fn default() -> Self {
        Self::new(&mut Registry::default())
    }
}

fn histogram(r: &mut Registry, name: &str, help: &str, bounds: &[f64]) -> Histogram {
    let histogram = Histogram::new(bounds.iter().copied());
    r.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use crate::decision::backoff::ErrorClass;
    use crate::runtime::metrics::Metrics;

    #[test]
    fn what_losses_leave_uncovered_is_told_by_cluster_while_this_process_leads() {
        let metrics = Metrics::new();
        let counted = metrics.controller();
        let shown = || {
            let text = metrics.text();
            text.lines()
                .filter(|line| line.starts_with("fhpa_failover_uncovered_replicas{"))
                .map(str::to_owned)
                .collect()
        };
        counted.leads(true);
        counted.uncovered("member1", 3);
        counted.uncovered("member2", 0);
        counted.uncovered_gone(&["member2".to_owned()]);
        let told: Vec<String> = shown();
        assert_eq!(told, [r#"fhpa_failover_uncovered_replicas{cluster="member1"} 3"#]);
        counted.leads(false);
        let told: Vec<String> = shown();
        assert_eq!(told.len(), 0, "another process tells it now");
    }

    #[test]
    fn what_the_controller_does_is_counted() {
        let metrics = Metrics::new();
        let counted = metrics.controller();
        counted.next_due(Timestamp::from_second(1_800_000_000).ok());
        counted.executed(Duration::from_millis(20));
        counted.executed(Duration::from_secs(61));
        counted.failed();
        counted.missed_runs.inc();
        counted.retried(ErrorClass::Missing);
        counted.retried(ErrorClass::Conflict);
        for leads in [true, true, false] {
            counted.leads(leads);
        }
        let text = metrics.text();
        for line in [
            "fhpa_cron_next_due_timestamp_seconds 1800000000",
            r#"fhpa_cron_execution_lateness_seconds_bucket{le="0.025"} 1"#,
            "fhpa_cron_execution_lateness_seconds_count 2",
            r#"fhpa_cron_executions_total{result="executed"} 2"#,
            r#"fhpa_cron_executions_total{result="failed"} 1"#,
            "fhpa_cron_missed_runs_total 1",
            "fhpa_cron_late_runs_total 1",
            r#"fhpa_workqueue_retries_total{class="missing"} 1"#,
            "fhpa_write_conflicts_total 1",
            r#"fhpa_events_total{result="dropped"} 0"#,
            r#"fhpa_workqueue_depth{controller="FederatedHPA"} 0"#,
            r#"fhpa_delay_queue_depth{controller="FederatedHPA"} 0"#,
            "fhpa_leader 0",
            "fhpa_leader_transitions_total 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} not in:\n{text}");
        }
    }
}
