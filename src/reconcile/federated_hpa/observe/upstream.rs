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
