//! The field managers under which the controller writes: one for each kind of write, so that none takes another's
//! fields away. No I/O.

/// Bounds of a FederatedHPA that a cron rule sets.
pub const CRON_BOUNDS: &str = "fhpa-cron-bounds";
/// Replicas of a `scale` subresource that a cron rule sets.
pub const CRON_SCALE: &str = "fhpa-cron-scale";
/// Status of a CronFederatedHPA.
pub const CRON_STATUS: &str = "fhpa-cron-status";
/// Events.
pub const EVENTS: &str = "fhpa-events";

/// All of them.
pub const ALL: [&str; 4] = [CRON_BOUNDS, CRON_SCALE, CRON_STATUS, EVENTS];

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
