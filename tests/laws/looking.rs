//! Law 7: a workload, its binding and Karmada's interpreter are not written before it is known that the workload can be
//! scaled.

use super::world::Name;
use super::{Change, Court, Law};

#[derive(Default)]
pub struct LooksBeforeItTakes;

impl Law for LooksBeforeItTakes {
    fn name(&self) -> &'static str {
        "7 (looks before it takes)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if !change.in_control() {
            return;
        }
        let Some(after) = change.after else { return };
        match change.kind {
            "ResourceBinding" => self.saw_binding(change, after, court),
            "ResourceInterpreterCustomization" if after_is_ours(after) && change.before.is_none() => {
                let target = |field| super::world::text(after, &format!("/spec/target/{field}"));
                let kind = format!("{} {}", target("apiVersion"), target("kind"));
                let allowed = court.terms.kinds.contains(&kind) || target("kind") == "HorizontalPodAutoscaler";
                if !allowed {
                    court.breaks(change.about(), format!("{kind} is no kind that this installation may scale"));
                }
            }
            _ => {}
        }
    }
}

impl LooksBeforeItTakes {
    fn saw_binding(&self, change: &Change<'_>, after: &serde_json::Value, court: &mut Court<'_>) {
        let suspended = |object| super::world::truth(object, "/spec/suspension/scheduling");
        if !suspended(after) || change.before.is_some_and(suspended) {
            return;
        }
        let Some(binding) = court.world.bindings.get(&Name::of(after)).cloned() else { return };
        let wished = court.world.federated.values().any(|hpa| hpa.target == binding.target && !hpa.centralized);
        if !wished {
            court.breaks(change.about(), format!("it is suspended, and no FederatedHPA scales {}", binding.target));
        }
        if !court.terms.kinds.contains(&binding.target.kind) {
            court.breaks(change.about(), format!("it is suspended for {}, which cannot be scaled", binding.target));
        }
    }
}

fn after_is_ours(object: &serde_json::Value) -> bool {
    Name::of(object).name.starts_with("fhpa-")
}
