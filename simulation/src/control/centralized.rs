//! Centralized mode: one computation over the pods of all clusters, and the division of karmada-scheduler. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;

use super::{Control, File};
use crate::autoscaler::{REQUEST, measured, policy, tolerance};
use crate::member::Command;
use crate::scenario::instant;
use crate::shared::Shared;
use crate::{Second, Timing, Workload};
use decision::fleet::Readiness;
use decision::fleet::candidates::CandidateCluster;
use decision::hpa::decide::History;
use decision::hpa::limits::Range;
use decision::hpa::metric::{Reading, Sample, Target};
use decision::hpa::multi_cluster::{Cluster, ClusterMetric, Controls, Gathered, Readings, compute};
use decision::hpa::pod::{Phase, Pod, Readiness as PodReadiness, ReadyCondition, Requests, Startup};
use decision::plan::{ClusterState, Policy};
use decision::scheduler_division::{Candidate, divide};
use decision::split::Replicas;

/// A pod that settled has been ready for at least this long.
const SETTLED: Second = 3600;

/// The pods of a cluster at one moment, as the controller reads them through the cluster proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterPods {
    pub(crate) up: bool,
    pub(crate) all: Replicas,
    pub(crate) ready: Replicas,
    /// Ready ones whose CPU counts.
    pub(crate) settled: Replicas,
    /// Load of each ready pod, in thousandths of its target.
    pub(crate) share: u64,
}

/// The workload as a whole.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    controls: Controls,
    history: History,
    requests: Arc<Requests>,
    /// Requested replicas.
    replicas: i32,
    /// Time of the next computation.
    due: Second,
}

impl Computed {
    pub(super) fn new(workload: &Workload<'_>, timing: Timing) -> Self {
        let whole = |replicas: Replicas| i32::try_from(replicas).unwrap_or(i32::MAX);
        let range = Range { min: whole(workload.asked.total.min), max: whole(workload.asked.total.max) };
        let policy = policy(workload, timing, range);
        let controls = Controls { policy, tolerance: tolerance(workload), startup: Startup::default() };
        let mut requests = Requests::default();
        requests.add(&workload.metric.0, REQUEST);
        let given = workload.starts.iter().filter_map(|start| start.replicas);
        let duplicated = division(workload) == Policy::Duplicated;
        let there = if duplicated { given.max().unwrap_or_default() } else { given.fold(0, Replicas::saturating_add) };
        let replicas = whole(if there == 0 { workload.asked.total.min.max(1) } else { there });
        Self { controls, history: History::default(), requests: Arc::new(requests), replicas, due: 0 }
    }

    /// Pods and metric of one of `clusters` clusters; `all` is the number of ready pods in all of them.
    fn cluster(
        &self,
        (workload, timing, clusters): (&Workload<'_>, Timing, usize),
        seen: ClusterPods,
        all: u64,
        now: Second,
    ) -> (Vec<Pod>, Reading) {
        let (source, target) = &workload.metric;
        let (value, _) = measured(*target, seen.share);
        let (long, at) = (instant(now.saturating_sub(SETTLED)), instant(now));
        let window = SignedDuration::from_secs(timing.metrics_window);
        let mut pods = Vec::new();
        let mut samples = Vec::new();
        // No message names a pod of a simulation: all its pods have their requests.
        let name: Arc<str> = "".into();
        let per_pod = !source.is_outer();
        for number in 0..seen.all {
            let since = if number < seen.settled { long } else { at };
            let ready = number < seen.ready;
            if ready && per_pod {
                samples.push((number, Sample { value, at, window }));
            }
            pods.push(Pod {
                name: Arc::clone(&name),
                phase: if ready { Phase::Running } else { Phase::Pending },
                deleted: false,
                ready: ready.then(|| ReadyCondition::new(PodReadiness::Ready, since)),
                started: ready.then_some(since.into()),
                requests: Arc::clone(&self.requests),
            });
        }
        if per_pod {
            return (pods, Reading::PerPod(samples.into_iter().collect()));
        }
        // The parts of the clusters sum to the value of the service as a whole. While no pod serves, all of it waits.
        let sum = i128::from(value).saturating_mul(seen.ready.into());
        let total = match target {
            _ if all == 0 => i128::from(value).checked_div(waiting(workload, clusters)).unwrap_or_default(),
            Target::Value(_) => sum.checked_div(all.into()).unwrap_or_default(),
            _ => sum,
        };
        (pods, Reading::Total(i64::try_from(total).unwrap_or(i64::MAX)))
    }
}

/// How many clusters name the same load while no pod serves: one, where each has a load of its own.
fn waiting(workload: &Workload<'_>, clusters: usize) -> i128 {
    let own = workload.shares.values().any(|share| *share > 0);
    if own { 1 } else { i128::try_from(clusters).unwrap_or(1) }
}

/// The policy of the division: that of the placement, unless the scenario names another.
fn division(workload: &Workload<'_>) -> Policy {
    workload.policy.unwrap_or_else(|| workload.intent.placement.policy())
}

impl<'a> Control<'a> {
    /// Requested replicas of the workload as a whole, in Centralized mode.
    pub(crate) fn replicas(&self) -> Option<Replicas> {
        self.computed.as_ref().and_then(|computed| Replicas::try_from(computed.replicas).ok())
    }

