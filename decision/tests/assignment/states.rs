//! Every state of a small fleet: plans whose writes arrive late or not, a leader that dies between two writes and
//! begins with what is stored, clusters that fall silent, are lost, come back and leave, other load and another
//! `maxReplicas`. Laws 2 and 3 hold in each of them, by what the members really run.
//!
//! Mutants show what holds the laws: each wrong write above the gate is mended by it, each one below it, and a leader
//! that forgets what it asked for, is found by a law that it breaks.
//!
//! `FHPA_STATES=9` explores paths of this many states, and prints the number of states.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use decision::plan::{Action, Bounds, Cluster, ClusterState, Policy, REPLACEMENT, Request, Step, Wait};
use jiff::SignedDuration;
use stateright::{Checker as _, Model, Property};

use super::fleet::NOW;
use super::life::settle;
use super::world::{Mutant, World};

/// States of the longest path that `cargo test` explores.
const STEPS: usize = 6;
/// The number of the write that takes a member's entry away.
const ENTRY: u64 = 0;
/// What one replica does at its target.
const REPLICA: u64 = 100;

/// A fleet, and the law that the last step broke.
#[derive(Clone, Debug)]
struct Fleet {
    world: World,
    /// Of writes that are on their way, by member and number: what was known when they were decided.
    known: BTreeMap<(&'static str, u64), Known>,
    broken: Option<String>,
}

/// What was known when a write was decided.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Ready replicas of the member.
    ready: u32,
    /// Replicas that the user took by then, or that leaving clusters might release.
    taken: u32,
}

impl Fleet {
    /// Everything that decides what happens next.
    fn told(&self) -> String {
        format!("{self:?}")
    }
}

impl PartialEq for Fleet {
    fn eq(&self, other: &Self) -> bool {
        self.told() == other.told()
    }
}

impl Hash for Fleet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.told().hash(state);
    }
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happens {
    /// The leader plans, and dies after so many writes.
    Plan { writes: usize },
    /// The next write arrives in a member, and its HPA follows.
    Arrives(usize),
    /// The pods of a member are ready.
    Starts(usize),
    /// The HPAs of all members look at their metric.
    Sync,
    /// Time passes.
    Passes { seconds: i64 },
    /// A cluster is in this state from now on.
    Becomes(usize, ClusterState),
    /// Other load.
    Load(u64),
    /// Another `maxReplicas`.
    Max(u32),
}

/// Fleets of this policy, which begin at rest.
#[derive(Clone, Copy)]
struct Fleets {
    policy: Policy,
    clusters: usize,
    max: u32,
    above: Option<Mutant>,
    below: Option<Mutant>,
    forgets: bool,
}

impl Fleets {
    fn of(policy: Policy, clusters: usize, max: u32) -> Self {
        Self { policy, clusters, max, above: None, below: None, forgets: false }
    }
}

impl Model for Fleets {
    type State = Fleet;
    type Action = Happens;

    fn init_states(&self) -> Vec<Fleet> {
        let cluster = |(at, name): (usize, &'static str)| Cluster {
            name,
            is_candidate: true,
            weight: 1,
            priority: Some(if at == 0 { 2 } else { 1 }),
            current: Some(2),
            entry: Some(2),
            available: Some(6),
            ready: 2,
            ..Cluster::default()
        };
        let clusters: Vec<Cluster<'static>> =
            ["a", "b", "c"].into_iter().take(self.clusters).enumerate().map(cluster).collect();
        let mut world = World::new(Request {
            total: Bounds { min: 2, max: self.max },
            policy: self.policy,
            scale_assist: true,
            replacement: Some(REPLACEMENT),
            window: SignedDuration::from_secs(60),
            now: NOW,
            clusters,
            ..Request::default()
        });
        world.work = Some(2 * self.clusters as u64 * REPLICA);
        settle(&mut world).unwrap();
        for member in world.members.values_mut() {
            member.started = member.replicas;
        }
        (world.above, world.below, world.forgets) = (self.above, self.below, self.forgets);
        vec![Fleet { world, known: BTreeMap::new(), broken: None }]
    }

    fn actions(&self, fleet: &Fleet, actions: &mut Vec<Happens>) {
        if fleet.broken.is_some() {
            return;
        }
        actions.extend([
            Happens::Plan { writes: usize::MAX },
            Happens::Plan { writes: 1 },
            Happens::Sync,
            Happens::Passes { seconds: 75 },
            Happens::Passes { seconds: 660 },
            Happens::Load(REPLICA),
            Happens::Load(3 * self.clusters as u64 * REPLICA),
            Happens::Max(self.max / 2),
            Happens::Max(self.max),
        ]);
        for at in 0..self.clusters {
            let states = [
                ClusterState::Serving,
                ClusterState::Silent,
                ClusterState::Lost,
                ClusterState::Leaving { evicted: false },
            ];
            let becomes = states.into_iter().map(|state| Happens::Becomes(at, state));
            actions.extend([Happens::Arrives(at), Happens::Starts(at)]);
            actions.extend(becomes.filter(|becomes| may(fleet, *becomes)));
        }
    }

