//! Law 3: no decision removes a ready pod unless its replacement is ready elsewhere, and other clusters run the
//! replicas of a lost cluster at once.
//!
//! For each cluster the ledger keeps the *demand of load and users*: the replicas at takeover, and the changes by its
//! own HPA since then. Further ready replicas are spare: fhpa raised them. A removal is a write that requests fewer
//! replicas of a member's workload than are ready, or that deletes it, while a FederatedHPA holds the workload and for
//! a while after. It is covered by spare replicas in other clusters, which serve that demand from then on, so that a
//! pod replaces one only. Unused spare pods become demand after a while.
//!
//! Tolerated: the member's own HPA, within bounds that allow the demand; the user's `maxReplicas` below the ready
//! replicas; `scalingToZero`; a workload, a namespace or an object that the user deleted; the purge mode `Directly`; a
//! cluster that did not answer when it left; the whole copy of a Duplicated workload while another serves; a quarter of
//! the replicas of each leaving cluster where `maxReplicas` leaves no headroom; the end of the time limit of a
//! replacement; pods while the workloads of the namespace exceed a FederatedResourceQuota, which makes Karmada refuse
//! every division of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::managed::owners;
use super::world::{Federated, Name, Target, Workload, World};
use super::{Change, Court, Law, is_ours};

/// After a release Karmada's scheduler may still do what follows from it.
const AFTERMATH: SignedDuration = SignedDuration::from_secs(60);
/// Longest time that a cluster is waited for that leaves: after it, it leaves all the same.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
/// Times of an eviction are stored in whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// Between the loss of a cluster and the replicas that others are asked for.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(60);

/// What is known of one workload in one cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    asked: i64,
    ready: i64,
    /// What load or users ask for there.
    demand: i64,
    /// Since when more than that is ready.
    spare_since: Option<Timestamp>,
    /// Bounds of its HPA.
    min: i64,
    max: i64,
    /// The most that was ready.
    most: i64,
}

impl Share {
    fn spare(&self) -> i64 {
        (self.ready - self.demand).max(0)
    }
}

/// What a lost cluster ran and nobody runs yet.
#[derive(Clone, Debug)]
struct Lost {
    cluster: String,
    /// Replicas that the others are to be asked for, together.
    wanted: i64,
    /// In worked time.
    since: SignedDuration,
}

#[derive(Default)]
struct Past {
    shares: BTreeMap<String, Share>,
    /// Removed within the allowance and not replaced yet, and of which clusters.
    owed: i64,
    owing: BTreeSet<String>,
    /// Whether somebody holds it, or when nobody did any more.
    held: bool,
    released: Option<Timestamp>,
    /// The placement of its binding, and when it became that.
    placement: Option<u64>,
    placed: Option<Timestamp>,
    /// Whether it got another placement while it was about to be given back.
    moves_after: bool,
    /// What ran beyond max when max fell, as far as it was not removed yet, and until when it may be.
    excess: i64,
    excess_until: Option<Timestamp>,
    leaving: BTreeMap<String, Timestamp>,
    /// Their eviction ended only after the longest time.
    late: BTreeSet<String>,
    entries: BTreeSet<String>,
    /// Taken out of the binding while they did not answer.
    gone: BTreeSet<String>,
    lost: Vec<Lost>,
}

#[derive(Default)]
pub struct Pods {
    past: BTreeMap<Target, Past>,
}

impl Law for Pods {
    fn name(&self) -> &'static str {
        "3 (pods)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let world = court.world;
        if change.in_control() {
            match change.kind {
                "FederatedHPA" => self.saw_federated(world),
                "ResourceBinding" => self.saw_binding(court),
                "Cluster" => self.saw_cluster(&change.object()["metadata"]["name"], world),
                _ => self.saw_template(change, world),
            }
            return;
        }
        if change.kind == "HorizontalPodAutoscaler" {
            self.saw_hpa(change, world);
            return;
        }
        let object = change.object();
        let kind = format!("{} {}", super::world::text(object, "/apiVersion"), change.kind);
        let target = Target { kind, name: Name::of(object) };
        if world.templates.contains_key(&target) || self.past.contains_key(&target) {
            self.saw_workload(change, &target, court);
        }
    }

    fn passed(&mut self, court: &mut Court<'_>) {
        for (target, past) in &mut self.past {
            past.age(target, court);
            past.look_at_lost(target, court);
        }
    }
}

