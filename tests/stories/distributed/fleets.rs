//! Random fleets of workloads that share clusters, with clusters that fail, nodes that come and go, load, and leaders that
//! are killed; the laws see each event. At the end: the loss of a cluster leaves no more short than a drill said before,
//! of each workload where there is room for all, else of all together; and nobody is below its min where there is room.
//!
//! `FHPA_FLEET_STORIES=2000` plays so many, on all cores; `FHPA_FLEET_STORY_FROM` is the first seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fhpa::playground::fleet::Plan;
use serde_json::{Value, json};

use super::capacity::node;
use super::help::grow;
use super::shared::drilled;
use super::{Stage, deployment, hpa, int, plan, policy, weights};
use crate::histories::chance::Chance;
use crate::laws::embedded::Watched;
use crate::stories::Process;

/// Of an ordinary run.
const ORDINARY: u64 = 6;
/// Thousandths of a core that a pod of size 1 does at its target.
const EACH: i64 = 50;
/// Minutes without a change after which a fleet is at rest: the scale-down window twice, of what takes over and of HPAs.
const QUIET: usize = 10;
/// Minutes until a fleet is at rest at the latest: failover, replacement and moves of headroom follow one another.
const REST: usize = 60;
/// Minutes until a lost cluster is replaced at the latest: one that was lost before is tolerated for longer.
const REPLACED: usize = 20;

/// A workload of pods that request `size` tenths of a core.
#[derive(Clone, Debug)]
struct Workload {
    size: i64,
    min: i64,
    replicas: i64,
    home: usize,
    busy: bool,
    assignment: Value,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Fail(usize),
    Return(usize),
    Nodes(usize, i64),
    Load(usize, i64),
    Kill,
}

#[derive(Debug)]
struct Fleet {
    /// Tenths of a core of each member.
    members: Vec<i64>,
    workloads: Vec<Workload>,
    steps: Vec<(What, u64)>,
    lost: usize,
}

impl Fleet {
    /// Tenths of a core that are of no use: pods are as large as two, so that each cluster may have one.
    fn slack(&self) -> i64 {
        i64::try_from(self.members.len()).unwrap()
    }

    /// Whether a drill `told` what is `short` now, by workload. In a full fleet HPAs take what is left in an order of
    /// their own: others may lack as much.
    fn is_told(
        &self,
        before: &[BTreeMap<usize, i64>],
        told: &BTreeMap<String, i64>,
        short: &BTreeMap<String, i64>,
        members: &[i64],
    ) -> bool {
        let tenths = |replicas: &BTreeMap<String, i64>| -> i64 {
            let all = self.workloads.iter().enumerate();
            all.map(|(at, one)| replicas.get(&name(at)).unwrap_or(&0) * one.size).sum()
        };
        let ran = before.iter().zip(&self.workloads).map(|(ready, one)| ready.values().sum::<i64>() * one.size);
        let room = members.iter().enumerate().filter(|(at, _)| *at != self.lost).map(|(_, tenths)| tenths);
        if ran.sum::<i64>() + self.slack() <= room.sum::<i64>() {
            return short.iter().all(|(name, short)| told.get(name).is_some_and(|told| told >= short));
        }
        tenths(short) <= tenths(told) + self.slack()
    }
}

fn fleet(seed: u64) -> Fleet {
    let mut chance = Chance::new(seed);
    let count = 3 + chance.below(2);
    let some = |chance: &mut Chance, least: i64, more: usize| least + i64::try_from(chance.below(more)).unwrap();
    let members: Vec<i64> = (0..count).map(|_| some(&mut chance, 8, 17)).collect();
    let mut free = members.clone();
    let mut workloads = Vec::new();
    for _ in 0..3 + chance.below(4) {
        let (size, min, home) = (some(&mut chance, 1, 2), some(&mut chance, 1, 3), chance.below(count));
        let replicas = min + some(&mut chance, 0, 2);
        if free[home] < size * replicas {
            continue;
        }
        free[home] -= size * replicas;
        let types = ["Aggregated", "DynamicWeighted", "Prioritized"];
        let preference = |at: usize| json!({"targetCluster": {"clusterNames": [member(at)]}, "priority": if at == home { 2 } else { 1 }});
        let mut assignment = json!({"federatedHPAAssignmentType": chance.one_of(&types)});
        if assignment["federatedHPAAssignmentType"] == "Prioritized" {
            assignment["clusterAutoscalingPreference"] = (0..count).map(preference).collect();
        }
        let busy = chance.below(3) > 0;
        workloads.push(Workload { size, min, replicas, home, busy, assignment });
    }
    let steps = (0..chance.below(5)).map(|_| {
        let (cluster, workload) = (chance.below(count), chance.below(workloads.len().max(1)));
        let what = match chance.below(6) {
            0 | 1 => What::Fail(cluster),
            2 => What::Return(cluster),
            3 => What::Nodes(cluster, some(&mut chance, 4, 21)),
            4 => What::Load(workload, some(&mut chance, 0, 7)),
            _ => What::Kill,
        };
        (what, *chance.one_of(&[3, 12, 45, 320, 420]))
    });
    let steps = steps.collect();
    Fleet { members, workloads, steps, lost: chance.below(count) }
}

