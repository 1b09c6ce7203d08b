//! Whether Karmada's own controller runs, by what it wrote over a status of fhpa. No I/O.

use jiff::{SignedDuration, Timestamp};

use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;

/// Karmada's own controller counts as running so long after a write: two periods, in each of which it writes anew.
const UPSTREAM_RUNS: SignedDuration = SignedDuration::from_secs(30);

/// Where fhpa has not written since, it counts as running for so long: it writes only what changes.
pub const UPSTREAM_IDLE: SignedDuration = SignedDuration::from_mins(5);

/// Until when Karmada's own controller counts as running; `None`: it does not.
#[must_use]
pub fn upstream_until(entry: &FederatedHpaEntry, now: Timestamp) -> Option<Timestamp> {
    entry.overwritten?.checked_add(UPSTREAM_RUNS).ok().filter(|until| *until > now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::key::Key;
    use crate::controller::managers;
    use crate::controller::table::Table;

    /// An object with this uid and version, whose status these managers wrote in this second.
    fn written(uid: &str, version: &str, by: &[(&str, i64)]) -> FederatedHpaEntry {
        let owners = by.iter().map(
            |(manager, second)| json!({"manager": manager, "subresource": "status", "time": at(*second).to_string()}),
        );
        let metadata = json!({"name": "web", "namespace": "prod", "uid": uid, "resourceVersion": version,
            "managedFields": owners.collect::<Vec<_>>()});
        FederatedHpaEntry::of(
            &serde_json::from_value(json!({"metadata": metadata, "spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}))
            .unwrap(),
        )
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    #[test]
    fn a_write_of_karmadas_controller_is_known_after_the_next_status_has_taken_its_place() {
        let (mut table, key) = (Table::default(), Key::new("prod", "web"));
        let (ours, theirs) = (managers::STATUS, "karmada-controller-manager");
        let until = |table: &Table<FederatedHpaEntry>, now| upstream_until(table.get(&key).unwrap(), at(now));
        table.put(written("u", "1", &[(ours, 0), (theirs, 10)]));
        assert_eq!(until(&table, 20), Some(at(40)));
        table.put(written("u", "2", &[(ours, 12)]));
        assert_eq!([20, 39, 40].map(|now| until(&table, now)), [Some(at(40)), Some(at(40)), None]);
        table.put(written("u", "3", &[(ours, 12), (theirs, 25)]));
        assert_eq!(until(&table, 30), Some(at(55)));
        table.put(written("v", "4", &[(ours, 26)]));
        assert_eq!(until(&table, 30), None, "another object");
    }

    #[test]
    fn a_controller_that_wrote_before_fhpa_does_not_run() {
        let entry = written("u", "1", &[(managers::STATUS, 12), ("karmada-controller-manager", 10)]);
        assert_eq!(upstream_until(&entry, at(13)), None);
    }
}
