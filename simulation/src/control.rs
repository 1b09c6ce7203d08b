//! The control plane, for one workload: its stored state, its reports, and its decisions. Pure.

mod centralized;
mod judgement;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::member::{Command, Report};
use super::scenario::instant;
use super::shared::Shared;
use super::{Driver, Scenario, Second, Workload};
pub(super) use centralized::ClusterPods;
use centralized::Computed;
use decision::fleet::candidates::CandidateCluster;
use decision::fleet::observation::{HpaReport, Observation, Replicated, Room, Waits, WrittenHpa};
use decision::fleet::{Member, Readiness};
use decision::plan::{Action, AssignmentHash, Bounds, Hpa, HpaVersion, Memory, Plan, Policy, Reach, Request};
use decision::split::Replicas;

/// Stored state of a cluster, and its last report.
#[derive(Clone, Debug, Default)]
struct File {
    work: Option<Work>,
    number: u64,
    entry: Option<Replicas>,
    evicting: Option<Second>,
    target: Option<Bounds>,
    memory: Memory,
    report: Report,
}

impl File {
    /// The HPA, as far as the control plane knows it.
    fn hpa(&self) -> Option<Hpa> {
        let Work { written, version, outstanding, held, at: _ } = self.work?;
        Some(Hpa {
            written,
            version,
            confirmed: self.report.arrived >= self.number,
            pending_max: outstanding,
            scale_down_disabled: held,
        })
    }
}

/// A write of an HPA.
#[derive(Clone, Copy, Debug)]
struct Work {
    written: Option<Bounds>,
    version: HpaVersion,
    outstanding: Replicas,
    held: bool,
    at: Second,
}

/// Number of decisions and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) decisions: u64,
    /// Bounds written to a cluster that already had some.
    pub(super) reassignments: u64,
    /// All writes; of Centralized mode those of the replicas.
    pub(super) writes: u64,
    /// Divisions of karmada-scheduler.
    pub(super) divisions: u64,
}

/// The control plane, for one workload.
#[derive(Debug)]
pub(super) struct Control<'a> {
    scenario: &'a Scenario<'a>,
    workload: &'a Workload<'a>,
    /// The place of the workload among all: the oldest is first.
    age: usize,
    places: BTreeMap<&'a str, usize>,
    members: Vec<Member<'a>>,
    files: Vec<File>,
    /// The index of each candidate, and what the rules say of it.
    judged: Vec<(usize, CandidateCluster<'a>)>,
    policy: Policy,
    /// When a toleration ends.
    rejudge: Option<Timestamp>,
    stale: bool,
    basis: Option<AssignmentHash>,
    idle: Option<Timestamp>,
    divided: Option<Timestamp>,
    next: Option<Timestamp>,
    dirty: bool,
    since_plan: Second,
    ended: bool,
    computed: Option<Computed>,
    pub(super) counts: Counts,
    /// Clusters without a share because they failed, in the last decision.
    pub(super) away: Vec<usize>,
}

impl<'a> Control<'a> {
    /// For the workload that is the `age`th by age.
    pub(super) fn new(scenario: &'a Scenario<'a>, age: usize, workload: &'a Workload<'a>) -> Self {
        let sites = &scenario.sites;
        let file = |at: usize| File { entry: workload.start(at).replicas, ..File::default() };
        Self {
            scenario,
            workload,
            age,
            places: sites.iter().enumerate().map(|(at, site)| (&*site.member.name, at)).collect(),
            members: sites.iter().map(|site| site.member.clone()).collect(),
            files: (0..sites.len()).map(file).collect(),
            judged: Vec::new(),
            policy: Policy::default(),
            rejudge: None,
            stale: true,
            basis: None,
            idle: None,
            divided: None,
            next: None,
            dirty: true,
            since_plan: Second::MAX,
            ended: false,
            computed: (workload.driver == Driver::Centralized).then(|| Computed::new(workload, scenario.timing)),
            counts: Counts::default(),
            away: Vec::new(),
        }
    }

