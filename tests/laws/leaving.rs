//! Law 3, for the min of a cluster that leaves: while its entry stays, because what it runs is not ready elsewhere, its
//! HPA may not be allowed to remove what only the min holds.

use super::world::sent;
use super::{Change, Court, Law};

#[derive(Default)]
pub struct KeepsTheMinOfWhatLeaves;

impl Law for KeepsTheMinOfWhatLeaves {
    fn name(&self) -> &'static str {
        "3 (min of what leaves)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if !change.in_control() || change.kind != "Work" {
            return;
        }
        let Some((before, after)) = change.before.and_then(sent).zip(change.after.and_then(sent)) else { return };
        let least = before.bounds.min.min(after.bounds.max);
        if after.deleting || after.bounds.min >= least {
            return;
        }
        let world = court.world;
        let Some(hpa) = world.federated.get(&after.owner).filter(|hpa| hpa.held && !hpa.deleting) else { return };
        let (target, cluster) = (hpa.workload(), &after.cluster);
        let binding = world.binding(target).filter(|binding| binding.suspended);
        let stays = binding.is_some_and(|binding| binding.entries.contains_key(cluster));
        let ready = world.workload(cluster, target).ready;
        if hpa.leaves(cluster) && stays && world.answers(cluster) && ready > after.bounds.min {
            let why = format!(
                "{cluster} leaves with {ready} ready, and its HPA goes from {} to {}",
                before.bounds, after.bounds
            );
            court.breaks(change.about(), why);
        }
    }
}
