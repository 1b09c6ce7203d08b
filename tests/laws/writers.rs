//! Law 4: no value is written by two writers. The table lists the fields that each manager of fhpa may write, and the
//! fields that belong to fhpa alone; any other write breaks the law.

use super::managed::{Owner, changed, owners};
use super::world::{Name, World};
use super::{Change, Court, Law, is_ours};

/// What one manager may write.
pub struct Row {
    /// Field manager.
    pub writer: &'static str,
    /// In members rather than in the control plane.
    pub member: bool,
    /// Empty: every kind with such a field.
    pub kind: &'static str,
    /// Beginnings of paths.
    pub fields: &'static [&'static str],
}

const ROW: Row = Row { writer: "", member: false, kind: "", fields: &[] };

/// Who writes what.
pub const TABLE: &[Row] = &[
    Row { writer: "fhpa-status", kind: "FederatedHPA", fields: &["status"], ..ROW },
    Row {
        writer: "fhpa-finalizer",
        kind: "FederatedHPA",
        fields: &["metadata.finalizers", "metadata.annotations"],
        ..ROW
    },
    Row { writer: "fhpa-mode", kind: "FederatedHPA", fields: &["spec.mode", "metadata.annotations"], ..ROW },
    Row { writer: "fhpa-mirror", kind: "FederatedHPA", fields: &["metadata.annotations", "spec"], ..ROW },
    Row { writer: "fhpa-mirror", kind: "CronFederatedHPA", fields: &["metadata.annotations", "spec"], ..ROW },
    Row {
        writer: "fhpa-cron-bounds",
        kind: "FederatedHPA",
        // The webhook brings the copy in the annotations along.
        fields: &["spec.minReplicas", "spec.maxReplicas", "metadata.annotations", "apiVersion", "kind"],
        ..ROW
    },
    Row { writer: "fhpa-cron-scale", fields: &["spec.replicas"], ..ROW },
    Row { writer: "fhpa-cron-status", kind: "CronFederatedHPA", fields: &["status"], ..ROW },
    Row { writer: "fhpa-member-hpa", kind: "Work", fields: &["metadata", "spec", "apiVersion", "kind"], ..ROW },
    Row {
        writer: "fhpa-binding",
        kind: "ResourceBinding",
        fields: &[
            "spec.suspension",
            "spec.clusters",
            "spec.gracefulEvictionTasks",
            "metadata.annotations",
            "status.schedulerObservedGeneration",
            "status.schedulerObservingAffinityName",
            "status.lastScheduledTime",
            "status.conditions",
        ],
        ..ROW
    },
    Row { writer: "fhpa-retention", fields: &["metadata.labels", "apiVersion", "kind"], ..ROW },
    Row { writer: "fhpa-replicas", fields: &["spec.replicas"], ..ROW },
    Row { writer: "fhpa-replicas", member: true, fields: &["spec.replicas"], ..ROW },
    Row { writer: "fhpa-interpreter", kind: "ResourceInterpreterCustomization", fields: &[""], ..ROW },
    Row { writer: "fhpa-install", fields: &[""], ..ROW },
    Row { writer: "fhpa-set-aside", fields: &["webhooks", "apiVersion", "kind"], ..ROW },
    Row { writer: "fhpa-events", kind: "Event", fields: &[""], ..ROW },
];

/// Fields that nobody but fhpa writes: member HPAs as they travel, and what is decided for a workload that is held.
const OURS_ALONE: &[(&str, &str)] =
    &[("FederatedHPA", "status.clusterHPADesired"), ("FederatedHPA", "status.assignmentHash")];

#[derive(Default)]
pub struct OneWriter;

impl Law for OneWriter {
    fn name(&self) -> &'static str {
        "4 (one writer)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let Some(after) = change.after else { return };
        for path in changed(change.before, after) {
            let field = path.join(".");
            let owners = owners(after, &path);
            for owner in owners.iter().filter(|owner| is_ours(owner.manager)) {
                let copies = || owner.manager == "fhpa-binding" && copies(change, &field, court.world);
                if !may(*owner, change, &field) && !copies() {
                    court.breaks(change.about(), format!("{} wrote {field}, which is not its to write", owner.manager));
                }
            }
            let alone = OURS_ALONE.iter().any(|(kind, own)| *kind == change.kind && is_below(&field, own));
            if let Some(other) = owners.iter().find(|owner| alone && !is_ours(owner.manager)) {
                court.breaks(change.about(), format!("{} wrote {field}, which fhpa alone writes", other.manager));
            }
        }
        self.saw_replicas(change, after, court);
    }
}

impl OneWriter {
    /// In `1..max` the member's HPA owns replicas: fhpa only wakes, raises and sends to zero.
    fn saw_replicas(&self, change: &Change<'_>, after: &serde_json::Value, court: &mut Court<'_>) {
        let Some(before) = change.before.filter(|_| !change.in_control()) else { return };
        let replicas = |object| super::world::int(object, "/spec/replicas").unwrap_or(1);
        let (was, is) = (replicas(before), replicas(after));
        let by_us = owners(after, &["spec", "replicas"]).iter().any(|owner| is_ours(owner.manager));
        if by_us && is < was && is != 0 {
            court.breaks(
                change.about(),
                format!("fhpa lowered its replicas from {was} to {is}: that is its HPA's to do"),
            );
        }
    }
}

fn may(owner: Owner<'_>, change: &Change<'_>, field: &str) -> bool {
    TABLE.iter().any(|row| {
        row.writer == owner.manager
            && row.member != change.in_control()
            && (row.kind.is_empty() || row.kind == change.kind)
            && row.fields.iter().any(|own| is_below(field, own))
    })
}

/// What a release writes where Karmada does not: the replicas that the template asks for.
fn copies(change: &Change<'_>, field: &str, world: &World) -> bool {
    let Some(after) = change.after.filter(|_| change.kind == "ResourceBinding" && field == "spec.replicas") else {
        return false;
    };
    let template = world.bindings.get(&Name::of(after)).and_then(|binding| world.templates.get(&binding.target));
    template.is_some_and(|template| super::world::int(after, "/spec/replicas") == Some(template.asked))
}

fn is_below(field: &str, own: &str) -> bool {
    own.is_empty() || field == own || field.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'))
}
