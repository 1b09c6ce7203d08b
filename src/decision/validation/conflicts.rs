//! Objects that would fight over one workload (docs/design.md#admission). Pure; the other objects come through
//! `RelatedObjects`.

use super::scale_target::target;
use super::{ConflictPolicy, ValidationContext};
use crate::decision::finding::{Cause, Findings, WARNING_CHARACTERS};
use crate::decision::names::ADOPT;
use crate::decision::path::Path;
use crate::decision::related_objects::{KnownCronFederatedHPA, KnownScaler, ScalerKind};
use crate::decision::subject::{CronFederatedHPA, FederatedHPA};

const RULE: &str = "conflict";
const FEDERATED_HPA: &str = "FederatedHPA";

/// Adds the conflicts of a FederatedHPA with others of its kind and with cron rules on the same workload.
pub(super) fn of_federated_hpa(hpa: &FederatedHPA<'_>, around: &ValidationContext<'_>, findings: &mut Findings) {
    let Some(target) = hpa.spec.as_ref().and_then(|spec| target(&spec.scale_target_ref, &hpa.metadata.namespace))
    else {
        return;
    };
    for other in around.related_objects.federated_hpas_on(&target) {
        if !other.deleting && other.name != hpa.metadata.name {
            let other = Other::of(FEDERATED_HPA, &other.name, format!("{} already", target.kind), around);
            let remedy = "change or delete one of them";
            report(&other, remedy, remedy, around, findings);
        }
    }
    for other in around.related_objects.cron_federated_hpas_on(&target) {
        if !other.deleting {
            let other = Other::of("CronFederatedHPA", &other.name, format!("{} too", target.kind), around);
            let remedy = "point it at this FederatedHPA instead";
            report(&other, remedy, remedy, around, findings);
        }
    }
    let adopts = hpa.metadata.annotations.iter().any(|(name, value)| name == ADOPT && value == "true");
    for other in around.related_objects.scalers_on(&target) {
        // What members have of it is taken over.
        if adopts && other.kind == ScalerKind::HorizontalPodAutoscaler {
            warn(&scaler(&other, around), findings);
        } else {
            let (remedy, brief) = (other.kind.remedy(), other.kind.brief_remedy());
            let other = scaler(&other, around);
            report(&other, remedy, brief, around, findings);
        }
    }
}

/// Adds the conflict of a CronFederatedHPA with a FederatedHPA on the same workload.
pub(super) fn of_cron_federated_hpa(
    cron: &CronFederatedHPA<'_>,
    around: &ValidationContext<'_>,
    findings: &mut Findings,
) {
    let Some(target) = target(&cron.spec.scale_target_ref, &cron.metadata.namespace) else { return };
    for other in around.related_objects.federated_hpas_on(&target) {
        if !other.deleting {
            let other = Other::of(FEDERATED_HPA, &other.name, format!("{} already", target.kind), around);
            let of = other.name.map_or_else(String::new, |name| format!(" of {name:?}"));
            let remedy = format!("point the rules at that FederatedHPA (targetMinReplicas{of})");
            report(&other, &remedy, "point the rules at it instead", around, findings);
        }
    }
    // Members may keep their own replicas, so that both can be meant.
    for other in around.related_objects.scalers_on(&target) {
        warn(&scaler(&other, around), findings);
    }
}

/// The other CronFederatedHPAs on the target of `cron`, as far as findings may tell of them.
pub(super) fn on_the_same_target(
    cron: &CronFederatedHPA<'_>,
    around: &ValidationContext<'_>,
) -> Vec<KnownCronFederatedHPA> {
    let target = target(&cron.spec.scale_target_ref, &cron.metadata.namespace);
    let Some(target) = target.filter(|_| around.settings.names_others) else { return Vec::new() };
    let mut others = around.related_objects.cron_federated_hpas_on(&target);
    others.retain(|other| !other.deleting && other.name != cron.metadata.name);
    others
}

fn warn(other: &Other<'_>, findings: &mut Findings) {
    findings.warn(RULE, &Path::Root("spec").field("scaleTargetRef"), other.told(usize::MAX));
}

/// An object that scales the target as well.
struct Other<'a> {
    kind: &'static str,
    /// `None`: it is not told.
    name: Option<&'a str>,
    /// The kind of the target, and what joins it to the sentence.
    scales: String,
}

/// An autoscaler that is not fhpa's.
fn scaler<'a>(other: &'a KnownScaler, around: &ValidationContext<'_>) -> Other<'a> {
    Other::of(other.kind.name(), &other.name, format!("{} too", other.target.kind), around)
}

impl<'a> Other<'a> {
    fn of(kind: &'static str, name: &'a str, scales: String, around: &ValidationContext<'_>) -> Self {
        Self { kind, name: around.settings.names_others.then_some(name), scales }
    }

    /// What it does, with at most `most` characters of its name.
    fn told(&self, most: usize) -> String {
        let Self { kind, name, scales } = self;
        let Some(name) = name else { return format!("another {kind} scales this {scales}") };
        match name.char_indices().nth(most) {
            None => format!("{kind} {name:?} scales this {scales}"),
            Some((end, _)) => format!("{kind} \"{}...\" scales this {scales}", name.get(..end).unwrap_or_default()),
        }
    }
}

/// Fewest characters of a name that a warning has.
const NAME: usize = 8;

/// Refuses, or warns with a remedy that the API server does not cut off.
fn report(other: &Other<'_>, remedy: &str, brief: &str, around: &ValidationContext<'_>, findings: &mut Findings) {
    let spec = Path::Root("spec");
    let path = spec.field("scaleTargetRef");
    match around.settings.conflict_policy {
        ConflictPolicy::Deny => {
            findings.refuse(RULE, &path, Cause::Forbidden, format!("{}: {remedy}", other.told(usize::MAX)));
        }
        ConflictPolicy::Warn => {
            let whole = format!("{}: {brief}", other.told(usize::MAX));
            let length = whole.chars().count() + path.to_string().len() + ": ".len();
            let excess = length.saturating_sub(WARNING_CHARACTERS);
            if excess == 0 {
                findings.warn(RULE, &path, whole);
                return;
            }
            let room = other.name.unwrap_or_default().chars().count().saturating_sub(excess + "...".len()).max(NAME);
            findings.warn(RULE, &path, format!("{}: {brief}", other.told(room)));
        }
    }
}
