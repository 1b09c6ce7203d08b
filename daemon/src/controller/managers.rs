//! Field managers of the controller: one for each kind of write, so that no write removes the fields of another. No
//! I/O.

use crate::decision::names::{FINALIZER_MANAGER, RETENTION_MANAGER};

/// Bounds of a FederatedHPA that a cron rule sets.
pub const CRON_BOUNDS: &str = "fhpa-cron-bounds";
/// Replicas of a `scale` subresource that a cron rule sets.
pub const CRON_SCALE: &str = "fhpa-cron-scale";
/// Status of a CronFederatedHPA.
pub const CRON_STATUS: &str = "fhpa-cron-status";
/// HPAs of member clusters, as Works.
pub const MEMBER_HPA: &str = "fhpa-member-hpa";
/// Finalizer of a FederatedHPA.
pub const FINALIZER: &str = FINALIZER_MANAGER;
/// The copy of fhpa's own fields in annotations, and fields that are restored from it.
pub const MIRROR: &str = "fhpa-mirror";
/// Status of a FederatedHPA.
pub const STATUS: &str = "fhpa-status";
/// Fields of a ResourceBinding that the scheduler would write.
pub const BINDING: &str = "fhpa-binding";
/// The label of a workload with which member clusters keep their replicas.
pub const RETENTION: &str = RETENTION_MANAGER;
/// Replicas of a workload: in a member cluster, or of the template that is handed back.
pub const REPLICAS: &str = "fhpa-replicas";
/// Configuration of Karmada's interpreter for scalable kinds.
pub const INTERPRETER: &str = "fhpa-interpreter";
/// Objects of the installation: CRDs, roles, the webhook registration.
pub const INSTALL: &str = "fhpa-install";
/// Karmada's own webhooks for both kinds, which are disabled.
pub const SET_ASIDE: &str = "fhpa-set-aside";
/// Events.
pub const EVENTS: &str = "fhpa-events";

/// Fields of a restored control plane that are corrected to what members have.
pub const RECOVERY: &str = "fhpa-recovery";

/// All of them.
pub const ALL: [&str; 15] = [
    CRON_BOUNDS,
    CRON_SCALE,
    CRON_STATUS,
    MEMBER_HPA,
    FINALIZER,
    MIRROR,
    STATUS,
    BINDING,
    RETENTION,
    REPLICAS,
    INTERPRETER,
    INSTALL,
    SET_ASIDE,
    EVENTS,
    RECOVERY,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ALL;

    #[test]
    fn no_two_kinds_of_write_share_a_field_manager() {
        assert_eq!(ALL.iter().collect::<BTreeSet<_>>().len(), ALL.len());
    }

    #[test]
    fn the_api_server_takes_every_name() {
        assert!(ALL.iter().all(|name| !name.is_empty() && name.len() <= 128 && name.is_ascii()));
    }
}