    fn next_state(&self, fleet: &Fleet, happens: Happens) -> Option<Fleet> {
        let mut next = fleet.clone();
        let in_effect = next.world.in_effect();
        let (mut before, mut taken) = (ready(&next.world), taken(&next.world));
        let world = &mut next.world;
        let name = |at: usize| fleet.world.request.clusters[at].name;
        match happens {
            Happens::Plan { writes } => {
                world.reconcile(writes);
                for cluster in &world.request.clusters {
                    let member = &world.members[cluster.name];
                    // Of one that does not answer nothing is known to be ready.
                    let answers = !matches!(cluster.state, ClusterState::Silent | ClusterState::Lost);
                    let ready = if answers { member.ready() } else { 0 };
                    let left = member.entry.is_none().then_some(ENTRY);
                    for write in member.on_the_way.iter().map(|(number, ..)| *number).chain(left) {
                        let known = Known { ready, taken };
                        next.known.entry((cluster.name, write)).or_insert(known);
                    }
                    next.known.retain(|(name, write), _| *name != cluster.name || *write != ENTRY || left.is_some());
                }
            }
            Happens::Arrives(at) => {
                // What came after it was decided is not known to it.
                let (name, member) = (name(at), &world.members[name(at)]);
                let write = member.on_the_way.front().and_then(|(number, ..)| next.known.remove(&(name, *number)));
                let entry = next.known.get(&(name, ENTRY)).copied();
                let known = || [write, entry].into_iter().flatten();
                let unknown = known().map(|known| member.ready().saturating_sub(known.ready)).max();
                before -= unknown.unwrap_or_default();
                taken = known().map(|known| known.taken).fold(taken, u32::max);
                world.deliver(name);
                world.scale(name, None);
            }
            Happens::Starts(at) => world.members.get_mut(name(at)).unwrap().started = Some(u32::MAX),
            Happens::Sync => world.sync(),
            Happens::Passes { seconds } => world.pass(seconds),
            Happens::Becomes(at, state) => {
                world.request.clusters[at].state = state;
                world.request.clusters[at].is_candidate = !matches!(state, ClusterState::Leaving { .. });
            }
            Happens::Load(work) => world.work = Some(work),
            Happens::Max(max) => {
                world.request.total.max = max;
                world.budget = world.budget.max(max.into());
            }
        }
        for member in world.members.values_mut() {
            member.started = Some(member.ready());
        }
        let ours = matches!(happens, Happens::Plan { .. } | Happens::Arrives(_));
        next.broken = broken((&fleet.world, &next.world), in_effect, ours.then_some(before), taken);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("laws 2 and 3", |_, fleet: &Fleet| fleet.broken.is_none())]
    }
}

/// Whether a cluster may become this now: one falls silent before it is lost, and something is left to leave.
fn may(fleet: &Fleet, becomes: Happens) -> bool {
    let Happens::Becomes(at, state) = becomes else { return true };
    let clusters = &fleet.world.request.clusters;
    let others = clusters.iter().enumerate().filter(|(other, _)| *other != at);
    let served = others.clone().any(|(_, other)| other.state == ClusterState::Serving);
    match state {
        ClusterState::Serving => clusters[at].state != ClusterState::Serving,
        ClusterState::Silent => clusters[at].state == ClusterState::Serving,
        ClusterState::Lost => clusters[at].state == ClusterState::Silent && served,
        ClusterState::Leaving { .. } => clusters[at].state == ClusterState::Serving && served,
    }
}

fn ready(world: &World) -> u32 {
    world.members.values().map(super::world::Member::ready).sum()
}

/// The law that is broken from one state to the next: the maxes in effect exceed what writes may be from, or a write of
/// fhpa ended more than what was taken of so many ready pods although load asks for them.
fn broken((before, after): (&World, &World), in_effect: u64, of: Option<u32>, taken: u32) -> Option<String> {
    let divides = after.request.policy.divides();
    if divides && after.in_effect() > in_effect.max(after.budget) {
        return Some(format!("law 2: {} in effect of {}", after.in_effect(), after.budget));
    }
    let demand = u32::try_from(before.work?.div_ceil(REPLICA)).unwrap();
    let needed = demand.min(of?);
    let lost = needed.saturating_sub(ready(after));
    (lost > taken).then(|| format!("law 3: {} of {needed} that are needed are ready", ready(after)))
}

/// What the user took, and what leaving clusters may release: all of it once their time is over, and a quarter before
/// where there is no headroom for both.
fn taken(world: &World) -> u32 {
    let leaves = |cluster: &&Cluster<'_>| matches!(cluster.state, ClusterState::Leaving { .. });
    let leaving = world.request.clusters.iter().filter(leaves).map(|cluster| world.members[cluster.name].ready());
    let (running, leaving): (u32, u32) = (ready(world), leaving.sum());
    let max = world.request.total.max * if world.request.policy.divides() { 1 } else { world.members.len() as u32 };
    let over = world.request.clusters.iter().filter(leaves).any(|cluster| {
        let lost = world.members[cluster.name].memory.lost;
        lost.is_some_and(|lost| world.request.now.duration_since(lost.since) >= REPLACEMENT)
    });
    let quarter = if running + leaving > max { (leaving / 4).max(1) } else { 0 };
    running.saturating_sub(max) + if over { leaving } else { quarter.min(leaving) }
}

