//! Law 3: no decision removes a ready pod unless its replacement is ready elsewhere, and other clusters run the
//! replicas of a lost cluster at once.
//!
//! For each cluster the ledger keeps the *demand of load and users*: the replicas at takeover, and the changes by its
//! own HPA since then. Further ready replicas are spare: fhpa raised them. A removal is a write that requests fewer
//! replicas of a member's workload than are ready, or that deletes it, while a FederatedHPA holds the workload and for
//! a while after. It is covered by spare replicas in other clusters, which serve that demand from then on, so that a
//! pod replaces one only. Unused spare pods become demand after a while.
//!
//! Tolerated: a replacement that was ready when the cluster left, and that others' own HPAs shrank while Karmada's
//! queue held the deletion back; the member's own HPA, within bounds that allow the demand or that another client
//! wrote; the user's `maxReplicas`, or upper threshold of a cluster, below the ready replicas; `scalingToZero`; a
//! workload, a namespace or an object that the user deleted; the purge mode `Directly`; a cluster that did not answer
//! when it left, or before its workload was deleted, which happens after it is back, even where it got a share again;
//! of a lost cluster, what Karmada did not tell, and what the others added since it stopped to answer; what was divided
//! before the workload was taken over, or after it was to be given back; the same for a cluster that Karmada's own
//! division left out before a FederatedHPA held the workload, or leaves out of a Duplicated one that was handed back;
//! what the other clusters of a Duplicated workload may not run, each at `maxReplicas`; a quarter of the replicas of
//! each leaving cluster where `maxReplicas` leaves no headroom; the end of the time limit of a replacement, also of one
//! after a takeover, a taint, a label or a change of mode; what a member's HPA added since the workload was Duplicated,
//! while the maxes of all clusters come down, or since nobody can act who would raise a lower max again that Karmada's
//! queue holds back; pods while the workloads of the namespace exceed a FederatedResourceQuota, which makes Karmada
//! refuse every division of them, but for a release.

mod past;
mod share;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use self::past::PodHistory;
use super::managed::owners;
use super::world::{Bounds, Name, Target, World};
use super::{Change, Court, Law, is_ours};

/// After a release Karmada's scheduler may still do what follows from it.
const AFTERMATH: SignedDuration = SignedDuration::from_secs(60);
/// Longest time that a cluster is waited for that leaves: after it, it leaves all the same.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
/// Until what a member's HPA did is reported.
const REPORTED: SignedDuration = SignedDuration::from_secs(5);
/// Times of an eviction are stored in whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// Between the loss of a cluster and the replicas that others are asked for.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(60);

/// Who writes the replicas that a cron rule sets.
const CRON: &str = "fhpa-cron-scale";

#[derive(Default)]
pub struct Pods {
    past: BTreeMap<Target, PodHistory>,
}