impl Pods {
    fn saw_federated(&mut self, world: &World) {
        for hpa in world.federated.values().filter(|hpa| hpa.held) {
            self.past.entry(hpa.workload().clone()).or_default();
        }
        for (target, past) in &mut self.past {
            let held = world.acts_on(target).is_some();
            // One that nobody ever held was not released.
            let since = if past.moves_after { world.now.checked_sub(AFTERMATH).ok() } else { Some(world.now) };
            past.released = if held { None } else { past.released.or(since.filter(|_| past.held)) };
            past.moves_after &= held;
            past.exceed(target, world);
            if held && !past.held {
                // What runs by now was asked for by users.
                past.owed = 0;
                for share in past.shares.values_mut() {
                    share.demand = share.asked;
                }
            }
            past.held = held;
        }
    }

    /// Other replicas of a released workload, by the user or by its FederatedHPA in Centralized mode, are divided anew
    /// by Karmada's scheduler.
    fn saw_template(&mut self, change: &Change<'_>, world: &World) {
        let object = change.object();
        let kind = format!("{} {}", super::world::text(object, "/apiVersion"), change.kind);
        let target = Target { kind, name: Name::of(object) };
        let replicas =
            |object: Option<&serde_json::Value>| object.and_then(|object| super::world::int(object, "/spec/replicas"));
        let by_us = change.after.map(|after| owners(after, &["spec", "replicas"])).unwrap_or_default();
        let by_us = by_us.iter().any(|owner| is_ours(owner.manager));
        let centralized = world.federated.values().any(|hpa| hpa.centralized && !hpa.deleting && hpa.target == target);
        if let Some(past) = self.past.get_mut(&target)
            && past.released.is_some()
            && (!by_us || centralized)
            && replicas(change.before) != replicas(change.after)
        {
            past.released = world.now.checked_sub(AFTERMATH).ok();
        }
    }

    /// One that is evicted and stops to answer has failed: what it runs is not known to carry anything.
    fn saw_cluster(&mut self, name: &serde_json::Value, world: &World) {
        let silent = name.as_str().filter(|name| !world.answers(name));
        for past in self.past.values_mut() {
            past.gone.extend(silent.filter(|name| past.leaving.contains_key(*name)).map(str::to_owned));
        }
    }

    fn saw_binding(&mut self, court: &mut Court<'_>) {
        let world = court.world;
        for (target, past) in &mut self.past {
            let Some(binding) = world.binding(target) else { continue };
            // Whoever gives what was given back another placement has Karmada's scheduler divide anew.
            let before = past.placement.replace(binding.placement);
            if before.is_some_and(|before| before != binding.placement) {
                past.placed = Some(world.now);
                past.moves_after |= world.acts_on(target).is_some_and(|(_, hpa)| hpa.deleting);
            }
            if past.released.is_some() && before.is_some_and(|before| before != binding.placement) {
                past.released = world.now.checked_sub(AFTERMATH).ok();
            }
            let left = past.leaving.iter().filter(|(cluster, _)| !binding.evicting.contains(*cluster));
            past.late.extend(left.filter(|(_, since)| ended(**since, world)).map(|(cluster, _)| cluster.clone()));
            past.late.retain(|cluster| !binding.entries.contains_key(cluster));
            past.leaving.retain(|cluster, _| binding.evicting.contains(cluster));
            for cluster in &binding.evicting {
                past.leaving.entry(cluster.clone()).or_insert(world.now);
            }
            let entries: BTreeSet<String> = binding.entries.keys().cloned().collect();
            let left: Vec<String> = past.entries.difference(&entries).cloned().collect();
            for cluster in left.into_iter().filter(|cluster| !world.answers(cluster)) {
                past.lose(target, &cluster, binding.purges_at_once, court);
            }
            past.exceed(target, world);
            past.gone.retain(|cluster| !entries.contains(cluster));
            past.entries = entries;
        }
    }

