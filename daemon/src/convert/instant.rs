//! Instants as objects store them. No I/O.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Whole seconds, as Kubernetes stores them.
#[must_use]
pub fn stored(instant: Timestamp) -> Option<Time> {
    Timestamp::from_second(instant.as_second()).ok().map(Time)
}