impl Law for Pods {
    fn name(&self) -> &'static str {
        "3 (pods)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let world = court.world;
        if change.in_control() {
            match change.kind {
                // One that begins to hold a workload writes its HPAs, or suspends its binding.
                "FederatedHPA" | "Work" => self.saw_federated(world),
                "ResourceBinding" => {
                    self.saw_federated(world);
                    self.saw_binding(court);
                }
                "Cluster" => self.saw_cluster(&change.object()["metadata"]["name"], world),
                _ => self.saw_template(change, world),
            }
            return;
        }
        if change.kind == "HorizontalPodAutoscaler" {
            self.saw_hpa(change, court);
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
            past.keep_excess(court.world);
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
            let acting = world.acts_on(target);
            let held = acting.is_some_and(|(owner, _)| past.held || has_begun(owner, target, world));
            if let Some((_, hpa)) = acting {
                past.fail(hpa, world.now);
                past.switched = if hpa.centralized { past.switched.or(Some(world.now)) } else { None };
            }
            // One that nobody ever held was not released.
            let since = if past.divides_anew { world.now.checked_sub(AFTERMATH).ok() } else { Some(world.now) };
            past.released = if held { None } else { past.released.or(since.filter(|_| past.held)) };
            past.exceed(target, world);
            if held && !past.held {
                past.taken = Some(world.now);
                // What runs by now was asked for by users.
                past.owed = 0;
                for share in past.shares.values_mut() {
                    share.demand = share.asked;
                }
            }
            past.held = held;
        }
    }

    /// Other replicas of a released workload, by the user, by a cron rule or by its FederatedHPA in Centralized mode,
    /// are divided anew by Karmada's scheduler. Where the user deletes it, members lose what they run.
    fn saw_template(&mut self, change: &Change<'_>, world: &World) {
        let object = change.object();
        let kind = format!("{} {}", super::world::text(object, "/apiVersion"), change.kind);
        let target = Target { kind, name: Name::of(object) };
        let replicas =
            |object: Option<&serde_json::Value>| object.and_then(|object| super::world::int(object, "/spec/replicas"));
        let by_us = change.after.map(|after| owners(after, &["spec", "replicas"])).unwrap_or_default();
        let by_us = by_us.iter().any(|owner| is_ours(owner.manager) && owner.manager != CRON);
        let centralized = world.federated.values().any(|hpa| hpa.centralized && !hpa.deleting && hpa.target == target);
        let Some(past) = self.past.get_mut(&target) else { return };
        if change.after.is_none_or(fhpa::playground::json::deleting) {
            past.deleted = past.shares.iter().filter(|(_, it)| it.asked > 0).map(|(name, _)| name.clone()).collect();
        }
        if past.released.is_some() && (!by_us || centralized) && replicas(change.before) != replicas(change.after) {
            past.released = world.now.checked_sub(AFTERMATH).ok();
        }
    }

    /// One that is evicted, or left a moment ago, and stops to answer has failed: what it runs is not known to carry
    /// anything.
    fn saw_cluster(&mut self, name: &serde_json::Value, world: &World) {
        let Some(name) = name.as_str() else { return };
        if world.answers(name) {
            for past in self.past.values_mut() {
                past.others_then.remove(name);
            }
            return;
        }
        for (target, past) in &mut self.past {
            let others = past.others_of(target, name, world);
            past.others_then.entry(name.to_owned()).or_insert(others);
            let left = past.held && !past.entries.contains(name) && past.shares.contains_key(name);
            if left || past.leaving.contains_key(name) {
                past.gone.insert(name.to_owned(), world.now);
            }
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
            }
            past.divides_anew = !binding.suspended && (past.divides_anew || !binding.applied);
            if past.released.is_some() && before.is_some_and(|before| before != binding.placement) {
                past.released = world.now.checked_sub(AFTERMATH).ok();
            }
            let left = past.leaving.iter().filter(|(cluster, _)| !binding.evicting.contains(*cluster));
            past.late.extend(left.filter(|(_, since)| ended(**since, world)).map(|(cluster, _)| cluster.clone()));
            past.late.retain(|cluster| !binding.entries.contains_key(cluster));
            let were: BTreeSet<String> = past.entries.iter().chain(past.leaving.keys()).cloned().collect();
            past.leaving.retain(|cluster, _| binding.evicting.contains(cluster));
            for cluster in &binding.evicting {
                past.leaving.entry(cluster.clone()).or_insert(world.now);
            }
            let entries: BTreeSet<String> = binding.entries.keys().cloned().collect();
            let left: Vec<String> = past.entries.difference(&entries).cloned().collect();
            for cluster in left {
                if !past.is_bound(world) {
                    past.gone.insert(cluster.clone(), world.now);
                }
                if !world.answers(&cluster) {
                    past.lose(target, &cluster, binding, court);
                }
            }
            past.replace(were, &entries, &binding.evicting);
            past.exceed(target, world);
            let was = &past.entries;
            let stays = |cluster: &String| entries.contains(cluster) && was.contains(cluster);
            let out = past.gone.iter_mut().filter(|(cluster, _)| !stays(cluster));
            out.for_each(|(_, since)| *since = world.now);
            past.entries = entries;
        }
    }

    fn saw_hpa(&mut self, change: &Change<'_>, court: &Court<'_>) {
        let (world, queue) = (court.world, court.terms.queue);
        let name = Name::of(change.object());
        let Some(hpa) = world.federated.get(&name) else { return };
        let Some(past) = self.past.get_mut(hpa.workload()) else { return };
        let member = world.members.get(change.place).and_then(|member| member.hpas.get(&name));
        let bounds = member.filter(|hpa| hpa.ours).map(|hpa| hpa.bounds);
        // What another client bent is no decision: pods that go by it, its own HPA removes.
        let bent = |bounds: Bounds| world.is_bent(&name, change.place, bounds.max);
        if world.sent(&name, change.place).is_some() && bounds.is_some_and(bent) {
            return;
        }
        let share = past.shares.entry(change.place.to_owned()).or_default();
        (share.min, share.max) = bounds.map_or((0, i64::MAX), |bounds| (bounds.min, bounds.max));
        // Whoever wrote the lower max did not know what the member's HPA had added in that moment, and nobody raises it
        // again who cannot act while Karmada's queue holds it back. After Duplicated the max cannot be raised again for
        // it before those of all clusters are down. Both writes, the lower max and the one after it, pass Karmada's
        // queue, and wait for clusters that do not answer.
        let back = world.clusters.values().filter_map(|place| place.since).max();
        let down = |copied: &Timestamp| world.now.duration_since(back.map_or(*copied, |back| back.max(*copied)));
        let divided = hpa.copied.filter(|copied| down(copied) < AFTERMATH + queue * 2);
        if let Some(raised) = share.raised.filter(|_| share.asked > share.max)
            && (court.worked - raised.worked < REPORTED || divided.is_some_and(|copied| raised.at >= copied))
        {
            share.demand = share.demand.min(share.max.max(share.asked - raised.by));
        }
    }

    fn saw_workload(&mut self, change: &Change<'_>, target: &Target, court: &mut Court<'_>) {
        let past = self.past.entry(target.clone()).or_default();
        let (cluster, world) = (change.place, court.world);
        let there = world.members.get(cluster).and_then(|member| member.workloads.get(target)).copied();
        let after = there.filter(|there| !there.deleting).unwrap_or_default();
        let before = past.shares.get(cluster).copied().unwrap_or_default();
        let removed = (before.ready - after.asked).max(0);
        if world.exceeds_quota(&target.name.namespace, Some((target, before.asked - after.asked))) {
            past.over_quota = Some(world.now);
        }
        let scaled = is_by_hpa(change);
        let by_hpa = scaled && (after.asked >= before.asked || before.max >= before.asked);
        // A lowered max removes what is above it. What goes below it as well, the load or another scaler removes.
        let left = if scaled { after.asked.max(before.max.min(before.asked)) } else { after.asked };
        if after.asked < before.asked && removed > 0 && !by_hpa && past.is_bound(world) {
            // The user deleted it, even where it was made anew before Karmada's queue came to that.
            let deleted = there.is_none_or(|there| there.deleting) && past.deleted.contains(cluster);
            if deleted || is_wished(change, target, cluster, left, past, world) {
                if past.excess > 0 {
                    past.exceeded.insert(cluster.to_owned());
                }
                past.excess = (past.excess - removed).max(0);
                past.share(cluster).demand = before.demand.min(after.asked);
            } else {
                past.remove(target, cluster, left, court);
            }
        }
        if scaled && after.asked < left {
            past.fall(left - after.asked, world.now);
            if after.asked < before.min {
                past.cut(left - after.asked, world.now);
            }
        }
        if there.is_none() {
            past.gone.remove(cluster);
            past.replaced.remove(cluster);
            past.deleted.remove(cluster);
        }
        let to_leave = |entry: &String| world.acts_on(target).is_some_and(|(_, hpa)| hpa.leaves(entry));
        let (held, leaves) = (past.held, !past.leaving.is_empty() || past.entries.iter().any(to_leave));
        let sent = world.acts_on(target).and_then(|(owner, _)| world.sent(owner, cluster));
        let least = before.min.max(sent.map_or(0, |sent| sent.bounds.min));
        past.share(cluster).change((before, after), (world.now, court.worked), (held, by_hpa, leaves), least);
        past.pay();
        past.age(target, court);
        past.look_at_lost(target, court);
    }
}