/// Explores all paths of so many states. Returns how many states there are, and the first one that breaks a law.
fn explore(fleets: Fleets, steps: usize) -> (usize, Option<String>) {
    let checker = fleets.checker().threads(2).target_max_depth(steps).spawn_bfs().join();
    let found = checker.discoveries().into_values().next().map(|path| {
        let steps: Vec<_> = path.clone().into_actions();
        let end = path.last_state().clone();
        format!("{steps:?}\n{:?}\n{:#?}", end.broken, end.world.members)
    });
    (checker.unique_state_count(), found)
}

fn holds(policy: Policy, clusters: usize, max: u32) {
    let asked = std::env::var("FHPA_STATES").ok().map(|steps| steps.parse().unwrap());
    let (states, found) = explore(Fleets::of(policy, clusters, max), asked.unwrap_or(STEPS));
    println!("{policy:?}, {clusters} clusters, max {max}: {states} states");
    assert_eq!(found, None);
}

#[test]
fn no_state_of_two_clusters_that_share_by_weight_breaks_a_law() {
    holds(Policy::StaticWeighted, 2, 12);
}

#[test]
fn no_state_of_two_clusters_that_share_by_room_breaks_a_law() {
    holds(Policy::DynamicWeighted, 2, 12);
}

#[test]
fn no_state_of_two_clusters_that_are_filled_one_after_the_other_breaks_a_law() {
    holds(Policy::Aggregated, 2, 12);
}

#[test]
fn no_state_of_two_clusters_by_priority_breaks_a_law() {
    holds(Policy::Prioritized, 2, 12);
}

#[test]
fn no_state_of_two_clusters_that_each_have_the_whole_breaks_a_law() {
    holds(Policy::Duplicated, 2, 12);
}

#[test]
fn no_state_of_two_clusters_without_headroom_breaks_a_law() {
    holds(Policy::StaticWeighted, 2, 4);
}

#[test]
fn no_state_of_three_clusters_breaks_a_law() {
    holds(Policy::StaticWeighted, 3, 12);
}

/// Steps that do what is wrong, with what is wrong about them.
const MUTANTS: [(&str, Mutant); 6] = [
    ("raises do not wait", |steps| hurry(steps, Wait::Lowered)),
    ("clusters leave before they are replaced", |steps| hurry(steps, Wait::Replaced)),
    ("a max is one more", |steps| maxes(steps, |max| max + 1)),
    ("a max is half", |steps| maxes(steps, |max| (max / 2).max(1))),
    ("the binding loses its last entry", |steps| {
        for step in steps {
            if let Action::UpdateBinding { entries, .. } = &mut step.action {
                entries.pop();
            }
        }
    }),
    ("a workload is scaled to zero", |steps| {
        let first = steps.iter_mut().find(|step| matches!(step.action, Action::ApplyHpa { .. }));
        first.into_iter().for_each(|step| {
            if let Action::ApplyHpa { cluster, .. } = step.action {
                step.action = Action::Scale { cluster, replicas: 0, reported: 1 };
            }
        });
    }),
];

/// What waits for this does not.
fn hurry(steps: &mut [Step<'_>], wait: Wait) {
    steps.iter_mut().filter(|step| step.wait == wait).for_each(|step| step.wait = Wait::Nothing);
}

fn maxes(steps: &mut [Step<'_>], of: impl Fn(u32) -> u32) {
    for step in steps {
        if let Action::ApplyHpa { bounds, pending_max, .. } = &mut step.action {
            bounds.max = of(bounds.max);
            bounds.min = bounds.min.min(bounds.max);
            *pending_max = (*pending_max).max(bounds.max);
        }
    }
}

#[test]
fn whatever_is_wrong_above_the_gate_breaks_no_law() {
    for (wrong, mutant) in MUTANTS {
        let fleets = Fleets { above: Some(mutant), ..Fleets::of(Policy::StaticWeighted, 2, 12) };
        let (_, found) = explore(fleets, STEPS);
        assert_eq!(found, None, "{wrong}");
    }
}

#[test]
fn whatever_is_wrong_below_the_gate_is_found() {
    let fleets = Fleets::of(Policy::StaticWeighted, 2, 12);
    for (wrong, mutant) in MUTANTS {
        let (_, found) = explore(Fleets { below: Some(mutant), ..fleets }, STEPS);
        assert!(found.is_some(), "{wrong}");
    }
    assert!(explore(Fleets { forgets: true, ..fleets }, STEPS + 2).1.is_some(), "what was asked for is forgotten");
}
