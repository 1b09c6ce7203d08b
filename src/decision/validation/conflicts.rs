//! Objects that would fight over one workload (docs/design.md#admission). Pure; the other objects come through
//! `RelatedObjects`.

use super::scale_target::target;
use super::{ConflictPolicy, ValidationContext};
use crate::decision::finding::{Cause, Findings};
use crate::decision::names::ADOPT;
use crate::decision::path::Path;
use crate::decision::related_objects::{KnownCronFederatedHPA, ScalerKind};
use crate::decision::subject::{CronFederatedHPA, FederatedHPA};

const RULE: &str = "conflict";

/// Adds the conflicts of a FederatedHPA with others of its kind and with cron rules on the same workload.
pub(super) fn of_federated_hpa(hpa: &FederatedHPA<'_>, around: &ValidationContext<'_>, findings: &mut Findings) {
    let Some(target) = hpa.spec.as_ref().and_then(|spec| target(&spec.scale_target_ref, &hpa.metadata.namespace))
    else {
        return;
    };
    for other in around.related_objects.federated_hpas_on(&target) {
        if !other.deleting && other.name != hpa.metadata.name {
            let text = format!("FederatedHPA {:?} scales this {} already", other.name, target.kind);
            report(&text, "change or delete one of them", around, findings);
        }
    }
    for other in around.related_objects.cron_federated_hpas_on(&target) {
        if !other.deleting {
            let text = format!("CronFederatedHPA {:?} scales this {} too", other.name, target.kind);
            report(&text, "point it at this FederatedHPA instead", around, findings);
        }
    }
    let adopts = hpa.metadata.annotations.iter().any(|(name, value)| name == ADOPT && value == "true");
    for other in around.related_objects.scalers_on(&target) {
        // What members have of it is taken over.
        if adopts && other.kind == ScalerKind::HorizontalPodAutoscaler {
            warn(&other.to_string(), findings);
        } else {
            report(&other.to_string(), other.kind.remedy(), around, findings);
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
            let text = format!("FederatedHPA {:?} scales this {} already", other.name, target.kind);
            let remedy = format!("point the rules at that FederatedHPA (targetMinReplicas of {:?})", other.name);
            report(&text, &remedy, around, findings);
        }
    }
    // Members may keep their own replicas, so that both can be meant.
    for other in around.related_objects.scalers_on(&target) {
        warn(&other.to_string(), findings);
    }
}

/// The other CronFederatedHPAs on the target of `cron`.
pub(super) fn on_the_same_target(
    cron: &CronFederatedHPA<'_>,
    around: &ValidationContext<'_>,
) -> Vec<KnownCronFederatedHPA> {
    let Some(target) = target(&cron.spec.scale_target_ref, &cron.metadata.namespace) else { return Vec::new() };
    let mut others = around.related_objects.cron_federated_hpas_on(&target);
    others.retain(|other| !other.deleting && other.name != cron.metadata.name);
    others
}

fn warn(text: &str, findings: &mut Findings) {
    findings.warn(RULE, &Path::Root("spec").field("scaleTargetRef"), text);
}

fn report(text: &str, remedy: &str, around: &ValidationContext<'_>, findings: &mut Findings) {
    let spec = Path::Root("spec");
    let path = spec.field("scaleTargetRef");
    match around.settings.conflict_policy {
        ConflictPolicy::Deny => findings.refuse(RULE, &path, Cause::Forbidden, format!("{text}: {remedy}")),
        ConflictPolicy::Warn => findings.warn(RULE, &path, text),
    }
}