    /// Computes and divides the replicas, when that is due; returns the resulting commands.
    pub(crate) fn compute(
        &mut self,
        now: Second,
        shared: &mut Shared<'a>,
        pods: impl FnOnce() -> Vec<ClusterPods>,
    ) -> Vec<(usize, Command)> {
        let Some(mut computed) = self.computed.take_if(|computed| computed.due <= now) else {
            return self.replace(now, shared);
        };
        let period = self.scenario.timing.hpa_sync.max(1);
        computed.due = now.saturating_add(period.saturating_sub(now.rem_euclid(period)));
        self.judge(now, shared);
        let runs = self.files.iter().any(|file| file.entry.is_some_and(|replicas| replicas > 0));
        if runs || computed.replicas == 0 && computed.controls.use_metrics(0) {
            self.counts.decisions = self.counts.decisions.saturating_add(1);
            let observed = self.gather(&computed, &pods(), now).combined();
            let used = Some(&observed).filter(|_| computed.controls.use_metrics(computed.replicas));
            let Computed { controls, history, replicas, .. } = &mut computed;
            if let Some(wanted) = compute(controls, *replicas, used, instant(now), history).write {
                history.scaled(&controls.policy, *replicas, wanted, instant(now));
                *replicas = wanted;
                self.counts.writes = self.counts.writes.saturating_add(1);
            }
        }
        let replicas = computed.replicas;
        self.computed = Some(computed);
        self.divide_over(replicas, now, shared)
    }

    /// Divides anew when a cluster fails over. Where failovers have no rate, that happens with the next computation.
    fn replace(&mut self, now: Second, shared: &mut Shared<'a>) -> Vec<(usize, Command)> {
        let Some(computed) = self.computed.as_ref().filter(|_| self.scenario.timing.failover > 0) else {
            return Vec::new();
        };
        if !self.is_judgement_due(now) {
            return Vec::new();
        }
        let replicas = computed.replicas;
        self.judge(now, shared);
        self.divide_over(replicas, now, shared)
    }

    fn gather(&self, computed: &Computed, pods: &[ClusterPods], now: Second) -> Gathered<'_> {
        let all = pods.iter().filter(|seen| seen.up).map(|seen| u64::from(seen.ready)).sum();
        let (source, target) = self.workload.metric.clone();
        let about = (self.workload, self.scenario.timing, self.scenario.sites.len());
        let (mut clusters, mut readings) = (Vec::new(), Vec::new());
        let sites = self.scenario.sites.iter().zip(&self.files).zip(&self.members);
        for (((site, file), member), seen) in sites.zip(pods) {
            let name = &*site.member.name;
            // At 0 replicas none is in the division, and all are asked.
            let asked = file.entry.or((computed.replicas == 0).then_some(0));
            let Some(assigned) = asked else { continue };
            if !seen.up || member.readiness != Readiness::Ready {
                clusters.push(Cluster { name, assigned, pods: Err("it does not answer".to_owned()) });
                continue;
            }
            let (own, reading) = computed.cluster(about, *seen, all, now);
            let without = own.is_empty() && matches!(reading, Reading::PerPod(_));
            readings.extend((!without).then_some((name, reading)));
            clusters.push(Cluster { name, assigned, pods: Ok(own) });
        }
        let metrics = vec![ClusterMetric { source, target, readings: Readings::Clusters(readings) }];
        let duplicated = division(self.workload) == Policy::Duplicated;
        Gathered { clusters, metrics, duplicated, evicting: false }
    }