    fn saw_hpa(&mut self, change: &Change<'_>, world: &World) {
        let name = Name::of(change.object());
        let Some(hpa) = world.federated.get(&name) else { return };
        let Some(past) = self.past.get_mut(hpa.workload()) else { return };
        let member = world.members.get(change.place).and_then(|member| member.hpas.get(&name));
        let bounds = member.filter(|hpa| hpa.ours).map(|hpa| hpa.bounds);
        let share = past.shares.entry(change.place.to_owned()).or_default();
        (share.min, share.max) = bounds.map_or((0, i64::MAX), |bounds| (bounds.min, bounds.max));
    }

    fn saw_workload(&mut self, change: &Change<'_>, target: &Target, court: &mut Court<'_>) {
        let past = self.past.entry(target.clone()).or_default();
        let (cluster, world) = (change.place, court.world);
        let there = world.members.get(cluster).and_then(|member| member.workloads.get(target)).copied();
        let after = there.filter(|there| !there.deleting).unwrap_or_default();
        let before = past.shares.get(cluster).copied().unwrap_or_default();
        let removed = (before.ready - after.asked).max(0);
        let by_hpa = is_by_hpa(change) && (after.asked >= before.asked || before.max >= before.asked);
        if after.asked < before.asked && removed > 0 && !by_hpa && past.is_bound(world) {
            if is_wished(change, target, cluster, after, past, world) {
                past.excess = (past.excess - removed).max(0);
                past.share(cluster).demand = before.demand.min(after.asked);
            } else {
                past.remove(target, cluster, after.asked, court);
            }
        }
        let held = past.held;
        let share = past.share(cluster);
        share.ready = after.ready.min(after.asked);
        share.most = share.most.max(share.ready);
        share.demand = match (held, by_hpa) {
            (false, _) => after.asked,
            // Raised to its min it only does what fhpa wrote.
            (true, true) if after.asked > before.asked && after.asked <= before.min => share.demand,
            (true, true) if after.asked > before.asked => after.asked,
            (true, true) => share.demand.min(after.asked),
            (true, false) => share.demand.min(after.asked.max(0)),
        };
        share.asked = after.asked;
        past.pay();
        past.age(target, court);
        past.look_at_lost(target, court);
    }
}

fn ended(since: Timestamp, world: &World) -> bool {
    world.now.duration_since(since) >= PATIENCE - SECOND
}

/// Whether the HPA of the member wrote the replicas.
fn is_by_hpa(change: &Change<'_>) -> bool {
    let Some(after) = change.after else { return false };
    owners(after, &["spec", "replicas"]).iter().any(|owner| owner.subresource == "scale" && !is_ours(owner.manager))
}

/// Whether the user wished for it, or nothing is known of the pods.
fn is_wished(change: &Change<'_>, target: &Target, cluster: &str, after: Workload, past: &Past, world: &World) -> bool {
    let template = world.templates.get(target);
    let Some(template) = template.filter(|template| !template.deleting) else { return true };
    let Some(binding) = world.binding(target) else { return true };
    // Its namespace, its binding or its cluster is deleted, or it was left while it did not answer.
    let gone = binding.deleting || world.clusters.get(cluster).is_none_or(|place| place.deleting);
    let left = past.gone.contains(cluster) || !world.answers(cluster);
    let owners = change.after.map(|after| owners(after, &["spec", "replicas"])).unwrap_or_default();
    let by_us = owners.iter().any(|owner| is_ours(owner.manager));
    let by_user = owners.iter().any(|owner| owner.manager.starts_with("kubectl"));
    let federated = world.federated.values().find(|hpa| hpa.held && hpa.workload() == target);
    let to_zero = by_us && after.asked == 0 && federated.is_some_and(|hpa| hpa.scales_to_zero);
    // The user asks for less than there is.
    let most = federated.map_or(template.asked, |hpa| hpa.bounds.max);
    let duplicated = federated.map_or(!binding.divides, |hpa| world.duplicates(hpa));
    let own = past.shares.get(cluster).map_or(0, |share| share.ready);
    let all: i64 = past.shares.values().map(|share| share.ready).sum();
    // What was divided a moment ago may still be on its way.
    let divided = binding.divided.is_some_and(|until| world.now.duration_since(until) < AFTERMATH);
    let lowered = if duplicated { own > most && after.asked >= most } else { all > most };
    let lowered = lowered || duplicated && divided && all > most;
    let exceeds = world.exceeds_quota(&target.name.namespace);
    gone || left || to_zero || lowered || by_user || exceeds || binding.purges_at_once
}

