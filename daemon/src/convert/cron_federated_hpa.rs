//! CronFederatedHPA: the facts that rules for other objects read. No I/O.

use super::federated_hpa::target;
use crate::api;
use crate::decision::related_objects::{KnownCronFederatedHPA, KnownRule};

/// Facts about `cron` for the rules of other objects.
#[must_use]
pub fn known_cron_federated_hpa(cron: &api::CronFederatedHPA) -> KnownCronFederatedHPA {
    KnownCronFederatedHPA {
        name: cron.metadata.name.clone().unwrap_or_default(),
        target: target(cron.metadata.namespace.as_deref(), &cron.spec.scale_target_ref),
        rules: cron.spec.rules.iter().map(known_rule).collect(),
        deleting: cron.metadata.deletion_timestamp.is_some(),
    }
}

fn known_rule(rule: &api::cron_federated_hpa::CronFederatedHPARule) -> KnownRule {
    KnownRule {
        schedule: rule.schedule.as_str().into(),
        time_zone: rule.time_zone.as_deref().map(Into::into),
        suspended: rule.suspend == Some(true),
        values: [rule.target_replicas, rule.target_min_replicas, rule.target_max_replicas],
    }
}