    /// Receives the report of a member.
    pub(super) fn receive(&mut self, at: usize, report: Report, shared: &mut Shared<'a>) {
        let (Some(file), Some(site)) = (self.files.get_mut(at), self.scenario.sites.get(at)) else { return };
        if file.work.is_some_and(|work| work.written.is_none()) && report.arrived >= file.number {
            file.work = None;
            self.stale = true;
        }
        if report.current.is_none() && file.entry.is_none() {
            file.evicting = None;
        }
        if report.current == file.entry && report.ready == file.entry.unwrap_or_default() {
            shared.healthy((&site.member.name, &self.workload.name));
        }
        file.report = report;
        self.dirty = true;
    }

    /// Learns whether a member answers.
    pub(super) fn learn(&mut self, at: usize, ready: bool, now: Second) {
        if let Some(member) = self.members.get_mut(at) {
            member.readiness = if ready { Readiness::Ready } else { Readiness::NotReady(instant(now)) };
            (self.stale, self.dirty) = (true, true);
        }
    }

    /// Decides when there is a reason to; returns the resulting commands.
    pub(super) fn decide(&mut self, now: Second, shared: &mut Shared<'a>) -> Vec<(usize, Command)> {
        self.since_plan = self.since_plan.saturating_add(1);
        let due = self.next.is_some_and(|next| next <= instant(now)) || self.is_judgement_due(now);
        if self.ended || !(self.dirty || due) || self.since_plan < self.scenario.timing.settle {
            return Vec::new();
        }
        (self.dirty, self.since_plan) = (false, 0);
        self.judge(now, shared);
        let mut request = self.observe(now, shared);
        let standing = self.workload.standing(request.rank(), self.age);
        let (plan, again) = shared.plan(&mut request, &standing, &self.workload.each);
        self.counts.decisions = self.counts.decisions.saturating_add(1);
        self.keep(&plan, again);
        if self.workload.driver == Driver::Once {
            return self.divide(&plan, now);
        }
        let actions: Vec<Action<'_>> = plan.now().map(|step| step.action.clone()).collect();
        let mut commands = Vec::new();
        for action in &actions {
            self.act(action, now, &mut commands);
        }
        commands
    }

    /// Writes all bounds once and never again, like a user who creates an HPA in each cluster.
    fn divide(&mut self, plan: &Plan<'_>, now: Second) -> Vec<(usize, Command)> {
        self.ended = true;
        let mut commands = Vec::new();
        for share in plan.shares.iter().filter(|share| share.target.is_some()) {
            let (cluster, bounds, version) = (share.cluster, share.target, HpaVersion::default());
            let action =
                Action::ApplyHpa { cluster, bounds, version, pending_max: bounds.max, scale_down_disabled: false };
            self.act(&action, now, &mut commands);
        }
        let action = Action::UpdateBinding { entries: plan.binding.clone(), evictions: Vec::new() };
        self.act(&action, now, &mut commands);
        commands
    }