impl Past {
    /// The user asks for fewer replicas than run: which of them go is not said, and members remove some by themselves.
    fn exceed(&mut self, target: &Target, world: &World) {
        let Some((_, hpa)) = world.acts_on(target).filter(|(_, hpa)| !world.duplicates(hpa)) else { return };
        let all: i64 = self.shares.values().map(|share| share.ready).sum();
        if all > hpa.bounds.max {
            self.excess = self.excess.max(all - hpa.bounds.max);
            self.excess_until = world.now.checked_add(AFTERMATH).ok();
        } else if self.excess_until.is_some_and(|until| world.now > until) {
            self.excess = 0;
        }
    }

    fn share(&mut self, cluster: &str) -> &mut Share {
        self.shares.entry(cluster.to_owned()).or_default()
    }

    /// Whether what happens is still fhpa's doing.
    fn is_bound(&self, world: &World) -> bool {
        self.held || self.released.is_some_and(|since| world.now.duration_since(since) < AFTERMATH)
    }

    /// Has others carry so much of the demand of `cluster`. Returns what nobody carries.
    fn cover(&mut self, cluster: &str, mut demand: i64) -> i64 {
        for (_, share) in self.shares.iter_mut().filter(|(name, _)| *name != cluster) {
            let taken = share.spare().min(demand);
            share.demand += taken;
            demand -= taken;
        }
        demand
    }

    /// What came up since pays for what was removed within the allowance.
    fn pay(&mut self) {
        self.owed = self.cover("", self.owed);
        if self.owed == 0 {
            self.owing.clear();
        }
    }

    /// What is spare for long is no replacement any more, unless a move is under way.
    fn age(&mut self, target: &Target, court: &Court<'_>) {
        let (now, after) = (court.world.now, court.terms.queue + AT_ONCE);
        let assigned = |hpa: &Federated| hpa.condition("Assigned").is_none_or(|assigned| assigned.status == "True");
        let moves = court.world.acts_on(target).is_some_and(|(_, hpa)| !assigned(hpa));
        let moves = moves || !self.leaving.is_empty();
        for share in self.shares.values_mut() {
            if share.spare() == 0 || moves {
                share.spare_since = None;
            } else if now.duration_since(*share.spare_since.get_or_insert(now)) > after {
                share.demand = share.ready;
            }
        }
    }

