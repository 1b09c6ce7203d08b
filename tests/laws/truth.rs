//! Law 9: status never claims more than is known.
//!
//! It may be late by [`super::Terms::telling`] of the time in which a controller could act.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::world::{Bounds, Desired, Federated, Name, World};
use super::{Change, Court, Law};

/// How an untruth ends that Karmada told.
const AS_TOLD: &str = "as Karmada tells it";
/// For so long Karmada may tell of an HPA that is gone, and not create it again: its queue is so late.
const LATE: SignedDuration = SignedDuration::from_mins(3);

#[derive(Default)]
pub struct TellsTheTruth {
    /// Since when, in worked time, each untruth is told; nothing: that was noted.
    untrue: BTreeMap<(Name, &'static str), Option<SignedDuration>>,
}

impl Law for TellsTheTruth {
    fn name(&self) -> &'static str {
        "9 (tells the truth)"
    }

    fn saw(&mut self, _: &Change<'_>, court: &mut Court<'_>) {
        self.look(court);
    }

    fn passed(&mut self, court: &mut Court<'_>) {
        self.look(court);
    }
}

impl TellsTheTruth {
    fn look(&mut self, court: &mut Court<'_>) {
        let mut found = BTreeMap::new();
        for (name, hpa) in court.world.federated.iter().filter(|(_, hpa)| hpa.held && !hpa.deleting) {
            for (what, why) in untruths(name, hpa, court.world) {
                found.insert((name.clone(), what), why);
            }
        }
        self.untrue.retain(|key, _| found.contains_key(key));
        for (key, why) in found {
            let since = self.untrue.entry(key.clone()).or_insert(Some(court.worked));
            let most = court.terms.telling + if key.1.ends_with(AS_TOLD) { LATE } else { SignedDuration::ZERO };
            if since.is_some_and(|since| court.worked - since > most) {
                *since = None;
                court.breaks(format!("FederatedHPA {}", key.0), format!("{} for {most}: {why}", key.1));
            }
        }
    }
}

/// What the status says now that is not so.
fn untruths(name: &Name, hpa: &Federated, world: &World) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let holds = |kind| hpa.condition(kind).is_some_and(|condition| condition.status == "True");
    let wanted = hpa.desired.iter().filter(|(_, desired)| desired.bounds.max > 0);
    let in_force: Vec<(&str, String)> = wanted
        .filter_map(|(cluster, desired)| {
            let bounds = desired.bounds;
            let there = world.members.get(cluster).and_then(|member| member.hpas.get(name));
            let there = there.filter(|there| there.ours && !there.deleting);
            match there {
                None => Some((cluster.as_str(), format!("{cluster} has no HPA"))),
                Some(there) if there.bounds != bounds && there.bounds != helping(desired) => {
                    Some((cluster.as_str(), format!("the HPA of {cluster} is {}, not {bounds}", there.bounds)))
                }
                Some(_) => None,
            }
        })
        .collect();
    if holds("Ready") {
        // Whether they are in force is what Assigned says.
        // What is missing in a cluster that is cut off is known once Karmada sees that it is.
        for (cluster, why) in in_force.iter().filter(|(_, why)| why.ends_with("has no HPA")) {
            let what = match (world.answers(cluster), is_told(name, cluster, world)) {
                (true, false) => "Ready=True is said",
                (true, true) => "Ready=True is said as Karmada tells it",
                (false, _) => "Ready=True is said while it is down",
            };
            found.push((what, why.clone()));
        }
        let without = hpa.desired.iter().find(|(cluster, desired)| {
            let target =
                world.members.get(*cluster).is_some_and(|member| member.workloads.contains_key(hpa.workload()));
            desired.bounds.max > 0 && world.answers(cluster) && !target
        });
        if let Some((cluster, _)) = without {
            found.push(("Ready=True is said", format!("{cluster} has no {}", hpa.workload())));
        }
    }
    if holds("Assigned") {
        // Bounds that go on shrinking with what runs are told with the shares.
        let answers = |cluster: &str| world.answers(cluster);
        let waits =
            |cluster: &str| hpa.desired.get(cluster).is_some_and(|one| runs_more(cluster, one.bounds.max, hpa, world));
        for (cluster, why) in in_force.iter().filter(|(cluster, _)| answers(cluster) && !waits(cluster)) {
            let as_told = why.ends_with("has no HPA") && is_told(name, cluster, world);
            let what = if as_told { "Assigned=True is said as Karmada tells it" } else { "Assigned=True is said" };
            found.push((what, why.clone()));
        }
    }
    if hpa.is_current && holds("Ready") {
        let binding = world.binding(hpa.workload()).cloned().unwrap_or_default();
        let entries = &binding.entries;
        let mut clusters = entries.keys();
        if clusters.all(|cluster| world.answers(cluster)) {
            let runs: i64 = entries.keys().map(|cluster| world.workload(cluster, hpa.workload()).asked).sum();
            let steady = entries.keys().all(|cluster| {
                let there = world.workload(cluster, hpa.workload());
                there.asked == there.ready
            });
            // Nobody can say what Karmada did not tell.
            let told: i64 = entries.keys().filter_map(|cluster| binding.told.get(cluster)).sum();
            if steady && runs != hpa.current && told != hpa.current {
                found.push(("currentReplicas is wrong", format!("{} is said, {runs} run", hpa.current)));
            }
        }
    }
    found
}

/// Whether Karmada tells of the HPA in the cluster.
fn is_told(name: &Name, cluster: &str, world: &World) -> bool {
    world.sent(name, cluster).is_some_and(|sent| sent.told)
}

/// The bounds of a cluster that helps and cannot be written to.
fn helping(Desired { bounds, helps, .. }: &Desired) -> Bounds {
    Bounds { min: bounds.min.max(*helps).min(bounds.max), ..*bounds }
}

fn runs_more(cluster: &str, max: i64, hpa: &Federated, world: &World) -> bool {
    world.workload(cluster, hpa.workload()).asked > max
}
