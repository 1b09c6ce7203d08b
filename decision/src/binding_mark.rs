//! What marks a ResourceBinding for whose workload Karmada's scheduler is suspended (docs/design.md#on-the-wire). Pure.

use serde_json::{Value, json};

use super::names::{SUSPENDED_BEFORE, SUSPENDED_FOR};

/// The annotations to merge when a binding is suspended for a FederatedHPA. One that is `suspended` and not `marked` is
/// so for somebody else, who also ends it; an end of that before now is what they want.
#[must_use]
pub fn marks(federated_hpa: &str, suspended: bool, marked: bool) -> Value {
    match (suspended, marked) {
        (true, true) => json!({SUSPENDED_FOR: federated_hpa}),
        (true, false) => json!({SUSPENDED_FOR: federated_hpa, SUSPENDED_BEFORE: "true"}),
        (false, _) => json!({SUSPENDED_FOR: federated_hpa, SUSPENDED_BEFORE: null}),
    }
}