    /// Divides the replicas as karmada-scheduler does, where the last division does not fit them. It keeps the last one
    /// where too few replicas fit.
    fn divide_over(&mut self, replicas: i32, now: Second, shared: &mut Shared<'a>) -> Vec<(usize, Command)> {
        let policy = division(self.workload);
        let usable = |(at, cluster): &&(usize, CandidateCluster<'_>)| {
            let held = self.files.get(*at).is_some_and(|file| file.entry.is_some());
            cluster.chosen && (cluster.state == ClusterState::Serving || held && cluster.state == ClusterState::Silent)
        };
        let usable: Vec<&(usize, CandidateCluster<'_>)> = self.judged.iter().filter(usable).collect();
        let open: BTreeSet<usize> = usable.iter().map(|(at, _)| *at).collect();
        let whole = |replicas: Replicas| i32::try_from(replicas).unwrap_or(i32::MAX);
        let entries = || self.files.iter().enumerate().filter_map(|(at, file)| Some((at, whole(file.entry?))));
        let fits = entries().all(|(at, _)| open.contains(&at))
            && match policy {
                Policy::Duplicated => open.len() == entries().count() && entries().all(|(_, own)| own == replicas),
                _ => entries().fold(0, |sum, (_, own)| i32::saturating_add(sum, own)) == replicas,
            };
        if fits || open.is_empty() {
            return Vec::new();
        }
        let candidates = usable.iter().filter_map(|(at, cluster)| {
            let (site, file) = (self.scenario.sites.get(*at)?, self.files.get(*at)?);
            let serves = cluster.state == ClusterState::Serving;
            let weight = match policy {
                Policy::StaticWeighted => i64::try_from(cluster.settings.weight).unwrap_or(i64::MAX),
                _ if serves => i64::from(self.free(*at, file, now, shared)),
                _ => 0,
            };
            let last = file.entry.map_or(0, whole);
            Some(Candidate { name: site.member.name.to_string(), weight, last })
        });
        let Ok(division) = divide(policy, replicas, &candidates.collect::<Vec<_>>()) else { return Vec::new() };
        self.counts.divisions = self.counts.divisions.saturating_add(1);
        self.apply(&division, now, shared)
    }

    /// Further replicas that fit into a cluster, as karmada-scheduler knows it.
    fn free(&self, at: usize, file: &File, now: Second, shared: &Shared<'a>) -> Replicas {
        let site = self.scenario.sites.get(at);
        let told = site.and_then(|site| shared.unassumed(&site.member.name, &self.workload.each, now));
        told.unwrap_or(file.report.available)
    }

    fn apply(
        &mut self,
        division: &BTreeMap<String, i32>,
        now: Second,
        shared: &mut Shared<'a>,
    ) -> Vec<(usize, Command)> {
        let mut commands = Vec::new();
        for (at, (site, file)) in self.scenario.sites.iter().zip(&mut self.files).enumerate() {
            let share = division.get(&*site.member.name).and_then(|share| Replicas::try_from(*share).ok());
            let entry = share.filter(|share| *share > 0);
            if entry == file.entry {
                continue;
            }
            let more = entry.unwrap_or_default().saturating_sub(file.entry.unwrap_or_default());
            let of = (&*site.member.name, &*self.workload.name);
            match entry {
                Some(_) => shared.assume(of, &self.workload.each, more, now),
                None => shared.healthy(of),
            }
            self.stale |= entry.is_some() != file.entry.is_some();
            match entry {
                Some(replicas) => commands.extend([(at, Command::Create(replicas)), (at, Command::Scale(replicas))]),
                None => commands.push((at, Command::Remove)),
            }
            file.entry = entry;
        }
        commands
    }
}