    /// A decision leaves a cluster with `left` of what it ran.
    fn remove(&mut self, target: &Target, cluster: &str, left: i64, court: &mut Court<'_>) {
        let share = self.share(cluster);
        let moved = (share.demand.min(share.ready) - left).max(0);
        share.demand = share.demand.min(left);
        let all: i64 = self.shares.values().map(|share| share.ready).sum();
        // Each cluster has the whole of it: one may go as long as another serves.
        let world = court.world;
        let divides = || world.binding(target).is_none_or(|binding| binding.divides);
        let duplicates = world.acts_on(target).map_or_else(|| !divides(), |(_, hpa)| world.duplicates(hpa));
        let whole = left == 0 && duplicates;
        let mut others = self.shares.iter().filter(|(name, _)| *name != cluster && court.world.answers(name));
        let served = others.any(|(_, share)| share.ready > 0);
        let uncovered = if whole && served { 0 } else { self.cover(cluster, moved) };
        let excess = if self.excess_until.is_some_and(|until| world.now <= until) { self.excess } else { 0 };
        let beyond = uncovered.min(excess);
        self.excess -= beyond;
        let uncovered = uncovered - beyond;
        self.owed += uncovered;
        if uncovered > 0 {
            self.owing.insert(cluster.to_owned());
        }
        let since = self.leaving.get(cluster);
        // Where nothing can replace it, it leaves without an eviction.
        let gives_up = |placed: Timestamp| {
            let waited = court.world.now.duration_since(placed);
            since.is_none() && left == 0 && waited >= PATIENCE - SECOND && waited <= PATIENCE + AT_ONCE
        };
        let late = self.late.contains(cluster) || since.is_some_and(|since| ended(*since, court.world));
        let late = late || self.placed.is_some_and(gives_up);
        if uncovered > 0 && self.owed > self.allowance(target, court.world) && !late {
            court.breaks(
                format!("{target} in {cluster}"),
                format!(
                    "of {all} ready pods {moved} that are needed are removed, and {uncovered} of them run nowhere else"
                ),
            );
            self.owed = 0;
            self.owing.clear();
        }
    }

    /// What may be away for a moment where max leaves no headroom for both: a quarter of what each cluster ran that
    /// leaves.
    fn allowance(&self, target: &Target, world: &World) -> i64 {
        let Some((_, hpa)) = world.acts_on(target) else { return 0 };
        let asked: i64 = self.shares.values().map(|share| share.asked).sum();
        // One whose first pods went because more ran than max leaves as the others do.
        let leave: BTreeSet<&String> = self.owing.iter().chain(self.leaving.keys()).collect();
        let ran = leave.into_iter().filter_map(|cluster| self.shares.get(cluster)).map(|share| share.most);
        ran.filter(|most| asked + most > hpa.bounds.max).map(|most| (most / 4).max(1)).sum()
    }

    /// A cluster that does not answer is left: the others run what it ran.
    fn lose(&mut self, target: &Target, cluster: &str, at_once: bool, court: &mut Court<'_>) {
        self.gone.insert(cluster.to_owned());
        let share = self.share(cluster);
        let moved = share.demand.min(share.ready);
        (share.demand, share.ready, share.asked) = (0, 0, 0);
        let uncovered = self.cover(cluster, moved);
        let assists = court.world.acts_on(target).is_some_and(|(_, hpa)| hpa.assists && !court.world.duplicates(hpa));
        if uncovered > 0 && assists && !at_once {
            let asked: i64 = self.others(court.world).map(|share| share.asked).sum();
            let since = court.worked;
            self.lost.push(Lost { cluster: cluster.to_owned(), wanted: asked + uncovered, since });
        }
    }

    fn others<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a Share> {
        let in_use =
            move |(cluster, _): &(&'a String, &Share)| world.answers(cluster) && self.entries.contains(*cluster);
        self.shares.iter().filter(in_use).map(|(_, share)| share)
    }

    /// What lost clusters ran is asked of others in time, as far as their bounds and their room go.
    fn look_at_lost(&mut self, target: &Target, court: &mut Court<'_>) {
        let world = court.world;
        let shares: Vec<Share> = self.others(world).copied().collect();
        let asked: i64 = shares.iter().map(|share| share.asked).sum();
        let full = shares.iter().all(|share| share.asked >= share.max || share.ready < share.asked);
        let mine = world.acts_on(target).is_some() && !shares.is_empty();
        let entries = &self.entries;
        self.lost.retain(|lost| mine && !full && asked < lost.wanted && !entries.contains(&lost.cluster));
        let mut late = Vec::new();
        self.lost.retain(|lost| {
            let in_time = court.worked - lost.since <= AT_ONCE;
            if !in_time {
                late.push(lost.clone());
            }
            in_time
        });
        for lost in late {
            court.breaks(
                format!("{target}, which ran in {}", lost.cluster),
                format!("{} were to run elsewhere at once, and {asked} are asked for", lost.wanted),
            );
        }
    }
}