/// Whether a workload was taken over by the FederatedHPA that has the finalizer for it: before its first HPA is written
/// and Karmada's scheduler suspended, both go on as if it were not there.
fn has_begun(owner: &Name, target: &Target, world: &World) -> bool {
    let writes = || world.sent.values().any(|sent| sent.owner == *owner && !sent.deleting);
    world.binding(target).is_none_or(|binding| binding.suspended) || writes()
}

/// Whether the longest wait is over that began then, also by a clock that jumped meanwhile: fhpa begins it anew only
/// where it sees that its own wall clock went ahead of its steady one, and the clock here is told.
fn ended(since: Timestamp, world: &World) -> bool {
    world.now.duration_since(since) + world.ahead_since(since) >= PATIENCE - SECOND
}

/// Whether the HPA of the member wrote the replicas.
fn is_by_hpa(change: &Change<'_>) -> bool {
    let Some(after) = change.after else { return false };
    owners(after, &["spec", "replicas"]).iter().any(|owner| owner.subresource == "scale" && !is_ours(owner.manager))
}

/// Whether the user wished for it that a cluster is left with `left`, or nothing is known of the pods.
fn is_wished(change: &Change<'_>, target: &Target, cluster: &str, left: i64, past: &PodHistory, world: &World) -> bool {
    let template = world.templates.get(target);
    let Some(template) = template.filter(|template| !template.deleting) else { return true };
    let Some(binding) = world.binding(target) else { return true };
    // Its namespace, its binding or its cluster is deleted, or it was left while it did not answer.
    let gone = binding.deleting || world.clusters.get(cluster).is_none_or(|place| place.deleting);
    let away = past.is_gone(cluster, world.now) || !world.answers(cluster);
    let owners = change.after.map(|after| owners(after, &["spec", "replicas"])).unwrap_or_default();
    let by_us = owners.iter().any(|owner| is_ours(owner.manager));
    let by_user = owners.iter().any(|owner| owner.manager.starts_with("kubectl"));
    let federated = world.federated.values().find(|hpa| hpa.held && hpa.workload() == target);
    let to_zero = by_us && left == 0 && federated.is_some_and(|hpa| hpa.scales_to_zero);
    // The user asks for less than there is.
    let most = federated.map_or(template.asked, |hpa| hpa.bounds.max);
    let duplicated = federated.map_or(!binding.divides, |hpa| world.duplicates(hpa));
    let own = past.shares.get(cluster).map_or(0, |share| share.ready);
    let all: i64 = past.shares.values().map(|share| share.ready).sum();
    // What was divided a moment ago may still be on its way.
    let divided = binding.divided.is_some_and(|until| world.now.duration_since(until) < AFTERMATH);
    let lowered = if duplicated { own > most && left >= most } else { all > most };
    let mut thresholds = federated.iter().flat_map(|hpa| &hpa.thresholds);
    let lowered = lowered || thresholds.any(|most| own > *most && left >= *most);
    let lowered = lowered || duplicated && divided && all > most;
    // What a quota refuses of a release stays as it runs.
    let releases = federated.is_none_or(|hpa| hpa.deleting || hpa.centralized);
    let exceeds = !releases && past.over_quota.is_some_and(|at| world.now.duration_since(at) < REPORTED);
    gone || away || to_zero || lowered || by_user || exceeds || binding.purges_at_once
}