    fn observe(&mut self, now: Second, shared: &Shared<'a>) -> Request<'a> {
        let scenario = self.scenario;
        let mut due: Option<Timestamp> = None;
        let timing = scenario.timing;
        let waits = Waits {
            unconfirmed: SignedDuration::from_secs(timing.unconfirmed),
            unready: SignedDuration::from_secs(timing.unready),
        };
        let clusters = self.judged.iter().filter_map(|(at, candidate)| {
            let (cluster, patience) = self.known(*at, now, shared)?.cluster(candidate, waits, instant(now));
            due = [due, patience].into_iter().flatten().min();
            Some(cluster)
        });
        let clusters = clusters.collect();
        self.next = due;
        Request {
            policy: self.policy,
            assignment_hash: self.basis,
            clusters,
            now: instant(now),
            window: self.workload.window(timing),
            period: (timing.optimize > 0).then(|| SignedDuration::from_secs(timing.optimize)),
            replacement: (timing.replacement > 0).then(|| SignedDuration::from_secs(timing.replacement)),
            idle_since: self.idle,
            last_rebalanced: self.divided,
            ..self.workload.asked.clone()
        }
    }

    /// What stored state and reports say of a cluster.
    fn known(&self, at: usize, now: Second, shared: &Shared<'a>) -> Option<Observation> {
        let (site, file) = (self.scenario.sites.get(at)?, self.files.get(at)?);
        let report = &file.report;
        let room = Room { available: Some(report.available), whole: Some(report.capacity) };
        let status =
            HpaReport { current: report.current, desired: report.desired, load: report.load, ..HpaReport::default() };
        let written = file.hpa().zip(file.work).map(|(hpa, work)| WrittenHpa {
            hpa,
            since: Some(instant(work.at)),
            report: status,
        });
        Some(Observation {
            answers: self.members.get(at).is_some_and(Member::answers),
            answers_since: self.members.get(at).and_then(|member| member.since),
            replicated: report.current.map(|replicas| Replicated { replicas, ready: report.ready, updated: replicas }),
            unschedulable: Some(report.pending),
            outlook: report.outlook(),
            written,
            version: site.version,
            reach: Reach { scale: site.writable, own_zero: false },
            room: shared.room(&site.member.name, &self.workload.each).unwrap_or(room),
            share: self.workload.start(at).usage,
            left_alone: false,
            entry: file.entry,
            evicting: file.evicting.is_some_and(|end| end > now),
            eviction_ends: file.evicting.map(instant),
            target: file.target,
            memory: file.memory,
        })
    }

    /// Stores the parts of the plan that the next one starts from.
    fn keep(&mut self, plan: &Plan<'_>, again: Option<Timestamp>) {
        (self.basis, self.idle, self.divided) = (Some(plan.assignment_hash), plan.idle_since, plan.last_rebalanced);
        self.next = [self.next, plan.next, again].into_iter().flatten().min();
        for (at, _) in &self.judged {
            let Some(file) = self.files.get_mut(*at) else { continue };
            (file.target, file.memory) = (None, Memory::default());
        }
        for share in &plan.shares {
            let Some(file) = self.places.get(share.cluster).and_then(|at| self.files.get_mut(*at)) else { continue };
            (file.target, file.memory) = (share.kept(), share.memory);
            self.stale |= file.memory.lost.is_some();
        }
    }

    fn act(&mut self, action: &Action<'_>, now: Second, commands: &mut Vec<(usize, Command)>) {
        self.counts.writes = self.counts.writes.saturating_add(1);
        let place = |name: &str| self.places.get(name).copied();
        match *action {
            Action::ApplyHpa { cluster, bounds, version, pending_max: outstanding, scale_down_disabled: held } => {
                let Some((at, file)) = place(cluster).and_then(|at| Some((at, self.files.get_mut(at)?))) else {
                    return;
                };
                match file.work {
                    None => self.stale = true,
                    Some(_) => self.counts.reassignments = self.counts.reassignments.saturating_add(1),
                }
                file.number = file.number.saturating_add(1);
                file.work = Some(Work { written: Some(bounds), version, outstanding, held, at: now });
                commands.push((at, Command::Bound { number: file.number, bounds, held }));
            }
            Action::DeleteHpa { cluster } => {
                let Some((at, file)) = place(cluster).and_then(|at| Some((at, self.files.get_mut(at)?))) else {
                    return;
                };
                let Some(work) = file.work else { return };
                let ceiling = if file.report.arrived >= file.number { 0 } else { work.outstanding };
                let outstanding = ceiling.max(work.written.unwrap_or_default().max);
                file.number = file.number.saturating_add(1);
                file.work = Some(Work { written: None, outstanding, at: now, ..work });
                commands.push((at, Command::Unbound { number: file.number }));
            }
            Action::UpdateBinding { ref entries, ref evictions } => {
                let entries: BTreeMap<&str, Replicas> =
                    entries.iter().map(|entry| (entry.cluster, entry.replicas)).collect();
                let evicted: BTreeSet<&str> = evictions.iter().map(|eviction| eviction.cluster).collect();
                for (at, (site, file)) in self.scenario.sites.iter().zip(&mut self.files).enumerate() {
                    let name = &*site.member.name;
                    let entry = entries.get(name).copied();
                    if entry.is_some() != file.entry.is_some() {
                        self.stale = true;
                        commands.push((at, entry.map_or(Command::Remove, Command::Create)));
                    }
                    file.entry = entry;
                    file.evicting = file.evicting.filter(|_| entry.is_none());
                    if evicted.contains(name) {
                        file.evicting = Some(now.saturating_add(self.scenario.timing.unready));
                    }
                }
            }
            Action::Scale { cluster, replicas, .. } => {
                commands.extend(place(cluster).map(|at| (at, Command::Scale(replicas))));
            }
        }
    }
}
