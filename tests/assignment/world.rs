//! Members, the wire to them, and a controller that loses things: enough of a fleet to apply plans to.

use std::collections::{BTreeMap, VecDeque};

use fhpa::decision::plan::{Action, Basis, Bounds, Cluster, Hpa, HpaVersion, Plan, Request, Standing, plan};

use crate::random::Random;

/// A write of a member's HPA: its number, and the bounds or the removal.
type Write = (u64, Option<Bounds>);

/// What the control plane stores and what the member has.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// Number and bounds of the last write, and the greatest max that was under way with it; nothing: no object.
    work: Option<(u64, Option<Bounds>, u32)>,
    on_the_way: VecDeque<Write>,
    /// Number of the last write that arrived.
    arrived: u64,
    /// The HPA in effect.
    pub hpa: Option<Bounds>,
    pub replicas: Option<u32>,
    pub entry: Option<u32>,
    evicting: bool,
    target: Option<Bounds>,
    /// Its share was given away while it had an HPA: it counts again when it has lost that one.
    given_away: bool,
}

/// A fleet under one FederatedHPA.
#[derive(Clone, Debug)]
pub struct World {
    pub request: Request<'static>,
    pub members: BTreeMap<&'static str, Member>,
    basis: Option<Basis>,
    /// The greatest `maxReplicas` that writes under way may be from.
    pub budget: u64,
}

impl World {
    pub fn new(request: Request<'static>) -> Self {
        let member = |cluster: &Cluster<'static>| {
            (cluster.name, Member { replicas: cluster.entry, entry: cluster.entry, ..Member::default() })
        };
        let members = request.clusters.iter().map(member).collect();
        let budget = request.total.max.into();
        Self { request, members, basis: None, budget }
    }

    /// What the controller sees.
    pub fn observe(&self) -> Request<'static> {
        let mut request = self.request.clone();
        request.basis = self.basis;
        for cluster in &mut request.clusters {
            let member = &self.members[cluster.name];
            cluster.hpa = member.work.map(|(number, written, outstanding)| Hpa {
                written,
                version: HpaVersion::V2,
                confirmed: member.arrived == number,
                outstanding,
                held: false,
            });
            let answers = !matches!(cluster.standing, Standing::Silent | Standing::Away);
            cluster.current = member.replicas;
            cluster.ready = if answers { member.replicas.unwrap_or_default() } else { 0 };
            cluster.pending = 0;
            (cluster.entry, cluster.evicting, cluster.target) = (member.entry, member.evicting, member.target);
        }
        request
    }

    /// Plans and applies; `breaks` says after how many writes the controller dies. Returns how many writes were made.
    pub fn reconcile(&mut self, breaks: usize) -> usize {
        let request = self.observe();
        let plan = plan(&request);
        for cluster in request.clusters.iter().filter(|cluster| cluster.standing == Standing::Away) {
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
        self.basis = Some(plan.basis);
        for (name, member) in &mut self.members {
            member.target = plan.shares.iter().find(|share| share.cluster == *name).map(|share| share.target);
        }
    }

    fn apply(&mut self, action: &Action<'_>) {
        match action {
            Action::Bound { cluster, bounds, outstanding, .. } => {
                let member = self.members.get_mut::<str>(cluster).unwrap();
                let number = member.work.map_or(member.arrived, |(number, ..)| number) + 1;
                member.work = Some((number, Some(*bounds), *outstanding));
                member.on_the_way.push_back((number, Some(*bounds)));
            }
            Action::Unbound { cluster } => {
                let member = self.members.get_mut::<str>(cluster).unwrap();
                let (number, written, outstanding) = member.work.unwrap();
                let ceiling = if member.arrived == number { 0 } else { outstanding };
                let outstanding = ceiling.max(written.map_or(0, |bounds| bounds.max));
                member.work = Some((number + 1, None, outstanding));
                member.on_the_way.push_back((number + 1, None));
            }
            Action::Bind { entries, evictions } => {
                for (name, member) in &mut self.members {
                    member.entry = entries.iter().find(|entry| entry.cluster == *name).map(|entry| entry.replicas);
                    if let Some(replicas) = member.entry {
                        member.replicas.get_or_insert(replicas);
                    } else {
                        member.evicting |= evictions.iter().any(|eviction| eviction.cluster == *name);
                    }
                }
            }
            Action::Scale { cluster, replicas } => {
                self.members.get_mut::<str>(cluster).unwrap().replicas = Some(*replicas);
            }
        }
    }

    fn answers(&self, name: &str) -> bool {
        let cluster = self.request.clusters.iter().find(|cluster| cluster.name == name).unwrap();
        !matches!(cluster.standing, Standing::Silent | Standing::Away)
    }

    /// Brings the next write to the member.
    pub fn deliver(&mut self, name: &'static str) {
        if !self.answers(name) {
            return;
        }
        let member = self.members.get_mut(name).unwrap();
        if let Some((number, bounds)) = member.on_the_way.pop_front() {
            (member.hpa, member.arrived) = (bounds, number);
            if bounds.is_none() {
                member.given_away = false;
                if member.work.is_some_and(|(last, ..)| last == number) {
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
        if let Member { hpa: Some(bounds), replicas: Some(replicas), .. } = self.members.get_mut(name).unwrap()
            && *replicas > 0
        {
            *replicas = wish.unwrap_or(*replicas).clamp(bounds.min, bounds.max);
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
            3 => cluster.standing = Standing::Serving,
            4 if held => cluster.standing = Standing::Silent,
            5 => cluster.standing = Standing::Away,
            6 if held && policy_divides => {
                cluster.chosen = false;
                cluster.standing = Standing::Leaving { evicted: false };
            }
            7 => cluster.overdue = !cluster.overdue,
            _ => cluster.limits.most = [u32::MAX, 3, 8][random.below(3)],
        }
        if !matches!(self.request.clusters[at].standing, Standing::Leaving { .. }) {
            self.request.clusters[at].chosen = true;
        }
        self.budget = self.budget.max(self.request.total.max.into());
    }
}
