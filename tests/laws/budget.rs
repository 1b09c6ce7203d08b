//! Law 2: the sum of the member HPAs never exceeds `spec.maxReplicas`.
//!
//! Tolerated: Duplicated; a sum from before max was lowered, as long as no bound is raised; a raise that was written
//! when max was greater and is still in flight, for as long as the object is suspended or no cluster serves also one to a
//! cluster that did not answer; the bounds of a cluster that does not answer and whose Work is gone, which are given to others until the
//! member's HPA is also gone, or is written again; an HPA that another client edited or deleted in the member counts
//! with the bounds of its Work.

use std::collections::{BTreeMap, BTreeSet};

use fhpa::controller::request::PATIENCE;
use jiff::SignedDuration;

use super::world::{Bounds, Name, World, address};
use super::{Change, Court, Law};

/// Between a write of spec and the last write of a leader that did not know of it: one that is well sees it within 5 s,
/// and what it sent before is on its way for as long as a request may take.
const SEEN: SignedDuration = SignedDuration::from_secs(5 + PATIENCE.as_secs().cast_signed());

#[derive(Default)]
pub struct Budget {
    /// Clusters whose bounds others have, by FederatedHPA.
    given_up: BTreeSet<(Name, String)>,
    /// Greatest max of each member's HPA and each Work as they were before.
    max: BTreeMap<(Name, String), (i64, i64)>,
}

impl Law for Budget {
    fn name(&self) -> &'static str {
        "2 (budget)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let name = Name::of(change.object());
        match change.kind {
            "HorizontalPodAutoscaler" if !change.in_control() => self.saw_hpa(&name, change.place, court),
            "Work" if change.in_control() => {
                let sent = court.world.sent.get(&name).cloned();
                let Some((owner, cluster)) = address(change.object()) else { return };
                self.give_up(court.world);
                self.saw_work(&owner, &cluster, sent.map(|sent| sent.bounds), court);
            }
            "Cluster" | "FederatedHPA" if change.in_control() => self.give_up(court.world),
            _ => {}
        }
    }
}

impl Budget {
    /// A cluster that does not answer is given up when the status has no share for it, or its Work is gone.
    fn give_up(&mut self, world: &World) {
        for (cluster, member) in world.members.iter().filter(|(cluster, _)| !world.answers(cluster)) {
            for (name, _) in member.hpas.iter().filter(|(_, hpa)| hpa.ours) {
                let unsent = world.sent(name, cluster).is_none_or(|sent| sent.deleting);
                if unsent || world.federated.get(name).is_some_and(|hpa| hpa.leaves(cluster)) {
                    self.given_up.insert((name.clone(), cluster.clone()));
                }
            }
        }
        // A Work that such a cluster never applied is given up, too.
        for sent in world.sent.values().filter(|sent| !world.answers(&sent.cluster)) {
            if world.federated.get(&sent.owner).is_some_and(|hpa| hpa.leaves(&sent.cluster)) {
                self.given_up.insert((sent.owner.clone(), sent.cluster.clone()));
            }
        }
    }

    fn saw_hpa(&mut self, name: &Name, cluster: &str, court: &mut Court<'_>) {
        let world = court.world;
        let hpa = world.members.get(cluster).and_then(|member| member.hpas.get(name));
        let hpa = hpa.filter(|hpa| hpa.ours && !hpa.deleting);
        let now = hpa.map_or(0, |hpa| hpa.bounds.max);
        let key = (name.clone(), cluster.to_owned());
        let stands = world.sent(name, cluster).is_some_and(|sent| !sent.deleting);
        let bent = if now > 0 { world.is_bent(name, cluster, now) } else { stands };
        let known = self.max.entry(key.clone()).or_default();
        let raised = now > known.0 && !bent;
        let changed = now != known.0;
        // What another client bent or deleted, Karmada puts back as it was.
        if !bent {
            known.0 = now;
        }
        if changed && world.answers(cluster) {
            self.given_up.remove(&key);
        }
        let Some(hpa) = world.federated.get(name).filter(|_| raised) else { return };
        let allowed = hpa.most_since(world.now, court.terms.queue);
        let sum: i64 = self.in_effect(name, world).values().sum();
        if sum > allowed && !world.duplicates(hpa) {
            let all = show(&self.in_effect(name, world));
            court.breaks(
                format!("FederatedHPA {name}, HPA in {cluster}"),
                format!("its max was raised to {now}, and the members allow {sum} of {allowed}: {all}"),
            );
        }
    }

    /// A raise is written only when it fits next to all that is in effect or on its way.
    fn saw_work(&mut self, owner: &Name, cluster: &str, bounds: Option<Bounds>, court: &mut Court<'_>) {
        let world = court.world;
        let max = bounds.map_or(0, |bounds| bounds.max);
        let known = self.max.entry((owner.clone(), cluster.to_owned())).or_default();
        let raised = max > known.1;
        known.1 = max;
        let Some(hpa) = world.federated.get(owner).filter(|_| raised) else { return };
        let mut all = self.in_effect(owner, world);
        for sent in world.sent.values().filter(|sent| sent.owner == *owner && !sent.deleting) {
            if self.counts(owner, &sent.cluster) {
                let max = all.entry(sent.cluster.clone()).or_default();
                *max = (*max).max(sent.bounds.max);
            }
        }
        let allowed = hpa.most_since(world.now, SEEN);
        let sum: i64 = all.values().sum();
        if sum > allowed && !world.duplicates(hpa) {
            court.breaks(
                format!("FederatedHPA {owner}, Work for {cluster}"),
                format!(
                    "a max of {max} was written before it fits: {} may be in effect, {sum} of {allowed}",
                    show(&all)
                ),
            );
        }
    }

    fn counts(&self, owner: &Name, cluster: &str) -> bool {
        !self.given_up.contains(&(owner.clone(), cluster.to_owned()))
    }

    /// Max of each member's HPA that counts.
    fn in_effect(&self, owner: &Name, world: &World) -> BTreeMap<String, i64> {
        let of = |(cluster, member): (&String, &super::world::Member)| {
            let hpa = member.hpas.get(owner).filter(|hpa| hpa.ours && !hpa.deleting)?;
            let bent = world.is_bent(owner, cluster, hpa.bounds.max);
            let said = world.sent(owner, cluster).filter(|_| bent).map_or(hpa.bounds.max, |sent| sent.bounds.max);
            self.counts(owner, cluster).then(|| (cluster.clone(), said))
        };
        world.members.iter().filter_map(of).collect()
    }
}

fn show(all: &BTreeMap<String, i64>) -> String {
    all.iter().map(|(cluster, max)| format!("{cluster} {max}")).collect::<Vec<_>>().join(", ")
}
