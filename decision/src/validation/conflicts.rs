//! Objects that would fight over one workload (docs/validation.md#refused). Pure; the other objects come through
//! `RelatedObjects`.

use super::scale_target::target;
use super::{ConflictPolicy, ValidationContext};
use crate::finding::{Cause, Findings};
use crate::names::ADOPT;
use crate::path::Path;
use crate::related_objects::{KnownCronFederatedHPA, KnownScaler, ScalerKind};
use crate::subject::{CronFederatedHPA, FederatedHPA};

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
            let told = told(FEDERATED_HPA, &other.name, &format!("{} already", target.kind), around);
            report(&told, "change or delete one of them", around, findings);
        }
    }
    for other in around.related_objects.cron_federated_hpas_on(&target) {
        if !other.deleting {
            let told = told("CronFederatedHPA", &other.name, &format!("{} too", target.kind), around);
            report(&told, "point it at this FederatedHPA instead", around, findings);
        }
    }
    let adopts = hpa.metadata.annotations.iter().any(|(name, value)| name == ADOPT && value == "true");
    for other in around.related_objects.scalers_on(&target) {
        // What members have of it is taken over.
        if adopts && other.kind == ScalerKind::HorizontalPodAutoscaler {
            let remedy = "delete it; with preserveResourcesOnDeletion on its policy members keep theirs";
            warn(&scaler(&other, around), remedy, findings);
        } else {
            report(&scaler(&other, around), other.kind.remedy(), around, findings);
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
            let told = told(FEDERATED_HPA, &other.name, &format!("{} already", target.kind), around);
            let remedy = "point the rules at that FederatedHPA, with targetMinReplicas or targetMaxReplicas";
            report(&told, remedy, around, findings);
        }
    }
    // Members may keep their own replicas, so that both can be meant.
    for other in around.related_objects.scalers_on(&target) {
        let remedy = "scale it by a FederatedHPA, and point the rules at that, unless members keep their own replicas";
        warn(&scaler(&other, around), remedy, findings);
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

/// Another object that scales the target as well; its name only where it may be told.
fn told(kind: &str, name: &str, scales: &str, around: &ValidationContext<'_>) -> String {
    if around.settings.names_others {
        format!("{kind} {name:?} scales this {scales}")
    } else {
        format!("another {kind} scales this {scales}")
    }
}

/// An autoscaler that is not fhpa's.
fn scaler(other: &KnownScaler, around: &ValidationContext<'_>) -> String {
    told(other.kind.name(), &other.name, &format!("{} too", other.target.kind), around)
}

fn warn(told: &str, remedy: &str, findings: &mut Findings) {
    findings.warn(RULE, &Path::Root("spec").field("scaleTargetRef"), format!("{told}: {remedy}"));
}

/// Refuses, or warns, of another object, as `told`.
fn report(told: &str, remedy: &str, around: &ValidationContext<'_>, findings: &mut Findings) {
    match around.settings.conflict_policy {
        ConflictPolicy::Deny => {
            let path = Path::Root("spec");
            findings.refuse(RULE, &path.field("scaleTargetRef"), Cause::Forbidden, format!("{told}: {remedy}"));
        }
        ConflictPolicy::Warn => warn(told, remedy, findings),
    }
}
