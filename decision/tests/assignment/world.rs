//! Members, their connection, and a controller that loses state: enough of a fleet to apply plans to.

use std::collections::{BTreeMap, VecDeque};

use decision::load::Load;
use decision::plan::{
    Action, AssignmentHash, Bounds, Cluster, ClusterState, Hpa, HpaVersion, Lost, Memory, Plan, Request, Step, UNREADY,
    plan_with,
};
use jiff::{SignedDuration, Timestamp};

use crate::random::Random;

/// A write of a member's HPA: its number, the bounds or the removal, and whether it holds the scale-down.
type Write = (u64, Option<Bounds>, bool);

/// The last write as it is stored, and the greatest max that was under way with it.
#[derive(Clone, Copy, Debug)]
struct Work {
    number: u64,
    written: Option<Bounds>,
    outstanding: u32,
    held: bool,
}

/// What the control plane stores and what the member has.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// The last write; nothing: no object.
    work: Option<Work>,
    pub on_the_way: VecDeque<Write>,
    /// Number of the last write that arrived.
    arrived: u64,
    /// The HPA in effect.
    pub hpa: Option<Bounds>,
    pub replicas: Option<u32>,
    pub entry: Option<u32>,
    pub evicting: bool,
    /// When Karmada ends that at the latest; nothing: it waits for a user.
    pub eviction_ends: Option<Timestamp>,
    target: Option<Bounds>,
    pub memory: Memory,
    /// Whether its HPA may not scale down.
    held: bool,
    /// Replicas that fit; nothing: all.
    pub room: Option<u32>,
    /// Replicas that have started; nothing: all do at once.
    pub started: Option<u32>,
    /// Its share was given away while it had an HPA: it counts again when it has lost that one.
    given_away: bool,
}

impl Member {
    /// Replicas that run.
    pub fn ready(&self) -> u32 {
        self.scheduled().min(self.started.unwrap_or(u32::MAX))
    }

    /// Replicas that have a node.
    fn scheduled(&self) -> u32 {
        self.replicas.unwrap_or_default().min(self.room.unwrap_or(u32::MAX))
    }

    /// What its HPA would like, without bounds.
    fn wish(&self, load: Load) -> u32 {
        let replicas = self.replicas.unwrap_or_default();
        let tolerated = (90..=110).contains(&load.value);
        // Pods that do not run do nothing: what there is to do is measured over those that do.
        if tolerated { replicas } else { load.wanted(self.ready()).max(u32::from(replicas > 0)) }
    }
}

/// A fleet under one FederatedHPA.
#[derive(Clone, Debug)]
pub struct World {
    pub request: Request<'static>,
    pub members: BTreeMap<&'static str, Member>,
    basis: Option<AssignmentHash>,
    idle: Option<Timestamp>,
    divided: Option<Timestamp>,
    /// What is to be done, in hundredths of what one replica does at its target; nothing: nobody measures it.
    pub work: Option<u64>,
    /// The greatest `maxReplicas` that writes under way may be from.
    pub budget: u64,
    /// A cluster whose pods crash as soon as they run.
    pub broken: Option<&'static str>,
    /// What is done wrong above the gate, and below it.
    pub above: Option<Mutant>,
    pub below: Option<Mutant>,
    /// Whether the leader forgets what it asked for.
    pub forgets: bool,
}

