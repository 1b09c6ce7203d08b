//! Law 8: every workload that was taken over can be handed back, in bounded time, without a change of the user's
//! replicas.
//!
//! Deadlines count only the time in which a controller could act.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::managed::owners;
use super::world::{Federated, Name, Target, int, text};
use super::{Change, Court, Law, is_ours};

#[derive(Default)]
pub struct LetsGo {
    /// Since when, in worked time, each object is to be let go and is not; nothing: told already.
    waiting: BTreeMap<String, Option<SignedDuration>>,
    /// What the members were asked for before, and until when, by cluster and workload.
    earlier: BTreeMap<(String, Target), VecDeque<(Timestamp, i64)>>,
    /// Replicas that are right only by a placement which is no more: they do no harm before the binding is resumed, which
    /// needs a look at it.
    outdated: BTreeMap<Target, (i64, String)>,
}

/// An object that became Centralized replaces clusters that leave first, for as long as a replacement may take.
const REPLACEMENT: SignedDuration = SignedDuration::from_mins(10);
/// How it is called.
const CENTRALIZED: &str = "which is Centralized";
/// Between the question to the members and the write that hands their replicas back.
const ASKED: SignedDuration = SignedDuration::from_secs(5);
/// Earlier replicas that are remembered.
const EARLIER: usize = 8;

impl Law for LetsGo {
    fn name(&self) -> &'static str {
        "8 (always lets go)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if change.in_control() {
            self.saw_replicas(change, court);
        } else {
            self.saw_asked(change, court);
        }
        self.look(court);
    }

    fn passed(&mut self, court: &mut Court<'_>) {
        self.look(court);
    }
}

impl LetsGo {
    fn look(&mut self, court: &mut Court<'_>) {
        self.look_at_outdated(court);
        let held = due(court);
        self.waiting.retain(|what, _| held.contains(what));
        let mut late = Vec::new();
        for what in held {
            let since = self.waiting.entry(what.clone()).or_insert(Some(court.worked));
            let replaces = if what.ends_with(CENTRALIZED) { REPLACEMENT } else { SignedDuration::ZERO };
            // What hands it back passes Karmada's queue.
            let limit = court.terms.release + replaces + court.terms.queue;
            if since.is_some_and(|since| court.worked - since > limit) {
                *since = None;
                late.push((what, limit));
            }
        }
        for (what, limit) in late {
            court.breaks(what, format!("it was not let go within {limit}"));
        }
    }

    fn saw_asked(&mut self, change: &Change<'_>, court: &Court<'_>) {
        let Some((before, after)) = change.before.zip(change.after) else { return };
        let replicas = |object| int(object, "/spec/replicas");
        let (Some(was), true) = (replicas(before), replicas(before) != replicas(after)) else { return };
        let target = Target { kind: format!("{} {}", text(after, "/apiVersion"), change.kind), name: Name::of(after) };
        let earlier = self.earlier.entry((change.place.to_owned(), target)).or_default();
        earlier.push_back((court.world.now, was));
        if earlier.len() > EARLIER {
            earlier.pop_front();
        }
    }

    fn look_at_outdated(&mut self, court: &mut Court<'_>) {
        let world = court.world;
        let stays = |target: &Target| world.binding(target).is_some_and(|binding| binding.suspended);
        let resumed: Vec<Target> = self.outdated.keys().filter(|target| !stays(target)).cloned().collect();
        for target in resumed {
            let Some((given, why)) = self.outdated.remove(&target) else { continue };
            let asks = world.templates.get(&target).map(|template| template.asked);
            if world.binding(&target).is_some() && asks == Some(given) {
                court.breaks(&target, why);
            }
        }
    }