fn member(at: usize) -> String {
    format!("member{}", at + 1)
}

fn name(at: usize) -> String {
    format!("w{}", at + 1)
}

/// A fleet that plays.
struct Play<'a> {
    fleet: &'a Fleet,
    stage: Stage,
    watched: Watched,
    leader: Process,
    leaders: usize,
    members: Vec<i64>,
    away: BTreeSet<usize>,
}

impl<'a> Play<'a> {
    async fn begin(fleet: &'a Fleet) -> Self {
        let members = u32::try_from(fleet.members.len()).unwrap();
        let (stage, watched) = Stage::watched_with(Plan { nodes: 0, ..plan(members) }).await;
        for (at, tenths) in fleet.members.iter().enumerate() {
            node(&stage, &member(at), *tenths).await;
        }
        for (at, workload) in fleet.workloads.iter().enumerate() {
            let mut weight = vec![0; workload.home + 1];
            weight[workload.home] = 1;
            let mut placed = policy(weights(&weight));
            placed["metadata"]["name"] = json!(name(at));
            placed["spec"]["resourceSelectors"][0]["name"] = json!(name(at));
            stage.create(placed).await;
            let mut object = deployment(&name(at), i32::try_from(workload.replicas).unwrap());
            let requests = &mut object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"];
            requests["cpu"] = json!(format!("{}m", workload.size * 100));
            stage.create(object).await;
            // Each pod is at its target, or nothing is to do.
            let busy = if workload.busy { workload.replicas } else { 0 };
            stage.fleet.load().set("prod", &name(at), busy * workload.size * EACH);
        }
        stage.pass(30).await;
        let leader = stage.leads_by_room("leader-0").await;
        for (at, workload) in fleet.workloads.iter().enumerate() {
            let least = i32::try_from(workload.min).unwrap();
            let mut object = hpa(least, least + 4, json!({"federatedHPAAssignment": workload.assignment}));
            object["metadata"]["name"] = json!(name(at));
            object["spec"]["scaleTargetRef"]["name"] = json!(name(at));
            stage.create(object).await;
        }
        let (members, away) = (fleet.members.clone(), BTreeSet::new());
        Self { fleet, stage, watched, leader, leaders: 1, members, away }
    }

    async fn pass(&self, seconds: u64) {
        self.watched.acts(self.leader.leadership.borrow().is_some());
        self.stage.pass(seconds).await;
    }

    async fn happen(mut self, what: What) -> Self {
        match what {
            // One that is left is enough, and while more than half are away nothing fails over.
            What::Fail(at) if self.away.len() * 2 + 2 <= self.members.len() => {
                self.stage.fleet.fail(&member(at), true).unwrap();
                self.away.insert(at);
            }
            What::Return(at) => {
                self.stage.fleet.fail(&member(at), false).unwrap();
                self.away.remove(&at);
            }
            What::Nodes(at, tenths) => {
                grow(&self.stage, &member(at), tenths).await;
                self.members[at] = tenths;
            }
            What::Load(at, replicas) => {
                if let Some(workload) = self.fleet.workloads.get(at) {
                    self.stage.fleet.load().set("prod", &name(at), replicas * workload.size * EACH);
                }
            }
            What::Kill => {
                let next = format!("leader-{}", self.leaders);
                let process = self.stage.controller_by_room(&next);
                std::mem::replace(&mut self.leader, process).kill().await;
                self.watched.acts(false);
                self.leader.leads().await;
                self.watched.acts(true);
                self.leaders += 1;
            }
            What::Fail(_) => {}
        }
        self
    }

    /// Ready replicas of each workload in each cluster that answers.
    async fn ready(&self) -> Vec<BTreeMap<usize, i64>> {
        let mut all = Vec::new();
        for workload in 0..self.fleet.workloads.len() {
            let mut ready = BTreeMap::new();
            for at in (0..self.members.len()).filter(|at| !self.away.contains(at)) {
                let found = self.stage.member(&member(at), "Deployment", &name(workload)).await;
                let replicas = found.and_then(|found| int(&found, "/status/readyReplicas")).unwrap_or_default();
                ready.insert(at, replicas);
            }
            all.push(ready);
        }
        all
    }

