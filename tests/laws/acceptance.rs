//! Law 1: no object is admitted that the controller cannot run.

use super::world::Name;
use super::{Change, Court, Law};

/// Reasons by which the controller says that the object itself cannot be run.
const CANNOT_RUN: [&str; 4] = ["Rejected", "TargetInvalid", "TargetNotScalable", "RuleTargetMismatch"];

/// Karmada's word for a quota that is used up.
const QUOTA: &str = "FederatedResourceQuota(";

#[derive(Default)]
pub struct RunsWhatItAccepts;

impl Law for RunsWhatItAccepts {
    fn name(&self) -> &'static str {
        "1 (runs what it accepts)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if !change.in_control() || !matches!(change.kind, "FederatedHPA" | "CronFederatedHPA") {
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