    /// A template is given back with what its members are asked for.
    fn saw_replicas(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let Some((before, after)) = change.before.zip(change.after) else { return };
        let replicas = |object| int(object, "/spec/replicas");
        if after.pointer("/spec/template").is_none() || replicas(before) == replicas(after) {
            return;
        }
        let owners = owners(after, &["spec", "replicas"]);
        // Cron rules set what the user says.
        if !owners.iter().any(|owner| is_ours(owner.manager) && !owner.manager.starts_with("fhpa-cron")) {
            return;
        }
        let kind = format!("{} {}", text(after, "/apiVersion"), change.kind);
        let target = Target { kind, name: Name::of(after) };
        let given = replicas(after).unwrap_or_default();
        let world = court.world;
        // In Centralized mode the replicas are computed; while a workload is held it is handed back.
        let centralized = |hpa: &Federated| hpa.centralized && !hpa.held && !hpa.deleting && hpa.target == target;
        if world.federated.values().any(centralized) {
            return;
        }
        let Some(binding) = world.binding(&target) else { return };
        // One that does not have the workload yet is asked for what it is about to get.
        let has =
            |cluster: &String| world.members.get(cluster).is_some_and(|member| member.workloads.contains_key(&target));
        let clusters = binding.entries.iter().filter(|(cluster, _)| world.answers(cluster));
        let asked: Vec<(i64, i64)> = clusters
            .map(|(cluster, replicas)| {
                let now = if has(cluster) { world.workload(cluster, &target).asked } else { *replicas };
                // The member's own HPA may have moved on since the members were asked.
                let earlier = self.earlier.get(&(cluster.clone(), target.clone())).into_iter().flatten();
                let lately = earlier.filter(|(until, _)| world.now.duration_since(*until) <= ASKED);
                lately.fold((now, now), |(low, high), (_, asked)| (low.min(*asked), high.max(*asked)))
            })
            .collect();
        let silent = binding.entries.keys().any(|cluster| !world.answers(cluster));
        let wrong = |divides: bool| {
            let whole = |asked: Vec<i64>| {
                if divides { asked.iter().sum() } else { asked.iter().copied().max().unwrap_or_default() }
            };
            let low: i64 = whole(asked.iter().map(|(low, _)| *low).collect());
            let high: i64 = whole(asked.iter().map(|(_, high)| *high).collect());
            given < low || given > high && !silent
        };
        self.outdated.remove(&target);
        let lost = given == 0 && replicas(before) != Some(0) && asked.is_empty();
        if !lost && !wrong(binding.divides) {
            return;
        }
        let was = replicas(before);
        let why = format!("its replicas were set from {was:?} to {given}, and its members are asked for {asked:?}");
        if binding.suspended && !lost && !wrong(!binding.divides) {
            self.outdated.insert(target, (given, why));
        } else {
            court.breaks(change.about(), why);
        }
    }
}

/// What is to be let go now.
fn due(court: &Court<'_>) -> Vec<String> {
    let world = court.world;
    let mut held = Vec::new();
    // That a workload was handed back can be noted in its object only while the webhook answers.
    let holds = |name: &Name, hpa: &Federated| {
        world.reviews
            || world.binding(hpa.workload()).is_some_and(|binding| binding.suspended)
            || world.sent.values().any(|sent| sent.owner == *name && !sent.deleting)
    };
    for (name, hpa) in world.federated.iter().filter(|(_, hpa)| hpa.held) {
        let acts = !hpa.suspends && holds(name, hpa);
        if hpa.deleting {
            held.push(format!("FederatedHPA {name}, which is deleted"));
        } else if acts && hpa.centralized {
            held.push(format!("FederatedHPA {name}, {CENTRALIZED}"));
        } else if acts && hpa.taken.as_ref().is_some_and(|taken| *taken != hpa.target) {
            held.push(format!("FederatedHPA {name}, which scales {} now", hpa.target));
        }
    }
    for (name, binding) in world.bindings.iter().filter(|(_, binding)| binding.suspended && !binding.deleting) {
        let served = |hpa: &&Federated| {
            hpa.workload() == &binding.target || (hpa.target == binding.target && !hpa.deleting && !hpa.centralized)
        };
        if !world.federated.values().any(|hpa| served(&hpa)) {
            held.push(format!("ResourceBinding {name}, which is suspended and which no FederatedHPA acts on"));
        }
    }
    for (name, sent) in world.sent.iter().filter(|(_, sent)| !sent.deleting) {
        if !world.federated.contains_key(&sent.owner) {
            held.push(format!("Work {name}, whose FederatedHPA {} is gone", sent.owner));
        }
    }
    held
}