    /// Whether it comes to rest in time.
    async fn rests(&self) -> bool {
        let (mut before, mut quiet) = (self.ready().await, 0);
        for _ in 0..REST {
            self.pass(60).await;
            let ready = self.ready().await;
            quiet = if ready == before { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return true;
            }
            before = ready;
        }
        false
    }

    /// Those of which fewer than their min are ready although there is room for all.
    async fn below_min(&self) -> Option<String> {
        let ready = self.ready().await;
        let workloads = &self.fleet.workloads;
        let sums: Vec<i64> = ready.iter().map(|ready| ready.values().sum()).collect();
        let used: i64 = sums.iter().zip(workloads).map(|(ready, workload)| ready * workload.size).sum();
        let lacks = |at: usize| (workloads[at].min - sums[at]).max(0);
        let lacking: i64 = (0..sums.len()).map(|at| lacks(at) * workloads[at].size).sum();
        let room: i64 = (0..self.members.len()).filter(|at| !self.away.contains(at)).map(|at| self.members[at]).sum();
        let slack = self.fleet.slack();
        let below: Vec<String> = (0..sums.len()).filter(|at| lacks(*at) > 0).map(name).collect();
        (lacking > 0 && used + lacking + slack <= room)
            .then(|| format!("{below:?} are below their min; {used} of {room} are used: {ready:?}"))
    }

    async fn drilled(&self, at: usize) -> BTreeMap<String, i64> {
        let short = drilled(&self.stage, &member(at)).await.into_iter();
        short.map(|(name, short)| (name, short.into())).collect()
    }

    fn broken(&self) -> Option<String> {
        let broken = self.watched.broken();
        (!broken.is_empty()).then(|| broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }
}

/// What was wrong.
async fn play(fleet: &Fleet) -> Option<String> {
    let mut play = Play::begin(fleet).await;
    play.pass(120).await;
    for (what, then) in &fleet.steps {
        play = play.happen(*what).await;
        play.pass(*then).await;
        if let Some(broken) = play.broken() {
            return Some(broken);
        }
    }
    for at in 0..fleet.members.len() {
        play = play.happen(What::Return(at)).await;
    }
    if !play.rests().await {
        return Some(format!("never at rest: {:?}", play.ready().await));
    }
    if let Some(wrong) = play.broken().or(play.below_min().await) {
        return Some(format!("at rest: {wrong}"));
    }
    let (told, before) = (play.drilled(fleet.lost).await, play.ready().await);
    play.away.insert(fleet.lost);
    play.stage.fleet.fail(&member(fleet.lost), true).unwrap();
    let sum = |ready: &BTreeMap<usize, i64>| ready.values().sum::<i64>();
    let mut short = vec![i64::MAX; before.len()];
    for _ in 0..REPLACED {
        play.pass(60).await;
        let after = play.ready().await;
        for ((short, before), after) in short.iter_mut().zip(&before).zip(&after) {
            *short = (*short).min(sum(before) - sum(after)).max(0);
        }
    }
    if let Some(wrong) = play.broken().or(play.below_min().await) {
        return Some(format!("without {}: {wrong}", member(fleet.lost)));
    }
    let short = short.into_iter().enumerate().filter(|(_, short)| *short > 0);
    let short: BTreeMap<String, i64> = short.map(|(at, short)| (name(at), short)).collect();
    play.leader.stop().await;
    (!fleet.is_told(&before, &told, &short, &play.members))
        .then(|| format!("{} is lost: told {told:?}, short {short:?}\n{before:?}", member(fleet.lost)))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn no_fleet_promises_twice_or_lacks_more_than_a_drill_says() {
    let (first, count) =
        (number("FHPA_FLEET_STORY_FROM").unwrap_or(1), number("FHPA_FLEET_STORIES").unwrap_or(ORDINARY));
    let (next, found) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..number("FHPA_THREADS").unwrap_or(2) {
            scope.spawn(|| {
                while let seed @ 0.. = next.fetch_add(1, Ordering::Relaxed)
                    && seed < first + count
                {
                    let fleet = fleet(seed);
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
                    if let Some(wrong) = runtime.unwrap().block_on(play(&fleet)) {
                        let told = format!("fleet {seed}: {fleet:?}\n{wrong}");
                        eprintln!("{told}");
                        found.lock().unwrap().push(told);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} of {count} fleets:\n{}", found.len(), found.join("\n\n"));
}
