//! Law 3, for the min of a cluster that leaves: while its entry stays, because what it runs is not ready elsewhere, its
//! HPA may not be allowed to remove what only the min holds.

use super::world::{World, sent};
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
        let Some(hpa) = court.world.federated.get(&after.owner).filter(|hpa| hpa.held && !hpa.deleting) else { return };
        let told = hpa.desired.get(&after.cluster);
        let leaves = !hpa.desired.is_empty() && told.is_none_or(|bounds| bounds.max == 0);
        let target = hpa.workload();
        let stays = |world: &World| {
            world
                .binding(target)
                .is_some_and(|binding| binding.suspended && binding.entries.contains_key(&after.cluster))
        };
        let ready = court.world.workload(&after.cluster, target).ready;
        if leaves && stays(court.world) && court.world.answers(&after.cluster) && ready > after.bounds.min {
            let why = format!(
                "{} leaves with {ready} ready, and its HPA goes from {} to {}",
                after.cluster, before.bounds, after.bounds
            );
            court.breaks(change.about(), why);
        }
    }
}
