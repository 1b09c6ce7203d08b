//! What the control plane knows over all workloads: the free capacity that clusters report, what is promised of it, and
//! who may fail over. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::scenario::instant;
use super::{Scenario, Second, Sharing};
use decision::capacity::{Amounts, Demand, Summary};
use decision::failovers::Failovers;
use decision::fleet::observation::Room;
use decision::ledger::{Ledger, Standing};
use decision::plan::{Plan, Request, plan};
use decision::promises;
use decision::split::Replicas;

/// karmada-scheduler forgets what it assumes of a workload that does not become healthy.
const ASSUMED: Second = 300;

/// What karmada-scheduler assumes that a workload takes in a cluster.
#[derive(Clone, Debug)]
struct Assumption {
    each: Demand,
    replicas: Replicas,
    ends: Second,
}

/// Known over all workloads.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    scenario: &'a Scenario<'a>,
    /// The last report of each cluster; none where workloads report what is free themselves.
    summaries: BTreeMap<&'a str, Summary>,
    ledger: Option<Ledger>,
    failovers: Failovers,
    /// By cluster and workload.
    assumed: BTreeMap<(&'a str, &'a str), Assumption>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(scenario: &'a Scenario<'a>) -> Self {
        let promises = scenario.sharing == Sharing::Ledger && scenario.workloads.len() > 1;
        Self {
            scenario,
            summaries: BTreeMap::new(),
            ledger: promises.then(Ledger::default),
            failovers: Failovers::default(),
            assumed: BTreeMap::new(),
        }
    }

    /// Receives the report of a cluster.
    pub(super) fn receive(&mut self, cluster: &'a str, summary: Summary) {
        self.summaries.insert(cluster, summary);
    }

    /// Free capacity of a cluster by its last report; `None` where clusters send none.
    pub(super) fn room(&self, cluster: &str, each: &Demand) -> Option<Room> {
        let summary = self.summaries.get(cluster)?;
        Some(Room { available: Some(summary.available(each)), whole: Some(summary.whole(each)) })
    }

    /// Plans under the ledger: without what is promised to others, and with a promise of what is asked for. Returns
    /// when to look again, where something waits.
    pub(super) fn plan<'r>(
        &mut self,
        request: &'r mut Request<'_>,
        standing: &Standing,
        each: &Demand,
    ) -> (Plan<'r>, Option<Timestamp>) {
        let Some(ledger) = &mut self.ledger else { return (plan(request), None) };
        let (now, report) = (request.now, |name: &str| self.summaries.get(name));
        promises::leave(ledger, request, standing, each, report, now);
        promises::promise(ledger, request, standing, each, report, now)
    }

    /// Which of the clusters of a workload may fail over now, and when to ask for the others.
    pub(super) fn may_fail(
        &mut self,
        standing: &Standing,
        clusters: &[&str],
        now: Second,
    ) -> (Vec<String>, Option<Timestamp>) {
        let seconds = |seconds: Second| Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let between = Some(seconds(self.scenario.timing.failover));
        let (admitted, wait) = self.failovers.ask(standing, clusters, between, seconds(now));
        let wait = wait.and_then(|wait| SignedDuration::try_from(wait).ok());
        (admitted, wait.and_then(|wait| instant(now).checked_add(wait).ok()))
    }

    /// Replicas that fit into a cluster beside what karmada-scheduler assumes.
    pub(super) fn unassumed(&self, cluster: &str, each: &Demand, now: Second) -> Option<Replicas> {
        let mut assumed = Amounts::default();
        for (_, assumption) in self.assumed.iter().filter(|((of, _), own)| *of == cluster && own.ends > now) {
            assumed.add(Amounts::of(&assumption.each, assumption.replicas));
        }
        Some(self.summaries.get(cluster)?.beside(&assumed, each))
    }

    /// Assumes that a workload takes `replicas` more in a cluster, until it is [healthy](Self::healthy) there.
    pub(super) fn assume(&mut self, of: (&'a str, &'a str), each: &Demand, replicas: Replicas, now: Second) {
        if self.scenario.sharing == Sharing::Assumed && replicas > 0 {
            let ends = now.saturating_add(ASSUMED);
            self.assumed.insert(of, Assumption { each: each.clone(), replicas, ends });
        }
    }

    /// A workload runs as many replicas in a cluster as it should, or none.
    pub(super) fn healthy(&mut self, of: (&'a str, &'a str)) {
        self.assumed.remove(&of);
    }
}
