//! Law 1: no object is admitted that the controller cannot run.

use std::collections::BTreeSet;

use fhpa::admission::registration::NAME;

use super::world::{Name, int};
use super::{Change, Court, Law};

/// Reasons by which the controller says that the object itself cannot be run.
const CANNOT_RUN: [&str; 4] = ["Rejected", "TargetInvalid", "TargetNotScalable", "RuleTargetMismatch"];

/// Karmada's word for a quota that is used up.
const QUOTA: &str = "FederatedResourceQuota(";

#[derive(Default)]
pub struct RunsWhatItAccepts {
    /// No webhook is registered: nobody judges what is stored.
    unregistered: bool,
    /// Kind and name of objects whose spec nobody judged.
    unjudged: BTreeSet<(String, Name)>,
}

impl Law for RunsWhatItAccepts {
    fn name(&self) -> &'static str {
        "1 (runs what it accepts)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if !change.in_control() {
            return;
        }
        if change.kind == "ValidatingWebhookConfiguration" && Name::of(change.object()).name == NAME {
            self.unregistered = change.after.is_none();
        }
        if !matches!(change.kind, "FederatedHPA" | "CronFederatedHPA") || self.is_unjudged(change) {
            return;
        }
        let Some(after) = change.after else { return };
        let refused = |object: &serde_json::Value| {
            let conditions = super::world::items(object, "/status/conditions").iter();
            // A quota of the user is no fault of the object: it says so until there is room.
            let fits = |condition: &&serde_json::Value| !super::world::text(condition, "/message").contains(QUOTA);
            let reason = |condition| super::world::text(condition, "/reason").to_owned();
            conditions.filter(fits).map(reason).find(|reason| CANNOT_RUN.contains(&&**reason))
        };
        if let Some(reason) = refused(after).filter(|_| change.before.and_then(refused).is_none()) {
            let message = super::world::items(after, "/status/conditions").iter();
            let message = message.map(|condition| super::world::text(condition, "/message")).collect::<Vec<_>>();
            court.breaks(
                format!("{} {}", change.kind, Name::of(after)),
                format!("it was stored and cannot be run: {reason}: {}", message.join("; ")),
            );
        }
    }
}

impl RunsWhatItAccepts {
    /// Whether the spec of an object was stored while no webhook was registered.
    fn is_unjudged(&mut self, change: &Change<'_>) -> bool {
        let key = (change.kind.to_owned(), Name::of(change.object()));
        let generation = |object| int(object, "/metadata/generation");
        if change.before.and_then(generation) != change.after.and_then(generation) {
            // An update is not refused for what it leaves as it was.
            let target = |object: &serde_json::Value| object.pointer("/spec/scaleTargetRef").cloned();
            if self.unregistered && change.after.is_some() {
                self.unjudged.insert(key.clone());
            } else if change.before.and_then(target) != change.after.and_then(target) {
                self.unjudged.remove(&key);
            }
        }
        self.unjudged.contains(&key)
    }
}
