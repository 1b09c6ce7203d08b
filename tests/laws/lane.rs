//! Law 11: cluster-scoped writes of fhpa are for kinds that the installation enabled, by name, and an object changes
//! nothing outside its namespace.

use super::managed::{changed, owners};
use super::world::{Name, text};
use super::{Change, Court, Law, is_ours};

#[derive(Default)]
pub struct StaysInItsLane;

/// Names that fhpa may write, by kind.
const BY_NAME: [(&str, &[&str]); 5] = [
    ("MutatingWebhookConfiguration", &["fhpa", "mutating-config"]),
    ("ValidatingWebhookConfiguration", &["fhpa", "validating-config"]),
    ("CustomResourceDefinition", &["federatedhpas.autoscaling.karmada.io", "cronfederatedhpas.autoscaling.karmada.io"]),
    ("MutatingAdmissionPolicy", &["fhpa"]),
    ("MutatingAdmissionPolicyBinding", &["fhpa"]),
];

impl Law for StaysInItsLane {
    fn name(&self) -> &'static str {
        "11 (stays in its lane)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let Some(after) = change.after else { return };
        let ours = || {
            let paths = changed(change.before, after);
            let owned = |path: &Vec<&str>| owners(after, path).iter().any(|owner| is_ours(owner.manager));
            paths.iter().any(owned)
        };
        let name = Name::of(after);
        if !change.in_control() {
            let scaled = court.world.federated.values().any(|hpa| {
                let target = hpa.workload();
                target.name == name && target.kind.ends_with(change.kind) || hpa.target.name == name
            });
            if !scaled && change.kind != "HorizontalPodAutoscaler" && ours() {
                court.breaks(change.about(), "fhpa wrote it, and no FederatedHPA scales it");
            }
            return;
        }
        if name.namespace.is_empty() {
            self.saw_cluster_scoped(change, &name, ours, court);
        } else if !is_of_an_object(change.kind, &name, after, court) && ours() {
            court.breaks(change.about(), "fhpa wrote it, and no object of that namespace asks for it");
        }
    }
}

impl StaysInItsLane {
    fn saw_cluster_scoped(&self, change: &Change<'_>, name: &Name, ours: impl Fn() -> bool, court: &mut Court<'_>) {
        let allowed = BY_NAME.iter().find(|(kind, _)| *kind == change.kind);
        let allowed = match allowed {
            Some((_, names)) => names.iter().any(|allowed| name.name.starts_with(allowed)),
            None if change.kind == "ResourceInterpreterCustomization" => {
                let target = |field| text(change.object(), &format!("/spec/target/{field}"));
                let kind = format!("{} {}", target("apiVersion"), target("kind"));
                court.terms.kinds.contains(&kind) || target("kind") == "HorizontalPodAutoscaler"
            }
            None => false,
        };
        if !allowed && ours() {
            court.breaks(change.about(), "it is cluster-scoped, and no installation allowed fhpa to write it");
        }
    }
}

fn is_of_an_object(kind: &str, name: &Name, object: &serde_json::Value, court: &Court<'_>) -> bool {
    let world = court.world;
    match kind {
        "FederatedHPA" | "CronFederatedHPA" | "Lease" | "Event" => true,
        "Work" => world.sent.get(name).is_some_and(|sent| {
            // It is kept for a moment longer than what it was made for.
            sent.deleting || world.federated.contains_key(&sent.owner) && sent.owner.namespace == manifest_space(object)
        }),
        "ResourceBinding" => {
            let target = world.bindings.get(name).map(|binding| &binding.target);
            target.is_some_and(|target| world.departed(target))
                || world.federated.iter().any(|(own, hpa)| {
                    own.namespace == name.namespace
                        && target.is_some_and(|target| hpa.workload() == target || hpa.target == *target)
                })
        }
        // A template: of a FederatedHPA, or of a cron rule, whose target the records tell of.
        _ => true,
    }
}

fn manifest_space(work: &serde_json::Value) -> String {
    text(work, "/spec/workload/manifests/0/metadata/namespace").to_owned()
}
