//! The condition of an object that is to survive the loss of any one cluster (docs/operations.md#drill). No I/O.

use jiff::Timestamp;

use crate::api::hpa_status::Condition;
use crate::controller::condition;
use crate::decision::few::counted;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::coverage::{Coverage, Found, Worst};

/// Its type.
const FAILOVER_COVERED: &str = "FailoverCovered";
/// Its reason while it is true.
const COVERED: &str = "LossCovered";

/// The condition; `None` where it is not `required`, or the object was never drilled. Until the first drill of a new
/// leader the stored one stays.
#[must_use]
pub fn covered(entry: &FederatedHpaEntry, coverage: &Coverage, required: bool, now: Timestamp) -> Option<Condition> {
    if !required {
        return None;
    }
    let stored = entry.condition(FAILOVER_COVERED);
    let Some(Found { generation, worst }) = coverage.found(&entry.key()) else { return stored.cloned() };
    let parts = match worst {
        None => ("True", COVERED, "the other clusters would run the replicas of any one that is lost".to_owned()),
        Some(Worst { cluster, replicas, short, reason, remedy }) => {
            let ran = counted(replicas, "replica");
            let message = format!("if {cluster} were lost, {short} of its {ran} would run nowhere: {remedy}");
            ("False", reason.code(), message)
        }
    };
    Some(condition::condition(FAILOVER_COVERED, parts, stored, generation, now))
}