/// Changes the steps of a plan to wrong ones.
pub type Mutant = fn(&mut Vec<Step<'_>>);

impl World {
    pub fn new(request: Request<'static>) -> Self {
        let member = |cluster: &Cluster<'static>| {
            (cluster.name, Member { replicas: cluster.entry, entry: cluster.entry, ..Member::default() })
        };
        let members = request.clusters.iter().map(member).collect();
        let budget = request.total.max.into();
        Self {
            request,
            members,
            basis: None,
            idle: None,
            divided: None,
            work: None,
            budget,
            broken: None,
            above: None,
            below: None,
            forgets: false,
        }
    }

    /// What the controller sees.
    pub fn observe(&self) -> Request<'static> {
        let mut request = self.request.clone();
        (request.assignment_hash, request.idle_since, request.last_rebalanced) = (self.basis, self.idle, self.divided);
        for cluster in &mut request.clusters {
            let member = &self.members[cluster.name];
            cluster.hpa = member.work.map(|Work { number, written, outstanding, held }| Hpa {
                written,
                version: HpaVersion::V2,
                confirmed: member.arrived == number,
                pending_max: outstanding,
                scale_down_disabled: held,
            });
            cluster.memory = member.memory;
            // One that is evicted and has nothing of fhpa any more is away, and answers.
            let answers = match cluster.state {
                ClusterState::Silent => false,
                ClusterState::Lost => member.evicting,
                _ => true,
            };
            cluster.current = member.replicas;
            cluster.ready = if answers { member.ready() } else { 0 };
            if self.broken == Some(cluster.name) {
                cluster.ready = 0;
            }
            cluster.pending = if answers { member.replicas.unwrap_or_default() - member.scheduled() } else { 0 };
            if let Some(room) = member.room {
                cluster.available = Some(room.saturating_sub(member.replicas.unwrap_or_default()));
            }
            if let (Some(load), Some(bounds), true) = (self.load(), member.hpa, answers) {
                cluster.load = Some(load).filter(|_| member.ready() > 0);
                cluster.hpa_desired = Some(member.wish(load).clamp(bounds.min, bounds.max));
            }
            (cluster.entry, cluster.evicting, cluster.target) = (member.entry, member.evicting, member.target);
            cluster.eviction_ends = member.eviction_ends.filter(|_| member.evicting);
            // A candidate that is still evicted, and serves.
            if cluster.eviction_ends.is_some() && cluster.state == ClusterState::Serving && cluster.ready > 0 {
                cluster.entry = cluster.entry.or(member.replicas);
            }
        }
        request
    }

    /// Plans and applies; `breaks` says after how many writes the controller dies. Returns how many writes were made.
    pub fn reconcile(&mut self, breaks: usize) -> usize {
        let request = self.observe();
        let mut plan = plan_with(&request, |steps| self.above.iter().for_each(|mutant| mutant(steps)));
        self.below.iter().for_each(|mutant| mutant(&mut plan.steps));
        for cluster in request.clusters.iter().filter(|cluster| cluster.state == ClusterState::Lost) {
            let member = self.members.get_mut(cluster.name).unwrap();
            member.given_away |= member.hpa.is_some() || !member.on_the_way.is_empty();
        }
        // Status first: what is written below follows from it.
        self.remember(&plan);
        let mut writes = 0;
        for step in plan.now().take(breaks) {
            self.apply(&step.action);
            writes += 1;
        }
        writes
    }

    fn remember(&mut self, plan: &Plan<'_>) {
        (self.basis, self.idle, self.divided) = (Some(plan.assignment_hash), plan.idle_since, plan.last_rebalanced);
        for (name, member) in &mut self.members {
            let share = plan.shares.iter().find(|share| share.cluster == *name);
            member.target = share.and_then(decision::plan::Share::kept);
            member.memory = share.map(|share| share.memory).unwrap_or_default();
            if self.forgets {
                member.memory.replacement_min = None;
                member.memory.lost = member.memory.lost.map(|lost| Lost { uncovered: 0, ..lost });
            }
        }
    }

    fn apply(&mut self, action: &Action<'_>) {
        match action {
            Action::ApplyHpa { cluster, bounds, pending_max: outstanding, scale_down_disabled: held, .. } => {
                let member = self.members.get_mut::<str>(cluster).unwrap();
                let number = member.work.map_or(member.arrived, |work| work.number) + 1;
                member.work = Some(Work { number, written: Some(*bounds), outstanding: *outstanding, held: *held });
                member.on_the_way.push_back((number, Some(*bounds), *held));
            }
            Action::DeleteHpa { cluster } => {
                let member = self.members.get_mut::<str>(cluster).unwrap();
                let Work { number, written, outstanding, .. } = member.work.unwrap();
                let ceiling = if member.arrived == number { 0 } else { outstanding };
                let outstanding = ceiling.max(written.map_or(0, |bounds| bounds.max));
                member.work = Some(Work { number: number + 1, written: None, outstanding, held: false });
                member.on_the_way.push_back((number + 1, None, false));
            }
            Action::UpdateBinding { entries, evictions } => {
                for (name, member) in &mut self.members {
                    member.entry = entries.iter().find(|entry| entry.cluster == *name).map(|entry| entry.replicas);
                    if let Some(replicas) = member.entry {
                        member.evicting = false;
                        member.replicas.get_or_insert(replicas);
                    } else if evictions.iter().any(|eviction| eviction.cluster == *name) {
                        (member.evicting, member.eviction_ends) = (true, Some(self.request.now + UNREADY));
                    }
                }
            }
            // A member that does not answer cannot be written.
            Action::Scale { cluster, replicas, .. } if self.answers(cluster) => {
                self.members.get_mut::<str>(cluster).unwrap().replicas = Some(*replicas);
            }
            Action::Scale { .. } => {}
        }
    }

    /// What there is to do for each replica that runs, in hundredths of its target: all share alike.
    pub fn load(&self) -> Option<Load> {
        let ready: u64 = self.members.values().map(|member| u64::from(member.ready())).sum();
        self.work.map(|work| Load { value: work.checked_div(ready).unwrap_or(work), target: 100 })
    }

    /// Every member's HPA looks at its metric.
    pub fn sync(&mut self) {
        let Some(load) = self.load() else { return };
        for name in self.names() {
            let wish = self.members[name].wish(load);
            self.scale(name, Some(wish));
        }
    }

    /// Time goes on.
    pub fn pass(&mut self, seconds: i64) {
        self.request.now += SignedDuration::from_secs(seconds);
    }

    fn answers(&self, name: &str) -> bool {
        let cluster = self.request.clusters.iter().find(|cluster| cluster.name == name).unwrap();
        !matches!(cluster.state, ClusterState::Silent | ClusterState::Lost)
    }

    /// Brings the next write to the member.
    pub fn deliver(&mut self, name: &'static str) {
        if !self.answers(name) {
            return;
        }
        let member = self.members.get_mut(name).unwrap();
        if let Some((number, bounds, held)) = member.on_the_way.pop_front() {
            (member.hpa, member.arrived, member.held) = (bounds, number, held);
            if bounds.is_none() {
                member.given_away = false;
                if member.work.is_some_and(|work| work.number == number) {
                    member.work = None;
                }
            }
        }
        if member.entry.is_none() && member.on_the_way.is_empty() {
            (member.replicas, member.evicting) = (None, false);
        }
    }

    /// The member's own HPA brings replicas within its bounds, or to `wish`.
    pub fn scale(&mut self, name: &'static str, wish: Option<u32>) {
        if let Member { hpa: Some(bounds), replicas: Some(replicas), held, .. } = self.members.get_mut(name).unwrap()
            && *replicas > 0
        {
            let least = if *held { *replicas } else { 0 };
            *replicas = wish.unwrap_or(*replicas).max(least).clamp(bounds.min, bounds.max);
        }
    }

    /// Everything arrives and everybody follows.
    pub fn calm(&mut self) {
        for name in self.names() {
            while !self.members[name].on_the_way.is_empty() && self.answers(name) {
                self.deliver(name);
            }
            self.deliver(name);
            self.scale(name, None);
        }
        if self.members.values().all(|member| member.on_the_way.is_empty()) {
            self.budget = self.request.total.max.into();
        }
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.members.keys().copied().collect()
    }

    /// The sum of `maxReplicas` in effect, without those whose share was given away.
    pub fn in_effect(&self) -> u64 {
        let counted = self.members.values().filter(|member| !member.given_away);
        counted.filter_map(|member| member.hpa).map(|bounds| u64::from(bounds.max)).sum()
    }

    /// Something happens to the fleet or to what the user wants.
    pub fn happen(&mut self, random: &mut Random) {
        let at = random.below(self.request.clusters.len());
        let policy_divides = self.request.policy.divides();
        let name = self.request.clusters[at].name;
        let held = self.members[name].work.is_some() || self.members[name].entry.is_some();
        let cluster = &mut self.request.clusters[at];
        match random.below(9) {
            0 => {
                let min = random.below(8) as u32 + 1;
                self.request.total = Bounds { min, max: min + random.below(40) as u32 };
            }
            1 => cluster.weight = random.below(5) as u64,
            2 => cluster.available = Some(random.below(20) as u32),
            3 => cluster.state = ClusterState::Serving,
            4 if held => cluster.state = ClusterState::Silent,
            5 => cluster.state = ClusterState::Lost,
            6 if held && policy_divides => {
                cluster.is_candidate = false;
                cluster.state = ClusterState::Leaving { evicted: false };
            }
            7 => cluster.unresponsive = !cluster.unresponsive,
            _ => cluster.limits.most = [u32::MAX, 3, 8][random.below(3)],
        }
        if !matches!(self.request.clusters[at].state, ClusterState::Leaving { .. }) {
            self.request.clusters[at].is_candidate = true;
        }
        self.budget = self.budget.max(self.request.total.max.into());
    }
}
